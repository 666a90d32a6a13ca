/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/local_stack.h"

#include "rt/self.h"
#include "rt/thread.h"

static uintptr_t page_of(uintptr_t va)
{
    return va & ~(uintptr_t)(CAIRN_LOCAL_PAGE - 1);
}

/* All pages of [from, to), which are page addresses? */
static bool is_readable(uintptr_t from, uintptr_t to)
{
    for (uintptr_t page = from; page < to; page += CAIRN_LOCAL_PAGE)
        if (!cairn_self_readable(page))
            return false;
    return true;
}

bool cairn_local_stack_spans(uintptr_t from, uintptr_t to)
{
    return to - from <= (uintptr_t)CAIRN_LOCAL_GROW_PAGES * CAIRN_LOCAL_PAGE &&
           is_readable(page_of(from), page_of(to) + 1);
}

CAIRN_THREAD_BLOCK_ACCESS bool cairn_local_stack_enter(struct cairn_local_stack *stack,
                                                       uintptr_t sp)
{
    if (sp - stack->low < stack->high - stack->low)
        return true;
    uintptr_t page = page_of(sp);
    if (stack->low != stack->high && page < stack->low &&
        stack->low - page <= (uintptr_t)CAIRN_LOCAL_GROW_PAGES * CAIRN_LOCAL_PAGE &&
        is_readable(page, stack->low)) {
        stack->low = page;
        return true;
    }
    stack->low = stack->high = page;
    return false;
}

CAIRN_THREAD_BLOCK_ACCESS bool cairn_local_stack_reach(struct cairn_local_stack *stack,
                                                       uintptr_t end)
{
    while (stack->high < end) {
        if (end - stack->low > (uintptr_t)CAIRN_LOCAL_REACH_PAGES * CAIRN_LOCAL_PAGE ||
            stack->high > UINTPTR_MAX - CAIRN_LOCAL_PAGE || !cairn_self_readable(stack->high))
            return false;
        stack->high += CAIRN_LOCAL_PAGE;
    }
    return true;
}
