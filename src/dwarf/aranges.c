/* SPDX-License-Identifier: MIT */
/*
 *     | length | version 2 | unit's offset | address size | segment size | pad
 *     | (start, length)... |
 */
#include "dwarf/aranges.h"

#include "base/log.h"

struct set {
    uint64_t unit_off;
    unsigned address_size;
};

/* The header of one set; `r` holds exactly this set. False: damaged, or of another kind. */
static bool read_set(struct cairn_reader *r, const struct cairn_dwarf *d, unsigned offset_size,
                     struct set *ret_set)
{
    unsigned version = cairn_reader_u16(r);
    ret_set->unit_off = cairn_reader_word(r, offset_size);
    unsigned address_size = cairn_reader_u8(r), segment_size = cairn_reader_u8(r);
    if (r->failed || version != 2 || segment_size != 0 || (address_size != 4 && address_size != 8))
        return false;
    ret_set->address_size = address_size;
    return ret_set->unit_off < d->info.size;
}

static int each_range(const struct cairn_dwarf *d, struct cairn_reader *r, const struct set *set,
                      cairn_dwarf_arange_fn each, void *ctx)
{
    unsigned width = set->address_size;
    while (cairn_reader_left(r) >= 2 * width) {
        uint64_t low = cairn_reader_word(r, width), size = cairn_reader_word(r, width);
        if (!low && !size)
            break;
        if (!size || low + size < low || !cairn_dwarf_is_code(d, low))
            continue;
        int stopped = each(ctx, set->unit_off, (struct cairn_dwarf_range){low, low + size});
        if (stopped)
            return stopped;
    }
    return 0;
}

int cairn_dwarf_aranges_each(const struct cairn_dwarf *d, cairn_dwarf_arange_fn each, void *ctx)
{
    struct cairn_reader r = cairn_reader_of(d->aranges, d->swap);
    while (cairn_reader_more(&r)) {
        size_t start = r.pos;
        unsigned offset_size = 4;
        uint64_t length = cairn_reader_u32(&r);
        if (length == 0xffffffff) {
            length = cairn_reader_u64(&r);
            offset_size = 8;
        }
        size_t body = r.pos - start;
        if (r.failed || length > cairn_reader_left(&r)) {
            cairn_log(CAIRN_LOG_WARNING, "%s: .debug_aranges at 0x%zx: set runs past the end",
                      cairn_dwarf_path(d), start);
            return 0;
        }
        /* Ranges are aligned to twice their address size, counted from the start of the set. */
        struct cairn_reader inside = cairn_reader_of(
            (struct cairn_span){r.bytes.data + start, body + (size_t)length}, d->swap);
        inside.pos = body;
        cairn_reader_skip(&r, length);
        struct set set;
        if (!read_set(&inside, d, offset_size, &set))
            continue;
        cairn_reader_align(&inside, 2 * set.address_size);
        int stopped = each_range(d, &inside, &set, each, ctx);
        if (stopped)
            return stopped;
    }
    return 0;
}
