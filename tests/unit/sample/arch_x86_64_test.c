/* SPDX-License-Identifier: MIT */
#include "sample/arch.h"
#include "tests/support/test.h"

static void calls_are_those_of_this_cpu(void **state)
{
    (void)state;
    static const uint8_t code[] = {0x90, 0x90, 0x90, 0xe8, 0x10, 0, 0, 0};
    struct cairn_call call;
    assert_true(cairn_arch_knows_calls());
    assert_true(cairn_arch_call((struct cairn_span){code, sizeof code}, 0x1000, &call));
    assert_int_equal(call.target, 0x1010);
}

static void plt_entries_are_followed(void **state)
{
    (void)state;
    uint64_t pointer;
    static const uint8_t plain[] = {0xff, 0x25, 0x10, 0, 0, 0};
    static const uint8_t ibt[] = {0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0x10, 0, 0, 0};
    assert_true(cairn_arch_jump((struct cairn_span){plain, sizeof plain}, 0x1000, &pointer));
    assert_int_equal(pointer, 0x1016);
    assert_true(cairn_arch_jump((struct cairn_span){ibt, sizeof ibt}, 0x1000, &pointer));
    assert_int_equal(pointer, 0x101b);
    for (size_t size = 0; size < sizeof ibt; size++)
        assert_false(cairn_arch_jump((struct cairn_span){ibt, size}, 0x1000, &pointer));
}

static void the_end_of_a_thread_is_known(void **state)
{
    (void)state;
    static const uint8_t glibc[] = {0x89, 0xc7, 0xb8, 60, 0, 0, 0, 0x0f, 0x05};
    static const uint8_t musl[] = {0x89, 0xc7, 0x31, 0xc0, 0xb0, 60, 0x0f, 0x05};
    static const uint8_t group[] = {0x89, 0xc7, 0xb8, 231, 0, 0, 0, 0x0f, 0x05};
    assert_true(cairn_arch_exits((struct cairn_span){glibc, sizeof glibc}));
    assert_true(cairn_arch_exits((struct cairn_span){musl, sizeof musl}));
    assert_false(cairn_arch_exits((struct cairn_span){group, sizeof group}));
    assert_false(cairn_arch_exits((struct cairn_span){glibc, sizeof glibc - 1}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_those_of_this_cpu),
        cmocka_unit_test(plt_entries_are_followed),
        cmocka_unit_test(the_end_of_a_thread_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
