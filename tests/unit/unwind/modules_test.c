/* SPDX-License-Identifier: MIT */
#include "unwind/modules.h"

#include <link.h>

#include <cairn/unwind.h>

#include "support/apart.h"
#include "support/test.h"

enum { ROOM = 64 };

/* Of a module: its first executable bytes are in it, by the loader and by the list alike. */
static int is_same_by_list(struct dl_phdr_info *info, size_t size, void *ctx)
{
    unsigned *n = ctx;
    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
            continue;
        struct cairn_local_module by_loader, by_list;
        uintptr_t va = info->dlpi_addr + segment->p_vaddr;
        cairn_modules_use_list(false);
        assert_true(cairn_modules_find(va, &by_loader));
        cairn_modules_use_list(true);
        assert_true(cairn_modules_find(va, &by_list));
        assert_int_equal(by_list.frames, by_loader.frames);
        assert_int_equal(by_list.n_exidx, by_loader.n_exidx);
        assert_in_range(va, by_list.from, by_list.to - 1);
        ++*n;
    }
    return 0;
}

static void the_list_says_what_the_loader_says(void **state)
{
    (void)state;
    unsigned n = 0;
    assert_int_equal(dl_iterate_phdr(is_same_by_list, &n), 0);
    cairn_modules_use_list(false);
    assert_true(n >= 3);
}

static void what_is_in_no_module_is_wished_for_by_the_list(void **state)
{
    (void)state;
    struct cairn_local_module module;
    int local;
    assert_false(cairn_modules_find((uintptr_t)&local, &module));
    assert_false(cairn_modules_wanted());
    cairn_modules_use_list(true);
    assert_false(cairn_modules_find((uintptr_t)&local, &module));
    assert_true(cairn_modules_wanted());
    cairn_modules_refresh();
    assert_false(cairn_modules_wanted());
    cairn_modules_use_list(false);
}

APART static size_t capture(bool by_list, uintptr_t *ret_ips)
{
    cairn_modules_use_list(by_list);
    cairn_unwind_refresh();
    return cairn_unwind_here(ret_ips, ROOM, NULL);
}

static void stacks_by_the_list_are_those_by_the_loader(void **state)
{
    (void)state;
    uintptr_t ips[2][ROOM];
    size_t n = capture(false, ips[0]), n_by_list = capture(true, ips[1]);
    cairn_modules_use_list(false);
    assert_true(n > 3 && n < ROOM);
    assert_int_equal(n_by_list, n);
    assert_memory_equal(ips[1] + 2, ips[0] + 2, (n - 2) * sizeof *ips[0]); /* from two calls */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_list_says_what_the_loader_says),
        cmocka_unit_test(what_is_in_no_module_is_wished_for_by_the_list),
        cmocka_unit_test(stacks_by_the_list_are_those_by_the_loader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
