/* SPDX-License-Identifier: MIT */
/* Moved code and plans of aarch64, by what they write: each instruction that knows where it stands,
 * in reach and out of it. run_aarch64_test.c runs such code. */
#include "code/insn_aarch64.h"
#include "hook/move.h"
#include "hook/plan.h"
#include "support/test.h"

enum { FROM = 0x10000000, NEAR = FROM + 0x1000, CODE_WORDS = 64 };
static const uint64_t far_va = 0x7f0000000000;
enum { NOP = 0xd503201f, RET = 0xd65f03c0, BR_X16 = 0xd61f0200, BR_X17 = 0xd61f0220 };

struct moved {
    bool done;
    struct cairn_hook_copy copy;
    struct cairn_hook_piece piece;
    uint8_t code[CODE_WORDS * 4];
};

static void put(uint8_t *to, const uint32_t *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (unsigned b = 0; b < 4; b++)
            to[4 * i + b] = (uint8_t)(words[i] >> 8 * b);
}

static void move(struct moved *m, uint64_t to_va, size_t least, const uint32_t *words, size_t n)
{
    *m = (struct moved){.piece = {.size = sizeof m->piece,
                                  .cpu = CAIRN_HOOK_AARCH64,
                                  .code = m->code,
                                  .n_code = n * 4,
                                  .from_va = FROM,
                                  .to_va = to_va,
                                  .least = least}};
    put(m->code, words, n);
    m->done = cairn_hook_move(&m->piece, &m->copy);
}

#define MOVE(m, to, least, ...)                                                                    \
    move(m, to, least, (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / 4)

static uint32_t word(const struct moved *m, size_t i)
{
    return cairn_aarch64_word(m->copy.code + 4 * i);
}

static uint64_t target(const struct moved *m, size_t i)
{
    struct cairn_aarch64_insn insn;
    cairn_aarch64_insn_take(word(m, i), m->piece.to_va + 4 * i, &insn);
    return insn.to;
}

/* The 8 bytes that the ldr of word `i` loads. */
static uint64_t pooled(const struct moved *m, size_t i)
{
    const size_t off = (size_t)(target(m, i) - m->piece.to_va);
    assert_true(off + 8 <= m->copy.n_code);
    return cairn_aarch64_word(m->copy.code + off) |
           (uint64_t)cairn_aarch64_word(m->copy.code + off + 4) << 32;
}

static void assert_moved(const struct moved *m)
{
    if (!m->done)
        fail_msg("refused: %s", cairn_hook_reason_text(m->copy.reason));
}

static void assert_refused(const struct moved *m, enum cairn_hook_reason reason, uint64_t off)
{
    assert_false(m->done);
    if (m->copy.reason != reason)
        fail_msg("%s", cairn_hook_reason_text(m->copy.reason));
    assert_int_equal(m->copy.reason_va, FROM + off);
}

static void the_jump_back_uses_no_register_in_reach_and_a_free_one_beyond(void **state)
{
    struct moved m;
    (void)state;
    MOVE(&m, NEAR, 4, NOP, RET);
    assert_moved(&m);
    assert_int_equal(m.copy.n_code, 8);
    assert_int_equal(word(&m, 0), NOP);
    assert_int_equal(target(&m, 1), FROM + 4);
    MOVE(&m, far_va, 4, NOP, RET);
    assert_moved(&m);
    assert_int_equal(word(&m, 1) & 31, 17);
    assert_int_equal(pooled(&m, 1), FROM + 4);
    assert_int_equal(word(&m, 2), BR_X17);
    MOVE(&m, far_va, 4, 0xaa0003f1, RET); /* mov x17, x0 */
    assert_moved(&m);
    assert_int_equal(word(&m, 2), BR_X16);
    MOVE(&m, far_va, 4, 0x8b110210, RET); /* add x16, x16, x17 */
    assert_refused(&m, CAIRN_HOOK_NO_REGISTER, 0);
    MOVE(&m, NEAR, 4, 0x8b110210, RET);
    assert_moved(&m);
    MOVE(&m, far_va, 4, RET);
    assert_moved(&m);
    assert_int_equal(m.copy.n_code, 4);
}

/* x16 and x17 by a pair, by eight, and by hints without a field for them. */
static void registers_that_no_field_names_are_not_free(void **state)
{
    static const uint32_t both[] = {
        0x48307c82, /* casp x16, x17, x2, x3, [x4] */
        0x4862fc90, /* caspal x2, x3, x16, x17, [x4] */
        0xf83fd02a, /* ld64b x10, [x1] */
        0xf83f902a, /* st64b x10, [x1] */
        0xf823a02a, /* st64bv0 x3, x10, [x1] */
        0xd503211f, /* pacia1716 */
        0xd50321df, /* autib1716 */
    };
    struct moved m;
    (void)state;
    for (size_t i = 0; i < sizeof both / 4; i++) {
        MOVE(&m, far_va, 4, both[i], RET);
        assert_refused(&m, CAIRN_HOOK_NO_REGISTER, 0);
        MOVE(&m, NEAR, 4, both[i], RET);
        assert_moved(&m);
    }
}

static void branches_lead_where_they_led(void **state)
{
    static const struct {
        uint32_t word, flip;
    } branches[] = {
        {0x54000100, 1},        /* b.eq .+0x20 */
        {0x5400010b, 1},        /* b.lt */
        {0xb4000100, 1u << 24}, /* cbz x0 */
        {0x35000101, 1u << 24}, /* cbnz w1 */
        {0x36180102, 1u << 24}, /* tbz w2, #3 */
        {0xb7f80103, 1u << 24}, /* tbnz x3, #63 */
    };
    struct moved m;
    (void)state;
    for (size_t i = 0; i < sizeof branches / sizeof *branches; i++) {
        MOVE(&m, NEAR, 4, branches[i].word, RET);
        assert_moved(&m);
        assert_int_equal(target(&m, 0), FROM + 0x20);
        assert_int_equal(m.copy.n_code, 8);
        MOVE(&m, FROM + (1 << 26), 4, branches[i].word, RET); /* b reaches, the branch does not */
        assert_moved(&m);
        assert_int_equal((word(&m, 0) ^ branches[i].word) & 0xff00001f & ~0u, branches[i].flip);
        assert_int_equal(target(&m, 0), m.piece.to_va + 8);
        assert_int_equal(target(&m, 1), FROM + 0x20);
        assert_int_equal(target(&m, 2), FROM + 4);
        MOVE(&m, far_va, 4, branches[i].word, RET);
        assert_moved(&m);
        assert_int_equal(target(&m, 0), m.piece.to_va + 12);
        assert_int_equal(pooled(&m, 1), FROM + 0x20);
        assert_int_equal(word(&m, 2), BR_X17);
    }
    MOVE(&m, far_va, 4, 0x5400010e, RET); /* b.al */
    assert_moved(&m);
    assert_int_equal(pooled(&m, 0), FROM + 0x20);
    MOVE(&m, far_va, 4, 0x14000008, RET); /* b */
    assert_moved(&m);
    assert_int_equal(pooled(&m, 0), FROM + 0x20);
    assert_int_equal(m.copy.n_code, 16);
}

static void branches_inside_lead_to_the_copy(void **state)
{
    struct moved m;
    (void)state;
    /* cbz x0, 2f; 1: adr (far: from the pool); 2: tbnz w1, #0, 1b; b 1b */
    MOVE(&m, far_va, 16, 0xb4000040, 0x10000100, 0x3707ffe1, 0x17fffffe, RET);
    assert_moved(&m);
    assert_int_equal(target(&m, 0), far_va + m.copy.to_off[2]);
    assert_int_equal(target(&m, 2), far_va + m.copy.to_off[1]);
    assert_int_equal(target(&m, 3), far_va + m.copy.to_off[1]);
}

static void calls_leave_the_original_return_address(void **state)
{
    struct moved m;
    (void)state;
    MOVE(&m, NEAR, 4, 0x94000040, RET); /* bl .+0x100 */
    assert_moved(&m);
    assert_int_equal(word(&m, 0) & 31, 30);
    assert_int_equal(pooled(&m, 0), FROM + 4);
    assert_int_equal(target(&m, 1), FROM + 0x100);
    MOVE(&m, far_va, 4, 0xd63f0060, RET); /* blr x3 */
    assert_moved(&m);
    assert_int_equal(word(&m, 0), 0xaa0303f1); /* mov x17, x3 */
    assert_int_equal(pooled(&m, 1), FROM + 4);
    assert_int_equal(word(&m, 2), BR_X17);
    MOVE(&m, far_va, 4, 0xd63f03c0, RET); /* blr x30: read before x30 is set */
    assert_moved(&m);
    assert_int_equal(word(&m, 0), 0xaa1e03f1);
    MOVE(&m, NEAR, 4, 0xd63f0200, RET); /* blr x16 */
    assert_moved(&m);
    assert_int_equal(word(&m, 1), BR_X16);
    MOVE(&m, NEAR, 8, 0x94000040, NOP, RET);
    assert_refused(&m, CAIRN_HOOK_RETURNS_IN, 0);
    MOVE(&m, NEAR, 4, 0xd73f0801, RET); /* blraa */
    assert_refused(&m, CAIRN_HOOK_NO_REGISTER, 0);
}

static void addresses_stay_what_they_were(void **state)
{
    struct moved m;
    (void)state;
    MOVE(&m, NEAR, 4, 0x10000105, RET); /* adr x5, .+0x20 */
    assert_moved(&m);
    assert_int_equal(target(&m, 0), FROM + 0x20);
    MOVE(&m, far_va, 4, 0x10000105, RET);
    assert_moved(&m);
    assert_int_equal(word(&m, 0) & 31, 5);
    assert_int_equal(pooled(&m, 0), FROM + 0x20);
    MOVE(&m, NEAR + 8, 4, 0xb0000006, RET); /* adrp x6, the next page */
    assert_moved(&m);
    assert_int_equal(target(&m, 0), FROM + 0x1000);
    MOVE(&m, far_va, 4, 0xb0000006, RET);
    assert_moved(&m);
    assert_int_equal(pooled(&m, 0), FROM + 0x1000);
    MOVE(&m, NEAR, 8, NOP, 0x10000005, RET); /* adr of a place inside */
    assert_refused(&m, CAIRN_HOOK_BRANCHES_IN, 4);
    MOVE(&m, NEAR, 8, NOP, 0x10ffffe5, RET); /* adr of the function itself */
    assert_moved(&m);
    assert_int_equal(target(&m, 1), FROM);
}

static void literals_are_loaded_from_where_they_are(void **state)
{
    static const struct {
        uint32_t literal, by_register;
    } loads[] = {
        {0x18000105, 0xb94000a5}, /* ldr w5 */
        {0x58000105, 0xf94000a5}, /* ldr x5 */
        {0x98000105, 0xb98000a5}, /* ldrsw x5 */
        {0x1c000105, 0xbd400225}, /* ldr s5: by x17 */
        {0x5c000105, 0xfd400225}, /* ldr d5 */
        {0x9c000105, 0x3dc00225}, /* ldr q5 */
        {0xd8000105, 0xf9800225}, /* prfm */
    };
    struct moved m;
    (void)state;
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
        MOVE(&m, NEAR, 4, loads[i].literal, RET);
        assert_moved(&m);
        assert_int_equal(target(&m, 0), FROM + 0x20);
        MOVE(&m, far_va, 4, loads[i].literal, RET);
        assert_moved(&m);
        assert_int_equal(pooled(&m, 0), FROM + 0x20);
        assert_int_equal(word(&m, 1), loads[i].by_register);
    }
    MOVE(&m, far_va, 4, 0x5800011f, RET); /* ldr xzr */
    assert_refused(&m, CAIRN_HOOK_NO_REGISTER, 0);
    MOVE(&m, NEAR, 8, 0x58000025, NOP, RET); /* of what is moved */
    assert_refused(&m, CAIRN_HOOK_BRANCHES_IN, 0);
}

static void what_cannot_be_moved_is_refused(void **state)
{
    static const uint32_t exclusives[] = {0xc85f7c00, 0xc8017c00, 0x885ffc00, 0xc87f0400,
                                          0x085f7c00};
    static const uint32_t bad[] = {0, 0xd4200000, 0xd4400000, 0xd4a00001, 0xd69f03e0, 0x02000000,
                                   0x07000000,
                                   /* cbgt w, cbgt x, cbgt of an immediate, retaasppc: distances */
                                   0x74010040, 0xf4010040, 0x75010040, 0x5500001f};
    /* paciasppc, pacibsppc, autiasppc, autiasppcr, pacm */
    static const uint32_t pc_readers[] = {0xdac1a3fe, 0xdac1a7fe, 0xf380001f, 0xdac1901e,
                                          0xd50324ff};
    struct moved m;
    (void)state;
    for (size_t i = 0; i < sizeof exclusives / 4; i++) {
        MOVE(&m, NEAR, 8, NOP, exclusives[i], RET);
        assert_refused(&m, CAIRN_HOOK_EXCLUSIVE, 4);
    }
    for (size_t i = 0; i < sizeof bad / 4; i++) {
        MOVE(&m, NEAR, 4, bad[i], RET);
        assert_refused(&m, CAIRN_HOOK_NOT_CODE, 0);
    }
    for (size_t i = 0; i < sizeof pc_readers / 4; i++) {
        MOVE(&m, NEAR, 4, pc_readers[i], RET);
        assert_refused(&m, CAIRN_HOOK_READS_PC, 0);
    }
    MOVE(&m, NEAR, 4, 0xd4000001, RET); /* svc */
    assert_moved(&m);
    MOVE(&m, NEAR, 4, 0xc8a07c41, RET); /* cas */
    assert_moved(&m);
    MOVE(&m, NEAR, 4, 0x48207c82, RET); /* casp */
    assert_moved(&m);
    MOVE(&m, NEAR, 4, 0xc8dffc00, RET); /* ldar */
    assert_moved(&m);
    MOVE(&m, NEAR, 8, NOP);
    assert_refused(&m, CAIRN_HOOK_CUT_OFF, 0);
    MOVE(&m, NEAR + 2, 4, NOP);
    assert_false(m.done);
    assert_int_equal(m.copy.reason, CAIRN_HOOK_MISALIGNED);
}

static bool plan_at(uint64_t va, const uint32_t *words, size_t n, struct cairn_hook_plan *ret_plan)
{
    static uint8_t code[CODE_WORDS * 4];
    put(code, words, n);
    const struct cairn_hook_function f = {.size = sizeof f,
                                          .cpu = CAIRN_HOOK_AARCH64,
                                          .code = code,
                                          .n_code = n * 4,
                                          .code_va = va,
                                          .entry_va = va,
                                          .entry_bytes = n * 4,
                                          .module_low = va,
                                          .module_high = va + 0x10000};
    return cairn_hook_plan(&f, ret_plan);
}

static bool plan(const uint32_t *words, size_t n, struct cairn_hook_plan *ret_plan)
{
    return plan_at(FROM, words, n, ret_plan);
}

#define PLAN(p, ...)                                                                               \
    plan((const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / 4, p)

static void one_branch_diverts_a_function(void **state)
{
    struct cairn_hook_plan p;
    struct cairn_hook_patch patch;
    (void)state;
    assert_true(PLAN(&p, NOP, RET));
    assert_int_equal(p.way, CAIRN_HOOK_WAY_BRANCH);
    assert_int_equal(p.patch_va, FROM);
    assert_true(p.is_aligned);
    assert_int_equal(p.undo_bytes, 0);
    assert_true(cairn_hook_aim(&p, FROM + 0x1000, &patch));
    assert_memory_equal(patch.word, "\x00\x04\x00\x14\xc0\x03\x5f\xd6", 8);
    assert_true(cairn_hook_aim(&p, FROM - (1 << 27), &patch));
    assert_false(cairn_hook_aim(&p, FROM + (1 << 27), &patch));
    assert_false(cairn_hook_aim(&p, FROM + 0x1002, &patch));
}

/* Where Linux maps libraries, with addresses of 48 bits. */
static void functions_of_high_addresses_are_diverted(void **state)
{
    static const uint32_t words[] = {NOP, RET};
    const uint64_t high_va = 0xffff9c000000;
    struct cairn_hook_plan p;
    (void)state;
    assert_true(plan_at(high_va, words, 2, &p));
    assert_int_equal(p.way, CAIRN_HOOK_WAY_BRANCH);
    assert_int_equal(p.target_low, high_va - (1 << 27));
    assert_false(plan_at((uint64_t)1 << 49, words, 2, &p));
    assert_int_equal(p.reason, CAIRN_HOOK_OUT_OF_REACH);
}

static void hints_stay_in_front(void **state)
{
    struct cairn_hook_plan p;
    (void)state;
    assert_true(PLAN(&p, 0xd503245f, NOP, RET, NOP)); /* bti c */
    assert_int_equal(p.patch_va, FROM + 4);
    assert_int_equal(p.move_bytes, 8);
    assert_int_equal(p.undo_bytes, 0);
    assert_true(PLAN(&p, 0xd503233f, 0xa9be7bfd, 0xd50323bf, RET)); /* paciasp: autiasp undoes it */
    assert_int_equal(p.patch_va, FROM + 4);
    assert_int_equal(p.undo_bytes, 4);
    assert_memory_equal(p.undo, "\xbf\x23\x03\xd5", 4);
    assert_true(PLAN(&p, 0xd503237f, 0xa9be7bfd, 0xd50323ff, RET)); /* pacibsp */
    assert_memory_equal(p.undo, "\xff\x23\x03\xd5", 4);
    assert_false(PLAN(&p, NOP, 0x17ffffff, RET, NOP)); /* b to the entry */
    assert_int_equal(p.reason, CAIRN_HOOK_BACKWARDS);
    assert_int_equal(p.reason_va, FROM + 4);
    assert_false(PLAN(&p, 0x15000000, RET)); /* b out of the module */
    assert_int_equal(p.reason, CAIRN_HOOK_HOOKED);
    assert_int_equal(p.leads_to, FROM + 0x4000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_jump_back_uses_no_register_in_reach_and_a_free_one_beyond),
        cmocka_unit_test(registers_that_no_field_names_are_not_free),
        cmocka_unit_test(branches_lead_where_they_led),
        cmocka_unit_test(branches_inside_lead_to_the_copy),
        cmocka_unit_test(calls_leave_the_original_return_address),
        cmocka_unit_test(addresses_stay_what_they_were),
        cmocka_unit_test(literals_are_loaded_from_where_they_are),
        cmocka_unit_test(what_cannot_be_moved_is_refused),
        cmocka_unit_test(one_branch_diverts_a_function),
        cmocka_unit_test(functions_of_high_addresses_are_diverted),
        cmocka_unit_test(hints_stay_in_front),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
