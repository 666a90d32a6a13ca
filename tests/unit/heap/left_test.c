/* SPDX-License-Identifier: MIT */
/* A call that a handler left by longjmp(3) when it had compared the frames of its stack, and not
 * yet hashed them: to the walk they are those of the last capture, to the tracker those of the one
 * before. The moment is some instructions long, so that the call is made here up to there. */
#include "unit/heap/tracked.h"

enum how { WHOLE, LEFT_AGAIN, LEFT_CAPTURED };

static void begin_and_leave(struct cairn_local_frame_at caller, enum how how)
{
    struct cairn_local_capture capture;
    struct cairn_local_again again = {.n = 0};
    cairn_heap_mine->idle = caller.sp;
    if (how == LEFT_AGAIN)
        again = cairn_local_again(caller.ret, caller.sp, caller.fp);
    assert_true(again.n || cairn_local_capture(&caller, &capture));
}

APART static void tell(void *block, enum how how)
{
    const struct cairn_local_frame_at caller = CAIRN_HEAP_CALLER;
    if (how == WHOLE)
        cairn_heap_born(block, 8, CAIRN_HEAP_KIND_MALLOC);
    else
        begin_and_leave(caller, how);
}

/* Two whose frames lie the same. */
APART static void one(void *block, enum how how)
{
    tell(block, how);
    __asm__ volatile("nop" ::: "memory");
}

APART static void other(void *block, enum how how)
{
    tell(block, how);
    __asm__ volatile("nop; nop" ::: "memory");
}

/* By one call for all, or they are others from there on. */
static void blocks_after_it_have_their_own_stacks(enum how how)
{
    enum { N = 7, LEFT = 3 };
    static char blocks[N][64];
    static const bool is_other[N] = {false, true, false, true, true, false, true};
    void (*volatile const ways[])(void *, enum how) = {one, other};
    volatile int n = N;
    for (int i = 0; i < n; i++)
        ways[is_other[i]](blocks[i], i == LEFT ? how : WHOLE);
    assert_int_not_equal(number_at(blocks[0]), number_at(blocks[1]));
    for (int i = 0; i < N; i++)
        if (i != LEFT)
            assert_int_equal(number_at(blocks[i]), number_at(blocks[is_other[i]]));
    for (int i = 0; i < N; i++)
        if (i != LEFT)
            died(blocks[i]);
}

static void stacks_are_hashed_anew_behind_a_call_that_was_left(void **state)
{
    (void)state;
    blocks_after_it_have_their_own_stacks(LEFT_AGAIN);
    blocks_after_it_have_their_own_stacks(LEFT_CAPTURED);
    assert_true(cairn_heap_is_idle(cairn_heap_mine));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(stacks_are_hashed_anew_behind_a_call_that_was_left, start,
                                        stop),
    };
    return cmocka_run_group_tests(tests, make_temporary, remove_temporary);
}
