/* SPDX-License-Identifier: MIT */
#include "dwarf/split.h"

#include "base/error.h"
#include "dwarf/constants.h"

/* What a unit of a .dwo has to take from its skeleton. */
static void adopt(struct cairn_dwarf_unit *unit, const struct cairn_dwarf_unit *skeleton)
{
    unit->skeleton = skeleton;
    unit->addr_base = skeleton->addr_base;
    unit->low_vaddr = skeleton->low_vaddr;
    unit->has_low = skeleton->has_low;
    if (unit->sizes.version < 5)
        unit->ranges_start = skeleton->split_ranges; /* its lists are in the module's section */
    if (!unit->comp_dir)
        unit->comp_dir = skeleton->comp_dir;
}

static int fail_absent(struct cairn_dwarf_units *split, const struct cairn_dwarf_unit *skeleton,
                       struct cairn_err *err)
{
    unsigned long long wanted = skeleton->signature;
    if (split->package)
        return cairn_fail(err, CAIRN_E_MISSING, "no unit with the ID 0x%llx", wanted);
    for (size_t i = 0; i < split->n; i++)
        if (split->units[i]->type != CAIRN_DW_UT_TYPE &&
            split->units[i]->type != CAIRN_DW_UT_SPLIT_TYPE)
            return cairn_fail(err, CAIRN_E_ARG, "another build: its ID is 0x%llx, expected 0x%llx",
                              (unsigned long long)split->units[i]->signature, wanted);
    return cairn_fail(err, CAIRN_E_FORMAT, "no unit in its .debug_info.dwo");
}

int cairn_dwarf_split_find(struct cairn_dwarf_units *split, const struct cairn_dwarf_unit *skeleton,
                           struct cairn_dwarf_unit **ret_unit, struct cairn_err *err)
{
    struct cairn_dwarf_unit *unit;
    int code = cairn_dwarf_find_signature(split, skeleton->signature, false, &unit, err);
    if (code < 0)
        return code;
    if (!unit)
        return fail_absent(split, skeleton, err);
    code = cairn_dwarf_unit_open(split, unit, err);
    if (code < 0)
        return code;
    if (unit->skeleton && unit->skeleton != skeleton)
        return cairn_fail(err, CAIRN_E_FORMAT, "two units of the module have the ID 0x%llx",
                          (unsigned long long)skeleton->signature);
    if (unit->sizes.address_size != skeleton->sizes.address_size)
        return cairn_fail(err, CAIRN_E_FORMAT, "addresses of %u bytes, expected %u",
                          unit->sizes.address_size, skeleton->sizes.address_size);
    adopt(unit, skeleton);
    *ret_unit = unit;
    return CAIRN_OK;
}
