/* SPDX-License-Identifier: MIT */
#include "proc/present.h"

#include <sys/mman.h>
#include <unistd.h>

#include "support/test.h"

/* More pages than are asked for at once. */
enum { PAGES = 3 * CAIRN_PRESENT_ENTRIES };

static size_t page_size;
static uint8_t *memory;

static int map_memory(void **state)
{
    (void)state;
    page_size = (size_t)sysconf(_SC_PAGESIZE);
    memory = mmap(NULL, PAGES * page_size, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory != MAP_FAILED)
        madvise(memory, PAGES * page_size, MADV_NOHUGEPAGE);
    return memory == MAP_FAILED;
}

static int unmap_memory(void **state)
{
    (void)state;
    return munmap(memory, PAGES * page_size);
}

static uint64_t va_of(uint64_t page)
{
    return (uint64_t)(uintptr_t)memory + page * page_size;
}

static void only_written_pages_are_present(void **state)
{
    (void)state;
    static const uint64_t written[][2] = {{3, 5}, {8190, 8195}, {PAGES - 1, PAGES}};
    static struct cairn_present present;
    uint64_t from, to = va_of(0);
    for (size_t i = 0; i < 3; i++)
        for (uint64_t page = written[i][0]; page < written[i][1]; page++)
            memory[(size_t)page * page_size] = 1;
    cairn_present_open(getpid(), &present);
    for (size_t i = 0; i < 3; i++) {
        assert_true(cairn_present_next(&present, to, va_of(PAGES), UINT64_MAX, &from, &to));
        assert_int_equal(from, va_of(written[i][0]));
        assert_int_equal(to, va_of(written[i][1]));
    }
    assert_false(cairn_present_next(&present, to, va_of(PAGES), UINT64_MAX, &from, &to));
    cairn_present_close(&present);
}

static void a_run_has_an_end(void **state)
{
    (void)state;
    static struct cairn_present present;
    uint64_t from, to;
    memset(memory, 1, 10 * page_size);
    cairn_present_open(getpid(), &present);
    assert_true(
        cairn_present_next(&present, va_of(2) + 8, va_of(PAGES), 3 * page_size, &from, &to));
    assert_int_equal(from, va_of(2) + 8);
    assert_int_equal(to, va_of(5) + 8);
    assert_true(cairn_present_next(&present, va_of(8), va_of(8) + 16, UINT64_MAX, &from, &to));
    assert_int_equal(to, va_of(8) + 16);
    cairn_present_close(&present);
}

/* Of a terabyte without a page in it the kernel says so at once, or the reader looks long. */
static void a_reservation_is_passed_over(void **state)
{
    (void)state;
    static struct cairn_present present;
    const size_t size =
        sizeof(size_t) > 4 ? (size_t)1 << (sizeof(size_t) > 4 ? 40 : 0) : (size_t)1 << 30;
    uint8_t *pages = mmap(NULL, size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    uint64_t va = (uintptr_t)pages, from, to;
    if (pages == MAP_FAILED) {
        print_message("skipped: no address space for a terabyte\n");
        skip();
    }
    pages[size / 2] = 1;
    cairn_present_open(getpid(), &present);
    present.skips_file = true;
    assert_true(cairn_present_next(&present, va, va + size, UINT64_MAX, &from, &to));
    assert_true(from <= va + size / 2 && to > va + size / 2); /* it may be a huge page */
    assert_false(cairn_present_next(&present, to, va + size, UINT64_MAX, &from, &to));
    cairn_present_close(&present);
    munmap(pages, size);
}

static void pages_of_a_file_do_not_count(void **state)
{
    (void)state;
    static struct cairn_present present;
    uint64_t from, to;
    uint8_t *pages =
        mmap(NULL, 4 * page_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    pages[page_size] = 1;
    cairn_present_open(getpid(), &present);
    uint64_t va = (uintptr_t)pages, end = va + 4 * page_size;
    assert_true(cairn_present_next(&present, va, end, UINT64_MAX, &from, &to));
    assert_int_equal(from, va + page_size);
    present.skips_file = true; /* as of shared memory, which is a file's */
    assert_false(cairn_present_next(&present, va, end, UINT64_MAX, &from, &to));
    cairn_present_close(&present);
    munmap(pages, 4 * page_size);
}

/* Of a process that is not there nothing is known, and reading tells. */
static void without_the_file_all_is_present(void **state)
{
    (void)state;
    static struct cairn_present present;
    uint64_t from, to;
    cairn_present_open(0x7fffffff, &present);
    assert_int_equal(present.fd, -1);
    assert_true(cairn_present_next(&present, 4096, 1 << 20, 8192, &from, &to));
    assert_int_equal(from, 4096);
    assert_int_equal(to, 4096 + 8192);
    assert_false(cairn_present_next(&present, 1 << 20, 1 << 20, 8192, &from, &to));
    cairn_present_close(&present);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_written_pages_are_present),
        cmocka_unit_test(a_run_has_an_end),
        cmocka_unit_test(a_reservation_is_passed_over),
        cmocka_unit_test(pages_of_a_file_do_not_count),
        cmocka_unit_test(without_the_file_all_is_present),
    };
    return cmocka_run_group_tests(tests, map_memory, unmap_memory);
}
