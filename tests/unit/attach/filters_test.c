/* SPDX-License-Identifier: MIT */
/* Children with filters of system calls: what is said of them, and that none is harmed. */
#include "attach/filters.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/foothold.h"
#include "unit/attach/open_target.h"

enum { PATIENCE_MS = 20000 };

static struct {
    atomic_int ready;
    atomic_ullong turns;
} * shared;

/* What a child does before it turns. */
struct wish {
    int number;      /* of a call that gets ... */
    uint32_t answer; /* ... this; all others are allowed */
    bool in_a_thread, twice;
};

static bool lay(int number, uint32_t answer)
{
    struct sock_filter insns[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, answer),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof insns / sizeof insns[0], .filter = insns};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void *turn(void *arg)
{
    const struct wish *wish = arg;
    if (wish && !lay(wish->number, wish->answer))
        _exit(1);
    if (wish && wish->twice && !lay(SYS_ptrace, SECCOMP_RET_ERRNO | EPERM))
        _exit(1);
    atomic_fetch_add(&shared->ready, 1);
    for (;;) {
        atomic_fetch_add(&shared->turns, 1);
        usleep(100);
    }
    return NULL;
}

static pid_t start(struct wish *wish)
{
    atomic_store(&shared->ready, 0);
    pid_t child = test_fork();
    if (child == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, turn, wish->in_a_thread ? wish : NULL);
        turn(wish->in_a_thread ? NULL : wish);
    }
    for (int i = 0; atomic_load(&shared->ready) < 2 && i < PATIENCE_MS; i++)
        usleep(1000);
    assert_true(atomic_load(&shared->ready) == 2);
    return child;
}

static int check(pid_t child, struct cairn_filters_found *ret_found, struct cairn_err *err)
{
    struct cairn_target_process target = test_open_target(child);
    int result = cairn_filters_check(&target, ret_found, err);
    cairn_target_close_process(&target);
    if (result == CAIRN_E_ACCESS) {
        print_message("skipped: %s (%s)\n", err->msg, err->hint);
        test_kill(child);
        skip();
    }
    unsigned long long turns = atomic_load(&shared->turns);
    for (int ms = 0; atomic_load(&shared->turns) == turns && ms < PATIENCE_MS; ms++)
        usleep(1000);
    assert_true(atomic_load(&shared->turns) > turns);
    assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
    return result;
}

static void harmless_filters_are_allowed(void **state)
{
    (void)state;
    struct cairn_filters_found found;
    struct cairn_err err;
    struct wish wishes[] = {
        {SYS_mount, SECCOMP_RET_KILL_PROCESS, false, false},
        {SYS_mount, SECCOMP_RET_KILL_PROCESS, true, false},
        {SYS_mmap, SECCOMP_RET_LOG, false, false},
        {SYS_mount, SECCOMP_RET_KILL_PROCESS, false, true},
    };
    for (size_t i = 0; i < sizeof wishes / sizeof wishes[0]; i++) {
        pid_t child = start(&wishes[i]);
        assert_ok(check(child, &found, &err), err);
        assert_int_equal(found.n_threads, 1);
        assert_int_equal(found.n_programs, wishes[i].twice ? 2 : 1);
        assert_null(found.lost);
        assert_true(found.held_ns > 0);
        test_kill(child);
    }
}

static void what_the_tracker_can_do_without_may_be_refused(void **state)
{
    (void)state;
    struct cairn_filters_found found;
    struct cairn_err err;
    struct wish wish = {SYS_process_vm_readv, SECCOMP_RET_ERRNO | EPERM, false, false};
    pid_t child = start(&wish);
    assert_ok(check(child, &found, &err), err);
    assert_string_equal(found.lost, "process_vm_readv");
    test_kill(child);
}

static void a_harmful_filter_is_named_and_not_tried(void **state)
{
    (void)state;
    static const struct {
        struct wish wish;
        const char *words;
    } cases[] = {
        {{SYS_fallocate, SECCOMP_RET_KILL_PROCESS, false, false}, "ends it for fallocate"},
        {{SYS_fallocate, SECCOMP_RET_KILL_PROCESS, true, false}, "ends it for fallocate"},
        {{SYS_fallocate, SECCOMP_RET_KILL_PROCESS, false, true}, "ends it for fallocate"},
        {{SYS_gettid, SECCOMP_RET_KILL_THREAD, false, false}, "ends it for gettid"},
        {{SYS_exit, SECCOMP_RET_KILL_THREAD, false, false}, "ends it for exit"},
        {{SYS_mremap, SECCOMP_RET_TRAP, false, false}, "sends a signal (SIGSYS) for mremap"},
        {{SYS_mremap, SECCOMP_RET_ERRNO | EPERM, false, false}, "refuses mremap"},
        {{SYS_statx, SECCOMP_RET_ERRNO | EINTR, false, false}, "interrupts statx"},
        {{SYS_statx, SECCOMP_RET_TRACE, false, false}, "asks another process about statx"},
        {{SYS_statx, 0x12340000, false, false}, "ends it for statx"},
    };
    struct cairn_filters_found found;
    struct cairn_err err;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct wish wish = cases[i].wish;
        pid_t child = start(&wish);
        assert_fails(check(child, &found, &err), CAIRN_E_SUPPORT, err, cases[i].words);
        assert_non_null(strstr(err.hint, "cairn heap run"));
        test_kill(child);
    }
}

/* A call that would end the process ends nothing: filters do not hold for a thread of ours. */
static void our_thread_is_exempt(void **state)
{
    (void)state;
    struct cairn_filters_found found;
    struct cairn_foothold foothold;
    struct cairn_err err;
    struct wish wish = {SYS_mmap, SECCOMP_RET_KILL_PROCESS, false, false};
    pid_t child = start(&wish);
    assert_fails(check(child, &found, &err), CAIRN_E_SUPPORT, err, "ends it for mmap");
    struct cairn_target_process target = test_open_target(child);
    const struct cairn_foothold_mapping page = {
        .size = 4096, .prot = PROT_READ, .flags = MAP_PRIVATE | MAP_ANONYMOUS, .fd = -1};
    uint64_t va;
    assert_ok(cairn_foothold_open(&target, 0, &foothold, &err), err);
    assert_ok(cairn_foothold_map(&foothold, &page, &va, &err), err);
    assert_ok(cairn_foothold_unmap(&foothold, va, page.size, &err), err);
    assert_ok(cairn_foothold_close(&foothold, &err), err);
    cairn_target_close_process(&target);
    assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
    test_kill(child);
}

static int share(void **state)
{
    (void)state;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(harmless_filters_are_allowed),
        cmocka_unit_test(what_the_tracker_can_do_without_may_be_refused),
        cmocka_unit_test(a_harmful_filter_is_named_and_not_tried),
        cmocka_unit_test(our_thread_is_exempt),
    };
    return cmocka_run_group_tests(tests, share, NULL);
}
