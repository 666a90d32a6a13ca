/* SPDX-License-Identifier: MIT */
/*
 * Hook all: what memory_tracker.c asks where the tracker comes before the program's malloc, and so
 * tracks all of it. In libcairn-heap alone.
 */
#include <stdlib.h>

#include "heap/choice.h"
#include "heap/real.h"

void cairn_heap_make_ready(void)
{
}

/* Does the program call ours? Not compared as names, which clang takes to be different. */
bool cairn_heap_is_asked(void)
{
    void *(*volatile asked)(size_t) = malloc;
    return asked == cairn_heap_our_malloc;
}

int cairn_heap_choose(const char *const *libraries, size_t n, const char **ret_said)
{
    (void)libraries;
    (void)n;
    (void)ret_said;
    return MEMORY_TRACKER_E_SUPPORT;
}

int cairn_heap_unchoose(const char *const *libraries, size_t n)
{
    (void)libraries;
    (void)n;
    return MEMORY_TRACKER_E_SUPPORT;
}
