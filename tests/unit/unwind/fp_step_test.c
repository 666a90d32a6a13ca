/* SPDX-License-Identifier: MIT */
#include "unwind/fp_step.h"

#include "stack.h"
#include "unwind/exidx.h"
#include "unwind/table.h"

/* Code where a call ends at CODE + 0x10 (A32 and A64: bl CODE), at CODE + 0x20 (Thumb: bl), and,
 * as x86-64 has it, at CODE + 0x30 (call CODE). */
enum { RET = CODE + 0x10, THUMB_RET = CODE + 0x20, X86_RET = CODE + 0x30 };
enum { SP_AT = STACK + 0x100 };

static bool is_code(void *ctx, uint64_t va)
{
    (void)ctx;
    return va >= CODE && va < CODE + CODE_BYTES;
}

struct world {
    struct test_stack t;
    struct cairn_memory memory;
    struct cairn_fp_space space;
};

static void open_world(struct world *w, const struct cairn_unwind_arch *arch)
{
    memset(w, 0, sizeof *w);
    w->memory = (struct cairn_memory){test_stack_read, &w->t};
    w->space = (struct cairn_fp_space){
        .memory = &w->memory, .is_code = is_code, .stack_end = STACK + STACK_BYTES};
    uint32_t bl = arch == &cairn_unwind_arm ? 0xebfffff8 : 0x97fffffd;
    memcpy(w->t.code + 0x0c,
           (uint8_t[]){(uint8_t)bl, (uint8_t)(bl >> 8), (uint8_t)(bl >> 16), (uint8_t)(bl >> 24)},
           4);
    memcpy(w->t.code + 0x1c, "\xff\xf7\xf0\xff", 4);
    memcpy(w->t.code + 0x2b, "\xe8\xd0\xff\xff\xff", 5);
}

static struct cairn_unwind_regs regs_of(const struct cairn_unwind_arch *arch, unsigned reg,
                                        uint64_t fp)
{
    struct cairn_unwind_regs regs = {.ip = CODE + 0x80};
    cairn_unwind_set(&regs, arch->sp, SP_AT);
    cairn_unwind_set(&regs, reg, fp);
    return regs;
}

static const struct way {
    const struct cairn_unwind_arch *arch;
    unsigned reg;
    int fp, ra, end;
    uint64_t ret;
    bool exact;
} ways[] = {
    {&cairn_unwind_x86_64, 6, 0, 8, 16, X86_RET, true},
    {&cairn_unwind_aarch64, 29, 0, 8, 16, RET, false},
    {&cairn_unwind_aarch64, 29, 0, 8, 16, RET | UINT64_C(0x7f) << 48, false}, /* authenticated */
    {&cairn_unwind_arm, 11, 0, 4, 8, RET, true},                              /* clang */
    {&cairn_unwind_arm, 11, -4, 0, 4, RET, true},                             /* GCC */
    {&cairn_unwind_arm, 7, 0, 4, 8, THUMB_RET | 1, true},                     /* Thumb */
};
enum { N_WAYS = sizeof ways / sizeof *ways };

static enum cairn_fp_result step_record(const struct way *way, struct world *w, uint64_t fp,
                                        struct cairn_unwind_regs *regs)
{
    size_t word = way->arch->word;
    test_stack_put(&w->t, fp + (uint64_t)way->fp, fp + 0x40, word);
    test_stack_put(&w->t, fp + (uint64_t)way->ra, way->ret, word);
    *regs = regs_of(way->arch, way->reg, fp);
    return cairn_fp_step(way->arch, &w->space, false, regs);
}

static void every_layout_of_a_record_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_WAYS; i++) {
        struct world w;
        struct cairn_unwind_regs regs;
        const struct way *way = &ways[i];
        open_world(&w, way->arch);
        assert_int_equal(step_record(way, &w, SP_AT + 0x20, &regs), CAIRN_FP_FRAME);
        assert_int_equal(regs.ip, way->ret & 0xffffffff & ~1u);
        assert_int_equal(regs.regs[way->reg], SP_AT + 0x60);
        assert_int_equal(regs.regs[way->arch->sp], SP_AT + 0x20 + (uint64_t)way->end);
        assert_int_equal(cairn_unwind_known(&regs, way->arch->sp), way->exact);
        assert_true(cairn_unwind_known(&regs, way->reg));
    }
}

static void a_record_that_cannot_be_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_WAYS; i++) {
        struct world w;
        struct cairn_unwind_regs regs, before;
        const struct way *way = &ways[i];
        open_world(&w, way->arch);
        size_t word = way->arch->word;
        uint64_t fps[] = {0,
                          1,
                          SP_AT - 8,
                          SP_AT + 0x20 + word / 2,
                          STACK + STACK_BYTES - word / 2,
                          STACK + STACK_BYTES + 0x1000,
                          UINT64_MAX,
                          UINT64_MAX - 7};
        step_record(way, &w, SP_AT + 0x20, &regs);
        for (size_t f = 0; f < sizeof fps / sizeof *fps; f++) {
            before = regs = regs_of(way->arch, way->reg, fps[f]);
            assert_int_equal(cairn_fp_step(way->arch, &w.space, true, &regs), CAIRN_FP_NONE);
            assert_memory_equal(&regs, &before, sizeof regs);
        }
        struct way other = *way;
        for (int bad = 0; bad < 3; bad++) { /* behind no call; no code; too near to its start */
            other.ret = bad == 0 ? way->ret + 0x40 : bad == 1 ? STACK : 4;
            assert_int_equal(step_record(&other, &w, SP_AT + 0x20, &regs), CAIRN_FP_NONE);
        }
        w.space.stack_end = SP_AT + 0x20;
        assert_int_equal(step_record(way, &w, SP_AT + 0x20, &regs), CAIRN_FP_NONE);
        w.space.stack_end = 0; /* not known: the record itself decides */
        assert_int_equal(step_record(way, &w, SP_AT + 0x20, &regs), CAIRN_FP_FRAME);
        regs = regs_of(way->arch, way->reg, SP_AT + 0x20);
        regs.known = 0;
        assert_int_equal(cairn_fp_step(way->arch, &w.space, false, &regs), CAIRN_FP_NONE);
    }
}

static void a_leaf_s_link_register_counts_where_the_call_led_here(void **state)
{
    (void)state;
    struct world w;
    const struct cairn_unwind_arch *arch = &cairn_unwind_aarch64;
    open_world(&w, arch);
    w.t.code[0x0c] = 0xff; /* bl CODE + 8: just below where it runs */
    struct cairn_unwind_regs regs = regs_of(arch, 29, 0);
    cairn_unwind_set(&regs, 30, RET);
    struct cairn_unwind_regs start = regs;
    assert_int_equal(cairn_fp_step(arch, &w.space, false, &regs), CAIRN_FP_NONE);
    assert_int_equal(cairn_fp_step(arch, &w.space, true, &regs), CAIRN_FP_LEAF);
    assert_int_equal(regs.ip, RET);
    assert_false(cairn_unwind_known(&regs, 31)); /* it may have pushed something on a long way */
    assert_int_equal(regs.regs[31], SP_AT);
    static const uint32_t first[] = {
        0xb0000090 /* adrp x16, ... */, 0xd10083ff /* sub sp, sp, #32 */,
        0xf81f0ffe /* str x30, [sp, #-16]! */, 0x927cec1f /* and sp, x0, #-16 */};
    for (size_t i = 0; i < sizeof first / sizeof first[0]; i++) {
        memcpy(w.t.code + 8, &first[i], 4);
        regs = start;
        regs.ip = CODE + 12;
        assert_int_equal(cairn_fp_step(arch, &w.space, true, &regs), CAIRN_FP_LEAF);
        assert_int_equal(cairn_unwind_known(&regs, 31), i == 0);
    }
    regs = start;
    regs.ip = CODE + 4; /* the call led behind it: the register is an old one */
    assert_int_equal(cairn_fp_step(arch, &w.space, true, &regs), CAIRN_FP_NONE);
    regs = start; /* saved already: the record says the same */
    test_stack_put(&w.t, SP_AT + 8, RET, 8);
    cairn_unwind_set(&regs, 29, SP_AT);
    assert_int_equal(cairn_fp_step(arch, &w.space, true, &regs), CAIRN_FP_FRAME);
    assert_int_equal(regs.ip, RET);
}

static void a_chain_is_walked_to_its_end_and_never_in_a_circle(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_WAYS; i++) {
        struct world w;
        const struct way *way = &ways[i];
        size_t word = way->arch->word;
        uint64_t found[64];
        open_world(&w, way->arch);
        for (uint64_t n = 0; n < 10; n++) {
            uint64_t fp = SP_AT + 0x20 + 0x40 * n;
            test_stack_put(&w.t, fp + (uint64_t)way->fp, n == 9 ? 0 : fp + 0x40, word);
            test_stack_put(&w.t, fp + (uint64_t)way->ra, way->ret, word);
        }
        struct cairn_unwind_regs start = regs_of(way->arch, way->reg, SP_AT + 0x20), regs = start;
        assert_int_equal(cairn_fp_walk(way->arch, &w.space, &regs, found, 64), 11);
        assert_int_equal(found[0], CODE + 0x80);
        assert_int_equal(found[10], way->ret & 0xffffffff & ~1u);
        regs = start;
        assert_int_equal(cairn_fp_walk(way->arch, &w.space, &regs, found, 4), 4);
        assert_int_equal(cairn_fp_walk(way->arch, &w.space, &regs, found, 0), 0);
        test_stack_put(&w.t, SP_AT + 0x20 + 0x40 * 9 + (uint64_t)way->fp, SP_AT + 0x20, word);
        regs = start;
        assert_int_equal(cairn_fp_walk(way->arch, &w.space, &regs, found, 64), 11);
    }
}

/* A table of 64 functions, `n_kept` of which find their caller by r11. */
static bool kept_of(unsigned n_kept)
{
    static uint64_t work[8192];
    uint32_t index[2 * 64];
    for (uint32_t i = 0; i < 64; i++) {
        index[2 * i] = (CODE + 0x100 * i - (CODE - 0x1000 + 8 * i)) & 0x7fffffff;
        /* vsp = r11; pop r4-r11, lr | pop r4, lr | +8; pop r4, r5, lr */
        index[2 * i + 1] = n_kept && i % (64 / n_kept) == 0 ? 0x809bafb0
                           : i % 2                          ? 0x80a8b0b0
                                                            : 0x8001a9b0;
    }
    const struct cairn_exidx exidx = {.index = {(const uint8_t *)index, sizeof index},
                                      .index_vaddr = CODE - 0x1000};
    const struct cairn_unwind_table_input input = {
        .arch = &cairn_unwind_arm, .exidx = &exidx, .text_from = CODE, .text_to = CODE + 0x4000};
    struct cairn_unwind_table_built built;
    struct cairn_unwind_table table;
    assert_int_equal(cairn_unwind_table_build(&input, work, sizeof work, &built), CAIRN_TABLE_OK);
    assert_true(cairn_unwind_table_open(built.image, &table));
    return cairn_fp_kept(&cairn_unwind_arm, &table);
}

static void a_module_keeps_frame_pointers_where_its_rules_use_them(void **state)
{
    (void)state;
    assert_false(kept_of(0));
    assert_false(kept_of(1));
    assert_true(kept_of(8));
    assert_true(kept_of(64));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_of_a_record_is_read),
        cmocka_unit_test(a_record_that_cannot_be_is_refused),
        cmocka_unit_test(a_leaf_s_link_register_counts_where_the_call_led_here),
        cmocka_unit_test(a_module_keeps_frame_pointers_where_its_rules_use_them),
        cmocka_unit_test(a_chain_is_walked_to_its_end_and_never_in_a_circle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
