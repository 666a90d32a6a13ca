/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "dwarf/cfi_program.h"

#include "dwarf/cfi_pointer.h"

static struct cairn_reader reader_of(const uint8_t *p, const uint8_t *end)
{
    return cairn_reader_of((struct cairn_span){p, (size_t)(end - p)}, false);
}

static struct cairn_cfi_leb leb_of(const struct cairn_reader *r, uint64_t value)
{
    return (struct cairn_cfi_leb){value, r->failed ? NULL : r->bytes.data + r->pos};
}

struct cairn_cfi_leb cairn_cfi_uleb(const uint8_t *p, const uint8_t *end)
{
    struct cairn_reader r = reader_of(p, end);
    uint64_t value = cairn_reader_uleb(&r);
    return leb_of(&r, value);
}

struct cairn_cfi_leb cairn_cfi_sleb(const uint8_t *p, const uint8_t *end)
{
    struct cairn_reader r = reader_of(p, end);
    int64_t value = cairn_reader_sleb(&r);
    return leb_of(&r, (uint64_t)value);
}

struct cairn_cfi_leb cairn_cfi_set_loc(const struct cairn_cfi_program *program, const uint8_t *p,
                                       const uint8_t *end, uint64_t vaddr)
{
    const struct cairn_cfi *cfi = program->cfi;
    const struct cairn_cie *cie = program->cie;
    struct cairn_cfi_bases bases = {cfi->vaddr, cfi->text_vaddr, cfi->data_vaddr,
                                    cie->address_size};
    struct cairn_span bytes = {cfi->bytes.data, (size_t)(end - cfi->bytes.data)};
    struct cairn_reader r = cairn_reader_of(bytes, cfi->swap);
    uint64_t to = 0;
    r.pos = (size_t)(p - cfi->bytes.data);
    if (cairn_cfi_read_pointer(&r, cie->pointer_encoding, &bases, &to) || to < vaddr)
        return (struct cairn_cfi_leb){0};
    return leb_of(&r, to - vaddr);
}
