/* SPDX-License-Identifier: MIT */
/* This process's own map, as its compiler would have left it, and as somebody else might. */
#include "proc/perf_map.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/test.h"

enum { NOBODY = 65534 };

static char path[64];

static int begin(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
    return 0;
}

static int end(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

static void write_map(const char *to)
{
    FILE *file = fopen(to, "w");
    assert_non_null(file);
    fputs("1000 10 work\n", file);
    assert_int_equal(fclose(file), 0);
}

static int read_own(struct cairn_buffer *text, struct cairn_err *err)
{
    struct cairn_buffer name = {0};
    *err = (struct cairn_err){0};
    int code = cairn_perf_map_read(getpid(), text, &name, err);
    cairn_buffer_done(&name);
    return code;
}

static void a_map_of_the_process_is_read(void **state)
{
    (void)state;
    struct cairn_buffer text = {0}, name = {0};
    struct cairn_err err = {0};
    write_map(path);
    assert_ok(cairn_perf_map_read(getpid(), &text, &name, &err), err);
    assert_string_equal(cairn_buffer_text(&text), "1000 10 work\n");
    assert_non_null(strstr(cairn_buffer_text(&name), path));
    cairn_buffer_done(&text);
    cairn_buffer_done(&name);
}

static void that_there_is_none_is_told_apart(void **state)
{
    (void)state;
    struct cairn_buffer text = {0};
    struct cairn_err err;
    assert_int_equal(read_own(&text, &err), CAIRN_E_MISSING);
    cairn_buffer_done(&text);
}

static void links_folders_and_pipes_are_refused(void **state)
{
    (void)state;
    struct cairn_buffer text = {0};
    struct cairn_err err;
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_int_equal(read_own(&text, &err), CAIRN_E_FORMAT);
    assert_non_null(strstr(err.msg, "link"));
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(read_own(&text, &err), CAIRN_E_FORMAT);
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(read_own(&text, &err), CAIRN_E_FORMAT);
    rmdir(path);
    assert_int_equal(text.size, 0);
    cairn_buffer_done(&text);
}

static void a_map_of_somebody_else_is_refused(void **state)
{
    (void)state;
    struct cairn_buffer text = {0};
    struct cairn_err err;
    write_map(path);
    if (chown(path, NOBODY, (gid_t)-1) < 0)
        skip(); /* only root gives files away */
    assert_int_equal(read_own(&text, &err), CAIRN_E_ACCESS);
    assert_non_null(strstr(err.msg, "belongs to uid 65534"));
    assert_non_null(strstr(err.hint, "--perf-map"));
    assert_int_equal(text.size, 0);
    cairn_buffer_done(&text);
}

static void a_huge_map_is_refused(void **state)
{
    (void)state;
    struct cairn_buffer text = {0};
    struct cairn_err err;
    write_map(path);
    assert_int_equal(truncate(path, (off_t)CAIRN_PERF_MAP_BYTES_MAX + 1), 0);
    assert_int_equal(read_own(&text, &err), CAIRN_E_LIMIT);
    cairn_buffer_done(&text);
}

#define WITH_MAP(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_MAP(a_map_of_the_process_is_read),
        WITH_MAP(that_there_is_none_is_told_apart),
        WITH_MAP(links_folders_and_pipes_are_refused),
        WITH_MAP(a_map_of_somebody_else_is_refused),
        WITH_MAP(a_huge_map_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
