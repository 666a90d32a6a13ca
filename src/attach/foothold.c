/* SPDX-License-Identifier: MIT */
/*
 * What our thread has, in one mapping of the process:
 *
 *     code_va    cairn_cpu_thread_code, read and executed; written from outside
 *     page_va    words for its calls, and above them the stack, which begins at STACK_END
 *                what its thread pointer points into: the program's belong to the program's threads
 *
 * Until the code is there, a call is made where the program has the instruction; from then on our
 * thread ends itself if we are killed.
 */
#include "attach/foothold.h"

#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/choose.h"
#include "attach/filters.h"
#include "attach/wait.h"
#include "base/error.h"
#include "proc/process.h"
#include "proc/threads.h"

enum {
    PAGE = 4096,
    CODE_BYTES = PAGE,
    STACK_END = 64 * PAGE,  /* from page_va on */
    POINTED_AT = 72 * PAGE, /* in zeros: libcs look below it and above it */
    ROOM = 80 * PAGE
};

/* The thread's own identity, and all that its process shares; its stack is the held one's until we
 * give it another. */
static int clone_thread(struct cairn_stilled *held, int *ret_tid, struct cairn_err *err)
{
    const uint64_t flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                           CLONE_SYSVSEM | CLONE_PTRACE;
    const uint64_t args[CAIRN_CALL_ARGS] = {flags};
    int64_t tid;
    int result = cairn_hold_call(held, SYS_clone, args, &tid, err);
    if (result < 0)
        return result;
    if (tid < 0)
        return cairn_fail_os(err, (int)-tid, "pid %d: may not have one more thread", held->pid);
    *ret_tid = (int)tid;
    return CAIRN_OK;
}

/* In a pid namespace of its own the program sees another number than we do. */
static int find_newborn(int pid, int *tid, struct cairn_err *err)
{
    struct cairn_process_status status;
    struct cairn_threads threads = {0};
    int result = cairn_process_status(pid, &status, err);
    if (result < 0 || status.n_namespaces <= 1)
        return result;
    result = cairn_threads_read(pid, &threads, err);
    bool found = false;
    for (size_t i = threads.n; result == CAIRN_OK && !found && i-- > 0;)
        if (cairn_process_status(threads.tids[i], &status, NULL) == CAIRN_OK &&
            status.ns_pid == *tid && status.tracer_pid == getpid()) {
            *tid = threads.tids[i];
            found = true;
        }
    cairn_threads_done(&threads);
    if (result == CAIRN_OK && !found)
        result = cairn_fail(err, CAIRN_E_MISSING, "pid %d: our thread %d in it is not to be found",
                            pid, *tid);
    return result;
}

/* The instruction must be there: what was read of the mappings may be the program's before. */
static int check_call(const struct cairn_target_process *target, struct cairn_err *err)
{
    uint8_t bytes[CAIRN_THREAD_CODE_MAX];
    const struct cairn_span insn = cairn_cpu_call_insn;
    int result = cairn_target_read(target, target->call_va, bytes, insn.size, err);
    if (result == CAIRN_OK && memcmp(bytes, insn.data, insn.size) != 0)
        result =
            cairn_fail(err, CAIRN_E_MISSING, "pid %d: its code changed meanwhile", target->pid);
    return result;
}

/* With one of its threads held, which is let go in any case. */
static int make_thread(struct cairn_foothold *foothold, int tid, struct cairn_err *err)
{
    const struct cairn_target_process *target = foothold->target;
    struct cairn_stilled held;
    struct cairn_err later;
    int newborn = 0, result = cairn_hold_begin(target->pid, tid, target->call_va,
                                               foothold->is_exempt, &held, err);
    if (result < 0)
        return result;
    result = check_call(target, err);
    if (result == CAIRN_OK)
        result = clone_thread(&held, &newborn, err);
    int end = cairn_hold_end(&held, &later);
    foothold->held_tid = tid;
    foothold->held_ns += held.held_ns;
    foothold->mended = held.mended;
    if (result == CAIRN_OK && end < 0 && err)
        *err = later;
    result = result < 0 ? result : end;
    if (newborn <= 0)
        return result;
    if (result == CAIRN_OK)
        result = find_newborn(target->pid, &newborn, err);
    foothold->thread =
        (struct cairn_stilled){.pid = target->pid, .tid = newborn, .call_va = target->call_va};
    return result < 0 ? result : cairn_hold_adopt(&foothold->thread, err);
}

static int take_any_thread(struct cairn_foothold *foothold, struct cairn_err *err)
{
    int tids[CAIRN_CHOICES];
    size_t n;
    int result = cairn_choose_threads(foothold->target->pid, tids, &n, err);
    if (result < 0)
        return result;
    for (size_t i = 0; i < n; i++) {
        result = make_thread(foothold, tids[i], err);
        bool another_may = result == CAIRN_E_LIMIT || result == CAIRN_E_MISSING;
        if (result == CAIRN_OK || foothold->thread.tid || !another_may)
            break;
    }
    return result;
}

int cairn_foothold_call(struct cairn_foothold *foothold, const char *what, long number,
                        const uint64_t args[CAIRN_CALL_ARGS], uint64_t *ret_result,
                        struct cairn_err *err)
{
    int64_t value;
    int result = cairn_hold_call(&foothold->thread, number, args, &value, err);
    if (result < 0)
        return result;
    if (value < 0 && value >= -4095)
        return cairn_fail_os(err, (int)-value, "pid %d: %s", foothold->target->pid, what);
    *ret_result = (uint64_t)value;
    return CAIRN_OK;
}

int cairn_foothold_map(struct cairn_foothold *foothold, const struct cairn_foothold_mapping *want,
                       uint64_t *ret_va, struct cairn_err *err)
{
    const uint64_t args[CAIRN_CALL_ARGS] = {
        want->va,           want->size, (uint64_t)want->prot, (uint64_t)want->flags,
        (uint64_t)want->fd, want->off};
    return cairn_foothold_call(foothold, "cannot get memory (mmap)", SYS_mmap, args, ret_va, err);
}

int cairn_foothold_unmap(struct cairn_foothold *foothold, uint64_t va, uint64_t size,
                         struct cairn_err *err)
{
    const uint64_t args[CAIRN_CALL_ARGS] = {va, size};
    uint64_t ignored;
    return cairn_foothold_call(foothold, "cannot give memory back (munmap)", SYS_munmap, args,
                               &ignored, err);
}

/* Its code first: from then on it ends by itself, should we be killed. */
static int make_room(struct cairn_foothold *foothold, struct cairn_err *err)
{
    const struct cairn_foothold_mapping room = {.size = CODE_BYTES + ROOM,
                                                .prot = PROT_READ | PROT_EXEC,
                                                .flags = MAP_PRIVATE | MAP_ANONYMOUS,
                                                .fd = -1};
    uint64_t va, ignored;
    int result = cairn_foothold_map(foothold, &room, &va, err);
    if (result < 0)
        return result;
    foothold->code_va = va;
    result = cairn_target_write(foothold->target, va, cairn_cpu_thread_code.data,
                                cairn_cpu_thread_code.size, err);
    if (result < 0)
        return result;
    foothold->thread.call_va = va;
    foothold->page_va = va + CODE_BYTES;
    const struct cairn_foothold_mapping words = {.va = foothold->page_va,
                                                 .size = ROOM,
                                                 .prot = PROT_READ | PROT_WRITE,
                                                 .flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                                                 .fd = -1};
    return cairn_foothold_map(foothold, &words, &ignored, err);
}

/* As an earlier one left it; the program may have unmapped it since. */
static bool take_room(struct cairn_foothold *foothold, uint64_t room_va)
{
    uint8_t code[CAIRN_THREAD_CODE_MAX];
    const struct cairn_span wanted = cairn_cpu_thread_code;
    const struct cairn_map *map = cairn_maps_find(foothold->target->maps, room_va);
    const struct cairn_map *words = cairn_maps_find(foothold->target->maps, room_va + CODE_BYTES);
    if (!map || !(map->flags & CAIRN_MAP_EXEC) || !words || !(words->flags & CAIRN_MAP_WRITE) ||
        words->end - words->start < ROOM || words->start > room_va + CODE_BYTES ||
        cairn_target_read(foothold->target, room_va, code, wanted.size, NULL) < 0 ||
        memcmp(code, wanted.data, wanted.size) != 0)
        return false;
    foothold->thread.call_va = foothold->code_va = room_va;
    foothold->page_va = room_va + CODE_BYTES;
    foothold->keeps_room = true;
    return true;
}

int cairn_foothold_open(const struct cairn_target_process *target, uint64_t room_va,
                        struct cairn_foothold *ret_foothold, struct cairn_err *err)
{
    struct cairn_foothold foothold = {.target = target, .socket = -1, .their_socket = -1};
    struct cairn_hurry hurry;
    int result = cairn_filters_are_there(target->pid, &foothold.is_exempt, err);
    if (result < 0)
        return result;
    cairn_hurry_begin(&hurry);
    result = take_any_thread(&foothold, err);
    cairn_hurry_end(&hurry);
    if (result == CAIRN_OK && !(room_va && take_room(&foothold, room_va)))
        result = make_room(&foothold, err);
    if (result < 0 && foothold.thread.tid)
        cairn_foothold_close(&foothold, NULL);
    if (result == CAIRN_OK)
        *ret_foothold = foothold;
    return result;
}

int cairn_foothold_close_fd(struct cairn_foothold *foothold, int their_fd, struct cairn_err *err)
{
    const uint64_t args[CAIRN_CALL_ARGS] = {(uint64_t)their_fd};
    uint64_t ignored;
    return cairn_foothold_call(foothold, "cannot close a descriptor", SYS_close, args, &ignored,
                               err);
}

static int close_sockets(struct cairn_foothold *foothold, struct cairn_err *err)
{
    int result = CAIRN_OK;
    if (foothold->socket >= 0)
        close(foothold->socket);
    if (foothold->their_socket >= 0)
        result = cairn_foothold_close_fd(foothold, foothold->their_socket, err);
    foothold->socket = foothold->their_socket = -1;
    return result;
}

/* It cannot unmap what it stands on and go on: so it makes its last calls where the program has the
 * instruction. */
int cairn_foothold_close(struct cairn_foothold *foothold, struct cairn_err *err)
{
    if (!foothold->thread.tid)
        return CAIRN_OK;
    int result = close_sockets(foothold, err);
    if (!foothold->keeps_room)
        foothold->thread.call_va = foothold->target->call_va;
    if (foothold->code_va && !foothold->keeps_room && result == CAIRN_OK)
        result = cairn_foothold_unmap(foothold, foothold->code_va, CODE_BYTES + ROOM, err);
    int end = cairn_hold_exit(&foothold->thread, result < 0 ? NULL : err);
    foothold->thread.tid = 0;
    return result < 0 ? result : end;
}

/* A thread that our thread makes: none of the program's is held for it. */
static int make_worker(struct cairn_foothold *foothold, struct cairn_stilled *ret_worker,
                       struct cairn_err *err)
{
    const struct cairn_stilled *ours = &foothold->thread;
    struct cairn_stilled worker = {.pid = ours->pid, .call_va = ours->call_va};
    int result = clone_thread(&foothold->thread, &worker.tid, err);
    if (result == CAIRN_OK)
        result = find_newborn(worker.pid, &worker.tid, err);
    if (result == CAIRN_OK)
        result = cairn_hold_adopt(&worker, err);
    if (result == CAIRN_OK)
        *ret_worker = worker;
    return result;
}

int cairn_foothold_run(struct cairn_foothold *foothold, uint64_t fn_va, uint64_t arg,
                       int timeout_ms, int *ret_value, struct cairn_err *err)
{
    const struct cairn_cpu_entry entry = {.va = fn_va,
                                          .arg = arg,
                                          .sp = foothold->page_va + STACK_END - 8,
                                          .back = foothold->code_va + cairn_cpu_return_at,
                                          .thread_pointer = foothold->page_va + POINTED_AT};
    int result = close_sockets(foothold, err);
    if (result == CAIRN_OK)
        result =
            cairn_target_write(foothold->target, entry.sp, &entry.back, sizeof entry.back, err);
    /* The word there is the pointer itself (x86-64 psABI, variant II). */
    if (result == CAIRN_OK)
        result = cairn_target_write(foothold->target, entry.thread_pointer, &entry.thread_pointer,
                                    sizeof entry.thread_pointer, err);
    if (result < 0)
        return result;
    foothold->keeps_room = true;
    struct cairn_stilled worker;
    result = make_worker(foothold, &worker, err);
    if (result < 0)
        return result;
    result = cairn_hold_run(&worker, &entry, timeout_ms, ret_value, err);
    if (result == CAIRN_E_FORMAT) /* it stands at its fault */
        cairn_hold_exit(&worker, NULL);
    return result;
}
