/* SPDX-License-Identifier: MIT */
#include "dwarf/discriminator.h"

#include "base/error.h"
#include "dwarf/line_machine.h"

static uint32_t value_of(const struct cairn_dwarf_row *row)
{
    if (row->file == (uint32_t)CAIRN_DWARF_NO_FILE)
        return UINT32_MAX;
    return row->line < UINT32_MAX ? row->line : UINT32_MAX - 1;
}

/* Keeps of each row what is asked for. */
static int take_rows(const struct cairn_dwarf_lines *lines,
                     struct cairn_dwarf_discriminators *ret_discriminators, struct cairn_err *err)
{
    struct cairn_dwarf_discriminators found = {0};
    found.list = cairn_alloc(lines->n_rows ? lines->n_rows : 1, sizeof *found.list);
    if (!found.list)
        return cairn_fail_memory(err);
    for (size_t i = 0; i < lines->n_rows; i++) {
        uint32_t value = value_of(&lines->rows[i]);
        if (!found.n || found.list[found.n - 1].value != value)
            found.list[found.n++] = (struct cairn_dwarf_discriminator){lines->rows[i].low, value};
    }
    *ret_discriminators = found;
    return CAIRN_OK;
}

int cairn_dwarf_discriminators_read(const struct cairn_dwarf *d,
                                    const struct cairn_dwarf_unit *unit,
                                    struct cairn_dwarf_discriminators *ret_discriminators,
                                    struct cairn_err *err)
{
    struct cairn_dwarf_lines lines = {0};
    struct cairn_dwarf_line_machine m;
    *ret_discriminators = (struct cairn_dwarf_discriminators){0};
    if (unit->line_off == UINT64_MAX)
        return CAIRN_OK;
    int code = cairn_dwarf_line_machine_begin(&m, d, unit, &lines, err);
    if (code == CAIRN_OK) {
        m.tells_discriminator = true;
        while (cairn_reader_more(&m.r))
            cairn_dwarf_line_machine_step(&m);
        code = cairn_dwarf_line_machine_end(&m, err);
        if (code != CAIRN_E_NOMEM && take_rows(&lines, ret_discriminators, NULL) < 0)
            code = cairn_fail_memory(err);
    }
    cairn_dwarf_lines_done(&lines);
    return code;
}

void cairn_dwarf_discriminators_done(struct cairn_dwarf_discriminators *discriminators)
{
    cairn_free(discriminators->list);
    *discriminators = (struct cairn_dwarf_discriminators){0};
}

bool cairn_dwarf_discriminators_find(const struct cairn_dwarf_discriminators *discriminators,
                                     uint32_t at, uint32_t *ret_value)
{
    size_t low = 0, high = discriminators->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (discriminators->list[middle].low <= at)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || discriminators->list[low - 1].value == UINT32_MAX)
        return false;
    *ret_value = discriminators->list[low - 1].value;
    return true;
}
