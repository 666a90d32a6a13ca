/* SPDX-License-Identifier: MIT */
/*
 * A thread is stopped for as long as its registers and the top of its stack are read, by
 * PTRACE_INTERRUPT, so that it sees no signal.
 */

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "proc/call_abi.h"
#include "snapshot/way.h"
#include "target/regs.h"

/* The System V ABI lets a function of x86-64 use so many bytes below sp. */
enum { RED_ZONE = 128, PAGE = 4096 };

bool cairn_caught_copy(struct cairn_catcher *catcher, struct cairn_caught *thread, size_t want)
{
    uint64_t sp = cairn_target_sp(&thread->regs);
    /* Not into the page below, which may be none. */
    uint64_t below = sp % PAGE < RED_ZONE ? sp % PAGE : RED_ZONE;
    if (cairn_grow((void **)&thread->copy, &thread->copy_cap, want, 1) < 0)
        return false;
    thread->copy_va = sp - below;
    thread->copy_size = cairn_mem_read(catcher->mem, thread->copy_va, thread->copy, want);
    return true;
}

void cairn_caught_kernel(const struct cairn_catcher *catcher, struct cairn_caught *thread)
{
    cairn_buffer_clear(&thread->kernel_text);
    if (!catcher->user_only)
        cairn_facts_kernel_stack(catcher->pid, thread->facts.tid, &thread->kernel_text);
}

void cairn_caught_done(struct cairn_caught *thread)
{
    cairn_free(thread->copy);
    thread->copy = NULL;
    thread->copy_size = thread->copy_cap = 0;
    cairn_buffer_done(&thread->kernel_text);
}

int cairn_snapshot_stops_end_calls(void)
{
    return !cairn_call_abi.mends;
}

int cairn_held_regs(struct cairn_tracer *tracer, struct cairn_caught *thread, struct cairn_err *err)
{
    uint8_t raw[CAIRN_PRSTATUS_MAX];
    size_t size;
    int code = cairn_tracer_prstatus(tracer, thread->facts.tid, raw, &size, err);
    if (code == CAIRN_OK &&
        !cairn_target_regs((struct cairn_span){raw, size}, false, &thread->regs))
        code = cairn_fail(err, CAIRN_E_SUPPORT,
                          "thread %d: %zu bytes of registers, of no CPU that is known here",
                          thread->facts.tid, size);
    if (code == CAIRN_OK)
        cairn_facts_caught(&thread->facts, thread->regs.ip, cairn_target_sp(&thread->regs));
    return code;
}

int cairn_hold(struct cairn_catcher *catcher, struct cairn_caught *thread,
               struct cairn_hold *ret_hold, struct cairn_err *err)
{
    struct cairn_hold hold;
    int tid = thread->facts.tid;
    int code = cairn_tracer_new(tid, CAIRN_TRACER_ONE_THREAD, &hold.tracer, err);
    if (code < 0)
        return code;
    hold.asked_ns = cairn_now_ns();
    code = cairn_tracer_stop(hold.tracer, tid, (int)catcher->stop_ms, err);
    hold.since_ns = cairn_now_ns();
    if (code == CAIRN_OK)
        code = cairn_held_regs(hold.tracer, thread, err);
    if (code < 0)
        cairn_tracer_free(hold.tracer);
    else
        *ret_hold = hold;
    return code;
}

void cairn_let_go(struct cairn_hold *hold, struct cairn_caught *thread)
{
    cairn_tracer_free(hold->tracer);
    uint64_t now_ns = cairn_now_ns();
    thread->held_ns += now_ns - hold->since_ns;
    thread->asked_ns += now_ns - hold->asked_ns;
}

int cairn_catch_by_ptrace(struct cairn_catcher *catcher, struct cairn_caught *thread, size_t want,
                          struct cairn_err *err)
{
    struct cairn_hold hold;
    /* Touched before the thread is stopped, so that it does not wait for our page faults. */
    if (cairn_grow((void **)&thread->copy, &thread->copy_cap, want, 1) < 0)
        return cairn_fail_memory(err);
    memset(thread->copy, 0, want);
    int code = cairn_hold(catcher, thread, &hold, err);
    if (code < 0)
        return code;
    bool copied = cairn_caught_copy(catcher, thread, want);
    cairn_let_go(&hold, thread);
    return copied ? CAIRN_OK : cairn_fail_memory(err);
}
