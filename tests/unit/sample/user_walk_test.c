/* SPDX-License-Identifier: MIT */
#include "sample/user_walk.h"

#include <cairn/profile.h>

#include "bpf/walk.h"
#include "tests/support/test.h"

/* A made-up process: code is 0x1000 to 0x2000, calls end at multiples of 16, 0x1f00 and up starts
 * things. The stack begins at SP. */
enum { SP = 0x7000 };

static bool is_code(void *ctx, uint64_t va)
{
    (void)ctx;
    return va >= 0x1000 && va < 0x2000;
}

static bool is_return(void *ctx, uint64_t va)
{
    (void)ctx;
    return va % 16 == 0;
}

static bool is_start(void *ctx, uint64_t va)
{
    (void)ctx;
    return va >= 0x1f00 && va < 0x2000;
}

/* What the calls at 0x1a00 and up lead to: 0x1200; those at 0x1b00: 0x1a00; others nobody knows. */
static uint64_t called(void *ctx, uint64_t ret)
{
    (void)ctx;
    if (ret >= 0x1c00 || ret < 0x1a00)
        return 0;
    return ret >= 0x1b00 ? 0x1a00 : 0x1200;
}

/* 0x1800 to 0x1900 was made at run time. */
static bool is_made(void *ctx, uint64_t va)
{
    (void)ctx;
    return va >= 0x1800 && va < 0x1900;
}

static const struct cairn_walk_code code = {NULL, is_code, is_return, is_start, called, is_made};
static struct cairn_user_walk walk;

static void walk_chain(const uint64_t *chain, size_t n, size_t chain_max)
{
    const struct cairn_user_sample sample = {.chain = chain, .n_chain = n, .chain_max = chain_max};
    cairn_user_walk(&sample, &code, &walk);
}

static void walk_stack(const uint64_t *words, size_t n, uint64_t fp, bool goes_on)
{
    const struct cairn_user_sample sample = {
        .regs = {.ip = 0x1234, .sp = SP, .fp = fp, .width = 8},
        .stack = {(const uint8_t *)words, n * sizeof *words},
        .stack_goes_on = goes_on,
    };
    cairn_user_walk(&sample, &code, &walk);
}

static void a_chain_that_reaches_the_start_is_whole(void **state)
{
    (void)state;
    const uint64_t chain[] = {0x1233, 0x1100, 0x1f10};
    walk_chain(chain, 3, 127);
    assert_int_equal(walk.end, CAIRN_END_OUTERMOST);
    assert_int_equal(walk.n, 3);
    assert_int_equal(walk.frames[2].va, 0x1f10);
    assert_int_equal(walk.frames[0].how, CAIRN_HOW_FP);
}

static void what_lies_beyond_the_start_does_not_matter(void **state)
{
    (void)state;
    const uint64_t chain[] = {0x1233, 0x1f10, 0xdead};
    walk_chain(chain, 3, 127);
    assert_int_equal(walk.end, CAIRN_END_OUTERMOST);
    assert_int_equal(walk.n, 2);
}

static void a_chain_that_leads_outside_code_is_cut_there(void **state)
{
    (void)state;
    const uint64_t outside[] = {0x1233, 0x1100, 0xdead0000, 0x1f10};
    walk_chain(outside, 4, 127);
    assert_int_equal(walk.end, CAIRN_END_OUTSIDE);
    assert_int_equal(walk.n, 2);
    const uint64_t no_call[] = {0x1233, 0x1101, 0x1f10};
    walk_chain(no_call, 3, 127);
    assert_int_equal(walk.end, CAIRN_END_OUTSIDE);
    assert_int_equal(walk.n, 1);
}

static void a_chain_that_just_ends_lacks_a_frame_pointer(void **state)
{
    (void)state;
    const uint64_t chain[] = {0x1233, 0x1100};
    walk_chain(chain, 2, 127);
    assert_int_equal(walk.end, CAIRN_END_NO_POINTER);
    assert_int_equal(walk.n, 2);
}

static void the_leaf_is_kept_wherever_it_is(void **state)
{
    (void)state;
    const uint64_t chain[] = {0xdeadbeef};
    walk_chain(chain, 1, 127);
    assert_int_equal(walk.n, 1);
    assert_int_equal(walk.end, CAIRN_END_NO_POINTER);
}

static void walk_walked(const uint64_t *frames, size_t n, enum cairn_unwind_end end)
{
    const struct cairn_user_sample sample = {
        .walked = frames, .n_walked = n, .walked_end = (uint8_t)end};
    cairn_user_walk(&sample, &code, &walk);
}

static void frames_by_rules_are_believed(void **state)
{
    (void)state;
    const uint64_t frames[] = {0x1233, 0xdead0001, 0x1105};
    walk_walked(frames, 3, CAIRN_END_OUTERMOST);
    assert_int_equal(walk.end, CAIRN_END_OUTERMOST);
    assert_int_equal(walk.n, 3);
    assert_int_equal(walk.frames[1].va, 0xdead0001);
    assert_int_equal(walk.frames[2].how, CAIRN_HOW_CFI);
    assert_true(walk.frames[0].exact);
    assert_false(walk.frames[1].exact);
}

static void frames_by_pointers_are_held_against_calls(void **state)
{
    (void)state;
    const uint64_t good[] = {0x1233, 0x1100 | CAIRN_BPF_BY_FP, 0x1f10 | CAIRN_BPF_BY_FP};
    walk_walked(good, 3, CAIRN_END_NO_RULE);
    assert_int_equal(walk.end, CAIRN_END_OUTERMOST); /* it lies where programs start */
    assert_int_equal(walk.frames[1].how, CAIRN_HOW_FP);
    const uint64_t bad[] = {0x1233, 0x1101 | CAIRN_BPF_BY_FP, 0x1f10};
    walk_walked(bad, 3, CAIRN_END_OUTERMOST);
    assert_int_equal(walk.end, CAIRN_END_OUTSIDE);
    assert_int_equal(walk.n, 1);
}

/* Such code may return to where no call is, if the stack goes on from there to its start by rules.
 */
static void made_code_is_believed_where_it_leads_to_the_start(void **state)
{
    (void)state;
    const uint64_t frames[] = {0x1233, 0x1801 | CAIRN_BPF_BY_FP, 0x1101};
    walk_walked(frames, 3, CAIRN_END_OUTERMOST);
    assert_int_equal(walk.end, CAIRN_END_OUTERMOST);
    assert_int_equal(walk.n, 3);
    assert_int_equal(walk.frames[1].how, CAIRN_HOW_FP);
    walk_walked(frames, 3, CAIRN_END_NO_RULE);
    assert_int_equal(walk.end, CAIRN_END_OUTSIDE);
    walk_walked(frames, 2, CAIRN_END_OUTERMOST);
    assert_int_equal(walk.end, CAIRN_END_OUTSIDE);
}

/* Two frames are in the copy, the second behind no call: who walked believed it. */
static void walk_on(const uint64_t *returns, size_t n)
{
    const uint64_t frames[] = {0x1233, 0x1101};
    walk_walked(frames, 2, CAIRN_END_UNREADABLE);
    walk.end = CAIRN_END_COPY;
    cairn_user_walk_on(&walk, &code, returns, n);
    cairn_user_walk_finish(&walk, &code);
}

static void behind_the_end_of_a_copy_pointers_lead_on_or_it_is_cut_there(void **state)
{
    (void)state;
    const uint64_t returns[] = {0x1110, 0x1f10};
    walk_on(returns, 2);
    assert_int_equal(walk.end, CAIRN_END_OUTERMOST);
    assert_int_equal(walk.n, 4);
    assert_int_equal(walk.frames[2].how, CAIRN_HOW_FP);
    walk_on(returns, 1);
    assert_int_equal(walk.end, CAIRN_END_COPY);
    assert_int_equal(walk.n, 3);
    const uint64_t wild[] = {0x1110, 0x1101, 0x1f10}; /* no call ends at the second */
    walk_on(wild, 3);
    assert_int_equal(walk.end, CAIRN_END_COPY);
    assert_int_equal(walk.n, 3);
    walk_on(NULL, 0);
    assert_int_equal(walk.end, CAIRN_END_COPY);
    assert_int_equal(walk.n, 2);
}

static void what_a_signal_interrupted_is_exact(void **state)
{
    (void)state;
    const uint64_t frames[] = {0x1233, 0x1100 | CAIRN_BPF_EXACT, 0x1301 | CAIRN_BPF_EXACT, 0x1f10};
    walk_walked(frames, 4, CAIRN_END_OUTERMOST);
    assert_int_equal(walk.frames[2].va, 0x1301);
    assert_true(walk.frames[1].exact && walk.frames[2].exact);
    assert_false(walk.frames[3].exact);
}

static void each_end_of_a_walk_has_its_reason(void **state)
{
    (void)state;
    const uint64_t frame = 0x1233;
    for (unsigned end = CAIRN_END_MAX_FRAMES; end < CAIRN_ENDS; end++) {
        walk_walked(&frame, 1, (enum cairn_unwind_end)end);
        assert_int_equal(walk.end, end == CAIRN_END_KERNEL ? CAIRN_END_OUTERMOST : end);
    }
    walk_walked(&frame, 0, CAIRN_END_NO_USER);
    assert_int_equal(walk.end, CAIRN_END_NO_USER);
}

static void a_full_chain_is_deeper_than_told(void **state)
{
    (void)state;
    const uint64_t chain[] = {0x1233, 0x1100, 0x1110};
    walk_chain(chain, 3, 3);
    assert_int_equal(walk.end, CAIRN_END_MAX_FRAMES);
    assert_int_equal(walk.n, 3);
}

static void more_frames_than_fit_are_cut(void **state)
{
    (void)state;
    static uint64_t chain[CAIRN_WALK_FRAMES_MAX + 5];
    for (size_t i = 0; i < sizeof chain / sizeof *chain; i++)
        chain[i] = 0x1100;
    walk_chain(chain, sizeof chain / sizeof *chain, 0);
    assert_int_equal(walk.end, CAIRN_END_MAX_FRAMES);
    assert_int_equal(walk.n, CAIRN_WALK_FRAMES_MAX);
}

static void walk_top(uint64_t ip, uint64_t next, uint64_t top, uint64_t below)
{
    const uint64_t chain[] = {ip, next, 0x1f10};
    const struct cairn_user_sample sample = {.chain = chain, .n_chain = 3, .top = {top, below}};
    cairn_user_walk(&sample, &code, &walk);
}

static void the_caller_of_a_function_without_a_frame_is_found_and_called_guessed(void **state)
{
    (void)state;
    walk_top(0x1234, 0x1b10, 0x1a10, 0); /* 0x1b10 called 0x1a00, which called 0x1200 */
    assert_int_equal(walk.n, 4);
    assert_int_equal(walk.frames[1].va, 0x1a10);
    assert_int_equal(walk.frames[1].how, CAIRN_HOW_FP_GUESS);
    assert_int_equal(walk.frames[2].va, 0x1b10);
    assert_int_equal(walk.frames[2].how, CAIRN_HOW_FP);
    assert_int_equal(walk.end, CAIRN_END_OUTERMOST);
    walk_top(0x1201, 0x1b10, 0x7ffc, 0x1a10); /* right after the push */
    assert_int_equal(walk.n, 4);
}

static void no_caller_is_made_up(void **state)
{
    (void)state;
    walk_top(0x1234, 0x1a10, 0x1a10, 0); /* it is there already */
    assert_int_equal(walk.n, 3);
    walk_top(0x1234, 0x1a10, 0x1a20, 0); /* the frame pointer's caller called here as well */
    assert_int_equal(walk.n, 3);
    walk_top(0x1234, 0x1b10, 0x1b20, 0); /* that call does not lead here */
    assert_int_equal(walk.n, 3);
    walk_top(0x1234, 0x1b10, 0x1d00, 0); /* nobody knows where that call leads */
    assert_int_equal(walk.n, 3);
    walk_top(0x1100, 0x1b10, 0x1a10, 0); /* before the function's first byte */
    assert_int_equal(walk.n, 3);
    walk_top(0x1234, 0x1b10, 0x7ffc, 0x1a10); /* long after the push: the frame is there */
    assert_int_equal(walk.n, 3);
    walk_top(0x1234, 0x1b10, 0xdead0, 0); /* no code */
    assert_int_equal(walk.n, 3);
}

static void a_sample_without_a_user_side_has_nothing(void **state)
{
    (void)state;
    const uint64_t chain[] = {0};
    walk_chain(chain, 0, 127);
    assert_int_equal(walk.end, CAIRN_END_NO_USER);
    assert_int_equal(walk.n, 0);
}

static void frame_pointers_are_followed_up_the_stack(void **state)
{
    (void)state;
    const uint64_t stack[] = {1, 2, SP + 40, 0x1100, 3, 1, 0x1f20};
    walk_stack(stack, 7, SP + 16, false);
    assert_int_equal(walk.end, CAIRN_END_OUTERMOST);
    assert_int_equal(walk.n, 3);
    assert_int_equal(walk.frames[0].va, 0x1234);
    assert_int_equal(walk.frames[1].va, 0x1100);
    assert_int_equal(walk.frames[2].va, 0x1f20);
}

static void a_frame_pointer_that_goes_down_or_is_crooked_ends_the_walk(void **state)
{
    (void)state;
    const uint64_t down[] = {SP, 0x1100, 3, 4};
    walk_stack(down, 4, SP, false);
    assert_int_equal(walk.end, CAIRN_END_NO_POINTER);
    assert_int_equal(walk.n, 2);
    const uint64_t crooked[] = {SP + 17, 0x1100, 3, 4, 5, 6};
    walk_stack(crooked, 6, SP, false);
    assert_int_equal(walk.n, 2);
    walk_stack(crooked, 6, SP - 8, false);
    assert_int_equal(walk.n, 1);
}

static void a_frame_beyond_the_copy_is_said_to_be_so(void **state)
{
    (void)state;
    const uint64_t stack[] = {SP + 4096, 0x1100};
    walk_stack(stack, 2, SP, true);
    assert_int_equal(walk.end, CAIRN_END_COPY);
    walk_stack(stack, 2, SP, false); /* the stack ends there: the pointer is none */
    assert_int_equal(walk.end, CAIRN_END_OUTSIDE);
    walk_stack(stack, 2, UINT64_MAX - 7, true);
    assert_int_equal(walk.end, CAIRN_END_OUTSIDE);
}

static void a_frame_half_in_the_copy_is_not_read(void **state)
{
    (void)state;
    const uint64_t stack[] = {1, 2, SP + 4096};
    for (size_t size = 0; size < sizeof stack; size++) {
        uint8_t *copy = test_copy(stack, size);
        const struct cairn_user_sample sample = {
            .regs = {.ip = 0x1234, .sp = SP, .fp = SP + 16, .width = 8},
            .stack = {copy, size},
        };
        cairn_user_walk(&sample, &code, &walk);
        assert_int_equal(walk.n, 1);
        free(copy);
    }
}

/* 0x1010, 0x1020, ... are return addresses; the last frame is a start. */
static void of_a_deep_walk_both_ends_are_kept(void **state)
{
    (void)state;
    enum { BEYOND = 300, N = CAIRN_BPF_FRAMES_MAX };
    static uint64_t frames[N];
    for (uint32_t i = 0; i < N; i++)
        frames[cairn_bpf_frame_at(BEYOND, i)] = i + 1 == N ? 0x1f20 : 0x1010 + 16 * (i % 100);
    const struct cairn_user_sample sample = {
        .walked = frames, .n_walked = N, .n_beyond = BEYOND, .walked_end = CAIRN_END_OUTERMOST};
    cairn_user_walk(&sample, &code, &walk);
    assert_int_equal(walk.end, CAIRN_END_OUTERMOST);
    assert_int_equal(walk.n, N);
    assert_int_equal(walk.n_missing, BEYOND);
    assert_int_equal(walk.gap_at, CAIRN_BPF_INNER_FRAMES);
    for (size_t i = 0; i + 1 < N; i++)
        assert_int_equal(walk.frames[i].va, 0x1010 + 16 * (i % 100));
    assert_int_equal(walk.frames[N - 1].va, 0x1f20);
}

/* A frame pointer that leads nowhere ends the walk beyond the gap, at it, or before it. */
static void a_walk_that_ends_beyond_its_gap_has_one(void **state)
{
    (void)state;
    enum { BEYOND = 300, N = CAIRN_BPF_FRAMES_MAX };
    static const uint32_t bad[] = {N - 1, CAIRN_BPF_INNER_FRAMES + 1, CAIRN_BPF_INNER_FRAMES, 7};
    for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
        static uint64_t frames[N];
        for (uint32_t i = 0; i < N; i++)
            frames[cairn_bpf_frame_at(BEYOND, i)] =
                i == bad[b] ? 0x1101 | CAIRN_BPF_BY_FP : 0x1010 + 16 * (i % 100);
        const struct cairn_user_sample sample = {
            .walked = frames, .n_walked = N, .n_beyond = BEYOND, .walked_end = CAIRN_END_OUTERMOST};
        cairn_user_walk(&sample, &code, &walk);
        assert_int_equal(walk.end, CAIRN_END_OUTSIDE);
        assert_int_equal(walk.n, bad[b]);
        assert_int_equal(walk.n_missing, bad[b] > CAIRN_BPF_INNER_FRAMES ? BEYOND : 0);
        if (walk.n_missing)
            assert_int_equal(walk.gap_at, CAIRN_BPF_INNER_FRAMES);
    }
}

static void frames_that_do_not_fit_leave_a_gap_before_the_outermost(void **state)
{
    (void)state;
    for (uint64_t n = CAIRN_WALK_FRAMES_MAX; n < CAIRN_WALK_FRAMES_MAX + 600; n += 7) {
        walk = (struct cairn_user_walk){0};
        for (uint64_t i = 0; i < n; i++)
            assert_true(cairn_user_walk_add(&walk, (struct cairn_stream_frame){.va = 0x100000 + i,
                                                                               .how = CAIRN_HOW_CFI,
                                                                               .exact = i == 0}));
        cairn_user_walk_close_gap(&walk);
        assert_int_equal(walk.n, CAIRN_WALK_FRAMES_MAX);
        assert_int_equal(walk.n_missing, n - CAIRN_WALK_FRAMES_MAX);
        for (size_t i = 0; i < walk.n; i++) {
            bool outer = walk.n_missing && i >= walk.gap_at;
            assert_int_equal(walk.frames[i].va, 0x100000 + i + (outer ? walk.n_missing : 0));
        }
    }
}

static void narrow_programs_have_narrow_frames(void **state)
{
    (void)state;
    const uint32_t stack[] = {SP + 8, 0x1100, 0, 0x1f20};
    const struct cairn_user_sample sample = {
        .regs = {.ip = 0x1234, .sp = SP, .fp = SP, .width = 4},
        .stack = {(const uint8_t *)stack, sizeof stack},
    };
    cairn_user_walk(&sample, &code, &walk);
    assert_int_equal(walk.n, 3);
    assert_int_equal(walk.end, CAIRN_END_OUTERMOST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_that_reaches_the_start_is_whole),
        cmocka_unit_test(what_lies_beyond_the_start_does_not_matter),
        cmocka_unit_test(a_chain_that_leads_outside_code_is_cut_there),
        cmocka_unit_test(a_chain_that_just_ends_lacks_a_frame_pointer),
        cmocka_unit_test(the_leaf_is_kept_wherever_it_is),
        cmocka_unit_test(frames_by_rules_are_believed),
        cmocka_unit_test(frames_by_pointers_are_held_against_calls),
        cmocka_unit_test(made_code_is_believed_where_it_leads_to_the_start),
        cmocka_unit_test(behind_the_end_of_a_copy_pointers_lead_on_or_it_is_cut_there),
        cmocka_unit_test(what_a_signal_interrupted_is_exact),
        cmocka_unit_test(each_end_of_a_walk_has_its_reason),
        cmocka_unit_test(a_full_chain_is_deeper_than_told),
        cmocka_unit_test(more_frames_than_fit_are_cut),
        cmocka_unit_test(the_caller_of_a_function_without_a_frame_is_found_and_called_guessed),
        cmocka_unit_test(no_caller_is_made_up),
        cmocka_unit_test(a_sample_without_a_user_side_has_nothing),
        cmocka_unit_test(frame_pointers_are_followed_up_the_stack),
        cmocka_unit_test(a_frame_pointer_that_goes_down_or_is_crooked_ends_the_walk),
        cmocka_unit_test(a_frame_beyond_the_copy_is_said_to_be_so),
        cmocka_unit_test(a_frame_half_in_the_copy_is_not_read),
        cmocka_unit_test(of_a_deep_walk_both_ends_are_kept),
        cmocka_unit_test(a_walk_that_ends_beyond_its_gap_has_one),
        cmocka_unit_test(frames_that_do_not_fit_leave_a_gap_before_the_outermost),
        cmocka_unit_test(narrow_programs_have_narrow_frames),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
