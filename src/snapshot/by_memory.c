/* SPDX-License-Identifier: MIT */
/*
 * A thread that sleeps in the kernel says with which stack pointer it went there. What it had in
 * its other registers is not told, and most stacks do not need it: the C library's system calls
 * keep their frames by the stack pointer.
 *
 *     place ──► copy of the stack ──► place again: the same, and no CPU time used? then it is whole
 */
#include "base/error.h"
#include "snapshot/way.h"

enum { TRIES = 3 };

/* DWARF's numbers of the stack pointer; the psABI of each CPU. */
static int sp_of(uint32_t machine)
{
    enum { I386 = 3, ARM = 40, X86_64 = 62, AARCH64 = 183 };
    switch (machine) {
    case I386:
        return 4;
    case ARM:
        return 13;
    case X86_64:
        return 7;
    case AARCH64:
        return 31;
    default:
        return -1;
    }
}

int cairn_catch_by_memory(struct cairn_catcher *catcher, struct cairn_caught *thread, size_t want,
                          struct cairn_err *err)
{
    int tid = thread->facts.tid, sp = sp_of(catcher->machine);
    struct cairn_thread_place before, after;
    if (sp < 0)
        return cairn_fail(err, CAIRN_E_SUPPORT, "thread %d: of a CPU that is not known here", tid);
    int code = cairn_place_read(catcher->pid, tid, &after, err);
    for (int i = 0; code == CAIRN_OK && i < TRIES; i++) {
        before = after;
        if (!before.known)
            return cairn_fail(err, CAIRN_E_SUPPORT,
                              "thread %d: runs, and is not read without a stop", tid);
        thread->regs = (struct cairn_cursor_regs){
            .machine = catcher->machine, .ip = before.ip, .known = 1ull << sp};
        thread->regs.reg[sp] = before.sp;
        if (!cairn_caught_copy(catcher, thread, want))
            return cairn_fail_memory(err);
        cairn_caught_kernel(catcher, thread);
        code = cairn_place_read(catcher->pid, tid, &after, err);
        if (code == CAIRN_OK && cairn_place_same(&before, &after)) {
            thread->facts.place = after;
            return CAIRN_OK;
        }
    }
    if (code < 0)
        return code;
    return cairn_fail(err, CAIRN_E_LIMIT, "thread %d: it ran each time it was read", tid);
}
