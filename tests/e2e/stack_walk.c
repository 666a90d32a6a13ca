/* SPDX-License-Identifier: MIT */
/*
 * For the scripts beside it: all stacks of a process or a core file, one line a frame:
 *
 *     stack_walk PID|CORE [ROOT]
 *     thread TID
 *     NUMBER ADDRESS HOW NAME+OFFSET PATH
 *     end REASON
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/unwind.h>

enum { THREADS_MAX = 4096 };

static void print_frame(struct cairn_cursor *cursor, int number)
{
    struct cairn_cursor_frame frame;
    char name[512] = "?";
    uint64_t offset = 0;
    cairn_cursor_frame(cursor, &frame);
    (void)cairn_cursor_proc_name(cursor, name, sizeof name, &offset);
    printf("%d %llx %s %s+0x%llx %s\n", number, (unsigned long long)frame.ip,
           cairn_frame_how_text(frame.how), name, (unsigned long long)offset,
           frame.path ? frame.path : "?");
}

static int print_thread(struct cairn_unwind_space *space, int tid)
{
    struct cairn_err err = {CAIRN_OK, 0, "", ""};
    struct cairn_cursor_regs regs;
    struct cairn_cursor cursor;
    int number = 0;
    printf("thread %d\n", tid);
    if (cairn_unwind_hold(space, tid, 2000, &err) < 0 ||
        cairn_unwind_thread_regs(space, tid, &regs, &err) < 0 ||
        cairn_cursor_init(&cursor, space, &regs, &err) < 0) {
        printf("end %s\n", err.msg);
        return 1;
    }
    do
        print_frame(&cursor, number++);
    while (cairn_cursor_step(&cursor));
    printf("end %s\n", cairn_unwind_end_text((int)cairn_cursor_end(&cursor)));
    cairn_unwind_release(space, tid);
    return 0;
}

int main(int argc, char **argv)
{
    struct cairn_unwind_opts opts = {sizeof opts, argc > 2 ? argv[2] : NULL, NULL, 0, NULL};
    struct cairn_unwind_space *space = NULL;
    struct cairn_err err = {CAIRN_E_ARG, 0, "usage: stack_walk PID|CORE [ROOT]", ""};
    static int tids[THREADS_MAX];
    size_t n = 0;
    int code = CAIRN_E_ARG, failed = 0;
    if (argc > 1 && strspn(argv[1], "0123456789") == strlen(argv[1]))
        code = cairn_unwind_space_open_pid(atoi(argv[1]), &opts, &space, &err);
    else if (argc > 1)
        code = cairn_unwind_space_open_core(argv[1], &opts, &space, &err);
    if (code == CAIRN_OK)
        code = cairn_unwind_threads(space, tids, THREADS_MAX, &n, &err);
    if (code < 0)
        fprintf(stderr, "stack_walk: %s\n", err.msg);
    for (size_t i = 0; i < n && i < THREADS_MAX; i++)
        failed |= print_thread(space, tids[i]);
    cairn_unwind_space_free(space);
    return code < 0 || failed;
}
