/* SPDX-License-Identifier: MIT */
/* A child's stack is copied while it stands still, and walked after it has died. */
#include <signal.h>
#include <stdio.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cairn/unwind.h>

#include "support/apart.h"
#include "support/child.h"
#include "support/test.h"
#include "unit/target/may_hold.h"

enum { DEEP = 12, COPY_BYTES = 1 << 16, TIMEOUT_MS = 5000 };

static volatile int sink;

APART int test_deep(int n);

int test_deep(int n)
{
    while (n == 0 && sink >= 0)
        pause();
    if (n > 0)
        sink += test_deep(n - 1);
    return sink + n;
}

struct copy {
    struct cairn_cursor_regs regs;
    struct cairn_maps *maps;
    uint8_t bytes[COPY_BYTES];
    size_t size;
    uint64_t sp;
};

static void copy_child(pid_t child, struct copy *copy)
{
    struct cairn_unwind_space *space;
    struct cairn_cursor cursor;
    struct cairn_err err;
    assert_ok(cairn_unwind_space_open_pid(child, NULL, &space, &err), err);
    assert_ok(cairn_unwind_hold(space, child, TIMEOUT_MS, &err), err);
    assert_ok(cairn_unwind_thread_regs(space, child, &copy->regs, &err), err);
    assert_ok(cairn_maps_read_pid(child, &copy->maps, &err), err);
    assert_ok(cairn_cursor_init(&cursor, space, &copy->regs, &err), err);
    assert_int_equal(cairn_cursor_get_reg(&cursor, CAIRN_REG_SP, &copy->sp), CAIRN_OK);
    const struct cairn_map *map = cairn_maps_find(copy->maps, copy->sp);
    assert_non_null(map);
    copy->size = map->end - copy->sp < COPY_BYTES ? (size_t)(map->end - copy->sp) : COPY_BYTES;
    struct iovec to = {copy->bytes, copy->size};
    struct iovec from = {(void *)(uintptr_t)copy->sp, copy->size};
    assert_int_equal(process_vm_readv(child, &to, 1, &from, 1, 0), copy->size);
    cairn_unwind_space_free(space);
}

static int deep_frames(const struct copy *copy, size_t size, enum cairn_unwind_end *ret_end)
{
    const struct cairn_unwind_stack stack = {copy->sp, copy->bytes, size};
    struct cairn_unwind_space *space;
    struct cairn_cursor cursor;
    struct cairn_err err;
    int n = 0;
    assert_ok(cairn_unwind_space_open_stack(&stack, copy->maps, NULL, &space, &err), err);
    assert_ok(cairn_cursor_init(&cursor, space, &copy->regs, &err), err);
    do {
        char name[64] = "";
        uint64_t offset;
        (void)cairn_cursor_proc_name(&cursor, name, sizeof name, &offset);
        n += strcmp(name, "test_deep") == 0;
    } while (cairn_cursor_step(&cursor));
    *ret_end = cairn_cursor_end(&cursor);
    cairn_unwind_space_free(space);
    return n;
}

static void a_copy_is_walked_like_the_stack(void **state)
{
    (void)state;
    static struct copy copy;
    enum cairn_unwind_end end;
    test_may_hold();
    pid_t child = test_fork();
    if (child == 0) {
        _exit(test_deep(DEEP));
    }
    usleep(200000);
    copy_child(child, &copy);
    test_kill(child);
    assert_int_equal(deep_frames(&copy, copy.size, &end), DEEP + 1);
    assert_int_equal(end, CAIRN_END_OUTERMOST);

    /* A copy that is too short ends where it ends. */
    for (size_t size = 0; size < 512; size += 8) {
        assert_true(deep_frames(&copy, size, &end) <= DEEP + 1);
        assert_int_equal(end, CAIRN_END_UNREADABLE);
    }
    cairn_maps_free(copy.maps);
}

static void a_stack_beyond_the_address_space_is_refused(void **state)
{
    (void)state;
    const struct cairn_unwind_stack stack = {UINT64_MAX - 7, "12345678", 9};
    struct cairn_unwind_space *space;
    struct cairn_maps *maps;
    struct cairn_err err;
    assert_ok(cairn_maps_parse("", 0, &maps, &err), err);
    assert_fails(cairn_unwind_space_open_stack(&stack, maps, NULL, &space, &err), CAIRN_E_ARG, err,
                 "address space");
    cairn_maps_free(maps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_is_walked_like_the_stack),
        cmocka_unit_test(a_stack_beyond_the_address_space_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
