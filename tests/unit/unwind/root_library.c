/* SPDX-License-Identifier: MIT */
/* A library whose constructor is deep in calls when the program's walk is asked for: the dynamic
 * loader runs it before any code of the program. */
#include <stddef.h>

__attribute__((visibility("default"))) void capture_in_constructor(void); /* of the program */

__attribute__((visibility("default"))) int
    root_library_calls; /* asked for by the program, so that it is linked with this library */

static __attribute__((noinline)) void deep(int n)
{
    volatile char frame[200];
    frame[n] = (char)n;
    if (n)
        deep(n - 1);
    else
        capture_in_constructor();
    root_library_calls += frame[n] == n;
}

__attribute__((constructor)) static void construct(void)
{
    deep(5);
}
