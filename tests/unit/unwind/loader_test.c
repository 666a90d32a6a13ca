/* SPDX-License-Identifier: MIT */
#include "unwind/loader.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>

#include "support/test.h"

static void functions_of_libc_are_where_dlsym_says(void **state)
{
    (void)state;
    static const char *const names[] = {"malloc", "qsort_r", "gnu_get_libc_version", "fopen64"};
    void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(libc);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_ptr_equal((void *)cairn_loader_libc(names[i]), dlsym(libc, names[i]));
    dlclose(libc);
}

static void names_that_are_none_are_not_found(void **state)
{
    (void)state;
    assert_int_equal(cairn_loader_libc("no_such_function_of_libc"), 0);
    assert_int_equal(cairn_loader_libc(""), 0);
    assert_int_equal(cairn_loader_libc("environ"), 0); /* a variable */
    assert_int_equal(cairn_loader_next("no_such_function_of_libc"), 0);
}

/* This program has one too, which comes before. */
__attribute__((visibility("default"), noinline)) size_t gnu_get_libc_release_length(void);
size_t gnu_get_libc_release_length(void)
{
    return strlen(gnu_get_libc_release());
}

static void the_next_function_is_that_of_another_module(void **state)
{
    (void)state;
    const char *(*release)(void) = (const char *(*)(void))cairn_loader_next("gnu_get_libc_release");
    assert_non_null(release);
    assert_int_equal(strlen(release()), gnu_get_libc_release_length());
    assert_int_equal(cairn_loader_next("gnu_get_libc_release_length"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_of_libc_are_where_dlsym_says),
        cmocka_unit_test(names_that_are_none_are_not_found),
        cmocka_unit_test(the_next_function_is_that_of_another_module),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
