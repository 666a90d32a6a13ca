/* SPDX-License-Identifier: MIT */
/* Line programs of all versions: through the units that point to them, then as such; once for
 * lines, once for discriminators, once for statements. */
#include "dwarf/discriminator.h"
#include "dwarf/line.h"
#include "support/dwarfpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sink; /* what is read must be used, or the compiler reads nothing */

static void run_discriminators(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit)
{
    struct cairn_dwarf_discriminators found = {0};
    struct cairn_err err;
    uint32_t value;
    cairn_dwarf_discriminators_read(d, unit, &found, &err);
    for (size_t i = 0; i < found.n; i++) {
        if (i && found.list[i].low <= found.list[i - 1].low)
            __builtin_trap();
        if (cairn_dwarf_discriminators_find(&found, found.list[i].low, &value))
            sink += value;
    }
    cairn_dwarf_discriminators_done(&found);
}

static void run(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit)
{
    struct cairn_dwarf_lines lines = {0};
    struct cairn_err err;
    cairn_dwarf_lines_read(d, unit, &lines, &err);
    for (size_t i = 0; i < lines.n_rows; i++) {
        if (i && lines.rows[i].low <= lines.rows[i - 1].low)
            __builtin_trap(); /* sorted, and no two at one address */
        sink += lines.rows[i].line;
    }
    for (size_t i = 0; i < lines.n_files; i++)
        sink += lines.files[i].name ? strlen(lines.files[i].name) : 0;
    cairn_dwarf_lines_done(&lines);
    run_discriminators(d, unit);
    lines = (struct cairn_dwarf_lines){0};
    cairn_dwarf_statements_read(d, unit, &lines, &err);
    for (size_t i = 1; i < lines.n_rows; i++)
        if (lines.rows[i].low <= lines.rows[i - 1].low)
            __builtin_trap();
    cairn_dwarf_lines_done(&lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cairn_dwarf d;
    struct cairn_dwarf_units units;
    struct cairn_err err;
    if (!test_dwarf_unpack(data, size, &d))
        return 0;
    if (cairn_dwarf_units_init(&units, &d, &err) == CAIRN_OK) {
        cairn_dwarf_units_read_all(&units, &err);
        for (size_t i = 0; i < units.n_sorted && i < 64; i++)
            if (cairn_dwarf_unit_open(&units, units.sorted[i], &err) == CAIRN_OK)
                run(&d, units.sorted[i]);
        cairn_dwarf_units_done(&units);
    }
    struct cairn_dwarf_unit alone = {.name = "a.c", .comp_dir = "/src"};
    alone.sizes = (struct cairn_dwarf_sizes){4, 4, 8};
    run(&d, &alone);
    return 0;
}
