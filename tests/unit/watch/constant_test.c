/* SPDX-License-Identifier: MIT */
/* Functions as compilers write them, and such as do more. */
#include "watch/constant.h"

#include <elf.h>

#include "support/test.h"

enum { VADDR = 0x401000 };

static bool returns(uint16_t machine, const char *code, size_t size, enum cairn_heap_constant kind,
                    uint64_t *ret_value)
{
    return cairn_heap_constant_of_code(machine, (struct cairn_span){(const uint8_t *)code, size},
                                       VADDR, kind, ret_value);
}

#define X86(code, value)                                                                           \
    (returns(EM_X86_64, code, sizeof(code) - 1, CAIRN_HEAP_CONSTANT_NUMBER, value))
#define ARM(code, kind, value) (returns(EM_AARCH64, code, sizeof(code) - 1, kind, value))

static void numbers_of_x86_64(void **state)
{
    (void)state;
    uint64_t value = 7;
    assert_true(X86("\xb8\x01\0\0\0\xc3", &value));
    assert_int_equal(value, 1);
    assert_true(X86("\xf3\x0f\x1e\xfa\x55\x48\x89\xe5\xb8\x02\x01\0\0\x5d\xc3", &value));
    assert_int_equal(value, 0x102);
    assert_true(X86("\xf3\x0f\x1e\xfa\x31\xc0\xc3", &value));
    assert_int_equal(value, 0);
    assert_true(X86("\x48\x8d\x05\xf9\xff\xff\xff\xc3", &value)); /* its own address */
    assert_int_equal(value, VADDR);
    /* Its distance has the bytes of xor eax, eax. */
    assert_true(X86("\x48\x8d\x05\x31\xc0\x01\0\xc3", &value));
    assert_int_equal(value, VADDR + 7 + 0x1c031);
    assert_false(X86("\x48\x8d\x05\x31\xc0\xc3\0", &value));
}

static void what_does_more_is_none(void **state)
{
    (void)state;
    uint64_t value;
    assert_false(X86("\xb8\x01\0\0\0\x90\xc3", &value)); /* nop */
    assert_false(X86("\x55\xb8\x01\0\0\0\x5d\xc3", &value));
    assert_false(X86("\x55\x48\x89\xe5\xb8\x01\0\0\0\xc3", &value)); /* no pop */
    assert_false(X86("\xe8\0\0\0\0\xc3", &value));                   /* a call */
    assert_false(X86("", &value));
    assert_false(returns(EM_386, "\xb8\x01\0\0\0\xc3", 6, CAIRN_HEAP_CONSTANT_NUMBER, &value));
}

static void numbers_and_addresses_of_aarch64(void **state)
{
    (void)state;
    uint64_t value = 7;
    assert_true(ARM("\x5f\x24\x03\xd5\x20\x00\x80\x52\xc0\x03\x5f\xd6", CAIRN_HEAP_CONSTANT_NUMBER,
                    &value)); /* bti c; mov w0, #1; ret */
    assert_int_equal(value, 1);
    assert_false(
        ARM("\x21\x00\x80\x52\xc0\x03\x5f\xd6", CAIRN_HEAP_CONSTANT_NUMBER, &value)); /* w1 */
    assert_true(ARM("\x00\x00\x00\xb0\x00\x40\x00\x91\xc0\x03\x5f\xd6", CAIRN_HEAP_CONSTANT_ADDRESS,
                    &value)); /* adrp x0, +1 page; add #16; ret */
    assert_int_equal(value, VADDR + 0x1010);
}

static void each_part_of_a_function_is_none(void **state)
{
    (void)state;
    static const char x86[] = "\xf3\x0f\x1e\xfa\x55\x48\x89\xe5\xb8\x01\0\0\0\x5d\xc3";
    static const char arm[] = "\x5f\x24\x03\xd5\x00\x00\x00\xb0\x00\x40\x00\x91\xc0\x03\x5f\xd6";
    uint64_t value;
    for (size_t n = 0; n < sizeof x86 - 1; n++)
        assert_false(returns(EM_X86_64, x86, n, CAIRN_HEAP_CONSTANT_NUMBER, &value));
    for (size_t n = 0; n < sizeof arm - 1; n++)
        assert_false(returns(EM_AARCH64, arm, n, CAIRN_HEAP_CONSTANT_ADDRESS, &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_x86_64),
        cmocka_unit_test(what_does_more_is_none),
        cmocka_unit_test(numbers_and_addresses_of_aarch64),
        cmocka_unit_test(each_part_of_a_function_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
