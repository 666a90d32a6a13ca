/* SPDX-License-Identifier: MIT */
#include "dwarf/sup.h"

#include "base/error.h"

enum { SUP_VERSION = 5 };

int cairn_dwarf_read_altlink(struct cairn_span section, struct cairn_dwarf_sup *ret_sup,
                             struct cairn_err *err)
{
    struct cairn_reader r = cairn_reader_of(section, false);
    struct cairn_dwarf_sup sup = {.name = cairn_reader_str(&r)};
    sup.id = cairn_reader_take(&r, cairn_reader_left(&r));
    if (r.failed || !*sup.name || !sup.id.size)
        return cairn_fail(err, CAIRN_E_FORMAT,
                          ".gnu_debugaltlink: 0x%zx bytes, expected a path and a build ID",
                          section.size);
    *ret_sup = sup;
    return CAIRN_OK;
}

int cairn_dwarf_read_sup(struct cairn_span section, bool swap, struct cairn_dwarf_sup *ret_sup,
                         struct cairn_err *err)
{
    struct cairn_reader r = cairn_reader_of(section, swap);
    struct cairn_dwarf_sup sup = {0};
    unsigned version = cairn_reader_u16(&r);
    sup.is_sup = cairn_reader_u8(&r) != 0;
    sup.name = cairn_reader_str(&r);
    sup.id = cairn_reader_take(&r, cairn_reader_uleb(&r));
    if (r.failed || version != SUP_VERSION || (!sup.is_sup && !*sup.name))
        return cairn_fail(err, CAIRN_E_FORMAT, ".debug_sup: damaged, or version %u, expected %d",
                          version, SUP_VERSION);
    *ret_sup = sup;
    return CAIRN_OK;
}
