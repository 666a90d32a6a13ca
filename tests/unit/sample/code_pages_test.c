/* SPDX-License-Identifier: MIT */
/* The test's own memory: three pages, the last of which may not be read. */
#include "sample/code_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tests/support/test.h"

enum { PAGE = CAIRN_CODE_PAGE_BYTES, NS_PER_MS = 1000000 };

static uint8_t *bytes;
static struct cairn_space space;
static struct cairn_code_pages *pages;

static int set_up(void **state)
{
    (void)state;
    bytes = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(bytes != MAP_FAILED);
    for (size_t i = 0; i < 2 * PAGE; i++)
        bytes[i] = (uint8_t)(i * 7 + i / 256);
    assert_int_equal(mprotect(bytes + 2 * PAGE, PAGE, PROT_NONE), 0);
    space = (struct cairn_space){.code = {.pid = getpid(), .version = 1}};
    pages = cairn_alloc(1, sizeof *pages);
    assert_non_null(pages);
    cairn_code_pages_begin(pages, &space, 1000 * NS_PER_MS);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    munmap(bytes, 3 * PAGE);
    cairn_free(pages);
    if (space.mem_state == 1)
        cairn_mem_close(&space.mem);
    return 0;
}

static bool is_read(size_t at, size_t size)
{
    uint8_t got[2 * PAGE];
    bool ok = cairn_code_pages_read(pages, &space, (uint64_t)(uintptr_t)bytes + at, got, size);
    if (ok)
        assert_memory_equal(got, bytes + at, size);
    return ok;
}

static void a_page_is_read_once(void **state)
{
    (void)state;
    for (size_t at = 0; at + 64 <= PAGE; at += 3)
        assert_true(is_read(at, 64));
    assert_int_equal(pages->n_reads, 1);
    assert_true(is_read(PAGE - 8, 16));
    assert_true(is_read(0, 2 * PAGE));
    assert_int_equal(pages->n_reads, 2);
}

static void what_cannot_be_read_is_not_made_up(void **state)
{
    (void)state;
    assert_true(is_read(2 * PAGE - 8, 8));
    assert_false(is_read(2 * PAGE - 8, 9));
    assert_false(is_read(2 * PAGE, 1));
    assert_false(is_read(2 * PAGE + 100, 1));
    assert_int_equal(pages->n_reads, 2);
}

static void pages_are_read_again_after_10_ms_and_after_a_change(void **state)
{
    (void)state;
    assert_true(is_read(0, 8));
    cairn_code_pages_begin(pages, &space, 1009 * NS_PER_MS);
    assert_true(is_read(0, 8));
    assert_int_equal(pages->n_reads, 1);
    bytes[0]++;
    cairn_code_pages_begin(pages, &space, 1010 * NS_PER_MS);
    assert_true(is_read(0, 8));
    assert_int_equal(pages->n_reads, 2);
    bytes[0]++;
    space.code.version++;
    cairn_code_pages_begin(pages, &space, 1011 * NS_PER_MS);
    assert_true(is_read(0, 8));
    assert_int_equal(pages->n_reads, 3);
}

#define WITH_PAGES(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PAGES(a_page_is_read_once),
        WITH_PAGES(what_cannot_be_read_is_not_made_up),
        WITH_PAGES(pages_are_read_again_after_10_ms_and_after_a_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
