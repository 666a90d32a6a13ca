/* SPDX-License-Identifier: MIT */
/* Stacks that begin in the dynamic loader's entry code: those of libraries' constructors. */
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include <cairn/unwind.h>

#include "support/test.h"

enum { FRAMES = 64, LOADER_ENTRY_BYTES = 64 };

/* Filled before main(). */
static struct capture {
    uintptr_t ips[FRAMES];
    size_t n;
    struct cairn_unwind_info info;
} first, again;

extern __attribute__((visibility("default"))) int root_library_calls;
__attribute__((visibility("default"))) void capture_in_constructor(void);

void capture_in_constructor(void)
{
    first.info.size = again.info.size = sizeof first.info;
    first.n = cairn_unwind_here(first.ips, FRAMES, &first.info);
    again.n = cairn_unwind_here(again.ips, FRAMES, &again.info);
}

static void skip_without_loader(void)
{
    if (!getauxval(AT_BASE))
        skip();
#ifndef __GLIBC__
    skip(); /* musl's loader has no CFI, and calls constructors from the program's entry */
#endif
}

static void a_constructors_stack_is_whole(void **state)
{
    (void)state;
    skip_without_loader();
    assert_int_equal(root_library_calls, 6);
    assert_int_equal(first.info.end, CAIRN_END_OUTERMOST);
    assert_true(first.n > 7);
    assert_int_equal(again.n, first.n);
    assert_int_equal(again.info.end, CAIRN_END_OUTERMOST);
}

static void its_root_is_the_loaders_entry(void **state)
{
    (void)state;
    skip_without_loader();
    const ElfW(Ehdr) *header = (const void *)getauxval(AT_BASE);
    uintptr_t entry = (uintptr_t)header + (header->e_entry & ~(ElfW(Addr))1);
    assert_true(first.ips[first.n - 1] - entry < LOADER_ENTRY_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_constructors_stack_is_whole),
        cmocka_unit_test(its_root_is_the_loaders_entry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
