/* SPDX-License-Identifier: MIT */
#include "rt/executable.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/test.h"

static int data = 1;

typedef enum cairn_executable_answer way(uintptr_t va);

/* Sixteen pages in two halves, so that the smallest page of any kernel is covered. */
enum { HALF = 1 << 16 };

static char *halves(void)
{
    char *pages = mmap(NULL, 2 * HALF, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    assert_int_equal(mprotect(pages, HALF, PROT_READ | PROT_EXEC), 0);
    return pages;
}

static void check_way(way *answer)
{
    char *pages = halves();
    uintptr_t low = (uintptr_t)pages;
    errno = 7;
    assert_int_equal(answer((uintptr_t)check_way), CAIRN_EXECUTABLE_YES);
    assert_int_equal(answer((uintptr_t)malloc), CAIRN_EXECUTABLE_YES);
    assert_int_equal(answer((uintptr_t)&data), CAIRN_EXECUTABLE_NO);
    assert_int_equal(answer((uintptr_t)&pages), CAIRN_EXECUTABLE_NO);
    assert_int_equal(answer(low), CAIRN_EXECUTABLE_YES);
    assert_int_equal(answer(low + HALF - 1), CAIRN_EXECUTABLE_YES);
    assert_int_equal(answer(low + HALF), CAIRN_EXECUTABLE_NO);
    assert_int_equal(answer(0), CAIRN_EXECUTABLE_NO);
    assert_int_equal(answer(UINTPTR_MAX), CAIRN_EXECUTABLE_NO);
    assert_int_equal(errno, 7);
    munmap(pages, 2 * HALF);
    assert_int_equal(answer(low), CAIRN_EXECUTABLE_NO);
}

static void the_kernel_is_asked_for_a_mapping(void **state)
{
    (void)state;
    if (cairn_executable_ask((uintptr_t)check_way) == CAIRN_EXECUTABLE_UNKNOWN) {
        puts("skipped: no PROCMAP_QUERY: the kernel is older than 6.11, or qemu");
        skip();
    }
    check_way(cairn_executable_ask);
}

static void the_text_of_maps_says_the_same(void **state)
{
    (void)state;
    check_way(cairn_executable_read);
}

static void an_answer_is_kept_and_a_no_is_asked_again(void **state)
{
    (void)state;
    char *pages = halves();
    uintptr_t low = (uintptr_t)pages;
    assert_true(cairn_executable(low));
    assert_false(cairn_executable(low + HALF));
    assert_int_equal(mprotect(pages, HALF, PROT_READ), 0);
    assert_true(cairn_executable(low));
    cairn_executable_forget();
    assert_false(cairn_executable(low));
    assert_int_equal(mprotect(pages, HALF, PROT_READ | PROT_EXEC), 0);
    int asked = 1;
    while (!cairn_executable(low) && asked < 1000)
        asked++;
    assert_in_range(asked, 2, 100);
    munmap(pages, 2 * HALF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kernel_is_asked_for_a_mapping),
        cmocka_unit_test(the_text_of_maps_says_the_same),
        cmocka_unit_test(an_answer_is_kept_and_a_no_is_asked_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
