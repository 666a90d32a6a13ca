/* SPDX-License-Identifier: MIT */
/* Hooks of slots of this program: order, libraries, other tools beside. tests/e2e/embed.sh has
 * libraries that come and go. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cairn/hook.h>

#include "support/test.h"

typedef pid_t pid_fn(void);

static struct cairn_err err;
static char order[16];
static pid_fn *original_a, *original_b, *original_other;
static pid_fn *volatile in_data = getppid; /* a pointer that the loader fills */

static void note(char name)
{
    const size_t n = strlen(order);
    if (n < sizeof order - 1)
        order[n] = name;
}

static pid_t hook_a(void)
{
    note('a');
    return original_a();
}

static pid_t hook_b(void)
{
    note('b');
    return original_b();
}

static pid_t hook_other(void)
{
    note('o');
    return original_other();
}

static struct cairn_hook *hook_with(pid_fn *replacement, const char *module, pid_fn **ret_original)
{
    struct cairn_hook *hook;
    const struct cairn_hook_where where = {
        .size = sizeof where, .modules = &module, .n_modules = module ? 1 : 0};
    if (cairn_hook_slots("getppid", (void *)(uintptr_t)replacement, &where, (void **)ret_original,
                         &hook, &err) != CAIRN_OK)
        fail_msg("%s (%s)", err.msg, err.hint);
    return hook;
}

static void remove_hook(struct cairn_hook *hook)
{
    if (cairn_hook_remove(hook, &err) != CAIRN_OK)
        fail_msg("%s (%s)", err.msg, err.hint);
}

static pid_t parent;

static void hold_order(const char *expected)
{
    memset(order, 0, sizeof order);
    assert_int_equal(getppid(), parent);
    assert_string_equal(order, expected);
    memset(order, 0, sizeof order);
    assert_int_equal(in_data(), parent);
    assert_string_equal(order, expected);
}

static void calls_and_pointers_in_data_are_hooked(void **state)
{
    pid_fn *const before = in_data;
    (void)state;
    struct cairn_hook *hook = hook_with(hook_a, NULL, &original_a);
    hold_order("a");
    assert_ptr_equal(in_data, hook_a); /* a hook costs its replacement's call alone */
    remove_hook(hook);
    hold_order("");
    assert_ptr_equal(in_data, before);
}

static void the_newest_is_first_and_any_goes_first(void **state)
{
    (void)state;
    for (int first = 0; first < 2; first++) {
        struct cairn_hook *hooks[2];
        hooks[0] = hook_with(hook_a, NULL, &original_a);
        hooks[1] = hook_with(hook_b, NULL, &original_b);
        hold_order("ba");
        remove_hook(hooks[first]);
        hold_order(first ? "a" : "b");
        remove_hook(hooks[!first]);
        hold_order("");
    }
}

static void a_hook_for_fewer_libraries_is_first(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct cairn_hook *one = i ? hook_with(hook_a, "embed_slots_test", &original_a) : NULL;
        struct cairn_hook *all = hook_with(hook_b, NULL, &original_b);
        if (!one)
            one = hook_with(hook_a, "embed_slots_test", &original_a);
        hold_order("ab");
        remove_hook(i ? one : all);
        hold_order(i ? "b" : "a");
        remove_hook(i ? all : one);
        hold_order("");
    }
}

static void sets_that_overlap_in_part_are_refused(void **state)
{
    struct cairn_hook *hook;
    const char *const module = "embed_*";
    const struct cairn_hook_where where = {
        .size = sizeof where, .modules = &module, .n_modules = 1};
    (void)state;
    struct cairn_hook *one = hook_with(hook_a, "*_slots_test", &original_a);
    assert_int_equal(
        cairn_hook_slots("getppid", (void *)(uintptr_t)hook_b, &where, NULL, &hook, &err),
        CAIRN_E_SUPPORT);
    assert_non_null(strstr(err.msg, "another hook"));
    hold_order("a");
    remove_hook(one);
    hold_order("");
}

static void libraries_without_such_slots_are_reported(void **state)
{
    struct cairn_hook *hook;
    const char *module = "libc.so.6";
    const char *const except = "*embed_slots_test";
    struct cairn_hook_where where = {.size = sizeof where, .modules = &module, .n_modules = 1};
    (void)state;
    assert_int_equal(
        cairn_hook_slots("getppid", (void *)(uintptr_t)hook_a, &where, NULL, &hook, &err),
        CAIRN_E_MISSING);
    assert_non_null(strstr(err.msg, "none in the 1 of "));
    where = (struct cairn_hook_where){.size = sizeof where, .except = &except, .n_except = 1};
    assert_int_equal(
        cairn_hook_slots("getppid", (void *)(uintptr_t)hook_a, &where, NULL, &hook, &err),
        CAIRN_E_MISSING);
    where = (struct cairn_hook_where){.size = sizeof where, .version = "GLIBC_9.9"};
    assert_int_equal(
        cairn_hook_slots("getppid", (void *)(uintptr_t)hook_a, &where, NULL, &hook, &err),
        CAIRN_E_MISSING);
    hold_order("");
}

static void a_version_chooses_slots(void **state)
{
    struct cairn_hook *hook;
#if defined(__x86_64__)
    const char *const version = "GLIBC_2.2.5"; /* glibc's first on this CPU */
#else
    const char *const version = "GLIBC_2.17";
#endif
    const struct cairn_hook_where where = {.size = sizeof where, .version = version};
    (void)state;
    assert_int_equal(cairn_hook_slots("getppid", (void *)(uintptr_t)hook_a, &where,
                                      (void **)&original_a, &hook, &err),
                     CAIRN_OK);
    hold_order("a");
    remove_hook(hook);
    hold_order("");
}

static void what_another_tool_wrote_stays(void **state)
{
    pid_fn *const before = in_data;
    struct cairn_hook *hook = hook_with(hook_a, NULL, &original_a);
    (void)state;
    original_other = in_data;
    in_data = hook_other;
    assert_int_equal(cairn_hook_remove(hook, &err), CAIRN_E_EXISTS);
    assert_non_null(strstr(err.msg, "another tool changed 1"));
    assert_int_equal(in_data(), parent);
    assert_ptr_equal(in_data, hook_other);
    in_data = before;
    hold_order("");
    /* A tool that came before: its slot stays, too. */
    in_data = hook_other;
    original_other = before;
    hook = hook_with(hook_a, NULL, &original_a);
    assert_ptr_equal(in_data, hook_other);
    remove_hook(hook);
    in_data = before;
    hold_order("");
}

static void what_another_tool_puts_back_is_restored_on_removal(void **state)
{
    pid_fn *const before = in_data;
    struct cairn_hook *hook = hook_with(hook_a, NULL, &original_a);
    (void)state;
    original_other = hook_a;
    in_data = hook_other;
    /* Another hook comes and goes: each looks at all slots. */
    struct cairn_hook *second = hook_with(hook_b, NULL, &original_b);
    assert_int_equal(cairn_hook_remove(second, &err), CAIRN_E_EXISTS);
    in_data = hook_a;
    hold_order("a");
    remove_hook(hook);
    hold_order("");
    assert_ptr_equal(in_data, before);
}

static void *(*original_find)(const void *, int);
static long n_found;

static void *replace_find(const void *bytes, int byte)
{
    n_found++;
    return original_find(bytes, byte);
}

/* A slot of an IFUNC holds the implementation. */
static void a_function_that_is_an_ifunc_is_hooked(void **state)
{
    void *(*volatile called)(const void *, int);
    struct cairn_hook *hook;
    char text[16];
    (void)state;
    snprintf(text, sizeof text, "%d", (int)parent);
    if (cairn_hook_slots("rawmemchr", (void *)(uintptr_t)replace_find, NULL,
                         (void **)&original_find, &hook, &err) != CAIRN_OK)
        fail_msg("%s (%s)", err.msg, err.hint);
    called = rawmemchr;
    const char *end = called(text, 0);
    remove_hook(hook);
    assert_int_equal(n_found, 1);
    assert_true(end > text && !*end);
}

typedef long syscall_fn(long, long, long, long, long, long, long);

static syscall_fn *original_syscall;
static bool is_hooking;
static int code_inside;

static long hook_from_syscall(long n, long a, long b, long c, long d, long e, long f)
{
    struct cairn_hook *hook;
    if (!is_hooking) {
        is_hooking = true;
        const int code = cairn_hook_slots("getppid", (void *)(uintptr_t)hook_b, NULL,
                                          (void **)&original_b, &hook, NULL);
        if (code == CAIRN_OK)
            (void)cairn_hook_remove(hook, NULL);
        else
            code_inside = code;
        is_hooking = false;
    }
    return original_syscall(n, a, b, c, d, e, f);
}

/* The library itself calls the replacement while it hooks something else. */
static void a_replacement_that_hooks_meanwhile_gets_an_error(void **state)
{
    struct cairn_hook *hook;
    (void)state;
    is_hooking = true;
    assert_int_equal(cairn_hook_slots("syscall", (void *)(uintptr_t)hook_from_syscall, NULL,
                                      (void **)&original_syscall, &hook, &err),
                     CAIRN_OK);
    code_inside = CAIRN_OK;
    is_hooking = false;
    struct cairn_hook *one = hook_with(hook_a, "embed_slots_test", &original_a);
    is_hooking = true;
    remove_hook(one);
    remove_hook(hook);
    assert_int_equal(code_inside, CAIRN_E_ARG);
    hold_order("");
}

int main(void)
{
    parent = getppid();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_and_pointers_in_data_are_hooked),
        cmocka_unit_test(the_newest_is_first_and_any_goes_first),
        cmocka_unit_test(a_hook_for_fewer_libraries_is_first),
        cmocka_unit_test(sets_that_overlap_in_part_are_refused),
        cmocka_unit_test(libraries_without_such_slots_are_reported),
        cmocka_unit_test(a_version_chooses_slots),
        cmocka_unit_test(what_another_tool_wrote_stays),
        cmocka_unit_test(what_another_tool_puts_back_is_restored_on_removal),
        cmocka_unit_test(a_function_that_is_an_ifunc_is_hooked),
        cmocka_unit_test(a_replacement_that_hooks_meanwhile_gets_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
