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
#if defined(__x86_64__) || defined(__aarch64__)
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

/* A file's page, mapped as code, with `bytes` at its end. */
static char *map_end(const uint8_t *bytes, size_t n, int kind)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const int fd = memfd_create("code", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)page), 0);
    assert_int_equal(pwrite(fd, bytes, n, (off_t)(page - n)), (ssize_t)n);
    char *code = mmap(NULL, page, PROT_READ | PROT_EXEC, kind, fd, 0);
    assert_true(code != MAP_FAILED);
    close(fd);
    return code + page - n;
}

static void functions_at_the_end_of_a_mapping_are_refused_or_fit(void **state)
{
    (void)state;
    if (!is_written_here())
        return;
#if defined(__x86_64__)
    static const uint8_t cut[] = {0x48, 0x8b}, whole[] = {0xb8, 7, 0, 0, 0, 0xc3},
                         bad[] = {0x06, 0x06, 0x06, 0x06, 0x06, 0x06};
    assert_int_equal(try_at(map_end(cut, sizeof cut, MAP_PRIVATE)), CAIRN_E_SUPPORT);
    assert_non_null(strstr(err.msg, "end inside an instruction"));
    assert_non_null(strstr(err.msg, "memfd:code"));
#else
    static const uint8_t whole[] = {0xe0, 0, 0x80, 0x52, 0xc0, 3, 0x5f, 0xd6}, bad[4] = {0};
#endif
    assert_int_equal(try_at(map_end(bad, sizeof bad, MAP_PRIVATE)), CAIRN_E_SUPPORT);
    assert_non_null(strstr(err.msg, "no instruction"));
    assert_int_equal(try_at(map_end(whole, sizeof whole, MAP_SHARED)), CAIRN_E_SUPPORT);
    assert_non_null(strstr(err.msg, "shared"));
    char *function = map_end(whole, sizeof whole, MAP_PRIVATE);
    if (cairn_hook_function(function, code_of(replacement), 0, NULL, &hook, &err) != CAIRN_OK)
        fail_msg("%s (%s)", err.msg, err.hint);
    assert_int_equal(((int (*)(void))(uintptr_t)function)(), 2);
    assert_int_equal(cairn_hook_remove(hook, &err), CAIRN_OK);
    assert_int_equal(((int (*)(void))(uintptr_t)function)(), 7);
    assert_memory_equal(function, whole, sizeof whole);
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
        cmocka_unit_test(functions_at_the_end_of_a_mapping_are_refused_or_fit),
        cmocka_unit_test(names_and_libraries_of_slots_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
