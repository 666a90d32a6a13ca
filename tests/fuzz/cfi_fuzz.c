/* SPDX-License-Identifier: MIT */
/*
 * CFI: a section and the header that knows where its entries are.
 *
 *     | flags: 1 = the other byte order, 2 = .debug_frame, 4 = 32 bit, 8 = aarch64
 *     | size of .eh_frame_hdr, 2 bytes, little-endian | .eh_frame_hdr | the section |
 */
#include <elf.h>

#include "dwarf/cfi.h"
#include "dwarf/expr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SECTION_VADDR = 0x8000, HDR_VADDR = 0x7000, MAX_FINDS = 16 };

struct rows {
    const struct cairn_cfi *cfi;
    const struct cairn_fde *fde;
    struct cairn_cfi_row first;
    uint64_t n, reached;
};

static void hold(bool sound)
{
    if (!sound)
        __builtin_trap();
}

static bool read_memory(void *ctx, uint64_t va, void *to, size_t size)
{
    (void)ctx;
    memset(to, (int)(va >> 3), size);
    return va < 0x10000;
}

static void check_rule(const struct cairn_cfi *cfi, const struct cairn_cfi_rule *rule)
{
    static const uint64_t regs[64] = {[7] = 0x4000, [16] = 0x100f};
    static const struct cairn_memory memory = {read_memory, NULL};
    const struct cairn_expr_input input = {regs, ~0ull,     &memory,          0x5000,
                                           true, cfi->swap, cfi->address_size};
    struct cairn_span expr;
    uint64_t value;
    hold(rule->where <= CAIRN_CFI_IS_EXPR && rule->reg < CAIRN_CFI_REGS);
    if (rule->where != CAIRN_CFI_AT_EXPR && rule->where != CAIRN_CFI_IS_EXPR)
        return;
    hold(cairn_span_slice(cfi->bytes, (uint64_t)rule->value, rule->expr_size, &expr));
    if (expr.size < 64)
        (void)cairn_expr_eval(expr, &input, &value);
}

static bool check_row(void *ctx, const struct cairn_cfi_row *row)
{
    struct rows *r = ctx;
    hold(row->from == r->reached && row->from < row->to && row->to <= r->fde->to);
    check_rule(r->cfi, &row->cfa);
    for (unsigned reg = 0; reg < CAIRN_CFI_REGS; reg++)
        check_rule(r->cfi, &row->regs[reg]);
    if (!r->n++)
        r->first = *row;
    r->reached = row->to;
    return true;
}

static void check_fde(const struct cairn_cfi *cfi, const struct cairn_fde *fde)
{
    struct rows r = {.cfi = cfi, .fde = fde, .reached = fde->from};
    struct cairn_fde again;
    struct cairn_cie cie;
    struct cairn_cfi_row row;
    hold(cairn_cfi_cie_at(cfi, fde->cie.off, &cie) && cie.ra_reg == fde->cie.ra_reg);
    hold(fde->from < fde->to);
    hold(cairn_cfi_fde_at(cfi, fde->off, &again) && again.from == fde->from &&
         again.to == fde->to && again.cie.off == fde->cie.off);
    bool sound = cairn_cfi_run(cfi, fde, check_row, &r);
    hold(r.n <= 1 + fde->program.size);
    hold(!sound || r.reached == fde->to);
    if (r.n)
        hold(cairn_cfi_row_at(cfi, fde, r.first.to - 1, &row) && row.from == r.first.from &&
             row.to == r.first.to);
    hold(cairn_cfi_row_at(cfi, fde, fde->to - 1, &row) == (r.reached == fde->to));
}

static void check_find(const struct cairn_cfi *cfi, uint64_t vaddr, bool must)
{
    struct cairn_fde fde;
    bool found = cairn_cfi_find(cfi, vaddr, &fde);
    hold(found || !must);
    hold(!found || (fde.from <= vaddr && vaddr < fde.to));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3)
        return 0;
    size_t hdr_size = data[1] | (size_t)data[2] << 8;
    hdr_size = hdr_size < size - 3 ? hdr_size : size - 3;
    struct cairn_cfi cfi = {.bytes = {data + 3 + hdr_size, size - 3 - hdr_size},
                            .vaddr = SECTION_VADDR,
                            .hdr = {data + 3, hdr_size},
                            .hdr_vaddr = HDR_VADDR,
                            .text_vaddr = 0x1000,
                            .data_vaddr = 0x9000,
                            .machine = data[0] & 8 ? EM_AARCH64 : EM_X86_64,
                            .address_size = data[0] & 4 ? 4 : 8,
                            .debug_frame = data[0] & 2,
                            .swap = data[0] & 1};
    struct cairn_cfi without = cfi;
    struct cairn_cfi_iter iter = {.cfi = &cfi};
    struct cairn_fde fde;
    uint64_t n = 0;
    without.hdr.size = 0;
    while (cairn_cfi_next(&iter, &fde)) {
        check_fde(&cfi, &fde);
        if (n++ < MAX_FINDS) {
            check_find(&cfi, fde.from, false);
            check_find(&cfi, fde.to, false);
            check_find(&without, fde.to - 1, true);
        }
    }
    hold(n + iter.n_damaged <= 1 + cfi.bytes.size / 4); /* an entry has a length, no less */
    return 0;
}
