/* SPDX-License-Identifier: MIT */
#include "rt/self.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/test.h"

static uint8_t *two_pages; /* and a hole behind them */
static size_t page;

static int map(void **state)
{
    (void)state;
    page = (size_t)sysconf(_SC_PAGESIZE);
    two_pages = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (two_pages == MAP_FAILED || munmap(two_pages + 2 * page, page) < 0)
        return -1;
    for (size_t i = 0; i < 2 * page; i++)
        two_pages[i] = (uint8_t)(i * 7 + (i >> 8));
    return 0;
}

static void what_is_mapped_can_be_read(void **state)
{
    (void)state;
    uint8_t copy[64];
    assert_true(cairn_self_readable((uintptr_t)two_pages));
    assert_true(cairn_self_readable((uintptr_t)two_pages + 2 * page - 1));
    for (size_t at = page - sizeof(copy); at <= page; at++) {
        assert_true(cairn_self_read((uintptr_t)two_pages + at, copy, sizeof(copy)));
        assert_memory_equal(copy, two_pages + at, sizeof(copy));
    }
    assert_true(cairn_self_memory.read(NULL, (uintptr_t)two_pages, copy, 1));
}

static void what_is_not_is_refused(void **state)
{
    (void)state;
    uint8_t copy[64];
    errno = 42;
    static const uintptr_t wild[] = {0, 8, UINTPTR_MAX, UINTPTR_MAX - 7, UINTPTR_MAX / 2 + 1};
    for (size_t i = 0; i < sizeof(wild) / sizeof(*wild); i++) {
        assert_false(cairn_self_readable(wild[i]));
        assert_false(cairn_self_read(wild[i], copy, sizeof(copy)));
    }
    assert_false(cairn_self_readable((uintptr_t)two_pages + 2 * page));
    for (size_t in = 0; in < sizeof(copy); in++)
        assert_false(cairn_self_read((uintptr_t)two_pages + 2 * page - in, copy, sizeof(copy)));
    assert_false(cairn_self_memory.read(NULL, (uintptr_t)two_pages + 2 * page, copy, 1));
    assert_true(cairn_self_read(0, copy, 0));
    assert_int_equal(errno, 42);
}

/* A sanitizer's memcpy() ends the process at the first byte behind a block. */
static void what_lies_between_blocks_is_copied(void **state)
{
    (void)state;
    enum { SIZE = 13, WITH_GAP = 16 }; /* every allocator's blocks end at a multiple of 8 */
    uint8_t copy[WITH_GAP];
    uint8_t *block = malloc(SIZE);
    assert_non_null(block);
    memset(block, 0x5a, SIZE);
    cairn_self_copy((uintptr_t)block, copy, WITH_GAP);
    assert_memory_equal(copy, block, SIZE);
    for (size_t size = 0; size <= SIZE; size++) {
        memset(copy, 0, sizeof(copy));
        cairn_self_copy((uintptr_t)block + SIZE - size, copy, size);
        assert_memory_equal(copy, block + SIZE - size, size);
        assert_int_equal(copy[size], 0);
    }
    free(block);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_mapped_can_be_read),
        cmocka_unit_test(what_is_not_is_refused),
        cmocka_unit_test(what_lies_between_blocks_is_copied),
    };
    return cmocka_run_group_tests(tests, map, NULL);
}
