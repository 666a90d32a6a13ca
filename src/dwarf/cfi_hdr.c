/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "dwarf/cfi_hdr.h"

#include "dwarf/cfi_pointer.h"

struct header {
    uint64_t section; /* vaddr of .eh_frame */
    uint8_t count_encoding, table_encoding;
    struct cairn_reader rest; /* the count and the table */
};

static struct cairn_cfi_bases bases_of(const struct cairn_cfi *cfi)
{
    return (struct cairn_cfi_bases){cfi->hdr_vaddr, 0, cfi->hdr_vaddr, cfi->address_size};
}

static bool read_header(const struct cairn_cfi *cfi, struct header *ret_header)
{
    const struct cairn_cfi_bases bases = bases_of(cfi);
    struct cairn_reader r = cairn_reader_of(cfi->hdr, cfi->swap);
    struct header h = {0};
    uint8_t version = cairn_reader_u8(&r), section_encoding = cairn_reader_u8(&r);
    h.count_encoding = cairn_reader_u8(&r);
    h.table_encoding = cairn_reader_u8(&r);
    if (version != 1 || cairn_cfi_read_pointer(&r, section_encoding, &bases, &h.section))
        return false;
    h.rest = r;
    *ret_header = h;
    return true;
}

bool cairn_cfi_hdr_section(const struct cairn_cfi *cfi, uint64_t *ret_vaddr)
{
    struct header h;
    if (!read_header(cfi, &h))
        return false;
    *ret_vaddr = h.section;
    return true;
}

/* The furthest entry of .eh_frame that the table names, as a vaddr; 0: none. What linkers write
 * alone: { function, entry } of 4 bytes each, counted from the header. */
static uint64_t last_entry(struct cairn_reader r, uint64_t n, uint64_t hdr_vaddr)
{
    int64_t last = INT64_MIN;
    if (n > cairn_reader_left(&r) / 8)
        return 0;
    for (uint64_t i = 0; i < n; i++) {
        cairn_reader_skip(&r, 4);
        int64_t entry = (int32_t)cairn_reader_u32(&r);
        last = entry > last ? entry : last;
    }
    return n ? hdr_vaddr + (uint64_t)last : 0;
}

void cairn_cfi_hdr_cut(struct cairn_cfi *cfi)
{
    const struct cairn_cfi_bases bases = bases_of(cfi);
    struct header h;
    uint64_t n;
    if (!read_header(cfi, &h) ||
        h.table_encoding != (CAIRN_DW_EH_PE_DATAREL | CAIRN_DW_EH_PE_SDATA4) ||
        cairn_cfi_read_pointer(&h.rest, h.count_encoding, &bases, &n) != CAIRN_CFI_SOUND)
        return;
    uint64_t last = last_entry(h.rest, n, cfi->hdr_vaddr);
    struct cairn_reader r = cairn_reader_of(cfi->bytes, cfi->swap);
    if (last < cfi->vaddr)
        return;
    cairn_reader_seek(&r, last - cfi->vaddr);
    uint64_t size = cairn_reader_u32(&r);
    if (size == UINT32_MAX)
        size = cairn_reader_u64(&r);
    cairn_reader_skip(&r, size);
    if (!r.failed)
        cfi->bytes.size = r.pos;
}
