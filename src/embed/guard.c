/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "embed/guard.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "embed/embed.h"
#include "rt/mine.h"
#include "rt/pages.h"

enum {
    CLEANUP_PHASE = 2, /* _UA_CLEANUP_PHASE */
    CONTINUE = 8,      /* _URC_CONTINUE_UNWIND */
    /* Frames below the present one, and no further away, were left by longjmp(3); those further
     * away are of another stack: a signal handler's, a coroutine's. */
    OF_STACK_BYTES = 1 << 16
};

static struct cairn_embed_guard_frame *innermost(struct cairn_mine *mine)
{
    return (struct cairn_embed_guard_frame *)mine->guard; // NOLINT: a number in rt/mine.h
}

static bool was_left(const struct cairn_embed_guard_frame *frame,
                     const struct cairn_embed_guard_frame *now)
{
    return (uintptr_t)now - (uintptr_t)frame < OF_STACK_BYTES;
}

/* Arguments near the upper end of a stack: the next page may be missing. */
static long count_arguments(const void *arguments)
{
    const uintptr_t at = (uintptr_t)arguments, page = cairn_pages_size();
    const uintptr_t next = ((at - 1) | (page - 1)) + 1; /* the return address is before */
    if (next - at >= CAIRN_EMBED_STACK_BYTES)
        return CAIRN_EMBED_STACK_BYTES;
    const int saved = errno;
    unsigned char is_in_memory;
    const bool is_mapped = syscall(SYS_mincore, next, page, &is_in_memory) == 0;
    errno = saved;
    return is_mapped ? CAIRN_EMBED_STACK_BYTES : (long)(next - at);
}

long cairn_embed_guard_enter(struct cairn_embed_guard_frame *frame, const void *arguments)
{
    struct cairn_mine *mine = cairn_mine();
    frame->gate = (void *)(uintptr_t)frame->hook->original_va;
    frame->replacement = frame->hook->replacement;
    if (cairn_mine_is_none(mine))
        return CAIRN_EMBED_INSIDE;
    while (mine->guard && was_left(innermost(mine), frame))
        mine->guard = (uintptr_t)innermost(mine)->outer;
    for (const struct cairn_embed_guard_frame *at = innermost(mine); at; at = at->outer)
        if (at->hook == frame->hook && at->replacement == frame->replacement)
            return CAIRN_EMBED_INSIDE;
    frame->outer = innermost(mine);
    mine->guard = (uintptr_t)frame;
    return count_arguments(arguments);
}

/* It need not be the innermost one: a coroutine may have entered since, and left or not. Of a list
 * that does not have it, an enter took it out. */
void cairn_embed_guard_leave(struct cairn_embed_guard_frame *frame)
{
    struct cairn_mine *mine = cairn_mine();
    if (innermost(mine) == frame) {
        mine->guard = (uintptr_t)frame->outer;
        return;
    }
    for (struct cairn_embed_guard_frame *at = innermost(mine); at; at = at->outer)
        if (at->outer == frame) {
            at->outer = frame->outer;
            return;
        }
}

/* The unwinder goes from the inside out: the frame is the innermost one. */
int cairn_embed_guard_unwind(int version, int actions, uint64_t kind, void *exception,
                             void *context)
{
    struct cairn_mine *mine = cairn_mine();
    (void)version;
    (void)kind;
    (void)exception;
    (void)context;
    if (actions & CLEANUP_PHASE && mine->guard && !cairn_mine_is_none(mine))
        mine->guard = (uintptr_t)innermost(mine)->outer;
    return CONTINUE;
}
