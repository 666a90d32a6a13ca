/* SPDX-License-Identifier: MIT */
/* A child's threads call a function all the time while words of it are changed from outside. */
#include "attach/renew.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/child.h"
#include "support/test.h"
#include "unit/attach/open_target.h"

enum {
    PAGE = 4096,
    N_PAGES = 3,
    AT = PAGE + 0x128,
    THREADS = 3,
    TURNS = 300,
    PATIENCE_MS = 20000,
    ONE = 0x11111111,
    TWO = 0x22222222
};

/* mov $ONE, %eax; ret, and the same for TWO */
static const uint8_t one[8] = {0xb8, 0x11, 0x11, 0x11, 0x11, 0xc3, 0x90, 0x90};
static const uint8_t two[8] = {0xb8, 0x22, 0x22, 0x22, 0x22, 0xc3, 0x90, 0x90};

/* Shared with the child. */
static struct {
    uint8_t *code;
    atomic_int ready;
    atomic_ulong n_one, n_two, n_other;
} * shared;

static char path[] = "/tmp/cairn-renew-XXXXXX";
static struct cairn_err err;

static int share(void **state)
{
    (void)state;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED;
}

static void make_file(void)
{
    static uint8_t bytes[N_PAGES * PAGE];
    memcpy(path + sizeof path - 7, "XXXXXX", 6);
    const int fd = mkstemp(path);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i / PAGE + 'a');
    memcpy(bytes + AT, one, sizeof one);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, sizeof bytes), sizeof bytes);
    close(fd);
}

static void *call(void *unused)
{
    int (*volatile fn)(void) = (int (*)(void))(uintptr_t)(shared->code + AT);
    atomic_fetch_add(&shared->ready, 1);
    for (;;) {
        const int got = fn();
        atomic_fetch_add(got == ONE   ? &shared->n_one
                         : got == TWO ? &shared->n_two
                                      : &shared->n_other,
                         1);
    }
    return unused;
}

static void run_threads(bool is_anonymous)
{
    pthread_t thread;
    FILE *file = fopen(path, "r");
    if (is_anonymous) {
        shared->code =
            mmap(NULL, N_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memcpy(shared->code + AT, one, sizeof one);
        mprotect(shared->code, N_PAGES * PAGE, PROT_READ | PROT_EXEC);
    } else {
        shared->code =
            mmap(NULL, N_PAGES * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(file), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread, NULL, call, NULL);
    for (;;)
        pause();
}

static pid_t start(bool is_anonymous)
{
    atomic_store(&shared->ready, 0);
    atomic_store(&shared->n_one, 0);
    atomic_store(&shared->n_two, 0);
    atomic_store(&shared->n_other, 0);
    make_file();
    const pid_t child = test_fork();
    if (child == 0)
        run_threads(is_anonymous);
    for (int i = 0; atomic_load(&shared->ready) < THREADS && i < PATIENCE_MS; i++)
        usleep(1000);
    assert_int_equal(atomic_load(&shared->ready), THREADS);
    return child;
}

/* Until the threads have run this one, too. */
static void wait_for(atomic_ulong *counter)
{
    const unsigned long before = atomic_load(counter);
    for (int i = 0; atomic_load(counter) == before && i < PATIENCE_MS; i++)
        usleep(1000);
    assert_true(atomic_load(counter) > before);
}

/* Ends the child. `ret_nameless`: how many changes were without a file. */
static void toggle(pid_t child, uint32_t *ret_nameless)
{
    struct cairn_target_process target = test_open_target(child);
    struct cairn_foothold foothold;
    const uint64_t va = (uintptr_t)shared->code + AT;
    uint8_t now[8], beside;
    assert_ok(cairn_foothold_open(&target, 0, &foothold, &err), err);
    struct cairn_renewal renewal = {.target = &target, .foothold = &foothold, .their_fd = -1};
    for (int i = 0; i < TURNS; i++)
        assert_ok(cairn_renewal_write(&renewal, va, i % 2 ? one : two, sizeof one, &err), err);
    wait_for(&shared->n_one);
    assert_ok(cairn_renewal_write(&renewal, va, two, sizeof two, &err), err);
    wait_for(&shared->n_two);
    assert_int_equal(atomic_load(&shared->n_other), 0);
    assert_ok(cairn_target_read(&target, va, now, sizeof now, &err), err);
    assert_memory_equal(now, two, sizeof two);
    assert_ok(cairn_target_read(&target, va + sizeof two, &beside, 1, &err), err);
    assert_true(beside == 'b' || beside == 0);
    cairn_renewal_done(&renewal);
    assert_ok(cairn_foothold_close(&foothold, &err), err);
    *ret_nameless = renewal.n_nameless;
    cairn_target_close_process(&target);
}

/* The mapping of the word, by the child's maps now. */
static void must_be_of_file(pid_t child, bool is_deleted)
{
    struct cairn_maps *maps;
    assert_ok(cairn_maps_read_pid(child, &maps, &err), err);
    const struct cairn_map *map = cairn_maps_find(maps, (uintptr_t)shared->code + AT);
    assert_non_null(map);
    assert_string_equal(map->path, path);
    assert_int_equal(map->flags, CAIRN_MAP_READ | CAIRN_MAP_EXEC | CAIRN_MAP_FILE |
                                     (is_deleted ? CAIRN_MAP_DELETED : 0));
    assert_int_equal(map->off + ((uintptr_t)shared->code + AT - map->start), AT);
    cairn_maps_free(maps);
}

static void a_page_of_a_file_stays_one(void **state)
{
    uint32_t n_nameless;
    const pid_t child = start(false);
    (void)state;
    toggle(child, &n_nameless);
    must_be_of_file(child, false);
    assert_int_equal(n_nameless, 0);
    test_kill(child);
    unlink(path);
}

static void anonymous_code_changes(void **state)
{
    uint32_t n_nameless;
    const pid_t child = start(true);
    (void)state;
    toggle(child, &n_nameless);
    assert_int_equal(n_nameless, 0);
    test_kill(child);
    unlink(path);
}

/* Another file is at the path now, as after an upgrade: no page of that one. */
static void a_file_that_was_replaced_changes(void **state)
{
    uint32_t n_nameless;
    const pid_t child = start(false);
    (void)state;
    unlink(path);
    FILE *other = fopen(path, "w");
    assert_non_null(other);
    for (int i = 0; i < N_PAGES * PAGE; i++)
        fputc('x', other);
    fclose(other);
    toggle(child, &n_nameless);
    if (n_nameless == 0) /* who may open /proc/PID/map_files */
        must_be_of_file(child, true);
    test_kill(child);
    unlink(path);
}

static void what_is_no_code_is_refused(void **state)
{
    const pid_t child = start(false);
    struct cairn_target_process target = test_open_target(child);
    struct cairn_foothold foothold;
    (void)state;
    assert_ok(cairn_foothold_open(&target, 0, &foothold, &err), err);
    struct cairn_renewal renewal = {.target = &target, .foothold = &foothold, .their_fd = -1};
    const uint64_t no_code_va = (uintptr_t)shared, across_va = (uintptr_t)shared->code + PAGE - 4;
    assert_int_equal(cairn_renewal_write(&renewal, no_code_va, one, sizeof one, &err),
                     CAIRN_E_MISSING);
    assert_int_equal(cairn_renewal_write(&renewal, 0, one, sizeof one, &err), CAIRN_E_MISSING);
    assert_int_equal(cairn_renewal_write(&renewal, across_va, one, sizeof one, &err),
                     CAIRN_E_MISSING);
    cairn_renewal_done(&renewal);
    assert_ok(cairn_foothold_close(&foothold, &err), err);
    cairn_target_close_process(&target);
    test_kill(child);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_of_a_file_stays_one),
        cmocka_unit_test(anonymous_code_changes),
        cmocka_unit_test(a_file_that_was_replaced_changes),
        cmocka_unit_test(what_is_no_code_is_refused),
    };
    return cmocka_run_group_tests(tests, share, NULL);
}
