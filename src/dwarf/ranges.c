/* SPDX-License-Identifier: MIT */
/* Reads range lists of all versions. */
#include "dwarf/ranges.h"

#include "base/alloc.h"
#include "base/error.h"
#include "dwarf/constants.h"
#include "dwarf/unit.h"

void cairn_dwarf_ranges_done(struct cairn_dwarf_ranges *ranges)
{
    cairn_free(ranges->ranges);
    *ranges = (struct cairn_dwarf_ranges){0};
}

int cairn_dwarf_ranges_add(const struct cairn_dwarf *d, struct cairn_dwarf_ranges *ranges,
                           uint64_t low, uint64_t high, struct cairn_err *err)
{
    if (high <= low || !cairn_dwarf_is_code(d, low))
        return CAIRN_OK;
    if (cairn_grow((void **)&ranges->ranges, &ranges->cap, ranges->n + 1, sizeof *ranges->ranges) <
        0)
        return cairn_fail_memory(err);
    ranges->ranges[ranges->n++] = (struct cairn_dwarf_range){low, high};
    return CAIRN_OK;
}

/* Entries of honest lists do not share bytes, so no unit has more of them than the section has
 * bytes; without this, n DIEs that point to one list of m entries would cost n * m. */
static bool count_entry(struct cairn_span section, struct cairn_dwarf_ranges *ranges)
{
    return ranges->n_read++ <= section.size;
}

static int fail_limit(const char *section, struct cairn_err *err)
{
    return cairn_fail(err, CAIRN_E_LIMIT, "%s: one unit reads more entries than there are bytes",
                      section);
}

/* DWARF 4, 2.17.3: pairs of addresses relative to a base; (all ones, b) sets the base. */
static int read_pairs(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit,
                      uint64_t off, struct cairn_dwarf_ranges *ranges, struct cairn_err *err)
{
    unsigned width = unit->sizes.address_size;
    uint64_t ones = width == 8 ? UINT64_MAX : (1ull << (8 * width)) - 1;
    uint64_t base = unit->low_vaddr;
    struct cairn_reader r = cairn_reader_of(d->ranges, d->swap);
    cairn_reader_seek(&r, off);
    for (;;) {
        uint64_t low = cairn_reader_word(&r, width), high = cairn_reader_word(&r, width);
        if (r.failed)
            return cairn_fail(err, CAIRN_E_FORMAT, ".debug_ranges: list at 0x%llx has no end",
                              (unsigned long long)off);
        if (!low && !high)
            return CAIRN_OK;
        if (!count_entry(d->ranges, ranges))
            return fail_limit(".debug_ranges", err);
        if (low == ones)
            base = high;
        else if (cairn_dwarf_ranges_add(d, ranges, (base + low) & ones, (base + high) & ones, err) <
                 0)
            return CAIRN_E_NOMEM;
    }
}

/* The two numbers of an entry, as addresses. False at the end of the list or where it is damaged;
 * an entry that only sets the base gives an empty range. Inlined, so that the reader stays in
 * registers. */
static inline __attribute__((always_inline)) bool read_entry(const struct cairn_dwarf *d,
                                                             const struct cairn_dwarf_unit *unit,
                                                             struct cairn_reader *r, uint64_t *base,
                                                             struct cairn_dwarf_range *ret_range)
{
    uint64_t low = 0, high = 0;
    unsigned width = unit->sizes.address_size;
    bool ok = true;
    switch (cairn_reader_u8(r)) {
    case CAIRN_DW_RLE_BASE_ADDRESSX:
        ok = cairn_dwarf_indexed_address(d, unit, cairn_reader_uleb(r), base);
        break;
    case CAIRN_DW_RLE_STARTX_ENDX:
        ok = cairn_dwarf_indexed_address(d, unit, cairn_reader_uleb(r), &low);
        ok &= cairn_dwarf_indexed_address(d, unit, cairn_reader_uleb(r), &high);
        break;
    case CAIRN_DW_RLE_STARTX_LENGTH:
        ok = cairn_dwarf_indexed_address(d, unit, cairn_reader_uleb(r), &low);
        high = low + cairn_reader_uleb(r);
        break;
    case CAIRN_DW_RLE_OFFSET_PAIR:
        low = *base + cairn_reader_uleb(r);
        high = *base + cairn_reader_uleb(r);
        break;
    case CAIRN_DW_RLE_BASE_ADDRESS:
        *base = cairn_reader_word(r, width);
        break;
    case CAIRN_DW_RLE_START_END:
        low = cairn_reader_word(r, width);
        high = cairn_reader_word(r, width);
        break;
    case CAIRN_DW_RLE_START_LENGTH:
        low = cairn_reader_word(r, width);
        high = low + cairn_reader_uleb(r);
        break;
    default:
        r->failed = true;
        break;
    }
    *ret_range = ok ? (struct cairn_dwarf_range){low, high} : (struct cairn_dwarf_range){0, 0};
    return !r->failed;
}

/* DWARF 5, 2.17.3: entries that begin with their kind. */
static int read_list(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit, uint64_t off,
                     struct cairn_dwarf_ranges *ranges, struct cairn_err *err)
{
    uint64_t base = unit->low_vaddr;
    struct cairn_reader r = cairn_reader_of(d->rnglists, d->swap);
    cairn_reader_seek(&r, off);
    for (;;) {
        if (cairn_reader_more(&r) && r.bytes.data[r.pos] == CAIRN_DW_RLE_END_OF_LIST)
            return CAIRN_OK;
        struct cairn_dwarf_range range;
        size_t at = r.pos;
        if (!read_entry(d, unit, &r, &base, &range))
            return cairn_fail(err, CAIRN_E_FORMAT,
                              ".debug_rnglists at 0x%zx: damaged entry of the list at 0x%llx", at,
                              (unsigned long long)off);
        if (!count_entry(d->rnglists, ranges))
            return fail_limit(".debug_rnglists", err);
        if (cairn_dwarf_ranges_add(d, ranges, range.low, range.high, err) < 0)
            return CAIRN_E_NOMEM;
    }
}

/* Number `index` of the table of offsets that stands at the unit's base. */
static bool find_list(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit,
                      uint64_t index, uint64_t *ret_off)
{
    unsigned width = unit->sizes.offset_size;
    if (index > d->rnglists.size / width)
        return false;
    struct cairn_reader r = cairn_reader_of(d->rnglists, d->swap);
    cairn_reader_seek(&r, unit->rnglists_base);
    cairn_reader_skip(&r, index * width);
    *ret_off = unit->rnglists_base + cairn_reader_word(&r, width);
    return !r.failed;
}

int cairn_dwarf_ranges_read(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit,
                            uint16_t form, uint64_t value, struct cairn_dwarf_ranges *ranges,
                            struct cairn_err *err)
{
    if (unit->sizes.version < 5)
        return read_pairs(d, unit, unit->ranges_start + value, ranges, err);
    uint64_t off = unit->ranges_start + value;
    if (form == CAIRN_DW_FORM_RNGLISTX && !find_list(d, unit, value, &off))
        return cairn_fail(err, CAIRN_E_FORMAT, ".debug_rnglists: no list of number %llu",
                          (unsigned long long)value);
    return read_list(d, unit, off, ranges, err);
}

int cairn_dwarf_die_ranges(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit,
                           const struct cairn_dwarf_die *die, struct cairn_dwarf_ranges *ranges,
                           struct cairn_err *err)
{
    if (cairn_dwarf_die_has(die, CAIRN_DWARF_RANGES))
        return cairn_dwarf_ranges_read(d, unit, die->form[CAIRN_DWARF_RANGES],
                                       die->value[CAIRN_DWARF_RANGES], ranges, err);
    if (!cairn_dwarf_die_has(die, CAIRN_DWARF_LOW) || !cairn_dwarf_die_has(die, CAIRN_DWARF_HIGH))
        return CAIRN_OK;
    uint64_t low, high = die->value[CAIRN_DWARF_HIGH];
    uint16_t high_form = die->form[CAIRN_DWARF_HIGH];
    if (!cairn_dwarf_address(d, unit, die->form[CAIRN_DWARF_LOW], die->value[CAIRN_DWARF_LOW],
                             &low))
        return CAIRN_OK;
    if (!cairn_dwarf_form_is_address(high_form))
        high += low; /* DWARF 4, 2.17.2: a constant is a distance */
    else if (!cairn_dwarf_address(d, unit, high_form, high, &high))
        return CAIRN_OK;
    return cairn_dwarf_ranges_add(d, ranges, low, high, err);
}
