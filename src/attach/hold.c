/* SPDX-License-Identifier: MIT */
/*
 * Every stop that a held thread can come to, by its status >> 8 (ptrace(2)):
 *
 *     SIGTRAP | 0x80               a system call begins, or is done
 *     SIGTRAP | EVENT_STOP << 8    our interruption, which may come before the call or after it
 *     SIGSTOP.. | EVENT_STOP << 8  a group stop: a call is made from it, too
 *     SIGSTOP                      another process sent it just now: kept back, sent at the end
 *     SIG                          at the very beginning alone: it is handed on, for the mask of a
 *                                  held thread lets none in
 *
 * Not by single steps: their end is a SIGTRAP that the kernel forces, and where the program ignores
 * or blocks that signal, it loses its handler by that.
 */
#include "attach/hold.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/wait.h"
#include "base/clock.h"
#include "base/error.h"
#include "proc/process.h"

enum {
    SIGNALS_MAX = 64, /* handed on before the thread stood still */
    STOPS_MAX = 64,   /* that were neither the beginning of a call nor its end */
    AGAIN_MAX = 64,   /* of a call that the kernel wants to begin anew */
    EVENT_AT = 16,    /* of a status */
    CALL_STOP = SIGTRAP | 0x80
};

static int fail_gone(const struct cairn_stilled *held, struct cairn_err *err)
{
    return cairn_fail(err, CAIRN_E_MISSING, "pid %d: thread %d ended meanwhile", held->pid,
                      held->tid);
}

/* The next stop of it. */
static int next_stop(const struct cairn_stilled *held, int timeout_ms, int *ret_status,
                     struct cairn_err *err)
{
    int got = cairn_wait_thread(held->tid, timeout_ms, ret_status);
    if (got < 0 || (got > 0 && !WIFSTOPPED(*ret_status)))
        return fail_gone(held, err);
    if (got == 0)
        return cairn_fail(err, CAIRN_E_LIMIT, "pid %d: thread %d did not stop within %d ms",
                          held->pid, held->tid, timeout_ms);
    if (*ret_status >> EVENT_AT == PTRACE_EVENT_EXEC)
        return cairn_fail(err, CAIRN_E_MISSING, "pid %d: became another program meanwhile",
                          held->pid);
    return CAIRN_OK;
}

static int get_regs(const struct cairn_stilled *held, struct cairn_still_regs *ret_regs,
                    struct cairn_err *err)
{
    struct iovec io = {ret_regs->raw, sizeof ret_regs->raw};
    if (ptrace(PTRACE_GETREGSET, held->tid, (void *)NT_PRSTATUS, &io) < 0)
        return cairn_fail_os(err, errno, "pid %d: cannot read the registers of thread %d",
                             held->pid, held->tid);
    ret_regs->size = io.iov_len;
    return CAIRN_OK;
}

static int set_regs(const struct cairn_stilled *held, const struct cairn_still_regs *regs,
                    struct cairn_err *err)
{
    struct iovec io = {(void *)regs->raw, regs->size};
    if (ptrace(PTRACE_SETREGSET, held->tid, (void *)NT_PRSTATUS, &io) < 0)
        return cairn_fail_os(err, errno, "pid %d: cannot set the registers of thread %d", held->pid,
                             held->tid);
    return CAIRN_OK;
}

static bool is_fault(int signal)
{
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE ||
           signal == SIGTRAP || signal == SIGSYS;
}

static int fail_fault(const struct cairn_stilled *held, int signal, struct cairn_err *err)
{
    struct cairn_still_regs regs = {.size = 0};
    get_regs(held, &regs, NULL);
    return cairn_fail(err, CAIRN_E_FORMAT, "pid %d: signal %d in our thread %d at 0x%llx",
                      held->pid, signal, held->tid, (unsigned long long)cairn_cpu_ip(&regs));
}

/* Its first stop may be that of a signal, which gets to the program; then the next one is ours. */
static int await_stop(struct cairn_stilled *held, struct cairn_err *err)
{
    for (int i = 0; i < SIGNALS_MAX; i++) {
        int status, result = next_stop(held, CAIRN_HOLD_TIMEOUT_MS, &status, err);
        if (result < 0)
            return result;
        if (status >> EVENT_AT == PTRACE_EVENT_STOP)
            return CAIRN_OK;
        if (ptrace(PTRACE_CONT, held->tid, NULL, (long)WSTOPSIG(status)) < 0 ||
            ptrace(PTRACE_INTERRUPT, held->tid, NULL, NULL) < 0)
            return fail_gone(held, err);
    }
    return cairn_fail(err, CAIRN_E_LIMIT, "pid %d: thread %d gets signals all the time", held->pid,
                      held->tid);
}

static int block_signals(struct cairn_stilled *held, struct cairn_err *err)
{
    /* A fault that is blocked would take the program's handler of it away (sigaction(2)). */
    uint64_t mask = 0;
    for (int signal = 1; signal <= 64; signal++)
        mask |= (uint64_t)!is_fault(signal) << (signal - 1);
    if (ptrace(PTRACE_GETSIGMASK, held->tid, (void *)sizeof mask, &held->saved_mask) < 0 ||
        ptrace(PTRACE_SETSIGMASK, held->tid, (void *)sizeof mask, &mask) < 0)
        return cairn_fail_os(err, errno, "pid %d: cannot block the signals of thread %d", held->pid,
                             held->tid);
    held->has_mask = true;
    return CAIRN_OK;
}

static int begin_stopped(struct cairn_stilled *held, struct cairn_err *err)
{
    int result = get_regs(held, &held->saved, err);
    if (result == CAIRN_OK && !cairn_cpu_knows(&held->saved))
        return cairn_fail(err, CAIRN_E_SUPPORT,
                          "pid %d: thread %d runs 32-bit code, or another CPU's", held->pid,
                          held->tid);
    return result < 0 ? result : block_signals(held, err);
}

static int fail_seize(int pid, bool is_exempt, int os_errno, struct cairn_err *err)
{
    if (is_exempt && os_errno == EPERM) {
        cairn_fail_os(err, os_errno,
                      "pid %d: its filters of system calls cannot be lifted for our "
                      "thread",
                      pid);
        cairn_hint(err, "root may, outside of containers (CAP_SYS_ADMIN)");
        return CAIRN_E_ACCESS;
    }
    int code = cairn_fail_os(err, os_errno, "pid %d: cannot be traced", pid);
    if (code == CAIRN_E_ACCESS)
        cairn_process_hint_access(pid, err);
    return code;
}

int cairn_hold_begin(int pid, int tid, uint64_t call_va, bool is_exempt,
                     struct cairn_stilled *ret_held, struct cairn_err *err)
{
    const long options = PTRACE_O_TRACESYSGOOD | (is_exempt ? PTRACE_O_SUSPEND_SECCOMP : 0);
    struct cairn_stilled held = {.pid = pid, .tid = tid, .call_va = call_va};
    cairn_call_see(tid, &held.seen);
    if (ptrace(PTRACE_SEIZE, tid, NULL, options) < 0)
        return fail_seize(pid, is_exempt, errno, err);
    held.begin_ns = cairn_now_ns();
    int result = ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0 ? fail_gone(&held, err)
                                                               : await_stop(&held, err);
    /* One that does not stop cannot be let go either: the kernel does so when we end. */
    if (result < 0)
        return result;
    result = begin_stopped(&held, err);
    if (result < 0)
        cairn_hold_end(&held, NULL);
    else
        *ret_held = held;
    return result;
}

/* Until it enters a call, or leaves it. */
static int next_call_stop(struct cairn_stilled *held, int timeout_ms,
                          struct cairn_still_regs *ret_regs, struct cairn_err *err)
{
    for (int i = 0; i < STOPS_MAX; i++) {
        int status;
        if (ptrace(PTRACE_SYSCALL, held->tid, NULL, NULL) < 0)
            return fail_gone(held, err);
        int result = next_stop(held, timeout_ms, &status, err);
        if (result < 0)
            return result;
        if (WSTOPSIG(status) == CALL_STOP)
            return get_regs(held, ret_regs, err);
        if (status >> EVENT_AT == 0 && is_fault(WSTOPSIG(status)))
            return fail_fault(held, WSTOPSIG(status), err);
        if (status >> EVENT_AT == 0 && WSTOPSIG(status) == SIGSTOP)
            held->stop_came = true;
    }
    return cairn_fail(err, CAIRN_E_LIMIT, "pid %d: thread %d stops again and again", held->pid,
                      held->tid);
}

/* Results that no program sees: the call is to be made again. */
static bool is_again(int64_t result)
{
    enum { FIRST_AGAIN = 512, LAST_AGAIN = 516 };
    return result <= -FIRST_AGAIN && result >= -LAST_AGAIN;
}

static int call_once(struct cairn_stilled *held, const struct cairn_still_regs *regs,
                     int64_t *ret_result, struct cairn_err *err)
{
    struct cairn_still_regs now;
    int result = set_regs(held, regs, err);
    for (int edge = 0; result == CAIRN_OK && edge < 2; edge++)
        result = next_call_stop(held, CAIRN_HOLD_TIMEOUT_MS, &now, err);
    if (result < 0)
        return result;
    if (!cairn_cpu_called(&now, held->call_va, ret_result))
        return cairn_fail(err, CAIRN_E_FORMAT,
                          "pid %d: a system call of thread %d led to 0x%llx, not on", held->pid,
                          held->tid, (unsigned long long)cairn_cpu_ip(&now));
    return CAIRN_OK;
}

int cairn_hold_call(struct cairn_stilled *held, long number, const uint64_t args[CAIRN_CALL_ARGS],
                    int64_t *ret_result, struct cairn_err *err)
{
    struct cairn_still_regs regs = held->saved;
    cairn_cpu_set_call(&regs, held->call_va, number, args);
    for (int i = 0; i < AGAIN_MAX; i++) {
        int result = call_once(held, &regs, ret_result, err);
        if (result < 0 || !is_again(*ret_result))
            return result;
    }
    return cairn_fail(err, CAIRN_E_LIMIT, "pid %d: thread %d is interrupted all the time",
                      held->pid, held->tid);
}

/* After a call that did not end in time the thread is in that call, or frozen before it: registers
 * cannot be set then, and its own thread would go on with ours. */
static void stop_again(const struct cairn_stilled *held)
{
    struct cairn_still_regs regs;
    int status;
    if (get_regs(held, &regs, NULL) < 0 && ptrace(PTRACE_INTERRUPT, held->tid, NULL, NULL) == 0)
        (void)next_stop(held, CAIRN_HOLD_TIMEOUT_MS, &status, NULL);
}

int cairn_hold_end(struct cairn_stilled *held, struct cairn_err *err)
{
    stop_again(held);
    held->mended = !(held->has_mask && held->seen.is_known &&
                     cairn_call_has_signals(held->tid, &held->saved_mask)) &&
                   cairn_call_mend_regs(held->saved.raw, held->saved.size, &held->seen);
    int result = set_regs(held, &held->saved, err);
    if (held->has_mask)
        ptrace(PTRACE_SETSIGMASK, held->tid, (void *)sizeof held->saved_mask, &held->saved_mask);
    if (ptrace(PTRACE_DETACH, held->tid, NULL, NULL) < 0 && result == CAIRN_OK)
        result = fail_gone(held, err);
    held->held_ns = cairn_now_ns() - held->begin_ns;
    if (held->stop_came)
        kill(held->pid, SIGSTOP);
    return result;
}

int cairn_hold_adopt(struct cairn_stilled *held, struct cairn_err *err)
{
    int status, result = next_stop(held, CAIRN_HOLD_TIMEOUT_MS, &status, err);
    return result < 0 ? result : get_regs(held, &held->saved, err);
}

/* Lets it go on until it ends; `ret_value` is what it ended with. */
static int await_end(struct cairn_stilled *held, int timeout_ms, int *ret_value,
                     struct cairn_err *err)
{
    const uint64_t deadline_ns = cairn_now_ns() + (uint64_t)timeout_ms * CAIRN_NS_PER_MS;
    for (;;) {
        uint64_t now_ns = cairn_now_ns();
        int left_ms = now_ns < deadline_ns ? (int)((deadline_ns - now_ns) / CAIRN_NS_PER_MS) : 0;
        int status;
        if (ptrace(PTRACE_CONT, held->tid, NULL, NULL) < 0)
            return fail_gone(held, err);
        int got = cairn_wait_thread(held->tid, left_ms, &status);
        if (got < 0 || (got > 0 && WIFSIGNALED(status)))
            return fail_gone(held, err);
        if (got == 0)
            return cairn_fail(err, CAIRN_E_LIMIT, "pid %d: our thread %d did not end within %d ms",
                              held->pid, held->tid, timeout_ms);
        if (WIFEXITED(status)) {
            *ret_value = (int8_t)WEXITSTATUS(status);
            return CAIRN_OK;
        }
        if (status >> EVENT_AT == 0 && is_fault(WSTOPSIG(status)))
            return fail_fault(held, WSTOPSIG(status), err);
        if (status >> EVENT_AT == 0 && WSTOPSIG(status) == SIGSTOP)
            held->stop_came = true;
    }
}

static int end_with(struct cairn_stilled *held, const struct cairn_still_regs *regs, int timeout_ms,
                    int *ret_value, struct cairn_err *err)
{
    int result = set_regs(held, regs, err);
    if (result == CAIRN_OK)
        result = await_end(held, timeout_ms, ret_value, err);
    if (result == CAIRN_OK && held->stop_came)
        kill(held->pid, SIGSTOP);
    return result;
}

int cairn_hold_run(struct cairn_stilled *held, const struct cairn_cpu_entry *entry, int timeout_ms,
                   int *ret_value, struct cairn_err *err)
{
    struct cairn_still_regs regs = held->saved;
    cairn_cpu_set_entry(&regs, entry);
    if (!cairn_cpu_set_thread_pointer(held->tid, entry->thread_pointer))
        return cairn_fail_os(err, errno, "pid %d: cannot set the thread pointer of our thread %d",
                             held->pid, held->tid);
    return end_with(held, &regs, timeout_ms, ret_value, err);
}

int cairn_hold_exit(struct cairn_stilled *held, struct cairn_err *err)
{
    const uint64_t args[CAIRN_CALL_ARGS] = {0};
    struct cairn_still_regs regs = held->saved;
    int value;
    stop_again(held);
    cairn_cpu_set_call(&regs, held->call_va, SYS_exit, args);
    return end_with(held, &regs, CAIRN_HOLD_TIMEOUT_MS, &value, err);
}
