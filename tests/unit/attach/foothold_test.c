/* SPDX-License-Identifier: MIT */
/* Real children are entered. Each does what a function says, and dies with this program. */
#include "attach/foothold.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "proc/process.h"
#include "proc/threads.h"
#include "support/child.h"
#include "support/test.h"
#include "unit/attach/open_target.h"

enum { PATIENCE_MS = 20000, WAIT_S = 60, TIMES = 20, PAGE = 4096 };

/* Shared with the children. */
static struct {
    atomic_int ready, leave;
    atomic_ullong turns;
} * shared;

static int share(void **state)
{
    (void)state;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED;
}

static pid_t start(void (*fn)(int), int arg)
{
    atomic_store(&shared->ready, 0);
    pid_t child = test_fork();
    if (child == 0) {
        fn(arg);
        _exit(0);
    }
    for (int i = 0; !atomic_load(&shared->ready) && i < PATIENCE_MS; i++)
        usleep(1000);
    assert_true(atomic_load(&shared->ready));
    return child;
}

static void enter_and_leave(pid_t child)
{
    struct cairn_target_process target = test_open_target(child);
    struct cairn_foothold foothold;
    struct cairn_err err;
    assert_ok(cairn_foothold_open(&target, 0, &foothold, &err), err);
    assert_ok(cairn_foothold_close(&foothold, &err), err);
    cairn_target_close_process(&target);
}

static void sleep_long(int unused)
{
    (void)unused;
    atomic_store(&shared->ready, 1);
    for (;;)
        pause();
}

/* One call that waits for WAIT_S; errno where it came back. */
static int wait_in(int kind)
{
    struct timespec ts = {WAIT_S, 0};
    struct timeval tv = {WAIT_S, 0};
    int pair[2], epoll = epoll_create1(0), event = eventfd(0, 0), word = 0, connection;
    struct epoll_event events;
    struct pollfd poller = {event, POLLIN, 0};
    struct sembuf down = {0, -1, 0};
    char bytes[8];
    struct iovec io = {bytes, sizeof bytes};
    fd_set set;
    sigset_t none, usr1;
    FD_ZERO(&set);
    FD_SET(event, &set);
    sigemptyset(&none);
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    sigprocmask(SIG_BLOCK, &usr1, NULL);
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
    connection = socket(AF_UNIX, SOCK_STREAM, 0);
    bind(connection, &(struct sockaddr){.sa_family = AF_UNIX}, sizeof(sa_family_t));
    listen(connection, 1);
    int set_of_semaphores = kind == 9 || kind == 10 ? semget(IPC_PRIVATE, 1, 0600) : -1;
    atomic_store(&shared->ready, 1);
    switch (kind) {
    case 0:
        return epoll_wait(epoll, &events, 1, WAIT_S * 1000);
    case 1:
        return epoll_pwait(epoll, &events, 1, WAIT_S * 1000, &none);
    case 2:
        return poll(&poller, 1, WAIT_S * 1000);
    case 3:
        return ppoll(&poller, 1, &ts, NULL);
    case 4:
        return select(event + 1, &set, NULL, NULL, &tv);
    case 5:
        return nanosleep(&ts, NULL);
    case 6:
        return (int)syscall(SYS_futex, &word, FUTEX_WAIT, 0, &ts, NULL, 0);
    case 7:
        return (int)recv(pair[0], bytes, sizeof bytes, 0);
    case 8:
        return (int)read(event, bytes, sizeof bytes);
    case 9:
        return semtimedop(set_of_semaphores, &down, 1, &ts);
    case 10:
        return semop(set_of_semaphores, &down, 1);
    case 11:
        return sigtimedwait(&usr1, NULL, &ts);
    case 12:
        return sigwaitinfo(&usr1, NULL);
    case 13:
        return (int)read(pair[0], bytes, sizeof bytes);
    case 14:
        return accept(connection, NULL, NULL);
    case 15:
        return (int)recvmsg(pair[0], &(struct msghdr){.msg_iov = &io, .msg_iovlen = 1}, 0);
    case 16:
        return pause();
    default:
        return clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
    }
}

enum { KINDS = 18 };

static void wait_as(int kind)
{
    errno = 0;
    int result = wait_in(kind);
    printf("call %d came back: %d, errno %d\n", kind, result, errno);
    fflush(stdout);
}

static bool sleeps_in_call(pid_t pid)
{
    struct cairn_process_status status;
    return cairn_process_status(pid, &status, NULL) == CAIRN_OK && status.state == 'S';
}

static void no_call_of_the_program_ends(void **state)
{
    (void)state;
    pid_t children[KINDS];
    for (int i = 0; i < KINDS; i++) {
        children[i] = start(wait_as, i);
        for (int ms = 0; !sleeps_in_call(children[i]) && ms < PATIENCE_MS; ms++)
            usleep(1000);
    }
    for (int i = 0; i < KINDS; i++) {
        enter_and_leave(children[i]);
        enter_and_leave(children[i]);
    }
    usleep(50000);
    for (int i = 0; i < KINDS; i++) {
        assert_int_equal(waitpid(children[i], NULL, WNOHANG), 0);
        test_kill(children[i]);
    }
}

static size_t count_of(pid_t pid, const char *what)
{
    struct cairn_buffer text = {0};
    struct cairn_err err;
    size_t n = 0;
    assert_ok(cairn_process_slurp(pid, what, 1 << 20, &text, &err), err);
    for (size_t i = 0; i < text.size; i++)
        n += text.data[i] == '\n';
    cairn_buffer_done(&text);
    return n;
}

static size_t threads_of(pid_t pid)
{
    struct cairn_threads threads = {0};
    struct cairn_err err;
    assert_ok(cairn_threads_read(pid, &threads, &err), err);
    size_t n = threads.n;
    cairn_threads_done(&threads);
    return n;
}

static bool has_fd(pid_t pid, int fd)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
    return faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int lowest_fd(pid_t pid)
{
    int fd = 0;
    while (has_fd(pid, fd))
        fd++;
    return fd;
}

static void nothing_is_left_behind(void **state)
{
    (void)state;
    pid_t child = start(sleep_long, 0);
    size_t n_maps = count_of(child, "maps");
    int next_fd = lowest_fd(child);
    for (int i = 0; i < TIMES; i++)
        enter_and_leave(child);
    assert_int_equal(count_of(child, "maps"), n_maps);
    assert_int_equal(lowest_fd(child), next_fd);
    assert_int_equal(threads_of(child), 1);
    test_kill(child);
}

static void descriptors_are_handed_in(void **state)
{
    (void)state;
    static const char text[] = "words for another process";
    pid_t child = start(sleep_long, 0);
    struct cairn_target_process target = test_open_target(child);
    struct cairn_foothold foothold;
    struct cairn_err err;
    int fds[2], memory = memfd_create("words", MFD_CLOEXEC);
    assert_int_equal(write(memory, text, sizeof text), sizeof text);
    assert_ok(cairn_foothold_open(&target, 0, &foothold, &err), err);
    for (int i = 0; i < 2; i++)
        assert_ok(cairn_foothold_hand(&foothold, memory, &fds[i], &err), err);
    uint64_t va;
    char back[sizeof text];
    const struct cairn_foothold_mapping want = {
        .size = PAGE, .prot = PROT_READ, .flags = MAP_PRIVATE, .fd = fds[1]};
    assert_ok(cairn_foothold_map(&foothold, &want, &va, &err), err);
    assert_ok(cairn_target_read(&target, va, back, sizeof back, &err), err);
    assert_string_equal(back, text);
    assert_ok(cairn_foothold_unmap(&foothold, va, PAGE, &err), err);
    for (int i = 0; i < 2; i++)
        assert_ok(cairn_foothold_close_fd(&foothold, fds[i], &err), err);
    assert_ok(cairn_foothold_close(&foothold, &err), err);
    assert_false(has_fd(child, fds[0]) || has_fd(child, fds[1]));
    cairn_target_close_process(&target);
    close(memory);
    test_kill(child);
}

/* The children have it where we do. It makes calls of its own, and asks for no TLS. */
__attribute__((noinline)) static int work(void *arg)
{
    long ignored;
#if defined(__x86_64__)
    __asm__ volatile("syscall" : "=a"(ignored) : "0"((long)SYS_getpid) : "rcx", "r11", "memory");
#else
    register long x8 __asm__("x8") = SYS_getpid, x0 __asm__("x0");
    __asm__ volatile("svc #0" : "=r"(x0) : "r"(x8) : "memory");
    ignored = x0;
    (void)ignored;
#endif
    atomic_fetch_add(&shared->turns, (unsigned long long)(uintptr_t)arg);
    return -7;
}

__attribute__((noinline)) static int fault(void *arg)
{
    return *(volatile int *)arg;
}

static void functions_run_there(void **state)
{
    (void)state;
    pid_t child = start(sleep_long, 0);
    struct cairn_target_process target = test_open_target(child);
    struct cairn_foothold foothold = {.code_va = 0};
    struct cairn_err err;
    int value = 0;
    size_t n_maps = 0;
    atomic_store(&shared->turns, 0);
    for (int i = 0; i < 3; i++) {
        assert_ok(cairn_foothold_open(&target, foothold.code_va, &foothold, &err), err);
        assert_ok(cairn_foothold_run(&foothold, (uintptr_t)work, 14, PATIENCE_MS, &value, &err),
                  err);
        assert_int_equal(value, -7);
        assert_ok(cairn_foothold_close(&foothold, &err), err);
        assert_ok(cairn_target_look_again(&target, &err), err);
        if (i == 0)
            n_maps = cairn_maps_count(target.maps);
        assert_int_equal(cairn_maps_count(target.maps), n_maps); /* its room is used again */
    }
    assert_int_equal(atomic_load(&shared->turns), 42);
    assert_ok(cairn_foothold_open(&target, foothold.code_va, &foothold, &err), err);
    assert_int_equal(cairn_foothold_run(&foothold, (uintptr_t)fault, 8, PATIENCE_MS, &value, &err),
                     CAIRN_E_FORMAT);
    assert_non_null(strstr(err.msg, "signal 11"));
    assert_ok(cairn_foothold_close(&foothold, &err), err);
    cairn_target_close_process(&target);
    usleep(10000);
    assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
    assert_int_equal(threads_of(child), 1);
    test_kill(child);
}

static char state_of(pid_t pid)
{
    struct cairn_process_status status;
    return cairn_process_status(pid, &status, NULL) == CAIRN_OK ? status.state : '?';
}

static void a_stopped_process_stays_stopped(void **state)
{
    (void)state;
    pid_t child = start(sleep_long, 0);
    kill(child, SIGSTOP);
    for (int ms = 0; state_of(child) != 'T' && ms < PATIENCE_MS; ms++)
        usleep(1000);
    enter_and_leave(child);
    for (int ms = 0; state_of(child) != 'T' && ms < PATIENCE_MS; ms++)
        usleep(1000);
    assert_int_equal(state_of(child), 'T');
    assert_int_equal(threads_of(child), 1);
    kill(child, SIGCONT);
    for (int ms = 0; state_of(child) != 'S' && ms < PATIENCE_MS; ms++)
        usleep(1000);
    assert_int_equal(state_of(child), 'S');
    test_kill(child);
}

__attribute__((noreturn)) static void *turn(void *unused)
{
    (void)unused;
    atomic_fetch_add(&shared->ready, 1);
    for (;;)
        atomic_fetch_add(&shared->turns, 1);
}

static void nothing(int signal)
{
    (void)signal;
}

/* Threads that run, and a program with handlers that a forced signal would take away. */
static void turn_in_threads(int n)
{
    pthread_t thread;
    struct sigaction act = {.sa_handler = nothing};
    sigaction(SIGSEGV, &act, NULL);
    signal(SIGTRAP, SIG_IGN);
    for (int i = 0; i < n; i++)
        pthread_create(&thread, NULL, turn, NULL);
    turn(NULL);
}

/* A call that does not end, as in a frozen cgroup: the registers are the program's again. */
static void a_call_that_does_not_end_is_left(void **state)
{
    (void)state;
    static const struct timespec wait = {WAIT_S, 0}; /* the child has it where we do */
    pid_t child = start(turn_in_threads, 0);
    struct cairn_target_process target = test_open_target(child);
    struct cairn_stilled held;
    struct cairn_err err;
    int64_t value;
    const uint64_t args[CAIRN_CALL_ARGS] = {(uintptr_t)&wait};
    assert_ok(cairn_hold_begin(child, child, target.call_va, false, &held, &err), err);
    assert_int_equal(cairn_hold_call(&held, SYS_nanosleep, args, &value, &err), CAIRN_E_LIMIT);
    assert_ok(cairn_hold_end(&held, &err), err);
    unsigned long long turns = atomic_load(&shared->turns);
    for (int ms = 0; atomic_load(&shared->turns) == turns && ms < PATIENCE_MS; ms++)
        usleep(1000);
    assert_true(atomic_load(&shared->turns) > turns);
    assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
    cairn_target_close_process(&target);
    test_kill(child);
}

static void add_signals(pid_t pid, struct cairn_buffer *out)
{
    static const char *const fields[] = {"SigBlk", "SigIgn", "SigCgt"};
    struct cairn_buffer text = {0};
    struct cairn_err err;
    assert_ok(cairn_process_slurp(pid, "status", 1 << 16, &text, &err), err);
    for (size_t i = 0; i < 3; i++) {
        const char *field = cairn_process_field(cairn_buffer_text(&text), fields[i]);
        cairn_buffer_add(out, field, strcspn(field, "\n"));
    }
    cairn_buffer_done(&text);
}

static void running_threads_run_on_with_their_handlers(void **state)
{
    (void)state;
    struct cairn_buffer before = {0}, after = {0};
    pid_t child = start(turn_in_threads, 2);
    /* pthread_create() blocks signals for a moment. */
    for (int ms = 0; atomic_load(&shared->ready) < 3 && ms < PATIENCE_MS; ms++)
        usleep(1000);
    add_signals(child, &before);
    for (int i = 0; i < TIMES; i++)
        enter_and_leave(child);
    add_signals(child, &after);
    assert_string_equal(cairn_buffer_text(&after), cairn_buffer_text(&before));
    unsigned long long turns = atomic_load(&shared->turns);
    for (int ms = 0; atomic_load(&shared->turns) == turns && ms < PATIENCE_MS; ms++)
        usleep(1000);
    assert_true(atomic_load(&shared->turns) > turns);
    assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
    cairn_buffer_done(&before);
    cairn_buffer_done(&after);
    test_kill(child);
}

static void filter_calls(int unused)
{
    (void)unused;
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    atomic_store(&shared->ready, 1);
    for (;;)
        continue;
}

__attribute__((noreturn)) static void *filter_own_calls(void *unused)
{
    (void)unused;
    filter_calls(0);
    for (;;)
        continue;
}

/* Of one thread that is not the first. */
static void filter_in_a_thread(int unused)
{
    pthread_t thread;
    (void)unused;
    pthread_create(&thread, NULL, filter_own_calls, NULL);
    for (;;)
        pause();
}

static void refused(pid_t pid, int code, const char *words)
{
    struct cairn_target_process target;
    struct cairn_err err;
    assert_fails(cairn_target_open_process(pid, &target, &err), code, err, words);
}

/* Not even strict mode holds for a thread of ours. */
static void threads_with_filters_are_entered_and_live(void **state)
{
    (void)state;
    static void (*const kinds[])(int) = {filter_calls, filter_in_a_thread};
    for (int i = 0; i < 2; i++) {
        pid_t child = start(kinds[i], 0);
        enter_and_leave(child);
        assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
        test_kill(child);
    }
}

static void what_cannot_be_is_refused_untouched(void **state)
{
    (void)state;
    refused(getpid(), CAIRN_E_ARG, "this cairn itself");
    pid_t child = start(sleep_long, 0);
    test_kill(child);
    refused(child, CAIRN_E_MISSING, "pid");

    child = start(sleep_long, 0);
    kill(child, SIGKILL);
    siginfo_t info;
    waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
    refused(child, CAIRN_E_MISSING, "has ended");
    waitpid(child, NULL, 0);

    child = start(sleep_long, 0);
    assert_int_equal(ptrace(PTRACE_SEIZE, child, NULL, NULL), 0);
    refused(child, CAIRN_E_ACCESS, "another program traces it");
    test_kill(child);
}

static void a_program_that_ended_meanwhile_is_told(void **state)
{
    (void)state;
    pid_t child = start(sleep_long, 0);
    struct cairn_target_process target = test_open_target(child);
    struct cairn_foothold foothold;
    struct cairn_err err;
    test_kill(child);
    assert_int_equal(cairn_foothold_open(&target, 0, &foothold, &err), CAIRN_E_MISSING);
    cairn_target_close_process(&target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_left_behind),
        cmocka_unit_test(no_call_of_the_program_ends),
        cmocka_unit_test(descriptors_are_handed_in),
        cmocka_unit_test(functions_run_there),
        cmocka_unit_test(a_stopped_process_stays_stopped),
        cmocka_unit_test(running_threads_run_on_with_their_handlers),
        cmocka_unit_test(a_call_that_does_not_end_is_left),
        cmocka_unit_test(threads_with_filters_are_entered_and_live),
        cmocka_unit_test(what_cannot_be_is_refused_untouched),
        cmocka_unit_test(a_program_that_ended_meanwhile_is_told),
    };
    return cmocka_run_group_tests(tests, share, NULL);
}
