/* SPDX-License-Identifier: MIT */
#include "proc/kernel.h"

#include <sys/utsname.h>

#include "support/test.h"

static void the_running_kernel_says_which_it_is(void **state)
{
    (void)state;
    struct cairn_running_kernel kernel;
    struct utsname names;
    cairn_running_kernel(&kernel);
    assert_int_equal(uname(&names), 0);
    assert_string_equal(kernel.release, names.release);
    size_t digits = strlen(kernel.build_id);
    assert_int_equal(digits % 2, 0);
    assert_int_equal(strspn(kernel.build_id, "0123456789abcdef"), digits);
    if (kernel.text) /* not everybody may see it */
        assert_true(kernel.text >> 63);
}

static void the_vdso_begins_as_an_elf_file(void **state)
{
    (void)state;
    char id[CAIRN_KERNEL_BUILD_ID_SIZE];
    struct cairn_span vdso = cairn_vdso_of_self();
    cairn_vdso_build_id(id);
    if (!vdso.size)
        skip(); /* emulators have none */
    assert_memory_equal(vdso.data,
                        "\x7f"
                        "ELF",
                        4);
    assert_int_equal(strspn(id, "0123456789abcdef"), strlen(id));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_running_kernel_says_which_it_is),
        cmocka_unit_test(the_vdso_begins_as_an_elf_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
