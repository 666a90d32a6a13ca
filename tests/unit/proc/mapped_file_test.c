/* SPDX-License-Identifier: MIT */
#include "proc/mapped_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/support/test.h"

static const struct cairn_mapped_file file = {42, 0x1000, 0x7fff0000, "/lib/x.so"};

static void each_method_has_its_name(void **state)
{
    (void)state;
    static const char *const names[] = {
        [CAIRN_MAPPED_BY_LINK] = "/proc/42/map_files/1000-7fff0000",
        [CAIRN_MAPPED_BY_EXE] = "/proc/42/exe",
        [CAIRN_MAPPED_BY_ROOT] = "/proc/42/root/lib/x.so",
        [CAIRN_MAPPED_BY_PATH] = "/lib/x.so",
        [CAIRN_MAPPED_BY_MEMORY] = "",
    };
    struct cairn_buffer name = {0};
    for (enum cairn_mapped_by by = CAIRN_MAPPED_BY_LINK; by <= CAIRN_MAPPED_BY_MEMORY; by++) {
        assert_true(cairn_mapped_name(&file, by, &name));
        assert_string_equal(cairn_buffer_text(&name), names[by]);
    }
    const struct cairn_mapped_file relative = {42, 0, 1, "x.so"};
    assert_false(cairn_mapped_name(&relative, CAIRN_MAPPED_BY_ROOT, &name));
    assert_false(cairn_mapped_name(&relative, CAIRN_MAPPED_BY_PATH, &name));
    cairn_buffer_done(&name);
}

struct asked {
    enum cairn_mapped_by there, tried[4];
    size_t n;
};

static bool is_there(void *ctx, enum cairn_mapped_by by, const char *name)
{
    struct asked *asked = ctx;
    (void)name;
    asked->tried[asked->n++] = by;
    return by == asked->there;
}

static void the_first_method_in_the_callers_order_counts(void **state)
{
    (void)state;
    static const enum cairn_mapped_by order[] = {CAIRN_MAPPED_BY_PATH, CAIRN_MAPPED_BY_LINK,
                                                 CAIRN_MAPPED_BY_EXE, CAIRN_MAPPED_BY_NONE};
    struct asked asked = {.there = CAIRN_MAPPED_BY_LINK};
    assert_int_equal(cairn_mapped_find(&file, order, is_there, &asked), CAIRN_MAPPED_BY_LINK);
    assert_int_equal(asked.n, 2);
    assert_int_equal(asked.tried[0], CAIRN_MAPPED_BY_PATH);
    asked = (struct asked){.there = CAIRN_MAPPED_BY_ROOT};
    assert_int_equal(cairn_mapped_find(&file, order, is_there, &asked), CAIRN_MAPPED_BY_NONE);
    assert_int_equal(asked.n, 3);
}

static void a_link_is_known_by_the_path_also_of_a_deleted_file(void **state)
{
    (void)state;
    char path[] = "/tmp/cairn-mapped.XXXXXX", link[64], longer[sizeof path + 1];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    snprintf(longer, sizeof longer, "%sx", path);
    for (int round = 0; round < 2; round++) {
        assert_true(cairn_mapped_is_path(link, path));
        assert_false(cairn_mapped_is_path(link, longer));
        assert_false(cairn_mapped_is_path(link, "/tmp/cairn-mapped"));
        assert_false(cairn_mapped_is_path(link, ""));
        unlink(path);
    }
    close(fd);
    assert_false(cairn_mapped_is_path(link, path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_method_has_its_name),
        cmocka_unit_test(the_first_method_in_the_callers_order_counts),
        cmocka_unit_test(a_link_is_known_by_the_path_also_of_a_deleted_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
