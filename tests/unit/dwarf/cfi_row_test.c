/* SPDX-License-Identifier: MIT */
#include <elf.h>
#include <inttypes.h>

#include "support/cfiwriter.h"
#include "support/test.h"

/* Bytes as a string literal, NULs and all. */
#define BYTES(text) text, sizeof(text) - 1

enum { FROM = 0x1000, SIZE = 0x10000, MAX_ROWS = 64 };

/* The rows of one FDE whose CIE says: CFA r7+8, r16 at CFA-8, r3 at CFA-16. */
struct rows {
    struct cairn_cfi_row rows[MAX_ROWS];
    unsigned n;
    bool sound;
    struct test_cfi t; /* the expressions lie there */
};

static const struct test_cie plain = {.version = 1, .letters = "zR", .encoding = 0x1b};

static bool keep(void *ctx, const struct cairn_cfi_row *row)
{
    struct rows *r = ctx;
    assert_true(r->n < MAX_ROWS);
    assert_true(row->from < row->to);
    assert_int_equal(row->from, r->n ? r->rows[r->n - 1].to : FROM);
    r->rows[r->n++] = *row;
    return true;
}

static struct rows *run_of(struct test_cfi t, const struct test_cie *cie, const char *program,
                           size_t size)
{
    static struct rows r;
    struct cairn_fde fde;
    r.n = 0;
    r.t = t;
    test_cfi_cie(&r.t, cie);
    test_cfi_put(&r.t, BYTES("\x0c\x07\x08\x90\x01\x83\x02"));
    test_cfi_end(&r.t);
    size_t off = test_cfi_fde(&r.t, FROM, SIZE);
    test_cfi_put(&r.t, program, size);
    test_cfi_end(&r.t);
    struct cairn_cfi cfi = test_cfi_section(&r.t);
    assert_true(cairn_cfi_fde_at(&cfi, off, &fde));
    r.sound = cairn_cfi_run(&cfi, &fde, keep, &r);
    return &r;
}

static struct rows *run(const char *program, size_t size)
{
    return run_of(test_cfi_of(false, 8), &plain, program, size);
}

static const struct cairn_cfi_row *last_of(const struct rows *r)
{
    assert_true(r->sound);
    assert_int_equal(r->rows[r->n - 1].to, FROM + SIZE);
    return &r->rows[r->n - 1];
}

static void assert_rule(const char *what, const struct cairn_cfi_rule *rule, int where, int reg,
                        int64_t value)
{
    if (rule->where != where || rule->reg != reg || rule->value != value)
        fail_msg("%s: %u of register %u and %" PRId64 ", expected %d of register %d and %" PRId64,
                 what, rule->where, rule->reg, rule->value, where, reg, value);
}

static void assert_same_rules(const struct cairn_cfi_row *a, const struct cairn_cfi_row *b)
{
    assert_rule("CFA", &a->cfa, b->cfa.where, b->cfa.reg, b->cfa.value);
    for (unsigned i = 0; i < CAIRN_CFI_REGS; i++)
        assert_rule("register", &a->regs[i], b->regs[i].where, b->regs[i].reg, b->regs[i].value);
}

enum { CFA = CAIRN_CFI_REGS };

static const struct {
    const char *what, *bytes;
    size_t size;
    int about, where, reg;
    int64_t value;
} instructions[] = {
    {"nop", BYTES("\x00"), CFA, CAIRN_CFI_IN_REG, 7, 8},
    {"def_cfa", BYTES("\x0c\x06\x90\x01"), CFA, CAIRN_CFI_IN_REG, 6, 144},
    {"def_cfa_sf", BYTES("\x12\x06\x7e"), CFA, CAIRN_CFI_IN_REG, 6, 16},
    {"def_cfa_register", BYTES("\x0d\x06"), CFA, CAIRN_CFI_IN_REG, 6, 8},
    {"def_cfa_offset", BYTES("\x0e\x10"), CFA, CAIRN_CFI_IN_REG, 7, 16},
    {"def_cfa_offset of two bytes", BYTES("\x0e\x80\x02"), CFA, CAIRN_CFI_IN_REG, 7, 256},
    {"def_cfa_offset_sf", BYTES("\x13\x7d"), CFA, CAIRN_CFI_IN_REG, 7, 24},
    {"a CFA of a register beyond", BYTES("\x0c\x23\x08"), CFA, CAIRN_CFI_UNDEFINED, 0, 8},
    {"and back to one that is held", BYTES("\x0c\x23\x18\x0d\x06"), CFA, CAIRN_CFI_IN_REG, 6, 24},
    /* libgcrypt's assembly says so, and gas and libgcc take it like that. */
    {"a register behind an expression: the offset of before", BYTES("\x0e\x18\x0f\x01\x31\x0d\x06"),
     CFA, CAIRN_CFI_IN_REG, 6, 24},
    {"the same, two expressions", BYTES("\x0e\x18\x0f\x01\x31\x0f\x01\x31\x0d\x06"), CFA,
     CAIRN_CFI_IN_REG, 6, 24},
    {"the same, and an offset meanwhile", BYTES("\x0f\x01\x31\x0e\x20\x0d\x06"), CFA,
     CAIRN_CFI_IN_REG, 6, 32},
    {"the same, signed", BYTES("\x0f\x01\x31\x13\x7d\x0d\x06"), CFA, CAIRN_CFI_IN_REG, 6, 24},
    {"offset", BYTES("\x86\x02"), 6, CAIRN_CFI_AT_CFA, 0, -16},
    {"offset of a register beyond", BYTES("\xbf\x02"), 6, CAIRN_CFI_SAME, 0, 0},
    {"offset_extended", BYTES("\x05\x1d\x03"), 29, CAIRN_CFI_AT_CFA, 0, -24},
    {"offset_extended far beyond", BYTES("\x05\xff\xff\xff\xff\x7f\x03"), 31, CAIRN_CFI_SAME, 0, 0},
    {"offset_extended_sf", BYTES("\x11\x06\x7f"), 6, CAIRN_CFI_AT_CFA, 0, 8},
    {"GNU_negative_offset_extended", BYTES("\x2f\x06\x02"), 6, CAIRN_CFI_AT_CFA, 0, 16},
    {"val_offset", BYTES("\x14\x06\x02"), 6, CAIRN_CFI_IS_CFA, 0, -16},
    {"val_offset_sf", BYTES("\x15\x06\x7e"), 6, CAIRN_CFI_IS_CFA, 0, 16},
    {"register", BYTES("\x09\x06\x0c"), 6, CAIRN_CFI_IN_REG, 12, 0},
    {"register beyond", BYTES("\x09\x06\x23"), 6, CAIRN_CFI_UNDEFINED, 0, 0},
    {"undefined", BYTES("\x07\x10"), 16, CAIRN_CFI_UNDEFINED, 0, 0},
    {"same_value", BYTES("\x08\x03"), 3, CAIRN_CFI_SAME, 0, 0},
    {"GNU_args_size is read over", BYTES("\x2e\x80\x01\x0e\x10"), CFA, CAIRN_CFI_IN_REG, 7, 16},
    {"restore", BYTES("\x83\x05\xc3"), 3, CAIRN_CFI_AT_CFA, 0, -16},
    {"restore of what the CIE is silent about", BYTES("\x86\x05\xc6"), 6, CAIRN_CFI_SAME, 0, 0},
    {"restore_extended", BYTES("\x07\x10\x06\x10"), 16, CAIRN_CFI_AT_CFA, 0, -8},
    {"restore of a register beyond", BYTES("\xff\x0e\x10"), CFA, CAIRN_CFI_IN_REG, 7, 16},
    {"the window of a SPARC", BYTES("\x2d"), 34, CAIRN_CFI_SAME, 0, 0},
};

static void every_instruction_makes_its_rule(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof instructions / sizeof *instructions; i++) {
        const struct cairn_cfi_row *row = last_of(run(instructions[i].bytes, instructions[i].size));
        int about = instructions[i].about;
        assert_rule(instructions[i].what, about == CFA ? &row->cfa : &row->regs[about],
                    instructions[i].where, instructions[i].reg, instructions[i].value);
    }
}

static void expressions_are_where_they_lie_in_the_section(void **state)
{
    (void)state;
    struct rows *r = run(BYTES("\x0f\x03\x76\x78\x06\x10\x06\x02\x76\x00\x16\x07\x02\x91\x10"));
    const struct cairn_cfi_row *row = last_of(r);
    assert_int_equal(row->cfa.where, CAIRN_CFI_IS_EXPR);
    assert_int_equal(row->cfa.expr_size, 3);
    assert_memory_equal(r->t.section.data + row->cfa.value, "\x76\x78\x06", 3);
    assert_int_equal(row->regs[6].where, CAIRN_CFI_AT_EXPR);
    assert_int_equal(row->regs[6].expr_size, 2);
    assert_memory_equal(r->t.section.data + row->regs[6].value, "\x76\x00", 2);
    assert_int_equal(row->regs[7].where, CAIRN_CFI_IS_EXPR);
    assert_memory_equal(r->t.section.data + row->regs[7].value, "\x91\x10", 2);
}

static void an_offset_alone_leaves_an_expression(void **state)
{
    (void)state;
    const struct cairn_cfi_row *row = last_of(run(BYTES("\x0f\x01\x31\x44\x0e\x20")));
    assert_int_equal(row->from, FROM + 4);
    assert_int_equal(row->cfa.where, CAIRN_CFI_IS_EXPR);
    assert_int_equal(row->cfa.expr_size, 1);
}

static void every_advance_begins_a_row(void **state)
{
    (void)state;
    static const struct test_cie by_four = {
        .version = 1, .letters = "zR", .encoding = 0x0b, .code_align = 4};
    for (unsigned big = 0; big < 2; big++) {
        const char *program = big ? "\x41\x02\x10\x03\x01\x02\x04\x00\x00\x01\x04\x1d\x00\x00\x00"
                                    "\x00\x00\x00\x00\x02\x01\x00\x00\x20\x00"
                                  : "\x41\x02\x10\x03\x02\x01\x04\x04\x01\x00\x00\x1d\x02\x00\x00"
                                    "\x00\x00\x00\x00\x00\x01\x00\x20\x00\x00";
        struct rows *r = run_of(test_cfi_of(big, 8), &by_four, program, 25);
        static const uint64_t from[] = {0, 4, 0x44, 0x44c, 0x85c, 0x864, 0x1000};
        assert_true(r->sound);
        assert_int_equal(r->n, 7);
        for (unsigned i = 0; i < 7; i++)
            assert_int_equal(r->rows[i].from, FROM + from[i]);
    }
}

static void an_advance_by_nothing_begins_none(void **state)
{
    (void)state;
    struct rows *r = run(BYTES("\x40\x0e\x10\x02\x00\x0e\x18"));
    assert_int_equal(last_of(r)->cfa.value, 24);
    assert_int_equal(r->n, 1);
}

static void rows_end_with_their_function(void **state)
{
    (void)state;
    struct rows *r = run(BYTES("\x04\xff\xff\x00\x00\x0e\x10\x42\x0e\x18\x41\x0e\x20"));
    assert_int_equal(r->n, 2);
    assert_int_equal(last_of(r)->cfa.value, 16);
    assert_int_equal(last_of(r)->from, FROM + SIZE - 1);
}

static void going_backwards_is_damage(void **state)
{
    (void)state;
    static const struct test_cie absolute = {.version = 1, .letters = "zR", .encoding = 0x03};
    struct rows *r =
        run_of(test_cfi_of(false, 8), &absolute, BYTES("\x44\x0e\x10\x01\x03\x10\x00\x00\x0e\x18"));
    assert_false(r->sound);
    assert_int_equal(r->n, 1);
    /* Around the end of the address space and back. */
    r = run(BYTES("\x44\x1d\xff\xff\xff\xff\xff\xff\xff\xff"));
    assert_false(r->sound);
    static const struct test_cie by_four = {
        .version = 1, .letters = "zR", .encoding = 0x1b, .code_align = 4};
    r = run_of(test_cfi_of(false, 8), &by_four, BYTES("\x44\x1d\x00\x00\x00\x00\x00\x00\x00\xc0"));
    assert_false(r->sound);
}

static void a_remembered_state_comes_back_whole(void **state)
{
    (void)state;
    /* push r6; remember; { r6 restored, CFA 8; remember; { r12, r3 } back; } back; 4 bytes each */
    struct rows *r =
        run(BYTES("\x44\x0e\x10\x86\x02\x44\x0a\xc6\x0e\x08\x44\x0a\x8c\x05\x83\x06\x0c"
                  "\x06\x40\x44\x0b\x44\x0b"));
    assert_true(r->sound);
    assert_int_equal(r->n, 6);
    assert_rule("pushed", &r->rows[1].regs[6], CAIRN_CFI_AT_CFA, 0, -16);
    assert_rule("popped", &r->rows[2].regs[6], CAIRN_CFI_SAME, 0, 0);
    assert_int_equal(r->rows[2].cfa.value, 8);
    assert_rule("inside", &r->rows[3].regs[12], CAIRN_CFI_AT_CFA, 0, -40);
    assert_rule("inside", &r->rows[3].regs[3], CAIRN_CFI_AT_CFA, 0, -48);
    assert_rule("inside", &r->rows[3].cfa, CAIRN_CFI_IN_REG, 6, 64);
    assert_same_rules(&r->rows[4], &r->rows[2]);
    assert_same_rules(&r->rows[5], &r->rows[1]);
}

static void remembering_is_bounded_and_balanced(void **state)
{
    (void)state;
    struct rows *r = run(BYTES("\x44\x0e\x10\x44\x0b\x44"));
    assert_false(r->sound); /* nothing was remembered */
    assert_int_equal(r->n, 2);
    assert_int_equal(r->rows[1].cfa.value, 16);
    r = run(
        BYTES("\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0e\x10\x44\x0b"));
    assert_true(r->sound); /* 16 deep */
    assert_int_equal(r->rows[1].cfa.value, 8);
    r = run(BYTES("\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a"));
    assert_false(r->sound);
}

/* Each level changes 16 registers: more than is kept at once. */
static void too_much_to_remember_is_damage_and_no_wrong_row(void **state)
{
    (void)state;
    char program[600];
    size_t n = 0;
    for (int level = 0; level < 5; level++) {
        program[n++] = 0x0a;
        for (int reg = 0; reg < 16; reg++) {
            program[n++] = (char)(0x80 | reg);
            program[n++] = (char)(level + 2);
        }
    }
    program[n++] = 0x44;
    program[n++] = 0x0b;
    struct rows *r = run(program, n);
    assert_false(r->sound);
    assert_int_equal(r->n, 1);
}

static void what_is_no_program_is_damage(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
    } wrong[] = {
        {BYTES("\x44\x17")},                         /* unknown */
        {BYTES("\x44\x3f")},                         /* the last of the user's */
        {BYTES("\x44\x30\x07\x08\x01")},             /* LLVM_def_aspace_cfa */
        {BYTES("\x44\x0f\x09\x76")},                 /* an expression longer than what is left */
        {BYTES("\x44\x0f\xff\xff\xff\xff\xff\x7f")}, /* far longer */
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct rows *r = run(wrong[i].bytes, wrong[i].size);
        assert_false(r->sound);
        assert_int_equal(r->n, 1);
        assert_int_equal(r->rows[0].to, FROM + 4);
    }
}

/* The last operand may be cut off: there is nothing behind the section. */
static void every_cut_program_is_damage(void **state)
{
    (void)state;
    static const char *const whole[] = {"\x02\x10",
                                        "\x03\x10\x10",
                                        "\x04\x10\x10\x10\x10",
                                        "\x1d\x10\x10\x10\x10\x10\x10\x10\x10",
                                        "\x0c\x07\x80\x08",
                                        "\x12\x07\x80\x08",
                                        "\x86\x80\x02",
                                        "\x05\x06\x80\x02",
                                        "\x0f\x02\x31\x31",
                                        "\x10\x06\x02\x31\x31",
                                        "\x2e\x80\x02",
                                        "\x01\x01\x02\x03\x04"};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        for (size_t size = 1; size < strlen(whole[i]); size++) {
            static struct test_cfi t;
            struct cairn_fde fde;
            t = test_cfi_of(false, 8);
            struct rows r = {0};
            test_cfi_cie(&t, &plain);
            test_cfi_end(&t);
            size_t off = test_cfi_fde(&t, FROM, SIZE);
            struct cairn_cfi cfi = test_cfi_section(&t);
            uint8_t *copy = malloc(t.section.n + size);
            assert_non_null(copy);
            memcpy(copy, t.section.data, t.section.n);
            memcpy(copy + t.section.n, whole[i], size);
            cfi.bytes = (struct cairn_span){copy, t.section.n + size};
            copy[off] = (uint8_t)(cfi.bytes.size - off - 4);
            assert_true(cairn_cfi_fde_at(&cfi, off, &fde));
            assert_int_equal(fde.program.size, size);
            assert_false(cairn_cfi_run(&cfi, &fde, keep, &r));
            assert_int_equal(r.n, 0);
            free(copy);
        }
    }
}

static void signed_return_addresses_are_known_on_aarch64_alone(void **state)
{
    (void)state;
    struct test_cfi t = test_cfi_of(false, 8);
    t.machine = EM_AARCH64;
    struct rows *r =
        run_of(t, &plain, BYTES("\x44\x2d\x44\x0a\x2d\x44\x0b\x44\x2d\x2c\x44\xe2\x06\x22"));
    static const int64_t expected[] = {0, 1, 0, 1, 3, 0};
    assert_true(r->sound);
    assert_int_equal(r->n, 6);
    for (unsigned i = 0; i < 6; i++)
        assert_rule("RA_SIGN_STATE", &r->rows[i].regs[34], CAIRN_CFI_SAME, 0, expected[i]);
}

static bool stop_at_second(void *ctx, const struct cairn_cfi_row *row)
{
    (void)row;
    return ++*(unsigned *)ctx < 2;
}

static void whoever_asks_may_stop(void **state)
{
    (void)state;
    struct rows *r = run(BYTES("\x44\x0e\x10\x44\x0e\x18\x44\x17"));
    struct cairn_cfi cfi = test_cfi_section(&r->t);
    struct cairn_fde fde;
    struct cairn_cfi_row row;
    unsigned n = 0;
    assert_true(cairn_cfi_find(&cfi, FROM, &fde));
    assert_true(cairn_cfi_run(&cfi, &fde, stop_at_second, &n)); /* before the damage */
    assert_int_equal(n, 2);
    for (uint64_t vaddr = FROM; vaddr < FROM + 12; vaddr++) {
        assert_true(cairn_cfi_row_at(&cfi, &fde, vaddr, &row));
        assert_true(row.from <= vaddr && vaddr < row.to);
        assert_int_equal(row.cfa.value, 8 + 8 * ((vaddr - FROM) / 4));
    }
    assert_false(cairn_cfi_row_at(&cfi, &fde, FROM + 12, &row));
    assert_false(cairn_cfi_row_at(&cfi, &fde, FROM - 1, &row));
    assert_false(cairn_cfi_row_at(&cfi, &fde, FROM + SIZE, &row));
}

/* The CIE is run anew, and what it says is what DW_CFA_restore goes back to, whatever the function
 * before made of it. */
static void a_damaged_cie_gives_no_row(void **state)
{
    (void)state;
    struct test_cfi t = test_cfi_of(false, 8);
    struct cairn_fde fde;
    struct rows r = {0};
    test_cfi_cie(&t, &plain);
    test_cfi_put(&t, BYTES("\x0c\x07\x08\x17"));
    test_cfi_end(&t);
    size_t off = test_cfi_fde(&t, FROM, SIZE);
    test_cfi_end(&t);
    struct cairn_cfi cfi = test_cfi_section(&t);
    assert_true(cairn_cfi_fde_at(&cfi, off, &fde));
    assert_false(cairn_cfi_run(&cfi, &fde, keep, &r));
    assert_int_equal(r.n, 0);
}

static void without_a_word_on_the_cfa_it_is_undefined(void **state)
{
    (void)state;
    struct test_cfi t = test_cfi_of(false, 8);
    struct cairn_fde fde;
    struct cairn_cfi_row row;
    test_cfi_cie(&t, &plain);
    test_cfi_end(&t);
    size_t off = test_cfi_fde(&t, FROM, SIZE);
    test_cfi_end(&t);
    struct cairn_cfi cfi = test_cfi_section(&t);
    assert_true(cairn_cfi_fde_at(&cfi, off, &fde));
    assert_true(cairn_cfi_row_at(&cfi, &fde, FROM, &row));
    assert_int_equal(row.cfa.where, CAIRN_CFI_UNDEFINED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_instruction_makes_its_rule),
        cmocka_unit_test(expressions_are_where_they_lie_in_the_section),
        cmocka_unit_test(an_offset_alone_leaves_an_expression),
        cmocka_unit_test(every_advance_begins_a_row),
        cmocka_unit_test(an_advance_by_nothing_begins_none),
        cmocka_unit_test(rows_end_with_their_function),
        cmocka_unit_test(going_backwards_is_damage),
        cmocka_unit_test(a_remembered_state_comes_back_whole),
        cmocka_unit_test(remembering_is_bounded_and_balanced),
        cmocka_unit_test(too_much_to_remember_is_damage_and_no_wrong_row),
        cmocka_unit_test(what_is_no_program_is_damage),
        cmocka_unit_test(every_cut_program_is_damage),
        cmocka_unit_test(signed_return_addresses_are_known_on_aarch64_alone),
        cmocka_unit_test(whoever_asks_may_stop),
        cmocka_unit_test(a_damaged_cie_gives_no_row),
        cmocka_unit_test(without_a_word_on_the_cfa_it_is_undefined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
