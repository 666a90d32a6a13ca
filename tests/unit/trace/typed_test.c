/* SPDX-License-Identifier: MIT */
#include "trace/typed.h"

#include <string.h>

#include "support/test.h"
#include "trace/known.h"

static void only_a_list_of_arguments_is_cut(void **state)
{
    (void)state;
    static const struct {
        const char *event, *name;
    } rows[] = {
        {"uprobe:libc.so.6:fopen/arg0:str", "uprobe:libc.so.6:fopen"},
        {"uprobe:./dir/lib.so:f/arg0:str,arg1:d32", "uprobe:./dir/lib.so:f"},
        {"uprobe:./a:operator/(A, A)", "uprobe:./a:operator/(A, A)"},
        {"uprobe:./a:operator/(A, A)/arg1:x", "uprobe:./a:operator/(A, A)"},
        {"uprobe:./a:operator()(int)/arg1:x", "uprobe:./a:operator()(int)"},
        {"uprobe:./arg0:str", "uprobe:./arg0:str"},
        {"usdt:./arg0:str", "usdt:./arg0:str"},
        {"usdt:python:line/arg0:str", "usdt:python:line"},
        {"kprobe:do_sys_openat2/arg1:str", "kprobe:do_sys_openat2"},
        {"kprobe:f/argument", "kprobe:f/argument"},
        {"uprobe:a:f/arg0", "uprobe:a:f/arg0"},
        {"uprobe:a:f/", "uprobe:a:f/"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const size_t size = strlen(rows[i].event);
        assert_int_equal(cairn_typed_cut(rows[i].event, size), strlen(rows[i].name));
        for (size_t n = 0; n < size; n++)
            assert_true(cairn_typed_cut(rows[i].event, n) <= n);
    }
}

static int read_list(const char *list, struct cairn_syscall *call, bool *no_arg,
                     struct cairn_err *err)
{
    return cairn_typed_read(list, strlen(list), call, no_arg, err);
}

static void types_become_kinds(void **state)
{
    (void)state;
    struct cairn_syscall call = {.name = "f", .n_args = -1};
    bool no_arg;
    assert_int_equal(read_list("arg1:str,arg4:d32,arg2:u", &call, &no_arg, NULL), CAIRN_OK);
    assert_int_equal(call.n_args, 5);
    assert_string_equal(call.args[0].name, "arg0");
    assert_int_equal(call.args[0].kind, CAIRN_KIND_HEX);
    assert_int_equal(call.args[1].kind, CAIRN_KIND_TEXT);
    assert_int_equal(call.args[2].kind, CAIRN_KIND_SIZE);
    assert_int_equal(call.args[4].kind, CAIRN_KIND_INT);
    assert_string_equal(call.args[4].name, "arg4");
}

static void wrong_lists_say_what_is_expected(void **state)
{
    (void)state;
    static const struct {
        const char *list, *message;
        bool no_arg;
    } rows[] = {
        {"arg0:text", "\"arg0:text\": there is no such type", false},
        {"arg0:", "\"arg0:\": there is no such type", false},
        {"arg0:d32,", "\"\": expected argN:TYPE or ret:TYPE", false},
        {"arg6:d", "f: has no argument \"arg6:d\": it has 6", true},
        {"arg4294967296:d", "f: has no argument \"arg4294967296:d\": it has 6", true},
        {"arg0:str,arg1:str,arg2:str", "f: has 3 texts, and an event can have 2", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cairn_syscall call = {.name = "f", .n_args = -1};
        struct cairn_err err = {0};
        bool no_arg;
        assert_int_equal(read_list(rows[i].list, &call, &no_arg, &err), CAIRN_E_ARG);
        assert_string_equal(err.msg, rows[i].message);
        assert_int_equal(no_arg, rows[i].no_arg);
    }
}

static void a_static_probe_has_its_own_number_of_arguments(void **state)
{
    (void)state;
    struct cairn_syscall call = {.name = "p", .n_args = 8, .has_own_args = true};
    bool no_arg;
    assert_int_equal(read_list("arg7:str", &call, &no_arg, NULL), CAIRN_OK);
    assert_int_equal(call.args[7].kind, CAIRN_KIND_TEXT);
    assert_int_equal(read_list("arg8:str", &call, &no_arg, NULL), CAIRN_E_ARG);
    assert_true(no_arg);
}

static int check(const char *event, const char *list)
{
    return cairn_typed_check(event, list, strlen(list), NULL);
}

static void a_begin_has_arguments_and_a_return_a_result(void **state)
{
    (void)state;
    assert_int_equal(check("uprobe:a:f", "arg0:d"), CAIRN_OK);
    assert_int_equal(check("uprobe:a:f", "arg0:d,ret:d"), CAIRN_E_ARG);
    assert_int_equal(check("uretprobe:a:f", "arg0:d"), CAIRN_E_ARG);
    assert_int_equal(check("uretprobe:a:f", "ret:d"), CAIRN_OK);
    assert_int_equal(check("uretprobe:a:f", "ret:d,arg0:d"), CAIRN_E_ARG);
    assert_int_equal(check("kretprobe:f", "ret:d32"), CAIRN_OK);
    assert_int_equal(check("uprobe+uretprobe:a:f", "arg0:d,ret:d32"), CAIRN_OK);
    assert_int_equal(check("kprobe+kretprobe:f", "arg0:d,ret:d32"), CAIRN_OK);
    assert_int_equal(check("tracepoint:a:f", "arg0:d"), CAIRN_E_ARG);
    assert_int_equal(check("usdt:a:f", "ret:d"), CAIRN_E_ARG);
}

static void a_result_has_a_type_and_is_no_text(void **state)
{
    (void)state;
    bool no_arg;
    struct cairn_syscall call = {.name = "f", .n_args = -1};
    static const char event[] = "uprobe+uretprobe:a:f/ret:d32";
    assert_int_equal(cairn_typed_cut(event, sizeof event - 1), sizeof "uprobe+uretprobe:a:f" - 1);
    assert_int_equal(read_list("arg1:str,ret:d32", &call, &no_arg, NULL), CAIRN_OK);
    assert_int_equal(call.ret, CAIRN_KIND_INT);
    assert_int_equal(call.n_args, 2);
    assert_int_equal(read_list("ret:str", &call, &no_arg, NULL), CAIRN_E_ARG);
    assert_false(no_arg);
    assert_int_equal(read_list("ret:", &call, &no_arg, NULL), CAIRN_E_ARG);
}

static void functions_of_c_libraries_are_known(void **state)
{
    (void)state;
    static const struct {
        const char *event;
        int n_args;
    } rows[] = {
        {"uprobe:libc.so.6:fopen", 2},
        {"uprobe:libc:getenv", 1},
        {"uprobe:/lib/ld-musl-x86_64.so.1:memcpy", 3},
        {"uprobe:/usr/lib/x86_64-linux-gnu/libc.so.6:open", 2},
        {"uprobe:libc.so.6:fopen+4", -1},
        {"uretprobe:libc.so.6:fopen", -1},
        {"uprobe+uretprobe:libc.so.6:fopen", 2},
        {"uprobe:libcurl.so.4:fopen", -1},
        {"uprobe:./program:remove", -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cairn_syscall call = {.name = "f", .ret = CAIRN_KIND_HEX, .n_args = -1};
        cairn_known_describe(rows[i].event, &call);
        assert_int_equal(call.n_args, rows[i].n_args);
        const bool has_result = strncmp(rows[i].event, "uprobe:", 7) != 0;
        assert_int_equal(call.ret, has_result ? CAIRN_KIND_POINTER : CAIRN_KIND_HEX);
        assert_false(call.no_return);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_list_of_arguments_is_cut),
        cmocka_unit_test(types_become_kinds),
        cmocka_unit_test(wrong_lists_say_what_is_expected),
        cmocka_unit_test(a_static_probe_has_its_own_number_of_arguments),
        cmocka_unit_test(a_begin_has_arguments_and_a_return_a_result),
        cmocka_unit_test(a_result_has_a_type_and_is_no_text),
        cmocka_unit_test(functions_of_c_libraries_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
