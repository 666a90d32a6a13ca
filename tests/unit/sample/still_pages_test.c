/* SPDX-License-Identifier: MIT */
/* The test's own memory: many pages, the last of which may not be read. */
#include "sample/still_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/test.h"

enum { PAGE = CAIRN_STILL_PAGE_BYTES, N_PAGES = CAIRN_STILL_PAGES_MAX + 8 };
static const uint64_t SECOND_NS = 1000000000;

static uint8_t *bytes;
static struct cairn_mem mem;
static struct cairn_still_pages pages;

static int set_up(void **state)
{
    (void)state;
    bytes = mmap(NULL, (size_t)N_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                 -1, 0);
    assert_true(bytes != MAP_FAILED);
    for (size_t i = 0; i < N_PAGES; i++)
        bytes[i * PAGE] = (uint8_t)(i + 1);
    assert_int_equal(mprotect(bytes + (size_t)(N_PAGES - 1) * PAGE, PAGE, PROT_NONE), 0);
    assert_int_equal(cairn_mem_open(getpid(), &mem, NULL), CAIRN_OK);
    pages = (struct cairn_still_pages){.mem = &mem};
    cairn_still_pages_begin(&pages, 5 * SECOND_NS);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    cairn_still_pages_done(&pages);
    cairn_mem_close(&mem);
    munmap(bytes, (size_t)N_PAGES * PAGE);
    return 0;
}

/* The byte there; -1: it cannot be read. */
static int byte_at(size_t at)
{
    uint8_t got;
    return cairn_still_pages_read(&pages, (uint64_t)(uintptr_t)bytes + at, &got, 1) ? got : -1;
}

static void a_page_is_read_once(void **state)
{
    (void)state;
    assert_int_equal(byte_at(0), 1);
    bytes[0] = 77;
    assert_int_equal(byte_at(0), 1);
    assert_int_equal(byte_at(PAGE), 2);
    assert_int_equal(pages.n_reads, 2);
}

static void renewed_pages_are_as_memory_is_now(void **state)
{
    (void)state;
    assert_int_equal(byte_at(0), 1);
    bytes[0] = 77;
    cairn_still_pages_renew(&pages);
    assert_int_equal(byte_at(0), 77);
}

static void pages_count_for_a_second(void **state)
{
    (void)state;
    assert_int_equal(byte_at(0), 1);
    bytes[0] = 77;
    cairn_still_pages_begin(&pages, 5 * SECOND_NS + SECOND_NS - 1);
    assert_int_equal(byte_at(0), 1);
    cairn_still_pages_begin(&pages, 5 * SECOND_NS + SECOND_NS);
    assert_int_equal(byte_at(0), 77);
}

static void pages_of_a_process_that_has_ended_stay(void **state)
{
    (void)state;
    assert_int_equal(byte_at(0), 1);
    assert_int_equal(byte_at(PAGE), 2);
    assert_int_equal(mprotect(bytes, PAGE, PROT_NONE), 0);
    cairn_still_pages_renew(&pages); /* one page alone is gone */
    assert_int_equal(byte_at(0), -1);
    assert_int_equal(byte_at(PAGE), 2);
    assert_int_equal(mprotect(bytes + PAGE, PAGE, PROT_NONE), 0);
    cairn_still_pages_renew(&pages);
    cairn_still_pages_begin(&pages, 9 * SECOND_NS);
    assert_int_equal(byte_at(PAGE), 2);
}

static void reads_go_across_pages_and_not_beyond_memory(void **state)
{
    (void)state;
    uint8_t got[2 * PAGE];
    const uint64_t va = (uint64_t)(uintptr_t)bytes;
    assert_true(cairn_still_pages_read(&pages, va + 100, got, sizeof got));
    assert_memory_equal(got, bytes + 100, sizeof got);
    assert_int_equal(byte_at((size_t)(N_PAGES - 1) * PAGE), -1);
    assert_false(cairn_still_pages_read(&pages, va + (size_t)(N_PAGES - 1) * PAGE - 8, got, 16));
    assert_false(cairn_still_pages_read(&pages, UINT64_MAX - 3, got, 4));
    assert_false(cairn_still_pages_read(&pages, 0, got, 1));
}

static void no_more_pages_are_kept_than_the_limit(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_PAGES - 1; i++)
        assert_int_equal(byte_at(i * PAGE), (uint8_t)(i + 1));
    assert_true(pages.n <= CAIRN_STILL_PAGES_MAX);
    assert_int_equal(byte_at(0), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_page_is_read_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(renewed_pages_are_as_memory_is_now, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pages_count_for_a_second, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pages_of_a_process_that_has_ended_stay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reads_go_across_pages_and_not_beyond_memory, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(no_more_pages_are_kept_than_the_limit, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
