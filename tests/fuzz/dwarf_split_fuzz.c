/* SPDX-License-Identifier: MIT */
/*
 * A module whose functions are in another file, both in one input:
 *
 *     | kind of the other file | 4 sizes of 2 bytes, little-endian | the module (dwarfpack.h)
 *     | .debug_cu_index | .debug_tu_index | type units | the other file (dwarfpack.h) |
 */
#include "dwarf/name.h"
#include "dwarf/split.h"
#include "support/dwarfpack.h"

enum { IS_SUP = 1, IS_PACKAGE = 2, LOOPS = 4, HEADER = 9, UNITS_MAX = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sink; /* what is read must be used, or the compiler reads nothing */

struct input {
    struct cairn_dwarf module_d, other_d, types_d;
    struct cairn_dwarf_units module, other, types;
    struct cairn_dwarf_package package;
    struct cairn_span cu_index, tu_index;
    uint8_t kind;
};

/* Cuts the input into its parts. */
static bool unpack(const uint8_t *data, size_t size, struct input *in)
{
    struct cairn_span parts[5];
    if (size < HEADER)
        return false;
    size_t at = HEADER;
    for (int i = 0; i < 5; i++) {
        size_t n = size - at;
        size_t want = i < 4 ? data[1 + 2 * i] | (size_t)data[2 + 2 * i] << 8 : n;
        parts[i] = (struct cairn_span){data + at, want < n ? want : n};
        at += parts[i].size;
    }
    in->kind = data[0];
    in->cu_index = parts[1];
    in->tu_index = parts[2];
    if (!test_dwarf_unpack(parts[0].data, parts[0].size, &in->module_d) ||
        !test_dwarf_unpack(parts[4].data, parts[4].size, &in->other_d))
        return false;
    if (!(in->kind & IS_SUP)) {
        in->other_d.is_dwo = true;
        in->other_d.addr = in->module_d.addr;
        in->other_d.ranges = in->module_d.ranges;
    } else {
        in->module_d.alt_str = in->other_d.str;
    }
    in->types_d = in->other_d;
    in->types_d.info = parts[3];
    in->types_d.is_types = true;
    return true;
}

static bool open_units(struct input *in)
{
    struct cairn_err err;
    if (cairn_dwarf_units_init(&in->module, &in->module_d, &err) < 0 ||
        cairn_dwarf_units_init(&in->other, &in->other_d, &err) < 0 ||
        cairn_dwarf_units_init(&in->types, &in->types_d, &err) < 0)
        return false;
    if (in->types_d.info.size)
        in->other.types = &in->types;
    if (in->kind & IS_SUP)
        in->module.alt = &in->other;
    if (in->kind & LOOPS)
        in->other.alt = &in->module;
    if (!(in->kind & IS_PACKAGE))
        return true;
    in->other.package = in->types.package = &in->package;
    return cairn_dwarf_split_index_read(in->cu_index, in->other_d.swap, &in->package.units, &err) ==
               CAIRN_OK &&
           cairn_dwarf_split_index_read(in->tu_index, in->other_d.swap, &in->package.types, &err) ==
               CAIRN_OK;
}

/* The name's surroundings; `f` has them where it is declared in `unit`. */
static void qualify(struct cairn_dwarf_unit *unit, const struct cairn_dwarf_functions *f,
                    const struct cairn_dwarf_name *name)
{
    struct cairn_dwarf_functions elsewhere = {0};
    struct cairn_buffer text = {0};
    struct cairn_dwarf_unit *at = cairn_dwarf_units_find(name->home, name->declared);
    struct cairn_err err;
    if (!at || cairn_dwarf_unit_open(name->home, at, &err) < 0)
        return;
    if (at != unit) {
        cairn_dwarf_functions_read(name->home->d, at, &elsewhere, &err);
        f = &elsewhere;
    }
    if (cairn_dwarf_qualify(name->home, at, f, name->declared, &text, NULL) == CAIRN_OK)
        sink += text.size;
    cairn_buffer_done(&text);
    cairn_dwarf_functions_done(&elsewhere);
}

static void name_nodes(struct cairn_dwarf_units *home, struct cairn_dwarf_unit *unit,
                       const struct cairn_dwarf_functions *f)
{
    size_t step = f->n_nodes / 64 + 1; /* a name can cost a walk through a type */
    for (size_t i = 0; i < f->n_nodes; i += step) {
        struct cairn_dwarf_name name;
        if (cairn_dwarf_function_name(home, f->nodes[i].die, &name, NULL) < 0)
            continue;
        sink += name.decl_line + (name.name ? strlen(name.name) : 0) +
                (name.linkage ? strlen(name.linkage) : 0);
        qualify(unit, f, &name);
    }
}

static void read_unit(struct input *in, struct cairn_dwarf_unit *unit)
{
    struct cairn_err err;
    struct cairn_dwarf_functions functions = {0};
    struct cairn_dwarf_units *home = &in->module;
    if (cairn_dwarf_unit_open(home, unit, &err) < 0)
        return;
    if (unit->is_split && !(in->kind & IS_SUP) &&
        cairn_dwarf_split_find(&in->other, unit, &unit, &err) == CAIRN_OK)
        home = &in->other;
    cairn_dwarf_functions_read(home->d, unit, &functions, &err);
    for (size_t k = 0; k < functions.n_intervals; k++)
        if (functions.intervals[k].low >= functions.intervals[k].high ||
            !functions.intervals[k].node || functions.intervals[k].node > functions.n_nodes)
            __builtin_trap();
    name_nodes(home, unit, &functions);
    cairn_dwarf_functions_done(&functions);
}

static void read_all(struct input *in)
{
    struct cairn_err err;
    cairn_dwarf_units_read_all(&in->module, &err);
    for (size_t i = 0; i < in->module.n_sorted && i < UNITS_MAX; i++)
        read_unit(in, in->module.sorted[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {0};
    struct cairn_err err;
    if (!unpack(data, size, &in))
        return 0;
    if (open_units(&in)) {
        read_all(&in);
        if (cairn_dwarf_units_prepare(&in.module, &err) < 0 ||
            cairn_dwarf_units_prepare(&in.types, &err) < 0 ||
            cairn_dwarf_units_prepare(&in.other, &err) < 0)
            __builtin_trap(); /* damage is no failure */
        read_all(&in);
    }
    cairn_dwarf_units_done(&in.module);
    cairn_dwarf_units_done(&in.other);
    cairn_dwarf_units_done(&in.types);
    return 0;
}
