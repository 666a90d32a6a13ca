/* SPDX-License-Identifier: MIT */
/* Unit headers, abbreviations, DIEs, names and the scopes around them. */
#include "dwarf/name.h"
#include "dwarf/prototype.h"
#include "support/dwarfpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sink; /* what is read must be used, or the compiler reads nothing */

static void name_nodes(struct cairn_dwarf_units *units, struct cairn_dwarf_unit *unit,
                       const struct cairn_dwarf_functions *f)
{
    size_t step = f->n_nodes / 64 + 1; /* a name can cost a walk through a type */
    for (size_t i = 0; i < f->n_nodes; i += step) {
        struct cairn_dwarf_name name;
        struct cairn_buffer text = {0};
        if (f->nodes[i].parent > i)
            __builtin_trap(); /* callers stand before what they call */
        if (cairn_dwarf_function_name(units, f->nodes[i].die, &name, NULL) < 0)
            continue;
        sink += name.decl_line + (name.name ? strlen(name.name) : 0) +
                (name.linkage ? strlen(name.linkage) : 0);
        if (cairn_dwarf_qualify(units, unit, f, name.declared, &text, NULL) == CAIRN_OK)
            sink += text.size;
        cairn_buffer_done(&text);
    }
}

static int note(void *ctx, const char *name, uint64_t value)
{
    (void)ctx;
    sink += strlen(name) + value;
    return 0;
}

static void read_prototypes(const struct cairn_dwarf *d, struct cairn_dwarf_units *units,
                            struct cairn_dwarf_unit *unit, const struct cairn_dwarf_functions *f)
{
    struct cairn_dwarf_prototype prototype;
    uint64_t die;
    for (size_t i = 0; i < f->n_intervals && i < 4; i++) {
        if (!cairn_dwarf_subprogram_at(d, unit, cairn_dwarf_base(d) + f->intervals[i].low, &die) ||
            cairn_dwarf_prototype_read(units, unit, die, &prototype) < 0)
            continue;
        for (unsigned k = 0; k < prototype.n; k++) {
            sink += prototype.items[k].name ? strlen(prototype.items[k].name) : 0;
            if (prototype.items[k].type.what == CAIRN_DWARF_ENUM)
                (void)cairn_dwarf_enumerators(&prototype.items[k].type.spot, note, NULL);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cairn_dwarf d;
    struct cairn_dwarf_units units;
    struct cairn_err err;
    if (!test_dwarf_unpack(data, size, &d) || cairn_dwarf_units_init(&units, &d, &err) < 0)
        return 0;
    for (size_t off = size; off > 0;
         off /= 2) /* from anywhere, backwards: runs have to be joined */
        cairn_dwarf_units_find(&units, off);
    cairn_dwarf_units_at(&units, size / 3); /* as damaged aranges would say it */
    cairn_dwarf_units_read_all(&units, &err);
    for (size_t i = 1; i < units.n_sorted; i++)
        if (units.sorted[i]->off < units.sorted[i - 1]->end)
            __builtin_trap();
    for (size_t i = 0; i < units.n_sorted && i < 64; i++) {
        struct cairn_dwarf_functions functions = {0};
        struct cairn_dwarf_unit *unit = units.sorted[i];
        if (cairn_dwarf_unit_open(&units, unit, &err) < 0)
            continue;
        cairn_dwarf_functions_read(&d, unit, &functions, &err);
        for (size_t k = 0; k < functions.n_intervals; k++)
            if (functions.intervals[k].low >= functions.intervals[k].high ||
                !functions.intervals[k].node || functions.intervals[k].node > functions.n_nodes)
                __builtin_trap();
        name_nodes(&units, unit, &functions);
        read_prototypes(&d, &units, unit, &functions);
        cairn_dwarf_functions_done(&functions);
    }
    cairn_dwarf_units_done(&units);
    return 0;
}
