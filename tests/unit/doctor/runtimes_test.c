/* SPDX-License-Identifier: MIT */
#include "doctor/runtimes.h"

#include "support/test.h"

static void runtimes_are_known_by_their_files(void **state)
{
    (void)state;
    static const struct {
        const char *path, *name, *fix;
        bool writes_maps;
    } rows[] = {
        {"/usr/lib/jvm/java-17/lib/server/libjvm.so", "Java", "jcmd 42 Compiler.perfmap", true},
        {"/usr/share/dotnet/shared/8.0/libcoreclr.so", ".NET", "DOTNET_PerfMapEnabled=1", true},
        {"/usr/bin/node", "Node", "--perf-basic-prof", true},
        {"/usr/lib/libnode.so.108", "Node", "--perf-basic-prof", true},
        {"/usr/bin/python3.12", "Python", "start it with -X perf", true},
        {"/usr/lib/libpython3.13t.so.1.0", "Python", "start it with -X perf", true},
        {"/usr/bin/python3.11", "Python", "with Python 3.12 or later and -X perf", false},
        {"python3.9", "Python", "Python 3.12 or later", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cairn_runtime runtime;
        if (!cairn_runtime_of_file(rows[i].path, 42, &runtime))
            fail_msg("%s: not known", rows[i].path);
        assert_string_equal(runtime.name, rows[i].name);
        assert_contains(runtime.fix, rows[i].fix);
        assert_int_equal(runtime.writes_maps, rows[i].writes_maps);
    }
}

static void other_files_are_none(void **state)
{
    (void)state;
    static const char *const paths[] = {"",
                                        "/usr/bin/nodemon",
                                        "/lib/libjvm.sound",
                                        "/opt/node/bin/tool",
                                        "python3",
                                        "python3.x",
                                        "/lib/libpython3.so",
                                        "[vdso]",
                                        "/usr/bin/python3./x"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct cairn_runtime runtime;
        if (cairn_runtime_of_file(paths[i], 42, &runtime))
            fail_msg("%s: taken for %s", paths[i], runtime.name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runtimes_are_known_by_their_files),
        cmocka_unit_test(other_files_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
