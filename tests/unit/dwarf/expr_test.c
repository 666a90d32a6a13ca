/* SPDX-License-Identifier: MIT */
#include "dwarf/expr.h"

#include <inttypes.h>
#include <stdio.h>

#include "support/test.h"

enum { MEMORY_VA = 0x7000, CFA = 0x5000 };
static const uint8_t memory_bytes[16] = {1, 2, 3, 4, 5, 6, 7, 0x88, 9};
static const uint64_t regs[64] = {[3] = 0x1000, [7] = MEMORY_VA, [16] = 0xabcdef, [63] = 77};

static bool read_memory(void *ctx, uint64_t va, void *to, size_t size)
{
    (void)ctx;
    if (va < MEMORY_VA || va - MEMORY_VA > sizeof memory_bytes - size)
        return false;
    memcpy(to, memory_bytes + (va - MEMORY_VA), size);
    return true;
}

static const struct cairn_memory memory = {read_memory, NULL};

static struct cairn_expr_input input_of(uint8_t address_size)
{
    return (struct cairn_expr_input){.regs = regs,
                                     .known = 1ull << 3 | 1ull << 7 | 1ull << 16 | 1ull << 63,
                                     .memory = &memory,
                                     .swap = __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__,
                                     .address_size = address_size};
}

/* An expression as a string literal, NULs and all. */
#define EXPR(text) text, sizeof(text) - 1

struct row {
    const char *what, *bytes;
    size_t size;
    uint64_t expected;
};

static const struct row sound[] = {
    {"lit0", EXPR("\x30"), 0},
    {"lit31", EXPR("\x4f"), 31},
    {"const1u", EXPR("\x08\xff"), 255},
    {"const1s", EXPR("\x09\xff"), -1ull},
    {"const2u", EXPR("\x0a\xfe\xff"), 0xfffe},
    {"const2s", EXPR("\x0b\xfe\xff"), -2ull},
    {"const4u", EXPR("\x0c\x01\x00\x00\x80"), 0x80000001},
    {"const4s", EXPR("\x0d\x01\x00\x00\x80"), 0xffffffff80000001},
    {"const8u", EXPR("\x0e\x01\x00\x00\x00\x00\x00\x00\x80"), 0x8000000000000001},
    {"const8s", EXPR("\x0f\x01\x00\x00\x00\x00\x00\x00\x80"), 0x8000000000000001},
    {"constu", EXPR("\x10\xe5\x8e\x26"), 624485},
    {"consts", EXPR("\x11\x80\x7f"), -128ull},
    {"breg3 -16", EXPR("\x73\x70"), 0xff0},
    {"bregx 63 1", EXPR("\x92\x3f\x01"), 78},
    {"dup plus", EXPR("\x35\x12\x22"), 10},
    {"drop", EXPR("\x35\x36\x13"), 5},
    {"over", EXPR("\x35\x36\x14"), 5},
    {"pick 2", EXPR("\x35\x36\x37\x15\x02"), 5},
    {"swap minus", EXPR("\x35\x37\x16\x1c"), 2},
    {"rot: the top becomes the third", EXPR("\x31\x32\x33\x17"), 2},
    {"rot drop drop", EXPR("\x31\x32\x33\x17\x13\x13"), 3},
    {"rot drop", EXPR("\x31\x32\x33\x17\x13"), 1},
    {"deref", EXPR("\x77\x00\x06"), 0x8807060504030201},
    {"deref_size 2", EXPR("\x77\x01\x94\x02"), 0x0302},
    {"deref_size 1", EXPR("\x77\x07\x94\x01"), 0x88},
    {"abs", EXPR("\x09\xfb\x19"), 5},
    {"and", EXPR("\x3e\x3b\x1a"), 10},
    {"div is signed", EXPR("\x09\xf7\x32\x1b"), -4ull},
    {"lowest / -1", EXPR("\x0e\x00\x00\x00\x00\x00\x00\x00\x80\x09\xff\x1b"), 1ull << 63},
    {"mod", EXPR("\x41\x35\x1d"), 2},
    {"mod is unsigned", EXPR("\x09\xff\x3a\x1d"), 5},
    {"mul wraps", EXPR("\x09\xff\x35\x1e"), -5ull},
    {"neg", EXPR("\x35\x1f"), -5ull},
    {"not", EXPR("\x30\x20"), -1ull},
    {"or", EXPR("\x35\x32\x21"), 7},
    {"plus_uconst", EXPR("\x35\x23\x80\x01"), 133},
    {"shl", EXPR("\x31\x4f\x24"), 1ull << 31},
    {"shl beyond", EXPR("\x31\x08\x40\x24"), 0},
    {"shr", EXPR("\x09\xff\x08\x3f\x25"), 1},
    {"shr beyond", EXPR("\x09\xff\x08\x40\x25"), 0},
    {"shra", EXPR("\x09\xf0\x32\x26"), -4ull},
    {"shra beyond", EXPR("\x09\xf0\x08\xff\x26"), -1ull},
    {"xor", EXPR("\x35\x36\x27"), 3},
    {"eq", EXPR("\x35\x35\x29"), 1},
    {"ge is signed", EXPR("\x09\xff\x30\x2a"), 0},
    {"gt", EXPR("\x36\x35\x2b"), 1},
    {"le", EXPR("\x36\x36\x2c"), 1},
    {"lt", EXPR("\x09\xff\x30\x2d"), 1},
    {"ne", EXPR("\x35\x35\x2e"), 0},
    {"bra taken", EXPR("\x35\x31\x28\x01\x00\x13"), 5},
    {"bra not taken", EXPR("\x35\x36\x30\x28\x01\x00\x13"), 5},
    {"skip to the end", EXPR("\x35\x2f\x01\x00\x13"), 5},
    {"bra back: 5 + 4 + 3 + 2 + 1", EXPR("\x30\x35\x12\x17\x22\x16\x31\x1c\x12\x28\xf6\xff\x13"),
     15},
    {"nop", EXPR("\x35\x96"), 5},
    {"libcrypto's CFA: *rsp + 8", EXPR("\x77\x00\x06\x23\x08"), 0x8807060504030209},
    /* A PLT's entry: rsp + 8 + ((rip & 15) >= 11) * 8; rip ends in f. */
    {"PLT", EXPR("\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22"), MEMORY_VA + 16},
};

static void every_operation_gives_its_value(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sound / sizeof *sound; i++) {
        struct cairn_expr_input input = input_of(8);
        uint8_t *copy = test_copy(sound[i].bytes, sound[i].size);
        uint64_t value = 0xbad;
        if (!cairn_expr_eval((struct cairn_span){copy, sound[i].size}, &input, &value))
            fail_msg("%s: refused", sound[i].what);
        if (value != sound[i].expected)
            fail_msg("%s: 0x%" PRIx64 ", expected 0x%" PRIx64, sound[i].what, value,
                     sound[i].expected);
        free(copy);
    }
}

static const struct row refused[] = {
    {"nothing", EXPR(""), 0},
    {"nothing on the stack", EXPR("\x13"), 0},
    {"one too few", EXPR("\x31\x22"), 0},
    {"over of one", EXPR("\x31\x14"), 0},
    {"pick beyond", EXPR("\x31\x31\x15\x02"), 0},
    {"rot of two", EXPR("\x31\x32\x17"), 0},
    {"cut number", EXPR("\x0c\x01\x00"), 0},
    {"cut LEB128", EXPR("\x10\x80"), 0},
    {"a register that is not known", EXPR("\x70\x00"), 0},
    {"a register beyond", EXPR("\x92\x40\x00"), 0},
    {"a register far beyond", EXPR("\x92\xff\xff\xff\xff\x0f\x00"), 0},
    {"division by zero", EXPR("\x31\x30\x1b"), 0},
    {"remainder by zero", EXPR("\x31\x30\x1d"), 0},
    {"memory that cannot be read", EXPR("\x30\x06"), 0},
    {"memory that ends", EXPR("\x77\x09\x06"), 0},
    {"deref_size 0", EXPR("\x77\x00\x94\x00"), 0},
    {"deref_size 9", EXPR("\x77\x00\x94\x09"), 0},
    {"a jump before the beginning", EXPR("\x31\x2f\xf0\xff"), 0},
    {"a jump beyond the end", EXPR("\x31\x2f\x01\x00"), 0},
    {"a loop without an end", EXPR("\x31\x2f\xfd\xff"), 0},
    {"a stack without an end", EXPR("\x31\x12\x2f\xfc\xff"), 0},
    {"the CFA where there is none", EXPR("\x9c"), 0},
    {"addr", EXPR("\x03\x00\x10\x00\x00\x00\x00\x00\x00"), 0},
    {"xderef", EXPR("\x31\x31\x18"), 0},
    {"reg0", EXPR("\x50"), 0},
    {"fbreg", EXPR("\x91\x00"), 0},
    {"piece", EXPR("\x31\x93\x08"), 0},
    {"call2", EXPR("\x31\x98\x00\x00"), 0},
    {"stack_value", EXPR("\x31\x9f"), 0},
    {"unknown", EXPR("\x31\xff"), 0},
};

static void what_has_no_value_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct cairn_expr_input input = input_of(8);
        uint8_t *copy = test_copy(refused[i].bytes, refused[i].size);
        uint64_t value = 0xbad;
        if (cairn_expr_eval((struct cairn_span){copy, refused[i].size}, &input, &value))
            fail_msg("%s: 0x%" PRIx64, refused[i].what, value);
        assert_int_equal(value, 0xbad);
        free(copy);
    }
}

static bool eval(const char *bytes, size_t size, const struct cairn_expr_input *input,
                 uint64_t *ret_value)
{
    return cairn_expr_eval((struct cairn_span){(const uint8_t *)bytes, size}, input, ret_value);
}

static void numbers_of_a_32_bit_target_wrap_at_32_bits(void **state)
{
    (void)state;
    struct cairn_expr_input input = input_of(4);
    uint64_t value;
    assert_true(eval(EXPR("\x30\x31\x1c"), &input, &value)); /* 0 - 1 */
    assert_int_equal(value, 0xffffffff);
    assert_true(eval(EXPR("\x09\xff\x30\x2d"), &input, &value)); /* -1 < 0 */
    assert_int_equal(value, 1);
    assert_true(eval(EXPR("\x0c\x00\x00\x00\x80\x4f\x26"), &input, &value)); /* shra by 31 */
    assert_int_equal(value, 0xffffffff);
    assert_true(eval(EXPR("\x31\x08\x20\x24"), &input, &value)); /* shl by 32 */
    assert_int_equal(value, 0);
    assert_true(eval(EXPR("\x77\x00\x06"), &input, &value));
    assert_int_equal(value, 0x04030201);
    assert_false(eval(EXPR("\x77\x00\x94\x08"), &input, &value));
}

static void the_other_byte_order_is_read(void **state)
{
    (void)state;
    struct cairn_expr_input input = input_of(8);
    uint64_t value;
    input.swap = !input.swap;
    assert_true(eval(EXPR("\x77\x00\x06"), &input, &value));
    assert_int_equal(value, 0x0102030405060788);
    assert_true(eval(EXPR("\x0a\x12\x34"), &input, &value));
    assert_int_equal(value, 0x1234);
    assert_true(eval(EXPR("\x35\x2f\x00\x01\x13"), &input, &value));
    assert_int_equal(value, 5);
}

static void the_cfa_lies_on_the_stack_of_a_registers_rule(void **state)
{
    (void)state;
    struct cairn_expr_input input = input_of(8);
    uint64_t value;
    input.cfa = CFA;
    input.has_cfa = true;
    assert_true(eval(EXPR("\x38\x1c"), &input, &value));
    assert_int_equal(value, CFA - 8);
    assert_true(eval(EXPR("\x9c\x38\x1c"), &input, &value));
    assert_int_equal(value, CFA - 8);
    assert_true(eval(EXPR(""), &input, &value));
    assert_int_equal(value, CFA);
}

static void without_memory_nothing_is_read(void **state)
{
    (void)state;
    struct cairn_expr_input input = input_of(8);
    uint64_t value;
    input.memory = NULL;
    assert_false(eval(EXPR("\x77\x00\x06"), &input, &value));
    input.address_size = 2;
    assert_false(eval(EXPR("\x31"), &input, &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_gives_its_value),
        cmocka_unit_test(what_has_no_value_is_refused),
        cmocka_unit_test(numbers_of_a_32_bit_target_wrap_at_32_bits),
        cmocka_unit_test(the_other_byte_order_is_read),
        cmocka_unit_test(the_cfa_lies_on_the_stack_of_a_registers_rule),
        cmocka_unit_test(without_memory_nothing_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
