/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/local_memo.h"

#include <string.h>

#include <cairn/unwind.h>

#include "rt/thread.h"
#include "unwind/modules.h"
#include "unwind/unload.h"

enum { BEYOND_BYTES = 128, STACK_BYTES = 1 << 26 };

#define READS_STACK __attribute__((no_sanitize("address", "thread"))) CAIRN_THREAD_BLOCK_ACCESS

/* All words of the stack that lie in [start->sp, end) may be read. */
static bool may_read(struct cairn_local_stack *stack, const struct cairn_local_start *start,
                     uintptr_t end)
{
    return start->sp >= stack->low && start->sp <= stack->high &&
           (end <= stack->high || cairn_local_stack_reach(stack, end));
}

READS_STACK static bool is_same(const struct cairn_local_memo *memo)
{
    const volatile uintptr_t *now = (const volatile uintptr_t *)memo->start.sp;
    size_t n = (memo->end - memo->start.sp) / sizeof(*now);
    const uintptr_t *then = (const uintptr_t *)(const void *)memo->words;
    size_t i = 0;
    while (i < n && now[i] == then[i])
        i++;
    return i == n;
}

CAIRN_THREAD_BLOCK_ACCESS bool cairn_local_memo_has(const struct cairn_local_memo *memo,
                                                    struct cairn_local_stack *stack,
                                                    const struct cairn_local_start *start,
                                                    struct cairn_local_out *out)
{
    if (memo->n == 0 || memo->n >= out->max || memo->start.ret != start->ret ||
        memo->start.sp != start->sp || memo->start.fp != start->fp ||
        memo->generation != atomic_load(&cairn_unload_generation) ||
        !may_read(stack, start, memo->end) || !is_same(memo))
        return false;
    for (uint32_t i = 0; i < memo->n; i++) {
        out->ips[i] = memo->ips[i];
        out->how[i] = memo->how[i];
    }
    out->n = memo->n;
    out->n_guessed = memo->guessed;
    out->end = memo->why;
    return true;
}

/* Code that a program makes may be made anew. */
CAIRN_THREAD_BLOCK_ACCESS static bool is_in_modules(const struct cairn_local_out *out)
{
    struct cairn_local_module module;
    for (size_t i = 0; i < out->n; i++)
        if (!cairn_modules_find(out->ips[i], &module))
            return false;
    return true;
}

/* The end of what the walk hangs on; 0: nobody knows. */
CAIRN_THREAD_BLOCK_ACCESS static uintptr_t end_of_words(const struct cairn_local_stack *stack,
                                                        const struct cairn_local_out *out)
{
    uintptr_t end = out->end_sp, to_fp = out->end_fp - end;
    if (out->end == CAIRN_END_OUTERMOST)
        return end;
    if (out->end != CAIRN_END_NO_RULE || end > stack->high)
        return 0;
    end += stack->high - end < BEYOND_BYTES ? stack->high - end : BEYOND_BYTES;
    /* A frame pointer that leads elsewhere in the stack was looked at there. */
    return to_fp < STACK_BYTES && to_fp + 2 * sizeof(uintptr_t) > end - out->end_sp ? 0 : end;
}

READS_STACK void cairn_local_memo_keep(struct cairn_local_memo *memo,
                                       struct cairn_local_stack *stack,
                                       const struct cairn_local_start *start,
                                       const struct cairn_local_out *out)
{
    uintptr_t end = end_of_words(stack, out), bytes = end - start->sp;
    memo->n = 0;
    if (end < start->sp || bytes > CAIRN_LOCAL_MEMO_BYTES || out->n > CAIRN_LOCAL_MEMO_FRAMES ||
        start->sp % sizeof(uintptr_t) || bytes % sizeof(uintptr_t))
        return;
    memo->generation = atomic_load(&cairn_unload_generation);
    if (!may_read(stack, start, end) || !is_in_modules(out))
        return;
    uintptr_t *words = (uintptr_t *)(void *)memo->words;
    for (size_t i = 0; i < bytes / sizeof(*words); i++)
        words[i] = ((const volatile uintptr_t *)start->sp)[i];
    for (size_t i = 0; i < out->n; i++) {
        memo->ips[i] = out->ips[i];
        memo->how[i] = out->how[i];
    }
    memo->start = *start;
    memo->end = end;
    memo->why = out->end;
    memo->guessed = out->n_guessed;
    memo->n = (uint32_t)out->n;
}
