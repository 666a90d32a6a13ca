/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * The FDE of an address, by .eh_frame_hdr (LSB Core 5.0, 10.6.2) or by a pass over the section.
 *
 *     version 1 | encodings of: pointer, count, table | pointer to .eh_frame | count |
 *     table: { function, its FDE } in the order of functions
 */
#include "dwarf/cfi_pointer.h"

/* The table, once its numbers are known to lie inside. */
struct table {
    struct cairn_span rows;
    uint64_t n;
    struct cairn_cfi_bases bases; /* vaddr: of the first row */
    uint8_t encoding;
    unsigned width; /* bytes of one number */
    bool swap;
};

static bool open_table(const struct cairn_cfi *cfi, struct table *ret_table)
{
    struct cairn_reader r = cairn_reader_of(cfi->hdr, cfi->swap);
    struct cairn_cfi_bases bases = {cfi->hdr_vaddr, cfi->text_vaddr, cfi->hdr_vaddr,
                                    cfi->address_size};
    uint64_t section, n;
    uint8_t version = cairn_reader_u8(&r);
    uint8_t section_encoding = cairn_reader_u8(&r);
    uint8_t count_encoding = cairn_reader_u8(&r);
    uint8_t encoding = cairn_reader_u8(&r);
    unsigned width = cairn_cfi_pointer_width(encoding, cfi->address_size);
    if (r.failed || version != 1 || !width || encoding & CAIRN_DW_EH_PE_INDIRECT ||
        (encoding & CAIRN_DW_EH_PE_BASE) == CAIRN_DW_EH_PE_ALIGNED ||
        cairn_cfi_read_pointer(&r, section_encoding, &bases, &section) ||
        cairn_cfi_read_pointer(&r, count_encoding, &bases, &n) ||
        n > cairn_reader_left(&r) / (2 * width))
        return false;
    bases.vaddr += r.pos;
    *ret_table = (struct table){
        {cfi->hdr.data + r.pos, (size_t)n * 2 * width}, n, bases, encoding, width, cfi->swap};
    return true;
}

/* Row i's function, and where its FDE lies. */
static bool read_row(const struct table *t, uint64_t i, uint64_t *ret_from, uint64_t *ret_fde)
{
    struct cairn_reader r = cairn_reader_of(t->rows, t->swap);
    cairn_reader_seek(&r, i * 2 * t->width);
    return !cairn_cfi_read_pointer(&r, t->encoding, &t->bases, ret_from) &&
           !cairn_cfi_read_pointer(&r, t->encoding, &t->bases, ret_fde);
}

/* The same of the table that linkers write: numbers of 4 bytes, counted from the header. */
static uint64_t count_before_usual(const struct table *t, uint64_t vaddr)
{
    uint64_t low = 0, high = t->n;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        uint32_t raw;
        memcpy(&raw, t->rows.data + middle * 8, sizeof raw);
        int32_t distance = (int32_t)(t->swap ? __builtin_bswap32(raw) : raw);
        uint64_t from = t->bases.data_vaddr + (uint64_t)(int64_t)distance;
        if (cairn_cfi_address(from, t->bases.address_size) <= vaddr)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The number of rows whose function begins at or before `vaddr`. */
static uint64_t count_before(const struct table *t, uint64_t vaddr)
{
    uint64_t low = 0, high = t->n, from, fde;
    if (t->encoding == (CAIRN_DW_EH_PE_DATAREL | CAIRN_DW_EH_PE_SDATA4))
        return count_before_usual(t, vaddr);
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (read_row(t, middle, &from, &fde) && from <= vaddr)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Row i's FDE, where the section says what the row does. */
static bool read_fde(const struct cairn_cfi *cfi, const struct table *t, uint64_t i,
                     struct cairn_fde *ret_fde)
{
    uint64_t from, fde_vaddr;
    return read_row(t, i, &from, &fde_vaddr) && fde_vaddr >= cfi->vaddr &&
           cairn_cfi_fde_at(cfi, fde_vaddr - cfi->vaddr, ret_fde) && ret_fde->from == from;
}

/* Rows n - 1 and n lie around `vaddr`; `before` is where the first of them begins. Is the second
 * one true, too, and do the outermost rows lie around both? No more can be known without reading
 * all. */
static bool is_gap(const struct cairn_cfi *cfi, const struct table *t, uint64_t n, uint64_t vaddr,
                   uint64_t before)
{
    struct cairn_fde fde;
    uint64_t first, last, at;
    if (!t->n || !read_row(t, 0, &first, &at) || !read_row(t, t->n - 1, &last, &at) ||
        (n && first > before))
        return false;
    return n == t->n || (read_fde(cfi, t, n, &fde) && fde.from > vaddr && fde.from <= last);
}

enum cairn_cfi_table cairn_cfi_ask_table(const struct cairn_cfi *cfi, uint64_t vaddr,
                                         struct cairn_fde *ret_fde)
{
    struct table t;
    struct cairn_fde fde = {0};
    if (!cfi->hdr.size || !open_table(cfi, &t))
        return CAIRN_CFI_TABLE_WRONG;
    uint64_t n = count_before(&t, vaddr);
    if (n && (!read_fde(cfi, &t, n - 1, &fde) || fde.from > vaddr))
        return CAIRN_CFI_TABLE_WRONG;
    if (n && vaddr < fde.to) {
        *ret_fde = fde;
        return CAIRN_CFI_TABLE_COVERS;
    }
    return is_gap(cfi, &t, n, vaddr, fde.from) ? CAIRN_CFI_TABLE_GAP : CAIRN_CFI_TABLE_WRONG;
}

bool cairn_cfi_find(const struct cairn_cfi *cfi, uint64_t vaddr, struct cairn_fde *ret_fde)
{
    enum cairn_cfi_table answer = cairn_cfi_ask_table(cfi, vaddr, ret_fde);
    if (answer != CAIRN_CFI_TABLE_WRONG)
        return answer == CAIRN_CFI_TABLE_COVERS;
    struct cairn_cfi_iter iter = {.cfi = cfi};
    struct cairn_fde fde;
    while (cairn_cfi_next(&iter, &fde)) {
        if (vaddr >= fde.from && vaddr < fde.to) {
            *ret_fde = fde;
            return true;
        }
    }
    return false;
}
