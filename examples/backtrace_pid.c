/* SPDX-License-Identifier: MIT */
/* Prints the stack of a process's main thread, which stops for a moment; not even libc of it needs
 * frame pointers or debug information.
 * cc -g backtrace_pid.c $(pkg-config --cflags --libs cairn); ./a.out PID */
#include <stdio.h>
#include <stdlib.h>

#include <cairn/unwind.h>

static void print(struct cairn_cursor *cursor, int number)
{
    struct cairn_cursor_frame frame;
    char name[256] = "?";
    uint64_t offset = 0;
    cairn_cursor_frame(cursor, &frame);
    cairn_cursor_proc_name(cursor, name, sizeof name, &offset);
    printf("#%-3d 0x%016llx %s+0x%llx  %s  (%s)\n", number, (unsigned long long)frame.ip, name,
           (unsigned long long)offset, frame.path ? frame.path : "?",
           cairn_frame_how_text(frame.how));
}

int main(int argc, char **argv)
{
    int pid = argc == 2 ? atoi(argv[1]) : 0, number = 0;
    struct cairn_unwind_space *space = NULL;
    struct cairn_cursor_regs regs;
    struct cairn_cursor cursor;
    struct cairn_err err = {CAIRN_E_ARG, 0, "usage: backtrace_pid PID", ""};
    int ok = pid > 0 && cairn_unwind_space_open_pid(pid, NULL, &space, &err) == CAIRN_OK &&
             cairn_unwind_hold(space, pid, 1000, &err) == CAIRN_OK &&
             cairn_unwind_thread_regs(space, pid, &regs, &err) == CAIRN_OK &&
             cairn_cursor_init(&cursor, space, &regs, &err) == CAIRN_OK;
    for (int more = ok; more; more = cairn_cursor_step(&cursor))
        print(&cursor, number++);
    printf("%s\n", ok ? cairn_unwind_end_text((int)cairn_cursor_end(&cursor)) : err.msg);
    cairn_unwind_space_free(space);
    return !ok;
}
