/* SPDX-License-Identifier: MIT */
#include "guest/definition.h"

#include <string.h>

#include "support/test.h"

/* NULL: the line names no function. */
static const char *name_of(const char *line)
{
    static char name[64];
    return cairn_guest_definition(line, strlen(line), name, sizeof name) ? name : NULL;
}

static void functions_are_named_as_they_are_defined(void **state)
{
    (void)state;
    assert_string_equal(name_of("function f(a)"), "f");
    assert_string_equal(name_of("local function f()"), "f");
    assert_string_equal(name_of("function a.b.c(x) return x end"), "a.b.c");
    assert_string_equal(name_of("function a.b:c (x)"), "a.b:c");
    assert_string_equal(name_of("local f = function(x)"), "f");
    assert_string_equal(name_of("M.f = function(x)"), "M.f");
    assert_string_equal(name_of("  on_open = function(self)"), "on_open");
    assert_string_equal(name_of("  [\"key\"] = function(self)"), "key");
    assert_string_equal(name_of("x = 1; f = function(a) return a end"), "f");
}

static void comments_and_strings_are_read_over(void **state)
{
    (void)state;
    assert_string_equal(name_of("M.f = --[[ function q() ]] function(a)"), "M.f");
    assert_string_equal(name_of("f = function(a) -- function g()"), "f");
    assert_string_equal(name_of("f = function(a) return \"function g()\" end"), "f");
    assert_string_equal(name_of("f = function(a) return [==[ function ]] ]==] end"), "f");
    assert_null(name_of("-- function f()"));
    assert_null(name_of("x = 'function f()'"));
}

static void what_is_not_sure_has_no_name(void **state)
{
    (void)state;
    assert_null(name_of("local a, b = function() end, function() end"));
    assert_null(name_of("return function(x)"));
    assert_null(name_of("table.sort(t, function(a, b)"));
    assert_null(name_of("functional = 1"));
    assert_null(name_of(""));
}

static void any_bytes_end(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "function", "function ", "function (", "function f",    "= function",  "'\\",
        "[[",       "[=",        "--[[",       "x = [==[ ]=] ", "\"function(", "function \xff("};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        (void)name_of(lines[i]);
    char name[4];
    assert_false(cairn_guest_definition("function long_name()", 20, name, sizeof name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_named_as_they_are_defined),
        cmocka_unit_test(comments_and_strings_are_read_over),
        cmocka_unit_test(what_is_not_sure_has_no_name),
        cmocka_unit_test(any_bytes_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
