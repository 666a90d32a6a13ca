/* SPDX-License-Identifier: MIT */
/* Headers of units: which are known, and the way to those that are not. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "dwarf/constants.h"
#include "dwarf/unit.h"

/* Tables of functions keep offsets into .debug_info in 32 bits. */
static const uint64_t info_max_bytes = UINT32_MAX;

/* What follows the length: version, sizes, type, abbreviations. False: of no version we know. */
static bool read_header_rest(struct cairn_reader *r, bool is_types, struct cairn_dwarf_unit *u)
{
    u->sizes.version = cairn_reader_u16(r);
    if (u->sizes.version < 2 || u->sizes.version > 5)
        return false;
    if (u->sizes.version >= 5) {
        u->type = cairn_reader_u8(r);
        u->sizes.address_size = cairn_reader_u8(r);
        u->abbrev_off = cairn_reader_word(r, u->sizes.offset_size);
    } else {
        u->type = is_types ? CAIRN_DW_UT_TYPE : CAIRN_DW_UT_COMPILE;
        u->abbrev_off = cairn_reader_word(r, u->sizes.offset_size);
        u->sizes.address_size = cairn_reader_u8(r);
    }
    bool is_type = u->type == CAIRN_DW_UT_TYPE || u->type == CAIRN_DW_UT_SPLIT_TYPE;
    if (is_type || u->type == CAIRN_DW_UT_SKELETON || u->type == CAIRN_DW_UT_SPLIT_COMPILE)
        u->signature = cairn_reader_u64(r);
    if (is_type)
        u->type_off = cairn_reader_word(r, u->sizes.offset_size);
    u->dies = r->pos;
    unsigned size = u->sizes.address_size;
    return !r->failed && (size == 2 || size == 4 || size == 8);
}

bool cairn_dwarf_unit_read_header(const struct cairn_dwarf *d, uint64_t off,
                                  struct cairn_dwarf_unit *ret_unit)
{
    struct cairn_reader r = cairn_reader_of(d->info, d->swap);
    struct cairn_dwarf_unit u = {.off = off, .line_off = UINT64_MAX};
    cairn_reader_seek(&r, off);
    uint64_t length = cairn_reader_u32(&r);
    u.sizes.offset_size = 4;
    if (length == 0xffffffff) {
        length = cairn_reader_u64(&r);
        u.sizes.offset_size = 8;
    } else if (length >= 0xfffffff0) { /* reserved: DWARF 5, 7.2.2 */
        return false;
    }
    if (r.failed || length > cairn_reader_left(&r))
        return false;
    u.end = r.pos + length;
    struct cairn_reader inside =
        cairn_reader_of((struct cairn_span){r.bytes.data, (size_t)u.end}, r.swap);
    inside.pos = r.pos;
    if (!read_header_rest(&inside, d->is_types, &u))
        u.state = CAIRN_DWARF_UNIT_DAMAGED;
    *ret_unit = u;
    return true;
}

int cairn_dwarf_units_init(struct cairn_dwarf_units *ret_units, const struct cairn_dwarf *d,
                           struct cairn_err *err)
{
    if (d->info.size > info_max_bytes)
        return cairn_fail(err, CAIRN_E_LIMIT, ".debug_info has %zu bytes, more than 4 GiB",
                          d->info.size);
    *ret_units = (struct cairn_dwarf_units){.d = d, .complete = !d->info.size};
    return CAIRN_OK;
}

void cairn_dwarf_units_done(struct cairn_dwarf_units *units)
{
    for (size_t i = 0; i < units->n_tables; i++)
        cairn_dwarf_abbrevs_free(units->tables[i]);
    cairn_free(units->tables);
    cairn_dwarf_abbrev_maker_done(&units->maker);
    cairn_table_done(&units->table_of);
    cairn_table_done(&units->number_of);
    cairn_table_done(&units->by_signature);
    cairn_free(units->units);
    cairn_free(units->sorted);
    cairn_arena_done(&units->memory);
    *units = (struct cairn_dwarf_units){0};
}

static void tell_odd(struct cairn_dwarf_units *units, const struct cairn_dwarf_unit *unit)
{
    if (units->told_odd)
        return;
    units->told_odd = true;
    cairn_log(CAIRN_LOG_WARNING,
              "%s: .debug_info: the unit at 0x%llx cannot be read, it has version %u and addresses "
              "of %u bytes, expected version 2 to 5 and 4 or 8 bytes; others like it are left out "
              "too",
              cairn_dwarf_path(units->d), (unsigned long long)unit->off, unit->sizes.version,
              unit->sizes.address_size);
}

static void tell_end(struct cairn_dwarf_units *units, uint64_t off)
{
    if (!units->told_end)
        cairn_log(CAIRN_LOG_WARNING,
                  "%s: .debug_info at 0x%llx: unit runs past the end, what follows is ignored",
                  cairn_dwarf_path(units->d), (unsigned long long)off);
    units->told_end = true;
}

bool cairn_dwarf_units_see(struct cairn_dwarf_units *units, uint64_t off,
                           struct cairn_dwarf_unit *ret_unit)
{
    if (!cairn_dwarf_unit_read_header(units->d, off, ret_unit)) {
        tell_end(units, off);
        return false;
    }
    if (ret_unit->state == CAIRN_DWARF_UNIT_DAMAGED)
        tell_odd(units, ret_unit);
    return true;
}

/* The unit at `off`, known from now on. CAIRN_E_FORMAT: there is none; CAIRN_E_NOMEM. Not in
 * `sorted` yet where `*ret_new`. */
static int know(struct cairn_dwarf_units *units, uint64_t off, struct cairn_dwarf_unit **ret_unit,
                bool *ret_new)
{
    struct cairn_dwarf_unit read;
    uint32_t number;
    *ret_new = false;
    if (cairn_table_find(&units->number_of, off, &number)) {
        *ret_unit = units->units[number];
        return CAIRN_OK;
    }
    if (!cairn_dwarf_unit_read_header(units->d, off, &read))
        return CAIRN_E_FORMAT;
    if (cairn_grow((void **)&units->units, &units->cap, units->n + 1, sizeof *units->units) < 0)
        return CAIRN_E_NOMEM;
    struct cairn_dwarf_unit *unit = cairn_arena_alloc(&units->memory, sizeof *unit);
    if (!unit || cairn_table_set(&units->number_of, off, (uint32_t)units->n) < 0)
        return CAIRN_E_NOMEM;
    if (read.state == CAIRN_DWARF_UNIT_DAMAGED)
        tell_odd(units, &read);
    *unit = read;
    unit->number = (uint32_t)units->n;
    units->units[units->n++] = unit;
    *ret_unit = unit;
    *ret_new = true;
    return CAIRN_OK;
}

/* How many of `sorted` begin at or below `off`. */
static size_t count_below(const struct cairn_dwarf_units *units, uint64_t off)
{
    size_t low = 0, high = units->n_sorted;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (units->sorted[mid]->off <= off)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Makes room for `n` units before place `at` of `sorted`, and puts them there. */
static int insert(struct cairn_dwarf_units *units, size_t at, struct cairn_dwarf_unit **run,
                  size_t n)
{
    if (cairn_grow((void **)&units->sorted, &units->cap_sorted, units->n_sorted + n,
                   sizeof *units->sorted) < 0)
        return CAIRN_E_NOMEM;
    struct cairn_dwarf_unit **place = units->sorted + at;
    memmove(place + n, place, (units->n_sorted - at) * sizeof *place);
    memcpy(place, run, n * sizeof *place);
    units->n_sorted += n;
    return CAIRN_OK;
}

/* Crosses units from the header at `off` on, up to and with the one that holds `last`, or to one
 * that is in `sorted` already. `run` gets those that are not. CAIRN_E_NOMEM. */
static int cross(struct cairn_dwarf_units *units, uint64_t off, uint64_t last, uint64_t stop,
                 struct cairn_dwarf_unit ***run, size_t *n_run)
{
    size_t cap = 0;
    while (off <= last && off < stop) {
        struct cairn_dwarf_unit *unit;
        bool is_new;
        if (cairn_grow((void **)run, &cap, *n_run + 1, sizeof **run) < 0)
            return CAIRN_E_NOMEM;
        int code = know(units, off, &unit, &is_new);
        if (code == CAIRN_E_FORMAT)
            tell_end(units, off);
        if (code < 0)
            return code == CAIRN_E_NOMEM ? code : CAIRN_OK;
        (*run)[(*n_run)++] = unit;
        off = unit->end;
    }
    return CAIRN_OK;
}

struct cairn_dwarf_unit *cairn_dwarf_units_at(struct cairn_dwarf_units *units, uint64_t header_off)
{
    struct cairn_dwarf_unit *unit;
    uint32_t number;
    bool is_new;
    if (units->complete)
        return cairn_table_find(&units->number_of, header_off, &number) ? units->units[number]
                                                                        : NULL;
    int code = know(units, header_off, &unit, &is_new);
    if (code == CAIRN_OK && is_new)
        code = insert(units, count_below(units, header_off), &unit, 1);
    if (code == CAIRN_E_NOMEM)
        units->out_of_memory = true;
    return code == CAIRN_OK ? unit : NULL;
}

struct cairn_dwarf_unit *cairn_dwarf_units_find(struct cairn_dwarf_units *units, uint64_t off)
{
    size_t at = count_below(units, off);
    struct cairn_dwarf_unit *before = at ? units->sorted[at - 1] : NULL;
    if (before && off < before->end)
        return before;
    if (units->complete || off >= units->d->info.size)
        return NULL;
    uint64_t stop = at < units->n_sorted ? units->sorted[at]->off : units->d->info.size;
    struct cairn_dwarf_unit **run = NULL, *found = NULL;
    size_t n = 0;
    int code = cross(units, before ? before->end : 0, off, stop, &run, &n);
    if (n && insert(units, at, run, n) < 0)
        code = CAIRN_E_NOMEM;
    else if (n && off >= run[n - 1]->off && off < run[n - 1]->end)
        found = run[n - 1];
    if (code < 0)
        units->out_of_memory = true;
    cairn_free(run);
    return code < 0 ? NULL : found;
}

int cairn_dwarf_units_read_all(struct cairn_dwarf_units *units, struct cairn_err *err)
{
    if (units->complete)
        return CAIRN_OK;
    /* From the start, whatever is known: what hostile aranges took for a header is not on the way,
     * and falls out of `sorted`. */
    struct cairn_dwarf_unit **run = NULL;
    size_t n = 0;
    int code = cross(units, 0, UINT64_MAX, units->d->info.size, &run, &n);
    if (code < 0) {
        cairn_free(run);
        return cairn_fail_memory(err);
    }
    cairn_free(units->sorted);
    units->sorted = run;
    units->n_sorted = units->cap_sorted = n;
    units->complete = true;
    return CAIRN_OK;
}

int cairn_dwarf_units_failed(struct cairn_dwarf_units *units, struct cairn_err *err)
{
    if (!units->out_of_memory)
        return CAIRN_OK;
    units->out_of_memory = false;
    return cairn_fail_memory(err);
}
