/* SPDX-License-Identifier: MIT */
/* A library of the test's own is put into a child and runs there. */
#include "attach/place.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "support/child.h"
#include "support/test.h"
#include "unit/attach/open_target.h"

enum { PATIENCE_MS = 20000 };

/* The children have it where we do. */
__attribute__((noinline)) static int present(int number)
{
    return number + 1;
}

static uint64_t import(void *ctx, const char *name)
{
    if (strcmp(name, "cairn_placed_present") != 0)
        return 0;
    (*(int *)ctx)++;
    return (uintptr_t)present;
}

static uint64_t import_nothing(void *ctx, const char *name)
{
    (void)ctx;
    (void)name;
    return 0;
}

static pid_t start(void)
{
    pid_t child = test_fork();
    if (child == 0) {
        for (;;)
            pause();
    }
    return child;
}

static struct cairn_image open_library(void)
{
    struct cairn_image image;
    struct cairn_err err;
    assert_ok(cairn_image_open(PLACED_LIBRARY, &image, &err), err);
    return image;
}

static void a_library_is_placed_and_runs(void **state)
{
    (void)state;
    int *sum = mmap(NULL, sizeof *sum, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = start();
    struct cairn_target_process target = test_open_target(child);
    struct cairn_image image = open_library();
    struct cairn_foothold foothold;
    struct cairn_err err;
    uint64_t base, entry, pointer_vaddr, pointer;
    int n_imports = 0, value;
    assert_ok(cairn_foothold_open(&target, 0, &foothold, &err), err);
    assert_ok(cairn_place_image(&foothold, &image, import, &n_imports, &base, &err), err);
    assert_true(n_imports > 0);
    assert_true(cairn_image_find(&image, "cairn_placed_entry", &entry));
    assert_false(cairn_image_find(&image, "cairn_placed_absent", &pointer_vaddr));
    for (int i = 1; i <= 2; i++) {
        assert_ok(
            cairn_foothold_run(&foothold, base + entry, (uintptr_t)sum, PATIENCE_MS, &value, &err),
            err);
        assert_int_equal(value, i);
    }
    assert_int_equal(*sum, 39 + 1 + 1 + 39 + 1 + 1 + 1);
    assert_ok(cairn_foothold_close(&foothold, &err), err);
    /* What it is made of stays. */
    assert_ok(cairn_target_read(&target, base + entry, &pointer, sizeof pointer, &err), err);
    assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
    cairn_image_close(&image);
    cairn_target_close_process(&target);
    test_kill(child);
    munmap(sum, sizeof *sum);
}

static void what_it_asks_for_in_vain_is_named(void **state)
{
    (void)state;
    pid_t child = start();
    struct cairn_target_process target = test_open_target(child);
    struct cairn_image image = open_library();
    struct cairn_foothold foothold;
    struct cairn_err err;
    uint64_t base;
    size_t n_maps = cairn_maps_count(target.maps);
    assert_ok(cairn_foothold_open(&target, 0, &foothold, &err), err);
    assert_int_equal(cairn_place_image(&foothold, &image, import_nothing, NULL, &base, &err),
                     CAIRN_E_MISSING);
    assert_non_null(strstr(err.msg, "cairn_placed_present"));
    assert_ok(cairn_foothold_close(&foothold, &err), err);
    assert_ok(cairn_target_look_again(&target, &err), err);
    assert_int_equal(cairn_maps_count(target.maps), n_maps);
    cairn_image_close(&image);
    cairn_target_close_process(&target);
    test_kill(child);
}

static void what_is_no_such_library_is_refused(void **state)
{
    (void)state;
    struct cairn_image image;
    struct cairn_err err;
    assert_int_equal(cairn_image_open("/nowhere/at/all.so", &image, &err), CAIRN_E_MISSING);
    assert_int_equal(cairn_image_open("/proc/self/exe", &image, &err), CAIRN_E_FORMAT);
    assert_int_equal(cairn_image_open(__FILE__, &image, &err) < 0, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_library_is_placed_and_runs),
        cmocka_unit_test(what_it_asks_for_in_vain_is_named),
        cmocka_unit_test(what_is_no_such_library_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
