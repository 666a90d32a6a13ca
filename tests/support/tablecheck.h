/* SPDX-License-Identifier: MIT */
/*
 * Holds a table against the sections that it was made of: every row of every entry at its first and
 * last byte and between, and any addresses, gaps too, against a search in the sections themselves.
 * And a step by each rule against one by the row itself.
 */
#ifndef CAIRN_TESTS_TABLECHECK_H
#define CAIRN_TESTS_TABLECHECK_H

#include <stdio.h>
#include <sys/mman.h>

#include "unwind/cursor_row.h"
#include "unwind/sections.h"

struct test_table {
    struct cairn_unwind_table table;
    struct cairn_unwind_table_built built;
    void *work;
    uint64_t work_bytes;
};

static inline enum cairn_unwind_table_end
test_table_build(const struct cairn_unwind_table_input *input, struct test_table *ret)
{
    *ret = (struct test_table){0};
    enum cairn_unwind_table_end end = cairn_unwind_table_measure(input, &ret->work_bytes);
    if (end != CAIRN_TABLE_OK)
        return end;
    ret->work = mmap(NULL, (size_t)ret->work_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (ret->work == MAP_FAILED)
        return CAIRN_TABLE_NO_ROOM;
    end = cairn_unwind_table_build(input, ret->work, ret->work_bytes, &ret->built);
    if (end == CAIRN_TABLE_OK && !cairn_unwind_table_open(ret->built.image, &ret->table))
        end = CAIRN_TABLE_NO_ROOM;
    return end;
}

static inline void test_table_done(struct test_table *t)
{
    if (t->work)
        munmap(t->work, (size_t)t->work_bytes);
}

struct test_table_check {
    const struct cairn_unwind_sections *sections;
    const struct cairn_unwind_table *table;
    const struct cairn_cfi *cfi;
    const struct cairn_fde *fde;
    enum cairn_unwind_table_source source;
    uint64_t off; /* of the entry in its section */
    uint64_t n_checked, n_wrong;
    uint64_t n_stepped;     /* rows that rule and row were both stepped by */
    uint64_t covered_bytes; /* of text that has a row, */
    uint64_t side_bytes;    /* a side entry for it, */
    uint64_t blind_bytes;   /* and one that cannot be evaluated */
};

enum { TEST_TABLE_STACK = 0x70000000 };

/* A stack where each word is another address further up. */
static inline bool test_table_read(void *ctx, uint64_t va, void *to, size_t size)
{
    const struct cairn_unwind_arch *arch = ctx;
    for (size_t at = 0; at + arch->word <= size; at += arch->word) {
        uint64_t word = TEST_TABLE_STACK + 0x100000 + ((va + at) * 0x9e3779b1 & 0xffff0);
        memcpy((uint8_t *)to + at, &word, arch->word);
    }
    return size % arch->word == 0;
}

static inline struct cairn_unwind_regs test_table_regs(const struct cairn_unwind_arch *arch,
                                                       uint64_t ip)
{
    struct cairn_unwind_regs regs = {.ip = ip};
    for (unsigned i = 0; i < arch->n_regs && i < CAIRN_CFI_REGS; i++)
        cairn_unwind_set(&regs, i, TEST_TABLE_STACK + 0x1000 + 0x200 * i);
    cairn_unwind_set(&regs, arch->sp, TEST_TABLE_STACK);
    if (!arch->ra_in_reg)
        cairn_unwind_set(&regs, arch->ra, ip);
    return regs;
}

/* Both ways to the caller, in the innermost frame, where all registers are known. */
static inline bool test_table_step(struct test_table_check *c, const struct cairn_cfi_row *row,
                                   uint32_t rule)
{
    const struct cairn_unwind_arch *arch = c->sections->arch;
    const struct cairn_memory memory = {test_table_read, (void *)arch};
    const struct cairn_row_input input = {.arch = arch,
                                          .memory = &memory,
                                          .expressions = c->cfi->bytes,
                                          .row = row,
                                          .ra_reg = c->fde->cie.ra_reg,
                                          .is_leaf = true,
                                          .is_signal = c->fde->cie.is_signal_frame};
    struct cairn_unwind_regs by_rule = test_table_regs(arch, row->from), by_row = by_rule;
    enum cairn_arch_step stepped = cairn_row_step(&input, &by_row);
    if (cairn_rule_kind(rule) == CAIRN_RULE_SIDE) {
        c->side_bytes += row->to - row->from;
        c->blind_bytes += stepped == CAIRN_STEP_OK ? 0 : row->to - row->from;
        return true;
    }
    c->n_stepped++;
    return cairn_unwind_step(arch, rule, true, &memory, false, &by_rule) == stepped &&
           (stepped != CAIRN_STEP_OK ||
            (by_rule.ip == by_row.ip && by_rule.regs[arch->sp] == by_row.regs[arch->sp] &&
             by_rule.regs[arch->fp] == by_row.regs[arch->fp]));
}

static inline void test_table_wrong(struct test_table_check *c, uint64_t vaddr, uint32_t rule,
                                    uint32_t expected)
{
    if (c->n_wrong++ < 10)
        fprintf(stderr, "at 0x%llx: rule 0x%x, expected 0x%x\n", (unsigned long long)vaddr, rule,
                expected);
}

static inline void test_table_at(struct test_table_check *c, uint64_t vaddr, uint32_t expected)
{
    uint32_t rule = cairn_unwind_table_find(c->table, vaddr);
    struct cairn_unwind_table_side side;
    c->n_checked++;
    if (cairn_rule_kind(expected) != CAIRN_RULE_SIDE) {
        if (rule != expected)
            test_table_wrong(c, vaddr, rule, expected);
    } else if (!cairn_unwind_table_side(c->table, rule, &side) || side.source != c->source ||
               side.off != c->off) {
        test_table_wrong(c, vaddr, rule, expected);
    }
}

static inline bool test_table_row(void *ctx, const struct cairn_cfi_row *row)
{
    struct test_table_check *c = ctx;
    uint64_t text_from = c->sections->text_from, text_to = c->sections->text_to;
    uint32_t rule = c->sections->arch->encode(c->cfi, &c->fde->cie, row);
    c->off = c->fde->off;
    if (row->from < text_from || row->to > text_to)
        return true;
    c->covered_bytes += row->to - row->from;
    if (!test_table_step(c, row, rule))
        test_table_wrong(c, row->from, rule, rule);
    test_table_at(c, row->from, rule);
    test_table_at(c, row->to - 1, rule);
    test_table_at(c, row->from + (row->to - row->from) / 2, rule);
    return true;
}

static inline void test_table_entries(struct test_table_check *c, const struct cairn_cfi *cfi,
                                      enum cairn_unwind_table_source source)
{
    struct cairn_cfi_iter iter = {.cfi = cfi};
    struct cairn_fde fde;
    c->cfi = cfi;
    c->fde = &fde;
    c->source = source;
    while (cfi->bytes.size && cairn_cfi_next(&iter, &fde))
        cairn_cfi_run(cfi, &fde, test_table_row, c);
}

/* What the sections say of an address, by a search in them: .eh_frame, else .debug_frame, else
 * .ARM.exidx. */
static inline void test_table_any(struct test_table_check *c, uint64_t vaddr)
{
    static const struct cairn_cfi no_section;
    const struct cairn_unwind_sections *s = c->sections;
    const struct cairn_cie exidx_cie = {.ra_reg = s->arch->ra};
    struct cairn_fde fde;
    struct cairn_cfi_row row;
    size_t i;
    bool debug = false, found;
    found = s->eh_frame.bytes.size && cairn_cfi_find(&s->eh_frame, vaddr, &fde);
    if (!found)
        debug = found = s->debug_frame.bytes.size && cairn_cfi_find(&s->debug_frame, vaddr, &fde);
    c->cfi = debug ? &s->debug_frame : &s->eh_frame;
    c->source = debug ? CAIRN_TABLE_DEBUG_FRAME : CAIRN_TABLE_EH_FRAME;
    c->off = found ? fde.off : 0;
    uint32_t expected = CAIRN_RULE_NONE;
    if (found && cairn_cfi_row_at(c->cfi, &fde, vaddr, &row)) {
        expected = s->arch->encode(c->cfi, &fde.cie, &row);
    } else if (!found && s->exidx.index.size && cairn_exidx_find(&s->exidx, (uint32_t)vaddr, &i) &&
               cairn_exidx_row(&s->exidx, i, &row) == CAIRN_EXIDX_ROW) {
        expected = s->arch->encode(&no_section, &exidx_cie, &row);
        const struct cairn_fde entry = {.cie = exidx_cie};
        c->source = CAIRN_TABLE_EXIDX;
        c->off = i * CAIRN_EXIDX_ENTRY_BYTES;
        c->cfi = &no_section;
        c->fde = &entry;
        if (!test_table_step(c, &row, expected))
            test_table_wrong(c, vaddr, expected, expected);
    }
    test_table_at(c, vaddr, expected);
}

/* Where .debug_frame speaks of what .eh_frame does, only the latter's rows are there. */
static inline struct test_table_check test_table_check(const struct cairn_unwind_sections *sections,
                                                       const struct cairn_unwind_table *table,
                                                       size_t n_any)
{
    struct test_table_check c = {.sections = sections, .table = table};
    uint64_t seed = 88172645463325252u;
    test_table_entries(&c, &sections->eh_frame, CAIRN_TABLE_EH_FRAME);
    if (!sections->eh_frame.bytes.size)
        test_table_entries(&c, &sections->debug_frame, CAIRN_TABLE_DEBUG_FRAME);
    for (size_t i = 0; sections->exidx.index.size && i < cairn_exidx_count(&sections->exidx); i++) {
        uint64_t start = cairn_exidx_start(&sections->exidx, i);
        if (start >= sections->text_from && start < sections->text_to)
            test_table_any(&c, start);
    }
    for (size_t i = 0; i < n_any; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        test_table_any(&c, sections->text_from + seed % (sections->text_to - sections->text_from));
    }
    return c;
}

#endif /* CAIRN_TESTS_TABLECHECK_H */
