/* SPDX-License-Identifier: MIT */
/*
 * For the scripts beside it: all stacks of a process or a core file, one line a frame:
 *
 *     stack_walk PID|CORE [ROOT [PROGRAM]]
 *     thread TID
 *     NUMBER ADDRESS HOW NAME+OFFSET PATH
 *     end REASON
 *
 * Each stack is walked twice more, with tables of all modules: once for its frames alone, once
 * asking for registers now and then; a frame or a register that differs fails.
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

struct kept {
    struct cairn_cursor_frame frame;
    uint64_t known, regs[CAIRN_UNWIND_REGS];
};

/* The frame that the cursor stands at; its registers too, if `all`. */
static void keep(struct cairn_cursor *cursor, int all, struct kept *ret)
{
    memset(ret, 0, sizeof *ret);
    cairn_cursor_frame(cursor, &ret->frame);
    for (unsigned i = 0; all && i < CAIRN_UNWIND_REGS; i++)
        if (cairn_cursor_get_reg(cursor, i, &ret->regs[i]) == CAIRN_OK)
            ret->known |= 1ull << i;
}

static int is_same(const struct kept *a, const struct kept *b, int all)
{
    return a->frame.ip == b->frame.ip && a->frame.sp == b->frame.sp &&
           a->frame.how == b->frame.how && a->frame.exact == b->frame.exact &&
           a->frame.signal == b->frame.signal &&
           (!all || (a->known == b->known && !memcmp(a->regs, b->regs, sizeof a->regs)));
}

/* By rows: who asks for all registers gets them so. */
static size_t walk_by_rows(struct cairn_unwind_space *space, const struct cairn_cursor_regs *regs,
                           struct kept *frames, enum cairn_unwind_end *ret_end)
{
    struct cairn_cursor cursor;
    size_t n = 0;
    *ret_end = CAIRN_END_BUSY;
    if (cairn_cursor_init(&cursor, space, regs, NULL) < 0)
        return 0;
    do
        keep(&cursor, 1, &frames[n++]);
    while (cairn_cursor_step(&cursor));
    *ret_end = cairn_cursor_end(&cursor);
    return n;
}

/* `every`: how often registers are asked for; 0: never. */
static int differs(struct cairn_unwind_space *space, const struct cairn_cursor_regs *regs,
                   const struct kept *frames, size_t n, enum cairn_unwind_end end, size_t every)
{
    struct cairn_cursor cursor;
    struct kept now;
    size_t i = 0;
    if (cairn_cursor_init(&cursor, space, regs, NULL) < 0)
        return 1;
    do {
        int all = every && i % every == every - 1;
        keep(&cursor, all, &now);
        if (i == n || !is_same(&frames[i], &now, all)) {
            printf("differs frame %zu of %zu: 0x%llx, registers %d\n", i, n,
                   (unsigned long long)now.frame.ip, all);
            return 1;
        }
        i++;
    } while (cairn_cursor_step(&cursor));
    if (i == n && cairn_cursor_end(&cursor) == end)
        return 0;
    printf("differs end after %zu of %zu: %s\n", i, n,
           cairn_unwind_end_text((int)cairn_cursor_end(&cursor)));
    return 1;
}

static int check_tables(struct cairn_unwind_space *space, const struct cairn_cursor_regs *regs)
{
    static struct kept frames[CAIRN_MAX_FRAMES];
    enum cairn_unwind_end end;
    size_t n = walk_by_rows(space, regs, frames, &end);
    if (cairn_unwind_space_load(space, NULL) < 0)
        return 1;
    return differs(space, regs, frames, n, end, 0) || differs(space, regs, frames, n, end, 7);
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
    int code = check_tables(space, &regs);
    cairn_unwind_release(space, tid);
    return code;
}

int main(int argc, char **argv)
{
    struct cairn_unwind_opts opts = {.size = sizeof opts,
                                     .root = argc > 2 ? argv[2] : NULL,
                                     .program = argc > 3 ? argv[3] : NULL};
    struct cairn_unwind_space *space = NULL;
    struct cairn_err err = {CAIRN_E_ARG, 0, "usage: stack_walk PID|CORE [ROOT [PROGRAM]]", ""};
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
