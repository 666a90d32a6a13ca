/* SPDX-License-Identifier: MIT */
/* Says what a part of the program allocated and left behind. With the tracker linked in:
 *     cc -g memory_tracker.c $(pkg-config --cflags --libs cairn-heap); ./a.out
 * or built once, with cairn instead of cairn-heap, and run with it or without:
 *     LD_PRELOAD=libcairn-heap.so ./a.out */
#include <memory_tracker.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *volatile copies[3];

static void load(void)
{
    for (int i = 0; i < 3; i++) {
        copies[i] = malloc(64);
        snprintf(copies[i], 64, "copy %d", i);
    }
    free(copies[1]);
}

int main(void)
{
    struct memory_stats stats;
    int code = memory_tracker_init(false, true);
    memory_tracker_reset_stats();
    load();
    if (code < 0 || (code = memory_tracker_get_stats(&stats)) < 0) {
        puts(memory_tracker_strerror(code));
        return 0; /* the program does its work all the same */
    }
    char *report = memory_tracker_get_leak_report();
    printf("%llu allocations, %llu frees\n%s", (unsigned long long)stats.total_allocations,
           (unsigned long long)stats.total_frees, report ? report : "out of memory\n");
    free(report);
    return 0;
}
