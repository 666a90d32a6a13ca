/* SPDX-License-Identifier: MIT */
/*
 * Functions of arm, written down as compilers make them, and the row at each instruction. Beside
 * this, tests/e2e/arm_code_agree.py holds every instruction of real code against .debug_frame.
 */
#include "unwind/arm_code.h"

#include "stack.h"

enum { R4 = 4, R7 = 7, R11 = 11, SP = 13, LR = 14 };
enum { NONE = 1000, IN_LR = 1001 }; /* places of the return address that are none */

static struct test_stack t;
static const struct cairn_memory memory = {test_stack_read, &t};

static enum cairn_arm_way way_at(uint32_t off, bool is_thumb, bool is_leaf,
                                 const struct cairn_cfi_row *index, struct cairn_cfi_row *ret_row)
{
    struct cairn_arm_code_room room;
    const struct cairn_arm_code code = {.memory = &memory,
                                        .ip = CODE + off,
                                        .is_thumb = is_thumb,
                                        .is_leaf = is_leaf,
                                        .row = index};
    memset(&room, 0x5a, sizeof room);
    return cairn_arm_code_row(&code, &room, ret_row);
}

static void put_thumb(const uint16_t *halves, size_t n)
{
    memset(t.code, 0xde, sizeof t.code); /* udf #222 */
    memcpy(t.code, halves, n * sizeof *halves);
}

static void put_arm(const uint32_t *words, size_t n)
{
    memset(t.code, 0xff, sizeof t.code);
    memcpy(t.code, words, n * sizeof *words);
}

/* At `off`, the CFA is `reg` + `cfa`, and the return address lies at CFA + `ra`, or IN_LR. */
static void assert_row(uint32_t off, bool is_thumb, unsigned reg, int64_t cfa, int64_t ra)
{
    struct cairn_cfi_row row;
    enum cairn_arm_way way = way_at(off, is_thumb, true, NULL, &row);
    if (ra == NONE) {
        assert_int_equal(way, CAIRN_ARM_WAY_NONE);
        return;
    }
    assert_int_equal(way, CAIRN_ARM_WAY_ROW);
    assert_int_equal(row.cfa.where, CAIRN_CFI_IN_REG);
    assert_int_equal(row.cfa.reg, reg);
    assert_int_equal(row.cfa.value, cfa);
    assert_int_equal(row.regs[LR].where, ra == IN_LR ? CAIRN_CFI_SAME : CAIRN_CFI_AT_CFA);
    if (ra != IN_LR)
        assert_int_equal(row.regs[LR].value, ra);
    assert_int_equal(row.from, CODE + off);
}

static const uint16_t usual[] = {
    0xb510,         /*  0: push {r4, lr} */
    0xb082,         /*  2: sub sp, #8 */
    0x4604,         /*  4: mov r4, r0 */
    0xf000, 0xf820, /*  6: bl */
    0x4620,         /* 10: mov r0, r4 */
    0xb002,         /* 12: add sp, #8 */
    0xbd10          /* 14: pop {r4, pc} */
};

static void a_prologue_and_an_epilogue_are_followed(void **state)
{
    (void)state;
    put_thumb(usual, sizeof usual / sizeof *usual);
    assert_row(0, true, SP, 0, IN_LR);
    assert_row(2, true, SP, 8, -4);
    assert_row(4, true, SP, 16, -4);
    assert_row(6, true, SP, 16, -4);
    assert_row(10, true, SP, 16, -4);
    assert_row(12, true, SP, 16, -4);
    assert_row(14, true, SP, 8, -4);
    assert_row(16, true, SP, 0, NONE);
}

static void what_was_saved_is_found(void **state)
{
    (void)state;
    struct cairn_cfi_row row;
    put_thumb(usual, sizeof usual / sizeof *usual);
    assert_int_equal(way_at(12, true, true, NULL, &row), CAIRN_ARM_WAY_ROW);
    assert_int_equal(row.regs[R4].where, CAIRN_CFI_AT_CFA);
    assert_int_equal(row.regs[R4].value, -8);
    assert_int_equal(row.regs[5].where, CAIRN_CFI_SAME);
    assert_int_equal(way_at(0, true, true, NULL, &row), CAIRN_ARM_WAY_ROW);
    assert_int_equal(row.regs[R4].where, CAIRN_CFI_SAME); /* not pushed yet */
}

/* No return can be seen behind the call: what the index says there is carried back. */
static void the_index_holds_where_the_code_calls(void **state)
{
    (void)state;
    struct cairn_cfi_row index = {.from = CODE, .to = CODE + 10, .cfa = test_cfa(SP, 16)}, row;
    index.regs[R4] = test_at_cfa(-8);
    index.regs[LR] = test_at_cfa(-4);
    put_thumb(usual, 5);
    assert_int_equal(way_at(0, true, true, NULL, &row), CAIRN_ARM_WAY_NONE);
    for (uint32_t off = 0; off <= 6; off += 2) {
        assert_int_equal(way_at(off, true, true, &index, &row), CAIRN_ARM_WAY_ROW);
        assert_int_equal(row.cfa.value, off == 0 ? 0 : off == 2 ? 8 : 16);
        assert_int_equal(row.regs[LR].where, off ? CAIRN_CFI_AT_CFA : CAIRN_CFI_SAME);
        assert_int_equal(row.regs[R4].where, off ? CAIRN_CFI_AT_CFA : CAIRN_CFI_SAME);
    }
    index.to = CODE + 6; /* another's call */
    assert_int_equal(way_at(0, true, true, &index, &row), CAIRN_ARM_WAY_NONE);
    index.to = CODE + 10, index.regs[LR].where = CAIRN_CFI_SAME; /* cannot be where it calls */
    assert_int_equal(way_at(0, true, true, &index, &row), CAIRN_ARM_WAY_NONE);
}

static void behind_a_call_the_link_register_holds_nothing(void **state)
{
    (void)state;
    static const uint16_t bare[] = {0x4620, 0x4770}; /* mov r0, r4; bx lr */
    struct cairn_cfi_row row;
    put_thumb(bare, 2);
    assert_int_equal(way_at(0, true, true, NULL, &row), CAIRN_ARM_WAY_ROW);
    assert_int_equal(way_at(0, true, false, NULL, &row), CAIRN_ARM_WAY_NONE);
    put_thumb(usual, sizeof usual / sizeof *usual);
    assert_int_equal(way_at(10, true, false, NULL, &row), CAIRN_ARM_WAY_ROW);
}

static void a_frame_pointer_gives_the_frame_back(void **state)
{
    (void)state;
    static const uint16_t thumb[] = {
        0xb590,         /*  0: push {r4, r7, lr} */
        0xb085,         /*  2: sub sp, #20 */
        0xaf00,         /*  4: add r7, sp, #0 */
        0xebad, 0x0d03, /*  6: sub.w sp, sp, r3 */
        0x3714,         /* 10: adds r7, #20 */
        0x46bd,         /* 12: mov sp, r7 */
        0xbd90          /* 14: pop {r4, r7, pc} */
    };
    static const uint32_t arm[] = {
        0xe92d4800, /*  0: push {r11, lr} */
        0xe28db004, /*  4: add r11, sp, #4 */
        0xe04dd003, /*  8: sub sp, sp, r3 */
        0xe24bd004, /* 12: sub sp, r11, #4 */
        0xe8bd8800  /* 16: pop {r11, pc} */
    };
    put_thumb(thumb, sizeof thumb / sizeof *thumb);
    assert_row(0, true, SP, 0, IN_LR);
    assert_row(6, true, R7, 32, -4);
    assert_row(10, true, R7, 32, -4);
    assert_row(12, true, R7, 12, -4);
    assert_row(14, true, SP, 12, -4);
    put_arm(arm, sizeof arm / sizeof *arm);
    assert_row(0, false, SP, 0, IN_LR);
    assert_row(4, false, SP, 8, -4);
    assert_row(8, false, R11, 4, -4);
    assert_row(16, false, SP, 8, -4);
}

static void floating_point_registers_only_move_the_stack(void **state)
{
    (void)state;
    static const uint16_t code[] = {
        0xb508,         /*  0: push {r3, lr} */
        0xed2d, 0x8b04, /*  2: vpush {d8, d9} */
        0xecbd, 0x8b04, /*  6: vpop {d8, d9} */
        0xbd08          /* 10: pop {r3, pc} */
    };
    put_thumb(code, sizeof code / sizeof *code);
    assert_row(2, true, SP, 8, -4);
    assert_row(6, true, SP, 24, -4);
    assert_row(10, true, SP, 8, -4);
}

/* A return on a condition is one, and so is a call as the last thing. */
static void ways_out_are_known(void **state)
{
    (void)state;
    static const uint16_t early[] = {
        0xb130,                        /*  0: cbz r0, 16 */
        0xb510,                        /*  2: push {r4, lr} */
        0xe8bd, 0x4010,                /*  4: pop.w {r4, lr} */
        0x4718,                        /*  8: bx r3 */
        0xbf00, 0xbf00, 0xbf00, 0x4770 /* 16: bx lr */
    };
    static const uint32_t arm[] = {
        0xe3500000, /*  0: cmp r0, #0 */
        0x012fff1e, /*  4: bxeq lr */
        0xe52de004, /*  8: push {lr} */
        0xe49df004  /* 12: pop {pc} */
    };
    put_thumb(early, sizeof early / sizeof *early);
    assert_row(0, true, SP, 0, IN_LR);
    assert_row(4, true, SP, 8, -4);
    assert_row(8, true, SP, 0, IN_LR);
    assert_row(16, true, SP, 0, IN_LR);
    put_arm(arm, sizeof arm / sizeof *arm);
    assert_row(0, false, SP, 0, IN_LR);
    assert_row(12, false, SP, 4, -4);
}

/* As the last thing a function is called whose address lies in memory: in the link register is our
 * caller, whatever was loaded. */
static void what_was_loaded_is_called_and_not_returned_to(void **state)
{
    (void)state;
    static const uint16_t code[] = {
        0x681b, /*  0: ldr r3, [r3] */
        0x4718, /*  2: bx r3 */
        0x9b02, /*  4: ldr r3, [sp, #8], an argument */
        0x4718, /*  6: bx r3 */
        0xbc08, /*  8: pop {r3} */
        0x4718  /* 10: bx r3, which returns */
    };
    put_thumb(code, sizeof code / sizeof *code);
    assert_row(0, true, SP, 0, IN_LR);
    assert_row(4, true, SP, 0, IN_LR);
    assert_row(8, true, SP, 4, -4);
}

/* In a function that never returns, registers that it saved not are lost. */
static void arguments_are_not_what_was_saved(void **state)
{
    (void)state;
    static const uint16_t code[] = {
        0xb500,         /*  0: push {lr} */
        0xf8dd, 0x9008, /*  2: ldr.w r9, [sp, #8] */
        0xbd00          /*  6: pop {pc} */
    };
    struct cairn_cfi_row row;
    put_thumb(code, sizeof code / sizeof *code);
    assert_row(0, true, SP, 0, IN_LR);
    assert_int_equal(way_at(2, true, true, NULL, &row), CAIRN_ARM_WAY_ROW);
    assert_int_equal(row.regs[9].where, CAIRN_CFI_UNDEFINED);
}

static void bit_fields_are_not_multiplied(void **state)
{
    (void)state;
    static const uint32_t code[] = {
        0xe7e72852, /* 0: ubfx r2, r2, #16, #8: bits 16 to 19 are no register */
        0xe12fff1e, /* 4: bx lr */
        0xe717f213, /* 8: sdiv r7, r3, r2 */
        0xe12fff1e  /* 12: bx lr */
    };
    struct cairn_cfi_row row;
    put_arm(code, sizeof code / sizeof *code);
    assert_int_equal(way_at(0, false, true, NULL, &row), CAIRN_ARM_WAY_ROW);
    assert_int_equal(row.regs[R7].where, CAIRN_CFI_SAME);
    assert_int_equal(way_at(8, false, true, NULL, &row), CAIRN_ARM_WAY_ROW);
    assert_int_equal(row.regs[R7].where, CAIRN_CFI_UNDEFINED);
}

static void stubs_are_left_to_their_target(void **state)
{
    (void)state;
    static const uint32_t plt[] = {
        0xe28fc600, /* add ip, pc, #0 */
        0xe28cca10, /* add ip, ip, #0x10000 */
        0xe5bcf123  /* ldr pc, [ip, #0x123]! */
    };
    static const uint32_t veneer[] = {0xe7fd4778,                 /* bx pc; b . - 2 */
                                      0xe59fc000,                 /* ldr ip, [pc] */
                                      0xe08cf00f,                 /* add pc, ip, pc */
                                      8,                          /* from 16: 24 */
                                      0,          0, 0xe12fff1e}; /* bx lr */
    put_arm(plt, 3);
    for (uint32_t off = 0; off < 12; off += 4)
        assert_row(off, false, SP, 0, IN_LR);
    put_arm(veneer, sizeof veneer / sizeof *veneer);
    assert_row(0, true, SP, 0, IN_LR);
    assert_row(4, false, SP, 0, IN_LR);
    assert_row(8, false, SP, 0, IN_LR); /* the constant is in ip already */
}

static void a_table_of_places_leads_to_one_of_them(void **state)
{
    (void)state;
    static const uint16_t code[] = {
        0xe8df, 0xf003, /*  0: tbb [pc, r3] */
        0x0402,         /*  4: 2, 4 */
        0xbf00,         /*  6: */
        0xb001,         /*  8: add sp, #4 */
        0xbd00          /* 10: pop {pc} */
    };
    put_thumb(code, sizeof code / sizeof *code);
    assert_row(0, true, SP, 8, -4);
}

static void code_that_ends_the_thread_is_its_first(void **state)
{
    (void)state;
    static const uint16_t glibcs[] = {
        0xf04f, 0x0c01, /*  0: mov.w ip, #1 */
        0x2000,         /*  4: movs r0, #0 */
        0xf000, 0xf820, /*  6: bl */
        0xe7f9          /* 10: b 0 */
    };
    static const uint32_t plain[] = {0xe3a07001, 0xef000000, 0xeafffffc};
    struct cairn_cfi_row row;
    put_thumb(glibcs, sizeof glibcs / sizeof *glibcs);
    assert_int_equal(way_at(0, true, false, NULL, &row), CAIRN_ARM_WAY_EXIT);
    put_arm(plain, 3);
    assert_int_equal(way_at(0, false, false, NULL, &row), CAIRN_ARM_WAY_EXIT);
    static const uint16_t endless[] = {0x2000, 0xe7fd};
    put_thumb(endless, 2);
    assert_int_equal(way_at(0, true, false, NULL, &row), CAIRN_ARM_WAY_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_prologue_and_an_epilogue_are_followed),
        cmocka_unit_test(what_was_saved_is_found),
        cmocka_unit_test(the_index_holds_where_the_code_calls),
        cmocka_unit_test(behind_a_call_the_link_register_holds_nothing),
        cmocka_unit_test(a_frame_pointer_gives_the_frame_back),
        cmocka_unit_test(floating_point_registers_only_move_the_stack),
        cmocka_unit_test(ways_out_are_known),
        cmocka_unit_test(what_was_loaded_is_called_and_not_returned_to),
        cmocka_unit_test(arguments_are_not_what_was_saved),
        cmocka_unit_test(bit_fields_are_not_multiplied),
        cmocka_unit_test(stubs_are_left_to_their_target),
        cmocka_unit_test(a_table_of_places_leads_to_one_of_them),
        cmocka_unit_test(code_that_ends_the_thread_is_its_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
