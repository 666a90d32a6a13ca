/* SPDX-License-Identifier: MIT */
/* What hooks refuse before they touch anything. */
#include <sys/mman.h>
#include <unistd.h>

#include <cairn/hook.h>

#include "support/test.h"

static int target(void)
{
    return 1;
}

static int replacement(void)
{
    return 2;
}

static struct cairn_err err;
static struct cairn_hook *hook;

static void *code_of(int (*function)(void))
{
    return (void *)(uintptr_t)function;
}

static int try_at(void *function)
{
    void *original = &err;
    const int code = cairn_hook_function(function, code_of(replacement), 0, &original, &hook, &err);
    assert_ptr_equal(original, &err);
    return code;
}

static bool is_written_here(void)
{
#if defined(__x86_64__)
    return true;
#else
    return false;
#endif
}

static void arguments_that_cannot_be_meant_are_refused(void **state)
{
    (void)state;
    assert_int_equal(cairn_hook_function(code_of(target), NULL, 0, NULL, &hook, &err), CAIRN_E_ARG);
    assert_int_equal(
        cairn_hook_function(code_of(target), code_of(replacement), 0, NULL, NULL, &err),
        CAIRN_E_ARG);
    assert_int_equal(
        cairn_hook_function(code_of(target), code_of(replacement), 1u << 31, NULL, &hook, &err),
        CAIRN_E_ARG);
    assert_non_null(strstr(err.msg, "0x80000000"));
    assert_int_equal(cairn_hook_remove(NULL, &err), CAIRN_OK);
}

static void another_cpu_is_refused_by_name(void **state)
{
    (void)state;
    if (is_written_here())
        return;
    assert_int_equal(try_at(code_of(target)), CAIRN_E_SUPPORT);
    assert_non_null(strstr(err.msg, "not written for this CPU"));
}

static void a_function_cannot_be_missing_or_replace_itself(void **state)
{
    (void)state;
    if (!is_written_here())
        return;
    assert_int_equal(try_at(NULL), CAIRN_E_ARG);
    assert_int_equal(try_at(code_of(replacement)), CAIRN_E_ARG);
}

static void an_address_without_code_is_refused_with_its_mapping(void **state)
{
    static int data = 1;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)state;
    if (!is_written_here())
        return;
    assert_int_equal(try_at(&data), CAIRN_E_ARG);
    assert_non_null(strstr(err.msg, "points into data"));
    assert_non_null(strstr(err.msg, "embed_arguments_test"));
    assert_int_equal(try_at(pages), CAIRN_E_ARG);
    assert_int_equal(mprotect(pages, page, PROT_EXEC), 0);
    assert_int_equal(try_at(pages), CAIRN_E_ACCESS);
    assert_non_null(strstr(err.msg, "cannot be read"));
    assert_int_equal(mprotect(pages, page, PROT_READ | PROT_EXEC), 0);
    assert_int_equal(try_at(pages), CAIRN_E_SUPPORT);
    assert_non_null(strstr(err.msg, "JIT"));
    munmap(pages, page);
    assert_int_equal(try_at(pages), CAIRN_E_MISSING);
    assert_non_null(strstr(err.hint, "unloaded"));
}

static int hook_slots(const char *name, const struct cairn_hook_where *where)
{
    return cairn_hook_slots(name, code_of(replacement), where, NULL, &hook, &err);
}

static void names_and_libraries_of_slots_are_checked(void **state)
{
    static char longest[5000];
    const char *const libraries[] = {"libc.so.6", ""};
    struct cairn_hook_where where = {.size = sizeof where};
    (void)state;
    if (!is_written_here())
        return;
    memset(longest, 'x', sizeof longest - 1);
    assert_int_equal(hook_slots(NULL, NULL), CAIRN_E_ARG);
    assert_int_equal(hook_slots("", NULL), CAIRN_E_ARG);
    assert_int_equal(hook_slots(longest, NULL), CAIRN_E_LIMIT);
    where.n_modules = 2;
    assert_int_equal(hook_slots("malloc", &where), CAIRN_E_ARG);
    where.modules = libraries;
    assert_int_equal(hook_slots("malloc", &where), CAIRN_E_ARG);
    where.n_modules = 1000;
    assert_int_equal(hook_slots("malloc", &where), CAIRN_E_LIMIT);
    where = (struct cairn_hook_where){.size = 4};
    assert_int_equal(hook_slots("malloc", &where), CAIRN_E_ARG);
    assert_int_equal(hook_slots("cairn_no_such_function", NULL), CAIRN_E_MISSING);
    assert_non_null(strstr(err.msg, "cairn_no_such_function"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_that_cannot_be_meant_are_refused),
        cmocka_unit_test(another_cpu_is_refused_by_name),
        cmocka_unit_test(a_function_cannot_be_missing_or_replace_itself),
        cmocka_unit_test(an_address_without_code_is_refused_with_its_mapping),
        cmocka_unit_test(names_and_libraries_of_slots_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
