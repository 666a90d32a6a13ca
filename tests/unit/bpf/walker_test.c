/* SPDX-License-Identifier: MIT */
#include "bpf/walker.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <cairn/unwind.h>

#include "base/alloc.h"
#include "base/error.h"
#include "support/apart.h"
#include "support/test.h"

enum { BURN_MS = 300, HZ = 1000, FRAME = 256, SHALLOW = 40, DEEP = 400, TOO_DEEP = 3000 };

/* So many of the largest find room: half the ring. */
enum { RING_COPIES = CAIRN_BPF_RING_BYTES / 2 / CAIRN_BPF_COPY_MAX };

/* What came of one run. */
struct seen {
    uint64_t n, n_whole, n_main, n_by_end[CAIRN_ENDS];
    uint64_t n_by_files;
    uint64_t n_burn;   /* as deep as burn() */
    uint64_t n_copies; /* with registers and the top of the stack */
    uint64_t n_equal;  /* of them: whose outer frames the walk of the own thread found, too */
    uintptr_t truth[4096];
    int n_truth;
    const struct cairn_walker *filled; /* it burns until copies have filled that one's ring */
};

static volatile unsigned long sink;

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool is_enough(const struct seen *seen)
{
    struct cairn_walker_stats stats;
    if (!seen->filled)
        return true;
    cairn_walker_stats(seen->filled, &stats);
    return stats.n_samples >= 2 * RING_COPIES;
}

APART static void burn(struct seen *seen)
{
    uint64_t end = now_ms() + BURN_MS;
    seen->n_truth = (int)cairn_unwind_here(seen->truth, 4096, NULL);
    while (now_ms() < end || !is_enough(seen))
        for (unsigned i = 0; i < 20000; i++)
            sink += i;
}

APART static int dive(struct seen *seen, int depth)
{
    volatile char frame[FRAME];
    frame[0] = (char)depth;
    asm volatile("" : : "r"(frame) : "memory"); /* clang keeps of it what is used */
    if (depth == 0)
        burn(seen);
    else
        frame[0] = (char)(frame[0] + dive(seen, depth - 1));
    return frame[0];
}

static int on_stack(void *ctx, const struct cairn_bpf_stack *stack, const uint64_t *frames)
{
    struct seen *seen = ctx;
    seen->n++;
    seen->n_by_end[stack->end % CAIRN_ENDS]++;
    struct cairn_cursor_regs regs;
    struct cairn_span bytes;
    if (cairn_walker_copy(stack, &regs, &bytes)) /* ASan may keep frame[] elsewhere */
        seen->n_copies += regs.ip == frames[0] && bytes.size >= SHALLOW * 2 * sizeof(void *);
    seen->n_by_files += stack->id >= CAIRN_BPF_ID_BY_FILES;
    seen->n_whole += stack->end == CAIRN_END_OUTERMOST;
    /* from the outermost frame on; the one of burn() differs */
    int n = 0;
    while (n < stack->n && n < seen->n_truth &&
           (frames[stack->n - 1 - n] & ~CAIRN_BPF_BY_FP) == seen->truth[seen->n_truth - 1 - n])
        n++;
    bool is_burn = stack->n >= seen->n_truth;
    seen->n_burn += is_burn;
    seen->n_equal += is_burn && n >= seen->n_truth - 1;
    return CAIRN_OK;
}

/* Of a walker that tells each sample. */
struct told {
    uint64_t n_new, n_again, hash, last_ns;
};

static int on_told(void *ctx, const struct cairn_bpf_stack *stack, const uint64_t *frames)
{
    struct told *told = ctx;
    (void)frames;
    if (stack->what == CAIRN_BPF_AGAIN) {
        assert_int_equal(stack->n + stack->n_kernel, 0);
        told->n_again++;
    } else {
        told->n_new++;
    }
    assert_true(stack->time_ns > told->last_ns || told->last_ns == 0);
    told->last_ns = stack->time_ns;
    return CAIRN_OK;
}

static int on_count(void *ctx, const struct cairn_bpf_count *key, const struct cairn_bpf_sum *sums)
{
    uint64_t *sum = ctx;
    (void)key;
    *sum += sums->n;
    return CAIRN_OK;
}

static int on_forget(void *ctx, const struct cairn_bpf_count *key, const struct cairn_bpf_sum *sum)
{
    uint64_t *n = ctx;
    (void)key, (void)sum;
    ++*n;
    return CAIRN_WALKER_FORGET;
}

static struct cairn_walker *walker_or_skip(void)
{
    struct cairn_walker *walker;
    struct cairn_err err;
    int code = cairn_walker_new(NULL, &walker, &err);
    if (code == CAIRN_OK)
        return walker;
    print_message("skipped: %s\n", err.msg);
    assert_true(code == CAIRN_E_ACCESS || code == CAIRN_E_SUPPORT);
    skip();
    return NULL;
}

/* A build without the walker has stand-ins for its functions; no rights are needed. */
static void skip_without_walker(void)
{
    struct cairn_walker *walker = NULL;
    struct cairn_err err;
    int code = cairn_walker_new(NULL, &walker, &err);
    if (code == CAIRN_OK)
        cairn_walker_free(walker);
    if (code != CAIRN_E_SUPPORT)
        return;
    print_message("skipped: %s\n", err.msg);
    skip();
}

static int open_event(void)
{
    struct perf_event_attr attr = {.size = sizeof attr,
                                   .type = PERF_TYPE_SOFTWARE,
                                   .config = PERF_COUNT_SW_CPU_CLOCK,
                                   .freq = 1,
                                   .sample_freq = HZ,
                                   .disabled = 1,
                                   .sample_type = PERF_SAMPLE_IP};
    return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* What is called while it is sampled is bound before: ld.so's _dl_runtime_resolve() has its CFA in
 * rbx, which no rule of a table can say. */
static void bind_calls(struct seen *seen)
{
    (void)now_ms();
    ioctl(-1, PERF_EVENT_IOC_DISABLE, 0);
    (void)cairn_unwind_here(seen->truth, 4096, NULL);
}

static void sample(struct cairn_walker *walker, struct seen *seen, int depth, bool look)
{
    struct cairn_walker_stats before, after;
    uint64_t counted = 0;
    bool is_full;
    int fd = open_event();
    assert_true(fd >= 0);
    bind_calls(seen);
    if (look)
        cairn_walker_look(walker, getpid(), true);
    cairn_walker_stats(walker, &before);
    assert_int_equal(cairn_walker_attach(walker, fd, (int)syscall(SYS_gettid), NULL), CAIRN_OK);
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    dive(seen, depth);
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    close(fd);
    cairn_walker_stats(walker, &after);
    assert_int_equal(cairn_walker_take(walker, on_stack, seen), CAIRN_OK);
    assert_int_equal(cairn_walker_counts(walker, on_count, &counted, &is_full), CAIRN_OK);
    print_message(
        "%llu samples of %d frames: %llu new stacks, %llu counted, %llu whole, %llu equal, "
        "%llu misses, %llu KiB, %llu ns each\n",
        (unsigned long long)(after.n_samples - before.n_samples), seen->n_truth,
        (unsigned long long)seen->n, (unsigned long long)counted, (unsigned long long)seen->n_whole,
        (unsigned long long)seen->n_equal, (unsigned long long)(after.n_misses - before.n_misses),
        (unsigned long long)after.table_bytes / 1024,
        (unsigned long long)(after.n_runs ? after.run_ns / after.n_runs : 0));
    for (unsigned i = 0; i < CAIRN_ENDS; i++)
        if (seen->n_by_end[i])
            print_message("  end %u: %llu\n", i, (unsigned long long)seen->n_by_end[i]);
    assert_int_equal(after.n_lost, before.n_lost);
    assert_true(after.n_samples > before.n_samples);
    assert_int_equal(after.n_samples - before.n_samples, seen->n + counted);
}

static void stacks_are_whole_and_those_of_the_walk_in_user_space(void **state)
{
    (void)state;
    static const int depths[] = {SHALLOW, DEEP};
    for (unsigned i = 0; i < 2; i++) {
        struct cairn_walker *walker = walker_or_skip();
        struct seen *seen = cairn_alloc(1, sizeof *seen);
        sample(walker, seen, depths[i], true);
        assert_true(seen->n_truth > depths[i]);
        assert_true(seen->n > 0);
        assert_true(seen->n_burn > 0);
        assert_int_equal(seen->n_equal, seen->n_burn);
        assert_int_equal(seen->n_whole, seen->n);
        assert_int_equal(seen->n_copies, 0);
        cairn_free(seen);
        cairn_walker_free(walker);
    }
}

static void who_is_not_known_is_cut_and_asked_for(void **state)
{
    (void)state;
    struct cairn_walker *walker = walker_or_skip();
    struct seen *seen = cairn_alloc(1, sizeof *seen);
    sample(walker, seen, SHALLOW, false);
    assert_int_equal(seen->n_by_end[CAIRN_END_NEW] + seen->n_by_end[CAIRN_END_NOT_COPIED],
                     seen->n);       /* 250 copies may fill half the ring */
    assert_true(seen->n_copies > 0); /* others were caught on the way down */
    memset(seen, 0, sizeof *seen);   /* taking the question has answered it */
    struct cairn_walker_stats stats;
    cairn_walker_stats(walker, &stats);
    assert_true(stats.table_bytes > 0);
    cairn_free(seen);
    cairn_walker_free(walker);
}

static void who_could_not_be_copied_any_more_says_so(void **state)
{
    (void)state;
    struct cairn_walker *walker = walker_or_skip();
    struct seen *seen = cairn_alloc(1, sizeof *seen);
    seen->filled = walker;
    sample(walker, seen, DEEP, false); /* takes them in the end */
    assert_true(seen->n_by_end[CAIRN_END_NOT_COPIED] > 0);
    assert_true(seen->n_copies > 0);
    assert_int_equal(seen->n_by_end[CAIRN_END_NEW] + seen->n_by_end[CAIRN_END_NOT_COPIED], seen->n);
    assert_true(seen->n_copies <= seen->n_by_end[CAIRN_END_NEW]);
    cairn_free(seen);
    cairn_walker_free(walker);
}

static bool has_tree_of_mappings(void)
{
    struct utsname name;
    unsigned major = 0, minor = 0;
    assert_int_equal(uname(&name), 0);
    return sscanf(name.release, "%u.%u", &major, &minor) == 2 && major * 100 + minor >= 601;
}

static void whom_nobody_looked_at_is_walked_by_files_that_are_known(void **state)
{
    (void)state;
    if (!has_tree_of_mappings()) {
        print_message("skipped: before Linux 6.1 mappings cannot be asked for\n");
        skip();
    }
    struct cairn_walker *walker = walker_or_skip();
    struct cairn_walker_stats stats;
    struct seen *seen = cairn_alloc(1, sizeof *seen);
    cairn_walker_look(walker, getpid(), true);
    cairn_walker_forget(walker, getpid()); /* as of another process of the same files */
    sample(walker, seen, SHALLOW, false);
    assert_true(seen->n_burn > 0);
    assert_int_equal(seen->n_equal, seen->n_burn);
    assert_int_equal(seen->n_whole, seen->n);
    assert_int_equal(seen->n_copies, 0);
    assert_int_equal(seen->n_by_files, seen->n);
    cairn_walker_stats(walker, &stats);
    assert_true(stats.walks_by_files);
    cairn_free(seen);
    cairn_walker_free(walker);
}

static void too_deep_a_stack_says_so(void **state)
{
    (void)state;
    struct cairn_walker *walker = walker_or_skip();
    struct seen *seen = cairn_alloc(1, sizeof *seen);
    sample(walker, seen, TOO_DEEP, true);
    assert_true(seen->n_by_end[CAIRN_END_MAX_FRAMES] > 0); /* others were caught on the way down */
    assert_true(seen->n_by_end[CAIRN_END_MAX_FRAMES] + seen->n_whole == seen->n);
    cairn_free(seen);
    cairn_walker_free(walker);
}

static void tables_that_find_no_room_say_so(void **state)
{
    (void)state;
    struct cairn_walker_opts opts = {.table_bytes = 1}; /* not one segment */
    struct cairn_walker *walker = walker_or_skip();
    cairn_walker_free(walker);
    assert_int_equal(cairn_walker_new(&opts, &walker, NULL), CAIRN_OK);
    struct seen *seen = cairn_alloc(1, sizeof *seen);
    struct cairn_walker_stats stats;
    sample(walker, seen, SHALLOW, true);
    cairn_walker_stats(walker, &stats);
    assert_true(stats.n_no_room > 0);
    assert_int_equal(seen->n_whole, 0);
    assert_int_equal(seen->n_by_end[CAIRN_END_NO_ROOM], seen->n);
    cairn_free(seen);
    cairn_walker_free(walker);
}

/* Frames beyond what is kept lie in a ring: the last entry is not the last frame. */
static void the_place_of_a_deep_walk_is_that_of_its_outermost_frame(void **state)
{
    (void)state;
    skip_without_walker();
    struct {
        struct cairn_bpf_stack stack;
        uint64_t frames[CAIRN_BPF_FRAMES_MAX];
    } deep = {.stack = {.n = CAIRN_BPF_FRAMES_MAX, .beyond = 10, .id = 7}};
    for (uint32_t i = 0; i < CAIRN_BPF_FRAMES_MAX; i++)
        deep.frames[cairn_bpf_frame_at(10, i)] = (uint64_t)i << CAIRN_BPF_PLACE_SHIFT;
    deep.frames[cairn_bpf_frame_at(10, CAIRN_BPF_FRAMES_MAX - 1)] |= CAIRN_BPF_BY_FP;
    assert_int_equal(cairn_walker_place(&deep.stack).page, CAIRN_BPF_FRAMES_MAX - 1);
    deep.stack.n = 3;
    deep.stack.beyond = 0;
    assert_int_equal(cairn_walker_place(&deep.stack).page, 2);
    deep.stack.n = 0;
    assert_int_equal(cairn_walker_place(&deep.stack).page, 0);
}

static void only_named_processes_are_sampled(void **state)
{
    (void)state;
    struct cairn_walker *walker = walker_or_skip();
    struct cairn_walker_stats before, after;
    struct seen *seen = cairn_alloc(1, sizeof *seen);
    const int pid = getpid(), other = 0x3f000000;
    assert_false(cairn_walker_is_only(walker, pid));
    cairn_walker_only(walker, other, true);
    cairn_walker_only(walker, pid, true);
    assert_true(cairn_walker_is_only(walker, pid));
    sample(walker, seen, SHALLOW, true);
    cairn_walker_only(walker, pid, false);
    assert_false(cairn_walker_is_only(walker, pid));
    assert_true(cairn_walker_is_only(walker, other));
    cairn_walker_stats(walker, &before);
    int fd = open_event();
    assert_int_equal(cairn_walker_attach(walker, fd, (int)syscall(SYS_gettid), NULL), CAIRN_OK);
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    dive(seen, SHALLOW);
    close(fd);
    cairn_walker_stats(walker, &after);
    assert_int_equal(after.n_samples, before.n_samples);
    cairn_free(seen);
    cairn_walker_free(walker);
}

static void with_times_every_sample_is_told_and_none_is_counted(void **state)
{
    (void)state;
    const struct cairn_walker_opts opts = {.has_times = true};
    struct cairn_walker *walker = walker_or_skip();
    struct cairn_walker_stats stats;
    struct told told = {0};
    uint64_t counted = 0;
    bool is_full;
    cairn_walker_free(walker);
    assert_int_equal(cairn_walker_new(&opts, &walker, NULL), CAIRN_OK);
    struct seen *seen = cairn_alloc(1, sizeof *seen);
    int fd = open_event();
    cairn_walker_look(walker, getpid(), true);
    assert_int_equal(cairn_walker_attach(walker, fd, (int)syscall(SYS_gettid), NULL), CAIRN_OK);
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    do {
        dive(seen, SHALLOW);
        cairn_walker_stats(walker, &stats);
    } while (stats.n_samples < HZ / 10);
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    close(fd);
    assert_int_equal(cairn_walker_take(walker, on_told, &told), CAIRN_OK);
    assert_int_equal(cairn_walker_counts(walker, on_count, &counted, &is_full), CAIRN_OK);
    cairn_walker_stats(walker, &stats);
    assert_int_equal(counted, 0);
    assert_int_equal(told.n_new + told.n_again, stats.n_samples);
    assert_true(told.n_again > told.n_new);
    cairn_free(seen);
    cairn_walker_free(walker);
}

static void a_stack_that_is_forgotten_is_new_again(void **state)
{
    (void)state;
    struct cairn_walker *walker = walker_or_skip();
    struct seen *seen = cairn_alloc(1, sizeof *seen);
    uint64_t n_first = 0, n_second = 0;
    bool is_full;
    sample(walker, seen, SHALLOW, true);
    assert_int_equal(cairn_walker_counts(walker, on_forget, &n_first, &is_full), CAIRN_OK);
    assert_true(n_first > 0);
    assert_false(is_full);
    assert_int_equal(cairn_walker_counts(walker, on_forget, &n_second, &is_full), CAIRN_OK);
    assert_int_equal(n_second, 0);
    memset(seen, 0, sizeof *seen);
    sample(walker, seen, SHALLOW, true);
    assert_true(seen->n > 0);
    cairn_free(seen);
    cairn_walker_free(walker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacks_are_whole_and_those_of_the_walk_in_user_space),
        cmocka_unit_test(who_is_not_known_is_cut_and_asked_for),
        cmocka_unit_test(who_could_not_be_copied_any_more_says_so),
        cmocka_unit_test(whom_nobody_looked_at_is_walked_by_files_that_are_known),
        cmocka_unit_test(the_place_of_a_deep_walk_is_that_of_its_outermost_frame),
        cmocka_unit_test(only_named_processes_are_sampled),
        cmocka_unit_test(too_deep_a_stack_says_so),
        cmocka_unit_test(tables_that_find_no_room_say_so),
        cmocka_unit_test(a_stack_that_is_forgotten_is_new_again),
        cmocka_unit_test(with_times_every_sample_is_told_and_none_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
