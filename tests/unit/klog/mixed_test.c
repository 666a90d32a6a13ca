/* SPDX-License-Identifier: MIT */
/*
 * 10,000 interleavings of known dumps, from a seed: each is taken apart, or marked. A dump without
 * a mark must be the one that was printed, frame by frame.
 */
#include "support/klog_dumps.h"

enum { RUNS = 10000, DUMPS_MAX = 6, CHAINS = 4, STACKS = 5, FRAMES_MAX = 12 };

struct printed {
    int pid, chain, stack;
    size_t at, n; /* lines that are out, and all */
};

struct run {
    uint64_t random;
    struct printed dumps[DUMPS_MAX];
    size_t n;
    int seen[DUMPS_MAX];
    size_t n_exact, n_marked, n_whose;
    unsigned number;
    bool knows_chains;
};

static uint32_t roll(struct run *run, uint32_t n)
{
    run->random ^= run->random << 13;
    run->random ^= run->random >> 7;
    run->random ^= run->random << 17;
    return (uint32_t)(run->random >> 20) % n;
}

/* Kernel frames of a chain: some share their first frames, lengths differ; all end at the entry. */
static const char *kernel_frame(int chain, size_t i)
{
    static const char *const chains[CHAINS][8] = {
        {"dump+0x1/0x2", "ks_open+0x1/0x2", "vfs_open+0x1/0x2", "entry_SYSCALL_64+0x6e/0xd8"},
        {"dump+0x1/0x2", "ks_ioctl+0x1/0x2", "entry_SYSCALL_64+0x6e/0xd8"},
        {"dump+0x1/0x2", "ks_open+0x1/0x2", "chrdev+0x3/0x4", "path+0x1/0x2",
         "entry_SYSCALL_64+0x6e/0xd8"},
        {"dump+0x1/0x2", "pre+0x1/0x2", "vfs_open+0x1/0x2", "vfs_open+0x1/0x2", "path+0x1/0x2",
         "entry_SYSCALL_64+0x6e/0xd8"},
    };
    return i < 8 ? chains[chain][i] : NULL;
}

static size_t n_kernel(int chain)
{
    size_t n = 0;
    while (kernel_frame(chain, n))
        n++;
    return n;
}

static size_t n_user(int stack)
{
    static const size_t n[STACKS] = {1, 3, 3, 7, FRAMES_MAX};
    return n[stack];
}

/* Stacks 1 and 2 differ in their second frame alone. */
static uint64_t user_frame(int stack, size_t i)
{
    uint64_t va = UINT64_C(0x7f0000001000) + i * 0x10;
    return i == 1 || stack > 2 ? va + (uint64_t)stack * 0x10000 : va;
}

static size_t n_lines(const struct printed *dump)
{
    return 3 + n_kernel(dump->chain) + n_user(dump->stack);
}

static void put_line(struct cairn_buffer *log, struct printed *dump)
{
    size_t i = dump->at++, n = n_kernel(dump->chain);
    if (i == 0)
        cairn_buffer_printf(log, "t: pid=%d comm=x\n", dump->pid);
    else if (i == 1)
        cairn_buffer_str(log, "t: kernel backtrace:\n");
    else if (i - 2 < n)
        cairn_buffer_printf(log, "t:   [k%02zu] %s\n", i - 2, kernel_frame(dump->chain, i - 2));
    else if (i - 2 == n)
        cairn_buffer_str(log, "t: user backtrace (raw user PCs):\n");
    else
        cairn_buffer_printf(log, "t:   [u%02zu] 0x%016llx\n", i - 3 - n,
                            (unsigned long long)user_frame(dump->stack, i - 3 - n));
}

static bool is_frame(const struct printed *dump, const struct cairn_klog_frame *frame, size_t i)
{
    size_t n = n_kernel(dump->chain);
    if (i < n)
        return frame->part == CAIRN_KLOG_KERNEL &&
               strcmp(frame->text, kernel_frame(dump->chain, i)) == 0;
    return frame->part == CAIRN_KLOG_USER && i - n < n_user(dump->stack) &&
           frame->va == user_frame(dump->stack, i - n);
}

static bool is_whole(const struct printed *printed, const struct cairn_klog_dump *dump)
{
    bool same = dump->n_frames == n_kernel(printed->chain) + n_user(printed->stack);
    for (size_t i = 0; i < dump->n_frames && same; i++)
        same = is_frame(printed, &dump->frames[i], i);
    return same;
}

static bool is_prefix(const struct printed *printed, const struct cairn_klog_dump *dump)
{
    for (size_t i = 0; i < dump->n_frames; i++) {
        if (dump->frames[i].marks & CAIRN_KLOG_MAYBE)
            return true; /* from here on it may be another's, and says so */
        if (!is_frame(printed, &dump->frames[i], i))
            return false;
    }
    return true;
}

/* Is the dump, of which it is unknown whose it is, one of those that it may be? */
static bool is_one_of(const struct run *run, const struct cairn_klog_dump *dump)
{
    for (size_t k = 0; k < run->n; k++) {
        const struct printed *printed = &run->dumps[k];
        bool named = printed->pid == dump->pid;
        for (size_t i = 0; i < dump->n_others && i < CAIRN_KLOG_OTHERS_MAX; i++)
            named = named || dump->others[i] == printed->pid;
        if (named && (dump->is_mixed || dump->is_open_ended ? is_prefix(printed, dump)
                                                            : is_whole(printed, dump)))
            return true;
    }
    return false;
}

static bool has_maybe(const struct cairn_klog_dump *dump)
{
    for (size_t i = 0; i < dump->n_frames; i++)
        if (dump->frames[i].marks & CAIRN_KLOG_MAYBE)
            return true;
    return false;
}

static int check_dump(void *ctx, const struct cairn_klog_dump *dump)
{
    struct run *run = ctx;
    size_t k = 0;
    if (dump->pid == 1)
        return 0;
    while (k < run->n && (run->dumps[k].pid != dump->pid || run->seen[k]))
        k++;
    if (k == run->n || dump->is_headless)
        fail_msg("run %u: a dump of pid %d that was not printed", run->number, dump->pid);
    run->seen[k] = 1;
    bool is_marked = dump->is_mixed || dump->is_open_ended || has_maybe(dump);
    if (dump->is_whose ? !(has_maybe(dump) || is_one_of(run, dump))
        : is_marked    ? !is_prefix(&run->dumps[k], dump)
                       : !is_whole(&run->dumps[k], dump))
        fail_msg("run %u: the dump of pid %d is mixed with another, %s", run->number, dump->pid,
                 dump->is_whose ? "though it says of which"
                 : is_marked    ? "before its mark"
                                : "without a mark");
    run->n_exact += !is_marked && !dump->is_whose;
    run->n_whose += dump->is_whose && !is_marked;
    run->n_marked += is_marked;
    return 0;
}

/* How the scheduler mixes them: line by line, or in bursts. */
static void print_mixed(struct run *run, struct cairn_buffer *log)
{
    uint32_t burst = 1 + roll(run, 8);
    size_t left = 0;
    for (size_t i = 0; i < run->n; i++)
        left += run->dumps[i].n;
    while (left) {
        struct printed *dump = &run->dumps[roll(run, (uint32_t)run->n)];
        for (uint32_t i = roll(run, burst) + 1; i > 0 && dump->at < dump->n; i--, left--)
            put_line(log, dump);
    }
}

/* Every chain once, by itself: in most logs dumps are alone most of the time. */
static void feed_known(struct cairn_klog *klog)
{
    struct cairn_buffer log = {0};
    struct cairn_err err;
    for (int i = 0; i < CHAINS; i++) {
        struct printed known = {.pid = 1, .chain = i};
        for (known.n = n_lines(&known); known.at < known.n;)
            put_line(&log, &known);
    }
    assert_int_equal(cairn_klog_feed(klog, log.data, log.size, &err), CAIRN_OK);
    assert_int_equal(cairn_klog_flush(klog, &err), CAIRN_OK);
    cairn_buffer_done(&log);
}

static void read_run(struct run *run, const struct cairn_buffer *log)
{
    struct cairn_klog *klog;
    struct cairn_err err;
    assert_int_equal(cairn_klog_new(check_dump, run, &klog, &err), CAIRN_OK);
    if (run->knows_chains)
        feed_known(klog);
    assert_int_equal(cairn_klog_feed(klog, log->data, log->size, &err), CAIRN_OK);
    assert_int_equal(cairn_klog_flush(klog, &err), CAIRN_OK);
    cairn_klog_free(klog);
    for (size_t i = 0; i < run->n; i++)
        if (!run->seen[i])
            fail_msg("run %u: the dump of pid %d is lost", run->number, run->dumps[i].pid);
}

static void mix(bool knows_chains)
{
    struct run run = {.random = UINT64_C(0x1234567), .knows_chains = knows_chains};
    struct cairn_buffer log = {0};
    for (run.number = 0; run.number < RUNS; run.number++) {
        run.n = 1 + roll(&run, DUMPS_MAX);
        memset(run.seen, 0, sizeof run.seen);
        for (size_t i = 0; i < run.n; i++) {
            run.dumps[i] = (struct printed){.pid = 100 + (int)i,
                                            .chain = (int)roll(&run, CHAINS),
                                            .stack = (int)roll(&run, STACKS)};
            run.dumps[i].n = n_lines(&run.dumps[i]);
        }
        cairn_buffer_clear(&log);
        print_mixed(&run, &log);
        read_run(&run, &log);
    }
    print_message("%zu exact, %zu of one of several threads, %zu marked\n", run.n_exact,
                  run.n_whose, run.n_marked);
    assert_true(run.n_exact > RUNS / 4);
    cairn_buffer_done(&log);
}

static void mixed_dumps_are_taken_apart_or_marked(void **state)
{
    (void)state;
    mix(false);
}

static void the_same_with_known_chains(void **state)
{
    (void)state;
    mix(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mixed_dumps_are_taken_apart_or_marked),
        cmocka_unit_test(the_same_with_known_chains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
