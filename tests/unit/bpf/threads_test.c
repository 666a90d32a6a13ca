/* SPDX-License-Identifier: MIT */
/*
 * The task iterator, run on this process and its children. It needs root (or CAP_BPF and
 * CAP_PERFMON) and a kernel of 5.18 with BTF: where these are lacking, the tests are skipped with
 * cairn's own reason.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cairn/unwind.h>

#include "target/regs.h"
#include "unit/bpf/open_threads.h"

enum { SLEEPERS = 150, DEEP_BYTES = 300 << 10, MARK_WORDS = 64 };

static sem_t ready;
static atomic_bool stop;

struct sleeper {
    pthread_t thread;
    int tid, fd;
    size_t depth_bytes;
    uint64_t mark_va; /* where its mark lies */
};

static int pipe_fds[2];

/* Waits in read(2) below `depth_bytes` of stack, with a mark at the far end. Without ASan, which
 * keeps variables elsewhere. */
__attribute__((no_sanitize_address)) static void *sleep_deep(void *arg)
{
    struct sleeper *self = arg;
    volatile uint64_t mark[MARK_WORDS];
    for (unsigned i = 0; i < MARK_WORDS; i++)
        mark[i] = (uint64_t)(uintptr_t)self + i;
    self->mark_va = (uint64_t)(uintptr_t)mark;
    self->tid = (int)syscall(SYS_gettid);
    volatile char *room = __builtin_alloca(self->depth_bytes + 1);
    room[0] = 1;
    sem_post(&ready);
    char byte;
    (void)!read(self->fd, &byte, 1);
    return (void *)(uintptr_t)(mark[0] + (uint64_t)room[0]);
}

static void start_sleepers(struct sleeper *sleepers, size_t n, size_t depth_bytes)
{
    pthread_attr_t attr;
    sem_init(&ready, 0, 0);
    assert_int_equal(pipe(pipe_fds), 0);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, (size_t)1 << 20);
    for (size_t i = 0; i < n; i++) {
        sleepers[i] = (struct sleeper){.fd = pipe_fds[0], .depth_bytes = depth_bytes};
        assert_int_equal(pthread_create(&sleepers[i].thread, &attr, sleep_deep, &sleepers[i]), 0);
    }
    for (size_t i = 0; i < n; i++)
        sem_wait(&ready);
    pthread_attr_destroy(&attr);
    usleep(20000); /* until all are in read(2) */
}

static void end_sleepers(struct sleeper *sleepers, size_t n)
{
    close(pipe_fds[1]);
    for (size_t i = 0; i < n; i++)
        pthread_join(sleepers[i].thread, NULL);
    close(pipe_fds[0]);
    sem_destroy(&ready);
}

struct seen {
    struct sleeper *sleepers;
    size_t n_sleepers, n_found, n_marks, n_all;
    size_t wanted_bytes;
};

static bool holds_mark(const struct cairn_bpf_thread *thread, const struct sleeper *sleeper)
{
    uint64_t first;
    struct cairn_span mark;
    if (!cairn_span_slice(thread->stack, sleeper->mark_va - thread->stack_va, MARK_WORDS * 8,
                          &mark))
        return false;
    memcpy(&first, mark.data, sizeof first);
    return first == (uint64_t)(uintptr_t)sleeper;
}

static int check_thread(void *ctx, const struct cairn_bpf_thread *thread)
{
    struct seen *seen = ctx;
    struct cairn_cursor_regs regs;
    assert_int_equal(thread->pid, getpid());
    seen->n_all++;
    for (size_t i = 0; i < seen->n_sleepers; i++) {
        if (seen->sleepers[i].tid != thread->tid)
            continue;
        seen->n_found++;
        assert_int_equal(thread->state, 'S');
        assert_int_equal(thread->found, CAIRN_BPF_STILL);
        assert_true(thread->in_call);
        assert_int_equal(thread->call, SYS_read);
        assert_int_equal(thread->args[0], seen->sleepers[i].fd);
        assert_true(cairn_target_regs(thread->regs, false, &regs));
        seen->n_marks += holds_mark(thread, &seen->sleepers[i]);
    }
    return 0;
}

static void every_sleeping_thread_comes_with_its_stack_and_call(void **state)
{
    (void)state;
    OPEN_OR_SKIP();
    static struct sleeper sleepers[SLEEPERS];
    struct cairn_err err = {0};
    start_sleepers(sleepers, SLEEPERS, 1000);
    struct seen seen = {.sleepers = sleepers, .n_sleepers = SLEEPERS};
    const struct cairn_bpf_threads_opts opts = {.pid = getpid()};
    assert_ok(cairn_bpf_threads_each(threads, &opts, check_thread, &seen, &err), err);
    /* A part of them. */
    struct seen part = {.sleepers = sleepers, .n_sleepers = SLEEPERS};
    int low = sleepers[0].tid < sleepers[1].tid ? sleepers[0].tid : sleepers[1].tid;
    const struct cairn_bpf_threads_opts two = {
        .pid = getpid(), .tid_first = low, .tid_last = sleepers[0].tid + sleepers[1].tid - low};
    size_t n_within = 0;
    for (unsigned i = 0; i < SLEEPERS; i++)
        n_within += sleepers[i].tid >= two.tid_first && sleepers[i].tid <= two.tid_last;
    assert_ok(cairn_bpf_threads_each(threads, &two, check_thread, &part, &err), err);
    end_sleepers(sleepers, SLEEPERS);
    assert_int_equal(seen.n_found, SLEEPERS);
    assert_int_equal(seen.n_marks, SLEEPERS);
    assert_true(seen.n_all >= SLEEPERS + 1);
    assert_int_equal(part.n_all, n_within);
    assert_int_equal(part.n_found, n_within);
}

static void a_deep_stack_comes_whole_or_in_pieces(void **state)
{
    (void)state;
    OPEN_OR_SKIP();
    struct sleeper sleeper;
    struct cairn_err err = {0};
    start_sleepers(&sleeper, 1, DEEP_BYTES);
    struct seen first = {.sleepers = &sleeper, .n_sleepers = 1}, whole = first, piece = first;
    struct cairn_bpf_threads_opts opts = {
        .pid = getpid(), .tid_first = sleeper.tid, .tid_last = sleeper.tid};
    assert_ok(cairn_bpf_threads_each(threads, &opts, check_thread, &first, &err), err);
    opts.stack_bytes = DEEP_BYTES + (64 << 10);
    assert_ok(cairn_bpf_threads_each(threads, &opts, check_thread, &whole, &err), err);
    opts.skip_bytes = DEEP_BYTES & ~4095;
    opts.stack_bytes = 32 << 10;
    assert_ok(cairn_bpf_threads_each(threads, &opts, check_thread, &piece, &err), err);
    end_sleepers(&sleeper, 1);
    assert_int_equal(first.n_all, 1);
    assert_int_equal(first.n_marks, 0);
    assert_int_equal(whole.n_marks, 1);
    assert_int_equal(piece.n_marks, 1);
}

/* A page of another kind makes three mappings of it. */
static void a_stack_of_several_mappings_comes_whole(void **state)
{
    (void)state;
    OPEN_OR_SKIP();
    struct sleeper sleeper;
    struct cairn_err err = {0};
    start_sleepers(&sleeper, 1, DEEP_BYTES);
    struct seen seen = {.sleepers = &sleeper, .n_sleepers = 1};
    const struct cairn_bpf_threads_opts opts = {.pid = getpid(),
                                                .tid_first = sleeper.tid,
                                                .tid_last = sleeper.tid,
                                                .stack_bytes = DEEP_BYTES + (64 << 10)};
    void *page = (void *)(uintptr_t)((sleeper.mark_va - DEEP_BYTES / 2) & ~UINT64_C(4095));
    assert_int_equal(madvise(page, 4096, MADV_DONTDUMP), 0);
    assert_ok(cairn_bpf_threads_each(threads, &opts, check_thread, &seen, &err), err);
    assert_int_equal(madvise(page, 4096, MADV_DODUMP), 0);
    end_sleepers(&sleeper, 1);
    assert_int_equal(seen.n_marks, 1);
}

/* Or where it is, where there is no such CPU. */
static void go_to_cpu(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    (void)sched_setaffinity(0, sizeof set, &set);
}

static void *spin(void *arg)
{
    go_to_cpu(1);
    *(int *)arg = (int)syscall(SYS_gettid);
    sem_post(&ready);
    while (!atomic_load(&stop))
        ;
    return NULL;
}

static int count_running(void *ctx, const struct cairn_bpf_thread *thread)
{
    *(size_t *)ctx += thread->found == CAIRN_BPF_RUNNING;
    return 0;
}

static void a_thread_on_a_cpu_is_not_believed(void **state)
{
    (void)state;
    OPEN_OR_SKIP();
    struct cairn_err err = {0};
    pthread_t thread;
    int tid = 0;
    size_t n_running = 0;
    cpu_set_t before;
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
        print_message("skipped: two threads never run at once on one CPU\n");
        skip();
    }
    sched_getaffinity(0, sizeof before, &before);
    go_to_cpu(0);
    sem_init(&ready, 0, 0);
    atomic_store(&stop, false);
    assert_int_equal(pthread_create(&thread, NULL, spin, &tid), 0);
    sem_wait(&ready);
    struct cairn_bpf_threads_opts opts = {.pid = getpid(), .tid_first = tid, .tid_last = tid};
    for (unsigned i = 0; i < 5000 && !n_running; i++) { /* others may keep it off the CPU */
        assert_ok(cairn_bpf_threads_each(threads, &opts, count_running, &n_running, &err), err);
        usleep(1000);
    }
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    (void)sched_setaffinity(0, sizeof before, &before);
    assert_int_equal(n_running, 1);
}

static int see_waiting(void *ctx, const struct cairn_bpf_thread *thread)
{
    assert_int_equal(thread->tid, getpid());
    *(bool *)ctx = thread->found != CAIRN_BPF_RUNNING;
    return 0;
}

/* Another process reads for it (base/apart.h), and it asks for some microseconds before it sleeps.
 */
static void the_calling_thread_waits(void **state)
{
    (void)state;
    OPEN_OR_SKIP();
    enum { TRIES = 50 };
    struct cairn_err err = {0};
    bool waits = false;
    struct cairn_bpf_threads_opts opts = {
        .pid = getpid(), .tid_first = getpid(), .tid_last = getpid()};
    for (unsigned i = 0; i < TRIES && !waits; i++)
        assert_ok(cairn_bpf_threads_each(threads, &opts, see_waiting, &waits, &err), err);
    assert_true(waits);
}

static int see_zombie(void *ctx, const struct cairn_bpf_thread *thread)
{
    assert_int_equal(thread->state, 'Z');
    assert_int_equal(thread->found, CAIRN_BPF_NO_USER);
    assert_int_equal(thread->regs.size, 0);
    ++*(size_t *)ctx;
    return 0;
}

static void a_zombie_has_no_user_side(void **state)
{
    (void)state;
    OPEN_OR_SKIP();
    struct cairn_err err = {0};
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    siginfo_t info;
    size_t n = 0;
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    const struct cairn_bpf_threads_opts opts = {.pid = child};
    assert_ok(cairn_bpf_threads_each(threads, &opts, see_zombie, &n, &err), err);
    waitpid(child, NULL, 0);
    assert_int_equal(n, 1);
}

static int see_kernel_thread(void *ctx, const struct cairn_bpf_thread *thread)
{
    assert_int_equal(thread->found, CAIRN_BPF_NO_USER);
    assert_string_equal(thread->name, "kthreadd");
    ++*(size_t *)ctx;
    return 0;
}

static void a_thread_of_the_kernel_has_no_user_side(void **state)
{
    (void)state;
    OPEN_OR_SKIP();
    struct cairn_err err = {0};
    char name[32] = "";
    FILE *file = fopen("/proc/2/comm", "r");
    if (!file || !fgets(name, sizeof name, file) || strcmp(name, "kthreadd\n") != 0) {
        print_message("skipped: pid 2 is not kthreadd here\n");
        if (file)
            fclose(file);
        skip();
    }
    fclose(file);
    size_t n = 0;
    const struct cairn_bpf_threads_opts opts = {.pid = 2};
    assert_ok(cairn_bpf_threads_each(threads, &opts, see_kernel_thread, &n, &err), err);
    assert_int_equal(n, 1);
}

static int count_kernel_frames(void *ctx, const struct cairn_bpf_thread *thread)
{
    *(size_t *)ctx += thread->n_kernel;
    return 0;
}

static void kernel_frames_come_if_asked(void **state)
{
    (void)state;
    OPEN_OR_SKIP();
    struct cairn_err err = {0};
    static struct sleeper sleepers[3];
    size_t n = 0;
    start_sleepers(sleepers, 3, 0);
    struct cairn_bpf_threads_opts opts = {.pid = getpid()};
    assert_ok(cairn_bpf_threads_each(threads, &opts, count_kernel_frames, &n, &err), err);
    assert_int_equal(n, 0);
    opts.kernel_frames = true;
    assert_ok(cairn_bpf_threads_each(threads, &opts, count_kernel_frames, &n, &err), err);
    end_sleepers(sleepers, 3);
    if (n == 0) {
        print_message("skipped: this kernel does not tell its stacks (CONFIG_STACKTRACE)\n");
        skip();
    }
    assert_true(n >= 3 * 2);
}

static int end_with_seven(void *ctx, const struct cairn_bpf_thread *thread)
{
    (void)thread;
    ++*(size_t *)ctx;
    return 7;
}

static void the_callback_ends_the_walk(void **state)
{
    (void)state;
    OPEN_OR_SKIP();
    static struct sleeper sleepers[3];
    struct cairn_err err = {0};
    size_t n = 0;
    start_sleepers(sleepers, 3, 0);
    const struct cairn_bpf_threads_opts opts = {.pid = getpid()};
    assert_int_equal(cairn_bpf_threads_each(threads, &opts, end_with_seven, &n, &err), 7);
    end_sleepers(sleepers, 3);
    assert_int_equal(n, 1);
}

static void a_process_that_is_gone_has_no_threads(void **state)
{
    (void)state;
    OPEN_OR_SKIP();
    struct cairn_err err = {0};
    size_t n = 0;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
    const struct cairn_bpf_threads_opts opts = {.pid = child}, of_one = {.pid = child,
                                                                         .tid_first = child,
                                                                         .tid_last = child};
    assert_ok(cairn_bpf_threads_each(threads, &opts, end_with_seven, &n, &err), err);
    assert_ok(cairn_bpf_threads_each(threads, &of_one, end_with_seven, &n, &err), err);
    assert_int_equal(n, 0);
}

static void more_stack_than_there_is_room_for_is_refused(void **state)
{
    (void)state;
    OPEN_OR_SKIP();
    struct cairn_err err = {0};
    size_t n = 0;
    const struct cairn_bpf_threads_opts much = {.pid = getpid(),
                                                .stack_bytes = CAIRN_BPF_STACK_BYTES_MAX + 1};
    const struct cairn_bpf_threads_opts crooked = {.pid = getpid(), .skip_bytes = 100};
    assert_fails(cairn_bpf_threads_each(threads, &much, end_with_seven, &n, &err), CAIRN_E_ARG, err,
                 "cannot be copied");
    assert_fails(cairn_bpf_threads_each(threads, &crooked, end_with_seven, &n, &err), CAIRN_E_ARG,
                 err, "cannot be copied");
    assert_int_equal(n, 0);
}

/* In a child: the test's own rights stay. */
static void without_rights_the_reason_and_the_command_are_told(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        print_message("skipped: only root can become somebody else\n");
        skip();
    }
    pid_t child = fork();
    if (child == 0) {
        struct cairn_err err = {0};
        struct cairn_bpf_threads *none = NULL;
        bool told = setuid(65534) == 0 && cairn_bpf_threads_open(&none, &err) < 0 && !none;
        bool here = err.code == CAIRN_E_ACCESS && strstr(err.msg, "needs root, or CAP_BPF") &&
                    strstr(err.hint, "setcap cap_bpf,cap_perfmon");
        bool elsewhere = err.code == CAIRN_E_SUPPORT;
        _exit(told && (here || elsewhere) ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

/* Opens in a child that `prepare` has taken something from; 77: it could not. */
static void expect_failure(bool (*prepare)(void), enum cairn_code code, const char *part)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        struct cairn_err err = {0};
        struct cairn_bpf_threads *none = NULL;
        if (!prepare())
            _exit(77);
        bool failed = cairn_bpf_threads_open(&none, &err) == (int)code && !none;
        _exit(failed && strstr(err.msg, part) && err.hint[0] ? 0 : 1);
    }
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        print_message("skipped: it cannot be taken away here\n");
        skip();
    }
    assert_int_equal(status, 0);
}

static bool forbid_bpf(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof code / sizeof *code, code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static bool hide_types(void)
{
    return unshare(CLONE_NEWNS) == 0 && mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", "/sys/kernel/btf", "tmpfs", 0, NULL) == 0;
}

static void a_seccomp_filter_is_told(void **state)
{
    (void)state;
    OPEN_OR_SKIP();
    expect_failure(forbid_bpf, CAIRN_E_ACCESS, "seccomp filter");
}

static void a_kernel_without_type_information_is_told(void **state)
{
    (void)state;
    OPEN_OR_SKIP();
    expect_failure(hide_types, CAIRN_E_SUPPORT, "type information");
}

static void a_kernel_that_is_too_old_is_told_by_its_number(void **state)
{
    (void)state;
    struct cairn_err err = {0};
    const struct cairn_bpf_need future = {"the time machine", 4000, 1};
    const struct cairn_bpf_need past = {"the wheel", 2, 6};
    if (cairn_bpf_check(&cairn_bpf_threads_need, &err) < 0) {
        print_message("skipped: %s\n", err.msg);
        skip();
    }
    assert_fails(cairn_bpf_check(&future, &err), CAIRN_E_SUPPORT, err,
                 "the time machine needs Linux 4000.1");
    assert_ok(cairn_bpf_check(&past, &err), err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sleeping_thread_comes_with_its_stack_and_call),
        cmocka_unit_test(a_deep_stack_comes_whole_or_in_pieces),
        cmocka_unit_test(a_stack_of_several_mappings_comes_whole),
        cmocka_unit_test(a_thread_on_a_cpu_is_not_believed),
        cmocka_unit_test(the_calling_thread_waits),
        cmocka_unit_test(a_zombie_has_no_user_side),
        cmocka_unit_test(a_thread_of_the_kernel_has_no_user_side),
        cmocka_unit_test(kernel_frames_come_if_asked),
        cmocka_unit_test(the_callback_ends_the_walk),
        cmocka_unit_test(a_process_that_is_gone_has_no_threads),
        cmocka_unit_test(more_stack_than_there_is_room_for_is_refused),
        cmocka_unit_test(without_rights_the_reason_and_the_command_are_told),
        cmocka_unit_test(a_seccomp_filter_is_told),
        cmocka_unit_test(a_kernel_without_type_information_is_told),
        cmocka_unit_test(a_kernel_that_is_too_old_is_told_by_its_number),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    cairn_bpf_threads_close(threads);
    return failed;
}
