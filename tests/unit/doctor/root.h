/* SPDX-License-Identifier: MIT */
/* A folder that stands for "/" in tests. */
#ifndef CAIRN_TESTS_DOCTOR_ROOT_H
#define CAIRN_TESTS_DOCTOR_ROOT_H

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/test.h"

struct test_root {
    char path[PATH_MAX / 2];
};

static inline void test_root_make(struct test_root *root)
{
    const char *folder = getenv("TMPDIR");
    snprintf(root->path, sizeof root->path, "%s/cairn-doctor.XXXXXX", folder ? folder : "/tmp");
    assert_non_null(mkdtemp(root->path));
}

/* The path below it, its folders made. */
static inline void test_root_path(const struct test_root *root, const char *path,
                                  char ret[PATH_MAX])
{
    assert_true(snprintf(ret, PATH_MAX, "%s%s", root->path, path) < PATH_MAX);
    for (char *at = ret + strlen(root->path) + 1; (at = strchr(at, '/')); at++) {
        *at = 0;
        mkdir(ret, 0700);
        *at = '/';
    }
}

static inline void test_root_put(const struct test_root *root, const char *path, const void *bytes,
                                 size_t size)
{
    char where[PATH_MAX];
    test_root_path(root, path, where);
    FILE *file = fopen(where, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static inline void test_root_text(const struct test_root *root, const char *path, const char *text)
{
    test_root_put(root, path, text, strlen(text));
}

static inline void test_root_link(const struct test_root *root, const char *path, const char *to)
{
    char where[PATH_MAX];
    test_root_path(root, path, where);
    assert_int_equal(symlink(to, where), 0);
}

static inline void test_root_drop(const struct test_root *root)
{
    char command[PATH_MAX];
    snprintf(command, sizeof command, "rm -rf '%s'", root->path);
    assert_int_equal(system(command), 0);
}

#endif /* CAIRN_TESTS_DOCTOR_ROOT_H */
