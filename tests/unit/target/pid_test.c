/* SPDX-License-Identifier: MIT */
/* Children that stand where a test wants them to, and this process's own files. */
#include "target/pid.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cairn/unwind.h>

#include "proc/mem.h"
#include "support/apart.h"
#include "support/child.h"
#include "support/test.h"
#include "unit/target/may_hold.h"
#include "unwind/space.h"

enum { TIMEOUT_MS = 5000, DEEP = 30 };

static volatile int sink;

APART void test_deepest(void);
APART int test_deep(int n);

void test_deepest(void)
{
    while (sink >= 0)
        pause();
}

int test_deep(int n)
{
    if (n == 0)
        test_deepest();
    else
        sink += test_deep(n - 1);
    return sink + n;
}

static void on_signal(int number)
{
    (void)number;
    sink = test_deep(3);
}

static void be_deep(void)
{
    sink = test_deep(DEEP);
}

static void be_in_a_handler(void)
{
    static uint8_t stack[65536];
    const stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_flags = SA_ONSTACK};
    action.sa_handler = on_signal;
    sigaltstack(&other, NULL);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
}

/* The child has gone as far as it goes when it sleeps. */
static void wait_asleep(pid_t child)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)child);
    for (int i = 0; i < TIMEOUT_MS && !strstr(text, ") S "); i++) {
        FILE *f = fopen(path, "re");
        assert_non_null(f);
        assert_non_null(fgets(text, sizeof text, f));
        fclose(f);
        usleep(1000);
    }
    assert_contains(text, ") S ");
}

static pid_t start(void (*fn)(void))
{
    pid_t child = test_fork();
    if (child == 0) {
        fn();
        _exit(0);
    }
    wait_asleep(child);
    return child;
}

struct found {
    int n_frames, n_deep, n_signal, n_exact;
    bool deepest, main_seen;
    enum cairn_unwind_end end;
};

static struct found walk(struct cairn_unwind_space *space, int tid)
{
    struct cairn_cursor_regs regs;
    struct cairn_cursor cursor;
    struct cairn_err err;
    struct found found = {0};
    assert_ok(cairn_unwind_thread_regs(space, tid, &regs, &err), err);
    assert_ok(cairn_cursor_init(&cursor, space, &regs, &err), err);
    do {
        struct cairn_cursor_frame frame;
        char name[64] = "";
        uint64_t offset;
        cairn_cursor_frame(&cursor, &frame);
        (void)cairn_cursor_proc_name(&cursor, name, sizeof name, &offset);
        found.n_frames++;
        found.n_signal += frame.signal;
        found.n_exact += frame.exact;
        found.n_deep += strcmp(name, "test_deep") == 0;
        found.deepest |= strcmp(name, "test_deepest") == 0;
        found.main_seen |= strcmp(name, "main") == 0;
    } while (cairn_cursor_step(&cursor));
    found.end = cairn_cursor_end(&cursor);
    return found;
}

static struct cairn_unwind_space *open_pid(pid_t child)
{
    struct cairn_unwind_space *space;
    struct cairn_err err;
    assert_ok(cairn_unwind_space_open_pid(child, NULL, &space, &err), err);
    return space;
}

/* Pages that are read ahead may be ones that are not to be read: nothing was asked of those. */
static void why_memory_is_not_read_is_told_where_it_was_asked_for(void **state)
{
    (void)state;
    enum { PAGE = 4096, PAGES = 16, BAD = 6 };
    char *pages =
        mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    memset(pages, 1, PAGES * PAGE);
    pid_t child = start(be_deep);
    struct cairn_unwind_space *space = open_pid(child);
    struct cairn_unread *unread = &cairn_target_pid_mem(space)->unread;
    const uint64_t va = (uint64_t)(uintptr_t)pages;
    cairn_unread_add(unread, va + BAD * PAGE, va + (BAD + 1) * PAGE, cairn_unread_uffd);
    uint64_t word;
    for (unsigned i = 0; i < BAD; i++) {
        assert_int_equal(
            space->accessors.read(space->accessors.ctx, va + i * PAGE, &word, sizeof word), 0);
        assert_null(unread->why);
    }
    assert_int_not_equal(
        space->accessors.read(space->accessors.ctx, va + BAD * PAGE, &word, sizeof word), 0);
    assert_ptr_equal(unread->why, cairn_unread_uffd);
    assert_int_equal(unread->why_va, va + BAD * PAGE);
    cairn_unwind_space_free(space);
    test_kill(child);
    munmap(pages, PAGES * PAGE);
}

static void every_frame_of_a_child_is_found(void **state)
{
    (void)state;
    test_may_hold();
    pid_t child = start(be_deep);
    struct cairn_unwind_space *space = open_pid(child);
    struct cairn_cursor_regs regs;
    struct cairn_err err;
    size_t n = 0;
    int tid = 0;
    assert_ok(cairn_unwind_threads(space, &tid, 1, &n, &err), err);
    assert_int_equal(n, 1);
    assert_int_equal(tid, child);
    assert_fails(cairn_unwind_thread_regs(space, child, &regs, &err), CAIRN_E_ARG, err,
                 "is not stopped");
    for (int round = 0; round < 3; round++) {
        assert_ok(cairn_unwind_hold(space, child, TIMEOUT_MS, &err), err);
        assert_ok(cairn_unwind_hold(space, child, TIMEOUT_MS, &err), err); /* twice is once */
        struct found found = walk(space, child);
        assert_int_equal(found.n_deep, DEEP + 1);
        assert_true(found.deepest);
        assert_true(found.main_seen);
        assert_int_equal(found.end, CAIRN_END_OUTERMOST);
        cairn_unwind_release(space, child);
        wait_asleep(child);
        if (round == 1)
            cairn_unwind_space_refresh(space);
    }
    cairn_unwind_space_free(space);
    test_kill(child);
}

static void a_handler_on_a_stack_of_its_own_is_walked_through(void **state)
{
    (void)state;
    test_may_hold();
    pid_t child = start(be_in_a_handler);
    struct cairn_unwind_space *space = open_pid(child);
    struct cairn_err err;
    assert_ok(cairn_unwind_hold(space, child, TIMEOUT_MS, &err), err);
    struct found found = walk(space, child);
    assert_int_equal(found.n_deep, 4);
    assert_int_equal(found.n_signal, 1);
    assert_int_equal(found.n_exact, 2); /* where the CPU is, and where the signal struck */
    assert_true(found.main_seen);
    assert_int_equal(found.end, CAIRN_END_OUTERMOST);
    cairn_unwind_space_free(space); /* lets it go, too */
    wait_asleep(child);
    test_kill(child);
}

static void a_thread_that_the_caller_traces_needs_no_holding(void **state)
{
    (void)state;
    test_may_hold();
    pid_t child = start(be_deep);
    struct cairn_unwind_space *space = open_pid(child);
    struct cairn_err err;
    int status;
    assert_int_equal(ptrace(PTRACE_ATTACH, child, NULL, NULL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_ok(cairn_unwind_hold(space, child, TIMEOUT_MS, &err), err);
    assert_int_equal(walk(space, child).n_deep, DEEP + 1);
    cairn_unwind_release(space, child); /* it is not ours */
    assert_int_equal(walk(space, child).n_deep, DEEP + 1);
    cairn_unwind_space_free(space);
    assert_int_equal(ptrace(PTRACE_DETACH, child, NULL, NULL), 0);
    test_kill(child);
}

static void a_process_that_is_gone_is_missing(void **state)
{
    (void)state;
    test_may_hold();
    pid_t child = start(be_deep);
    struct cairn_unwind_space *space = open_pid(child), *other;
    struct cairn_err err;
    test_kill(child);
    assert_fails(cairn_unwind_hold(space, child, TIMEOUT_MS, &err), CAIRN_E_MISSING, err, "");
    assert_fails(cairn_unwind_space_open_pid(child, NULL, &other, &err), CAIRN_E_MISSING, err,
                 "pid");
    cairn_unwind_space_free(space);
}

/* Pages 0, 2 and 5, of which 0 and 5 are there in part. */
static void a_copy_with_gaps_is_read_by_page(void **state)
{
    (void)state;
    enum { FIRST = 16, LAST = 24, SIZE = FIRST + CAIRN_COPY_PAGE + LAST };
    static uint8_t bytes[SIZE];
    uint8_t got[64];
    const uint64_t base = 0x7ffd00000000, va = base + CAIRN_COPY_PAGE - FIRST;
    struct cairn_target_copy copy = {.va = va, .bytes = {bytes, SIZE}, .pages = 1 | 4 | 32};
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (uint8_t)(i % 251);
    assert_true(cairn_target_copy_read(&copy, va + 3, got, FIRST - 3));
    assert_memory_equal(got, bytes + 3, FIRST - 3);
    assert_false(cairn_target_copy_read(&copy, va - 1, got, 8));
    assert_false(cairn_target_copy_read(&copy, va + 8, got, 16)); /* into page 1 */
    assert_false(cairn_target_copy_read(&copy, base + CAIRN_COPY_PAGE, got, 1));
    assert_true(cairn_target_copy_read(&copy, base + 2 * CAIRN_COPY_PAGE, got, 64));
    assert_memory_equal(got, bytes + FIRST, 64);
    assert_false(cairn_target_copy_read(&copy, base + 3 * CAIRN_COPY_PAGE - 8, got, 16));
    assert_true(cairn_target_copy_read(&copy, base + 5 * CAIRN_COPY_PAGE + 8, got, LAST - 8));
    assert_memory_equal(got, bytes + FIRST + CAIRN_COPY_PAGE + 8, LAST - 8);
    assert_false(cairn_target_copy_read(&copy, base + 5 * CAIRN_COPY_PAGE, got, LAST + 1));
    assert_false(cairn_target_copy_read(&copy, base + 70 * CAIRN_COPY_PAGE, got, 1));
    copy.pages = 4;
    assert_false(cairn_target_copy_read(&copy, va, got, 1));
    assert_true(cairn_target_copy_read(&copy, base + 2 * CAIRN_COPY_PAGE, got, 64));
    assert_memory_equal(got, bytes, 64);
    copy.pages = 0; /* all, one behind the other */
    assert_true(cairn_target_copy_read(&copy, va + 8, got, 64));
    assert_memory_equal(got, bytes + 8, 64);
}

static void put_piece(uint64_t *words, size_t *n, uint64_t va, uint64_t size)
{
    words[(*n)++] = va;
    words[(*n)++] = size;
    for (uint64_t i = 0; i < size / 8; i++)
        words[(*n)++] = va + 8 * i;
}

static bool reads_word(struct cairn_target_copy *copy, uint64_t va)
{
    uint64_t word;
    return cairn_target_copy_read(copy, va, &word, sizeof word) && word == va;
}

/* Two pieces that follow each other, out of order, and one apart. */
static void pieces_beside_a_copy_are_read(void **state)
{
    (void)state;
    uint64_t words[64], two[2];
    size_t n = 0;
    put_piece(words, &n, 0x2010, 16);
    put_piece(words, &n, 0x9000, 8);
    put_piece(words, &n, 0x2000, 16);
    struct cairn_target_pieces pieces = {.bytes = {(const uint8_t *)words, 8 * n}};
    struct cairn_target_copy copy = {.va = 0x100000, .pieces = &pieces};
    assert_true(reads_word(&copy, 0x2010));
    assert_true(reads_word(&copy, 0x9000));
    assert_true(reads_word(&copy, 0x2000));
    assert_true(cairn_target_copy_read(&copy, 0x2008, two, sizeof two));
    assert_true(two[0] == 0x2008 && two[1] == 0x2010);
    assert_false(reads_word(&copy, 0x2020));
    assert_false(cairn_target_copy_read(&copy, 0x2018, two, sizeof two));
    assert_false(cairn_target_copy_read(&copy, UINT64_MAX - 3, two, sizeof two));
}

/* Nothing is read beyond the bytes, whatever a size says. */
static void pieces_that_are_cut_or_too_large_end_there(void **state)
{
    (void)state;
    uint64_t words[64];
    size_t n = 0, end;
    put_piece(words, &n, 0x1000, 8);
    put_piece(words, &n, 0x2000, 16);
    struct cairn_target_pieces pieces = {.bytes = {(const uint8_t *)words, 8 * n}};
    struct cairn_target_copy copy = {.va = 0x100000, .pieces = &pieces};
    for (end = 0; end <= 8 * n; end++) {
        pieces = (struct cairn_target_pieces){.bytes = {(const uint8_t *)words, end}};
        assert_true(reads_word(&copy, 0x1000) == (end >= 24));
        assert_true(reads_word(&copy, 0x2000) == (end >= 56));
    }
    words[1] = UINT64_MAX - 8;
    pieces = (struct cairn_target_pieces){.bytes = {(const uint8_t *)words, 8 * n}};
    assert_false(reads_word(&copy, 0x1000));
    words[1] = 0;
    assert_false(reads_word(&copy, 0x1000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_beside_a_copy_are_read),
        cmocka_unit_test(pieces_that_are_cut_or_too_large_end_there),
        cmocka_unit_test(a_copy_with_gaps_is_read_by_page),
        cmocka_unit_test(why_memory_is_not_read_is_told_where_it_was_asked_for),
        cmocka_unit_test(every_frame_of_a_child_is_found),
        cmocka_unit_test(a_handler_on_a_stack_of_its_own_is_walked_through),
        cmocka_unit_test(a_thread_that_the_caller_traces_needs_no_holding),
        cmocka_unit_test(a_process_that_is_gone_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
