/* SPDX-License-Identifier: MIT */
/* Two libraries whose tables find room one at a time: who is sampled is a child that has one of
 * them, or both, on its stack. */
#include <dlfcn.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "bpf/walker.h"
#include "support/test.h"

enum { HZ = 500, SAMPLES = 10, CODE_BYTES = 64, LIBRARIES_MAX = 2, UNUSED_US = 600000 };

typedef int (*call_fn)(int (*fn)(void));

/* One that spins below functions of libraries. */
struct child {
    pid_t pid;
    size_t n;
    uintptr_t calls[LIBRARIES_MAX]; /* that stand on its stack */
};

/* What came of some samples. */
struct seen {
    const struct child *child;
    uint64_t n, n_by_end[CAIRN_ENDS];
    uint64_t n_new, n_through; /* with frames, and those with each library's */
};

/* The child's own, for its callbacks take no argument. */
static struct child spinning;
static size_t n_called;
static int ready[2];

static int spin(void)
{
    if (write(ready[1], &spinning, sizeof spinning) != sizeof spinning)
        _exit(1);
    for (volatile unsigned long i = 0;;)
        i++;
}

static int call_next(void)
{
    if (n_called == spinning.n)
        return spin();
    return ((call_fn)spinning.calls[n_called++])(call_next) + 1;
}

static void run_child(const char *const *libraries, size_t n)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 0; i < n; i++) {
        void *library = dlopen(libraries[i], RTLD_NOW);
        spinning.calls[i] = library ? (uintptr_t)dlsym(library, "cairn_evict_call") : 0;
        if (!spinning.calls[i])
            _exit(2);
    }
    spinning.n = n;
    _exit(call_next());
}

static struct child start(const char *const *libraries, size_t n)
{
    struct child child;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0)
        run_child(libraries, n);
    close(ready[1]);
    assert_int_equal(read(ready[0], &child, sizeof child), sizeof child);
    close(ready[0]);
    child.pid = pid;
    return child;
}

static void end(const struct child *child)
{
    int status;
    kill(child->pid, SIGKILL);
    waitpid(child->pid, &status, 0);
}

static struct cairn_walker *walker_or_skip(void)
{
    const struct cairn_walker_opts opts = {.table_bytes = CAIRN_BPF_SEGMENT_BYTES,
                                           .has_times = true};
    struct cairn_walker *walker;
    struct cairn_err err;
    int code = cairn_walker_new(&opts, &walker, &err);
    if (code == CAIRN_OK)
        return walker;
    print_message("skipped: %s\n", err.msg);
    assert_true(code == CAIRN_E_ACCESS || code == CAIRN_E_SUPPORT);
    skip();
    return NULL;
}

static bool has_call(uintptr_t call, const uint64_t *frames, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (frames[i] - call < CODE_BYTES)
            return true;
    return false;
}

static int on_stack(void *ctx, const struct cairn_bpf_stack *stack, const uint64_t *frames)
{
    struct seen *seen = ctx;
    if (!seen || stack->pid != (uint32_t)seen->child->pid)
        return CAIRN_OK;
    seen->n++;
    seen->n_by_end[stack->end % CAIRN_ENDS]++;
    if (stack->what == CAIRN_BPF_AGAIN)
        return CAIRN_OK;
    bool is_through = true;
    for (size_t i = 0; i < seen->child->n; i++)
        is_through = is_through && has_call(seen->child->calls[i], frames, stack->n);
    seen->n_new++;
    seen->n_through += is_through;
    return CAIRN_OK;
}

static void take(struct cairn_walker *walker, struct seen *seen)
{
    assert_int_equal(cairn_walker_take(walker, on_stack, seen), CAIRN_OK);
}

static int attach(struct cairn_walker *walker, const struct child *child)
{
    struct perf_event_attr attr = {.size = sizeof attr,
                                   .type = PERF_TYPE_SOFTWARE,
                                   .config = PERF_COUNT_SW_CPU_CLOCK,
                                   .freq = 1,
                                   .sample_freq = HZ,
                                   .sample_type = PERF_SAMPLE_IP};
    int fd = (int)syscall(SYS_perf_event_open, &attr, child->pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(cairn_walker_attach(walker, fd, child->pid, NULL), CAIRN_OK);
    return fd;
}

/* Cut or not, each has the frames of all libraries: the one that cuts it is the outermost. */
static struct seen sample(struct cairn_walker *walker, const struct child *child)
{
    struct seen seen = {.child = child};
    take(walker, NULL); /* of before */
    int fd = attach(walker, child);
    while (seen.n < SAMPLES)
        take(walker, &seen);
    close(fd);
    assert_int_equal(seen.n_through, seen.n_new);
    return seen;
}

static void assert_whole(struct cairn_walker *walker, const struct child *child)
{
    struct seen seen = sample(walker, child);
    assert_int_equal(seen.n_by_end[CAIRN_END_OUTERMOST], seen.n);
}

static void assert_no_room(struct cairn_walker *walker, const struct child *child)
{
    struct seen seen = sample(walker, child);
    assert_int_equal(seen.n_by_end[CAIRN_END_NO_ROOM], seen.n);
}

static struct cairn_walker_stats stats_of(const struct cairn_walker *walker)
{
    struct cairn_walker_stats stats;
    cairn_walker_stats(walker, &stats);
    assert_true(stats.table_bytes <= CAIRN_BPF_SEGMENT_BYTES);
    return stats;
}

static void wait_for_evicted(struct cairn_walker *walker, uint64_t n)
{
    while (stats_of(walker).n_evicted < n)
        take(walker, NULL);
}

static void wait_until_whole(struct cairn_walker *walker, const struct child *child)
{
    struct seen seen;
    do
        seen = sample(walker, child);
    while (seen.n_by_end[CAIRN_END_OUTERMOST] < seen.n);
}

static void tables_that_nobody_has_give_way_and_come_back(void **state)
{
    (void)state;
    static const char *const one[] = {EVICT_ONE}, *const other[] = {EVICT_OTHER};
    struct cairn_walker *walker = walker_or_skip();
    struct child first = start(one, 1);
    cairn_walker_look(walker, first.pid, true);
    assert_whole(walker, &first);
    assert_int_equal(stats_of(walker).n_no_room, 0);
    end(&first);
    cairn_walker_forget(walker, first.pid);

    struct child second = start(other, 1);
    cairn_walker_look(walker, second.pid, true);
    wait_for_evicted(walker, 1);
    assert_whole(walker, &second);

    struct child third = start(one, 1), fourth = start(one, 1);
    uint64_t n_no_room = stats_of(walker).n_no_room;
    cairn_walker_look(walker, third.pid, true);
    cairn_walker_look(walker, fourth.pid, true);
    assert_no_room(walker, &third);
    assert_no_room(walker, &fourth);
    assert_whole(walker, &second); /* what somebody has does not give way */
    assert_int_equal(stats_of(walker).n_evicted, 1);
    assert_int_equal(stats_of(walker).n_no_room, n_no_room + 1);

    end(&second); /* which nobody tells */
    wait_until_whole(walker, &third);
    wait_until_whole(walker, &fourth);
    assert_int_equal(stats_of(walker).n_evicted, 2);
    assert_int_equal(stats_of(walker).n_no_room, n_no_room + 1);
    end(&third);
    end(&fourth);
    cairn_walker_free(walker);
}

static void a_table_does_not_give_way_to_another_one_of_the_same_process(void **state)
{
    (void)state;
    static const char *const one[] = {EVICT_ONE};
    static const char *const both[] = {EVICT_OTHER, EVICT_ONE}; /* the later lies lower */
    struct cairn_walker *walker = walker_or_skip();
    struct child first = start(one, 1);
    cairn_walker_look(walker, first.pid, true);
    assert_whole(walker, &first);
    end(&first);
    cairn_walker_forget(walker, first.pid);
    usleep(UNUSED_US); /* it may give way from now on */

    struct child second = start(both, 2);
    cairn_walker_look(walker, second.pid, true);
    assert_no_room(walker, &second);
    assert_int_equal(stats_of(walker).n_evicted, 0);
    assert_int_equal(stats_of(walker).n_no_room, 1);
    end(&second);
    cairn_walker_free(walker);
}

static void a_table_that_walks_by_files_use_does_not_give_way(void **state)
{
    (void)state;
    static const char *const one[] = {EVICT_ONE}, *const other[] = {EVICT_OTHER};
    struct cairn_walker *walker = walker_or_skip();
    struct child first = start(one, 1);
    cairn_walker_look(walker, first.pid, true);
    assert_whole(walker, &first);
    if (!stats_of(walker).walks_by_files) {
        print_message("skipped: before Linux 6.1 mappings cannot be asked for\n");
        end(&first);
        cairn_walker_free(walker);
        skip();
    }
    cairn_walker_forget(walker, first.pid);
    int fd = attach(walker, &first); /* walked all the time, by its files */
    usleep(UNUSED_US);

    struct child second = start(other, 1);
    cairn_walker_look(walker, second.pid, true);
    assert_no_room(walker, &second);
    assert_int_equal(stats_of(walker).n_evicted, 0);
    close(fd);
    assert_whole(walker, &first);
    end(&first);
    wait_for_evicted(walker, 1);
    assert_whole(walker, &second);
    end(&second);
    cairn_walker_free(walker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_that_nobody_has_give_way_and_come_back),
        cmocka_unit_test(a_table_does_not_give_way_to_another_one_of_the_same_process),
        cmocka_unit_test(a_table_that_walks_by_files_use_does_not_give_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
