/* SPDX-License-Identifier: MIT */
/* Which functions set up a frame pointer, by code that GCC 12 and Go 1.19 made. */
#include "unwind/fp_function.h"

#include <elf.h>

#include "support/test.h"

enum { VA = 0x401000 };

#define SPAN(...)                                                                                  \
    (struct cairn_span)                                                                            \
    {                                                                                              \
        (const uint8_t[]){__VA_ARGS__}, sizeof(uint8_t[])                                          \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

static bool keeps(uint16_t machine, struct cairn_span code, bool is_start)
{
    return cairn_fp_function_read(machine, code, VA, is_start).keeps;
}

static void a_frame_pointer_that_was_set_up_is_found(void **state)
{
    (void)state;
    struct cairn_span plain = SPAN(0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0x53, 0x90);
    struct cairn_span go = SPAN(0x48, 0x83, 0xec, 0x18, 0x48, 0x89, 0x6c, 0x24, 0x10, 0x48, 0x8d,
                                0x6c, 0x24, 0x10, 0x90);
    struct cairn_span i386 = SPAN(0x55, 0x89, 0xe5, 0x53, 0x83, 0xec, 0x14);
    struct cairn_span aarch64 = SPAN(0xfd, 0x7b, 0xbe, 0xa9, 0xfd, 0x03, 0x00, 0x91, 0xe0, 0x0f,
                                     0x00, 0xb9); /* stp x29, x30; mov x29, sp; str */
    assert_true(keeps(EM_X86_64, plain, true));
    assert_true(keeps(EM_X86_64, go, true));
    assert_true(keeps(EM_386, i386, true));
    assert_true(keeps(EM_AARCH64, aarch64, true));
    assert_false(keeps(EM_ARM, aarch64, true));
}

static void before_its_move_there_is_none(void **state)
{
    (void)state;
    struct cairn_span plain = SPAN(0x55, 0x48, 0x89, 0xe5, 0x53);
    for (plain.size = 0; plain.size < 4; plain.size++)
        assert_false(keeps(EM_X86_64, plain, true));
    assert_true(keeps(EM_X86_64, plain, true));
    struct cairn_span none = SPAN(0x53, 0x48, 0x83, 0xec, 0x10, 0x48, 0x89, 0xe7, 0xe8, 0, 0, 0, 0);
    assert_false(keeps(EM_X86_64, none, true));
}

/* Another function's does not count, where no symbol says where this one starts. */
static void a_function_before_is_another(void **state)
{
    (void)state;
    struct cairn_span padded = SPAN(0x55, 0x48, 0x89, 0xe5, 0xc9, 0xc3, 0x66, 0x90, 0x53, 0x90);
    struct cairn_span aligned = SPAN(0x55, 0x48, 0x89, 0xe5, 0x31, 0xc0, 0x31, 0xc0, 0x31, 0xc0,
                                     0x31, 0xc0, 0x90, 0x90, 0x5d, 0xc3, 0x53, 0x90);
    struct cairn_span modrm = SPAN(0x55, 0x89, 0xe5, 0x53, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
                                   0x90, 0x90, 0x90, 0x81, 0xc3, 0x56, 0x28, 0x0a, 0x00);
    assert_true(keeps(EM_X86_64, padded, true));
    assert_false(keeps(EM_X86_64, padded, false));
    assert_false(keeps(EM_X86_64, aligned, false));
    assert_true(keeps(EM_386, modrm, false)); /* add N, %ebx has the byte of a return */
}

static void a_realigned_stack_keeps_the_callers_stack_pointer(void **state)
{
    (void)state;
    struct cairn_span i386 = SPAN(0x8d, 0x4c, 0x24, 0x04, 0x83, 0xe4, 0xf0, 0xff, 0x71, 0xfc, 0x55,
                                  0x89, 0xe5, 0x53, 0x51, 0xe8, 0, 0, 0, 0);
    struct cairn_span x86_64 =
        SPAN(0x4c, 0x8d, 0x54, 0x24, 0x08, 0x48, 0x83, 0xe4, 0xe0, 0x41, 0xff, 0x72, 0xf8, 0x55,
             0x48, 0x89, 0xe5, 0x41, 0x52, 0x53, 0x90);
    assert_int_equal(cairn_fp_function_read(EM_386, i386, VA, true).sp_below, 8);
    assert_int_equal(cairn_fp_function_read(EM_X86_64, x86_64, VA, true).sp_below, 8);
    for (size_t n = 0; n < x86_64.size; n++) /* whatever is there of it */
        (void)cairn_fp_function_read(EM_X86_64, (struct cairn_span){x86_64.data, n}, VA, false);
    for (size_t n = 0; n < i386.size; n++)
        (void)cairn_fp_function_read(EM_386, (struct cairn_span){i386.data, n}, VA, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_pointer_that_was_set_up_is_found),
        cmocka_unit_test(before_its_move_there_is_none),
        cmocka_unit_test(a_function_before_is_another),
        cmocka_unit_test(a_realigned_stack_keeps_the_callers_stack_pointer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
