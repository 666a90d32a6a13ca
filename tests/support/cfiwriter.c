/* SPDX-License-Identifier: MIT */
#include "support/cfiwriter.h"

#include <elf.h>

#include "dwarf/cfi_constants.h"

struct test_cfi test_cfi_of(bool big, unsigned address_size)
{
    return (struct test_cfi){.w = test_dwarf_of(5, big, 4, address_size),
                             .machine = address_size == 8 ? EM_X86_64 : EM_ARM};
}

static void begin(struct test_cfi *t)
{
    t->entry = t->section.n;
    if (t->dwarf64)
        test_dwarf_u(&t->w, &t->section, UINT32_MAX, 4);
    test_dwarf_u(&t->w, &t->section, 0, t->dwarf64 ? 8 : 4);
}

size_t test_cfi_cie(struct test_cfi *t, const struct test_cie *cie)
{
    struct test_bytes *b = &t->section;
    begin(t);
    t->cie = t->entry;
    t->of = cie;
    if (t->debug_frame)
        test_dwarf_u(&t->w, b, UINT64_MAX, t->dwarf64 ? 8 : 4);
    else
        test_dwarf_u(&t->w, b, 0, 4);
    test_dwarf_u(&t->w, b, cie->version, 1);
    test_dwarf_str(b, cie->letters);
    if (cie->version == 4) {
        test_dwarf_u(&t->w, b, t->w.address_size, 1);
        test_dwarf_u(&t->w, b, cie->segment_size, 1);
    }
    test_dwarf_uleb(b, (uint64_t)(cie->code_align ? cie->code_align : 1));
    test_dwarf_sleb(b, cie->data_align ? cie->data_align : -8);
    test_dwarf_uleb(b, cie->ra ? cie->ra : 16);
    if (cie->data) {
        test_dwarf_uleb(b, cie->n_data);
        test_cfi_put(t, cie->data, cie->n_data);
    } else if (cie->letters[0] == 'z') {
        test_dwarf_uleb(b, strchr(cie->letters, 'R') ? 1 : 0);
        if (strchr(cie->letters, 'R'))
            test_dwarf_u(&t->w, b, cie->encoding, 1);
    }
    return t->entry;
}

static unsigned width_of(const struct test_cfi *t)
{
    static const unsigned widths[8] = {0, 0, 2, 4, 8, 0, 0, 0};
    unsigned width = t->of->letters[0] == 'z' ? widths[t->of->encoding & 7] : 0;
    return width ? width : t->w.address_size;
}

static void put_pointer(struct test_cfi *t, uint64_t vaddr)
{
    uint8_t encoding = t->of->letters[0] == 'z' ? t->of->encoding : 0;
    uint64_t base = 0;
    switch (encoding & CAIRN_DW_EH_PE_BASE) {
    case CAIRN_DW_EH_PE_PCREL:
        base = TEST_CFI_VADDR + t->section.n;
        break;
    case CAIRN_DW_EH_PE_TEXTREL:
        base = TEST_CFI_TEXT_VADDR;
        break;
    case CAIRN_DW_EH_PE_DATAREL:
        base = TEST_CFI_DATA_VADDR;
        break;
    case CAIRN_DW_EH_PE_ALIGNED:
        while ((TEST_CFI_VADDR + t->section.n) % t->w.address_size)
            test_dwarf_u(&t->w, &t->section, 0xee, 1);
        break;
    default:
        break;
    }
    if ((encoding & CAIRN_DW_EH_PE_FORMAT) == CAIRN_DW_EH_PE_ULEB128)
        test_dwarf_uleb(&t->section, vaddr - base);
    else if ((encoding & CAIRN_DW_EH_PE_FORMAT) == CAIRN_DW_EH_PE_SLEB128)
        test_dwarf_sleb(&t->section, (int64_t)(vaddr - base));
    else
        test_dwarf_u(&t->w, &t->section, vaddr - base, width_of(t));
}

size_t test_cfi_fde(struct test_cfi *t, uint64_t from, uint64_t size)
{
    struct test_bytes *b = &t->section;
    uint8_t format = t->of->letters[0] == 'z' ? t->of->encoding & CAIRN_DW_EH_PE_FORMAT : 0;
    begin(t);
    if (t->debug_frame)
        test_dwarf_u(&t->w, b, t->cie, t->dwarf64 ? 8 : 4);
    else
        test_dwarf_u(&t->w, b, b->n - t->cie, 4);
    test_dwarf_u(&t->w, b, 0, t->of->version == 4 ? t->of->segment_size : 0);
    put_pointer(t, from);
    if (format == CAIRN_DW_EH_PE_ULEB128)
        test_dwarf_uleb(b, size);
    else if (format == CAIRN_DW_EH_PE_SLEB128)
        test_dwarf_sleb(b, (int64_t)size);
    else
        test_dwarf_u(&t->w, b, size, width_of(t));
    if (t->of->letters[0] == 'z')
        test_dwarf_uleb(b, 0);
    return t->entry;
}

void test_cfi_put(struct test_cfi *t, const void *program, size_t size)
{
    for (size_t i = 0; i < size; i++)
        test_dwarf_u(&t->w, &t->section, ((const uint8_t *)program)[i], 1);
}

void test_cfi_end(struct test_cfi *t)
{
    size_t field = t->entry + (t->dwarf64 ? 4 : 0), width = t->dwarf64 ? 8 : 4;
    while (t->section.n % t->w.address_size)
        test_dwarf_u(&t->w, &t->section, CAIRN_DW_CFA_NOP, 1);
    test_dwarf_patch(&t->w, &t->section, field, t->section.n - field - width, (unsigned)width);
}

void test_cfi_hdr(struct test_cfi *t, const uint64_t (*rows)[2], size_t n)
{
    struct test_bytes *b = &t->hdr;
    test_dwarf_u(&t->w, b, 1, 1);
    test_dwarf_u(&t->w, b, CAIRN_DW_EH_PE_PCREL | CAIRN_DW_EH_PE_SDATA4, 1);
    test_dwarf_u(&t->w, b, CAIRN_DW_EH_PE_UDATA4, 1);
    test_dwarf_u(&t->w, b, CAIRN_DW_EH_PE_DATAREL | CAIRN_DW_EH_PE_SDATA4, 1);
    test_dwarf_u(&t->w, b, TEST_CFI_VADDR - (TEST_CFI_HDR_VADDR + 4), 4);
    test_dwarf_u(&t->w, b, n, 4);
    for (size_t i = 0; i < n; i++) {
        test_dwarf_u(&t->w, b, rows[i][0] - TEST_CFI_HDR_VADDR, 4);
        test_dwarf_u(&t->w, b, TEST_CFI_VADDR + rows[i][1] - TEST_CFI_HDR_VADDR, 4);
    }
}

struct cairn_cfi test_cfi_section(const struct test_cfi *t)
{
    bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    return (struct cairn_cfi){.bytes = {t->section.data, t->section.n},
                              .vaddr = TEST_CFI_VADDR,
                              .hdr = {t->hdr.data, t->hdr.n},
                              .hdr_vaddr = TEST_CFI_HDR_VADDR,
                              .text_vaddr = TEST_CFI_TEXT_VADDR,
                              .data_vaddr = TEST_CFI_DATA_VADDR,
                              .machine = t->machine,
                              .address_size = (uint8_t)t->w.address_size,
                              .debug_frame = t->debug_frame,
                              .swap = t->w.big == little};
}
