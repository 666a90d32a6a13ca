/* SPDX-License-Identifier: MIT */
#include "base/path.h"

#include "support/test.h"

static void a_path_goes_on_behind_its_folder(void **state)
{
    (void)state;
    static const struct {
        const char *folder, *path, *behind;
    } cases[] = {
        {"/a/b", "/a/b/c", "/c"}, {"/a/b///", "/a/b/c/d", "/c/d"},
        {"a", "a/b", "/b"},       {".", "./b", "/b"},
        {"/a", "/a/", "/"},       {"/a", "/a//b", "//b"},
        {"/a", "/a", NULL},       {"/a", "/ab", NULL},
        {"/a/b", "/a", NULL},     {"/a", "b/a", NULL},
        {"", "/a", NULL},         {"", "a", NULL},
        {"", "", NULL},           {"/", "/a", NULL},
        {"//", "/a", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        /* Of their own size, so that a sanitizer sees every step out of them. */
        char *folder = strdup(cases[i].folder), *path = strdup(cases[i].path);
        const char *behind = cairn_path_behind(folder, path);
        assert_string_equal(behind ? behind : "(none)",
                            cases[i].behind ? cases[i].behind : "(none)");
        free(folder);
        free(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_goes_on_behind_its_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
