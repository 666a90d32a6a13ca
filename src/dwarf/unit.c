/* SPDX-License-Identifier: MIT */
/* Root DIEs, and the cache of abbreviation tables. */
#include "dwarf/unit.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "dwarf/constants.h"

int cairn_dwarf_unit_read_abbrevs(struct cairn_dwarf_units *units, struct cairn_dwarf_unit *unit,
                                  struct cairn_err *err)
{
    uint64_t key = unit->abbrev_off << 5 | (unit->sizes.version < 3) << 4 |
                   (unit->sizes.offset_size == 8) << 3 | (unit->sizes.address_size >> 1);
    uint32_t index;
    if (cairn_table_find(&units->table_of, key, &index)) {
        unit->abbrevs = units->tables[index];
        return CAIRN_OK;
    }
    /* Honest tables do not overlap; hostile ones could begin at each byte and go on to the end. */
    if (units->abbrev_bytes / 4 > units->d->abbrev.size)
        return cairn_fail(err, CAIRN_E_LIMIT,
                          "abbreviations are 4 times as many as .debug_abbrev has bytes for");
    if (cairn_grow((void **)&units->tables, &units->cap_tables, units->n_tables + 1,
                   sizeof *units->tables) < 0)
        return cairn_fail_memory(err);
    struct cairn_dwarf_abbrevs *table;
    int code = cairn_dwarf_abbrevs_read(units->d, unit->abbrev_off, unit->sizes, &units->maker,
                                        &table, err);
    if (code < 0)
        return code;
    if (cairn_table_set(&units->table_of, key, (uint32_t)units->n_tables) < 0) {
        cairn_dwarf_abbrevs_free(table);
        return cairn_fail_memory(err);
    }
    units->tables[units->n_tables++] = table;
    units->abbrev_bytes += 5 * table->n; /* code, tag, children, and two zeros at least */
    unit->abbrevs = table;
    return CAIRN_OK;
}

static void note_language(struct cairn_dwarf_unit *u, uint64_t language)
{
    switch (language) {
    case CAIRN_DW_LANG_C89:
    case CAIRN_DW_LANG_C:
    case CAIRN_DW_LANG_C99:
    case CAIRN_DW_LANG_C11:
    case CAIRN_DW_LANG_C17:
        u->is_c = true;
        u->is_c_family = true;
        break;
    case CAIRN_DW_LANG_C_PLUS_PLUS:
    case CAIRN_DW_LANG_C_PLUS_PLUS_03:
    case CAIRN_DW_LANG_C_PLUS_PLUS_11:
    case CAIRN_DW_LANG_C_PLUS_PLUS_14:
    case CAIRN_DW_LANG_C_PLUS_PLUS_17:
    case CAIRN_DW_LANG_C_PLUS_PLUS_20:
        u->is_c_family = true;
        break;
    case CAIRN_DW_LANG_MIPS_ASSEMBLER:
        u->is_assembler = true;
        break;
    default:
        break;
    }
}

/* The bases come first: other values of the same DIE are indices that count from them. */
static void note_bases(const struct cairn_dwarf *d, struct cairn_dwarf_unit *u,
                       const struct cairn_dwarf_die *root)
{
    /* Where no base is said (DWARF 5 leaves that to split units), tables begin behind their
     * section's header. */
    u->str_base = u->str_start + (u->sizes.version >= 5 ? 2ull * u->sizes.offset_size : 0);
    u->addr_base = u->sizes.version >= 5 ? 8 : 0;
    if (d->is_dwo && u->sizes.version >= 5)
        u->rnglists_base = u->ranges_start + (u->sizes.offset_size == 8 ? 20 : 12);
    if (cairn_dwarf_die_has(root, CAIRN_DWARF_STR_BASE))
        u->str_base = root->value[CAIRN_DWARF_STR_BASE];
    if (cairn_dwarf_die_has(root, CAIRN_DWARF_ADDR_BASE))
        u->addr_base = root->value[CAIRN_DWARF_ADDR_BASE];
    if (cairn_dwarf_die_has(root, CAIRN_DWARF_RNGLISTS_BASE))
        u->rnglists_base = root->value[CAIRN_DWARF_RNGLISTS_BASE];
}

/* Clang names the .dwo in the .dwo itself too. */
static void note_split(const struct cairn_dwarf *d, struct cairn_dwarf_unit *u,
                       const struct cairn_dwarf_die *root)
{
    u->is_split = !d->is_dwo && (u->type == CAIRN_DW_UT_SKELETON ||
                                 cairn_dwarf_die_has(root, CAIRN_DWARF_DWO_NAME));
    if (u->sizes.version < 5 && cairn_dwarf_die_has(root, CAIRN_DWARF_DWO_ID))
        u->signature = root->value[CAIRN_DWARF_DWO_ID];
    if (u->sizes.version < 5 && cairn_dwarf_die_has(root, CAIRN_DWARF_RANGES_BASE))
        u->split_ranges = root->value[CAIRN_DWARF_RANGES_BASE];
}

void cairn_dwarf_unit_note_numbers(const struct cairn_dwarf *d, struct cairn_dwarf_unit *u,
                                   const struct cairn_dwarf_die *root)
{
    note_bases(d, u, root);
    if (cairn_dwarf_die_has(root, CAIRN_DWARF_STMT_LIST))
        u->line_off = root->value[CAIRN_DWARF_STMT_LIST];
    if (cairn_dwarf_die_has(root, CAIRN_DWARF_LANGUAGE))
        note_language(u, root->value[CAIRN_DWARF_LANGUAGE]);
    u->has_language = cairn_dwarf_die_has(root, CAIRN_DWARF_LANGUAGE);
    if (cairn_dwarf_die_has(root, CAIRN_DWARF_LOW))
        u->has_low = cairn_dwarf_address(d, u, root->form[CAIRN_DWARF_LOW],
                                         root->value[CAIRN_DWARF_LOW], &u->low_vaddr);
    if (cairn_dwarf_die_has(root, CAIRN_DWARF_HIGH)) {
        u->high = root->value[CAIRN_DWARF_HIGH];
        u->high_form = root->form[CAIRN_DWARF_HIGH];
    }
    if (cairn_dwarf_die_has(root, CAIRN_DWARF_RANGES)) {
        u->ranges = root->value[CAIRN_DWARF_RANGES];
        u->ranges_form = root->form[CAIRN_DWARF_RANGES];
    }
    note_split(d, u, root);
}

static void note_texts(const struct cairn_dwarf *d, struct cairn_dwarf_unit *u,
                       const struct cairn_dwarf_die *root)
{
    u->dwo_name = cairn_dwarf_die_string(d, u, root, CAIRN_DWARF_DWO_NAME);
    u->comp_dir = cairn_dwarf_die_string(d, u, root, CAIRN_DWARF_COMP_DIR);
    u->name = cairn_dwarf_die_string(d, u, root, CAIRN_DWARF_NAME);
}

static int open_unit(struct cairn_dwarf_units *units, struct cairn_dwarf_unit *unit,
                     struct cairn_err *err)
{
    if (units->package && !unit->is_placed)
        return cairn_fail(err, CAIRN_E_FORMAT, "the index of the .dwp does not know it");
    int code = cairn_dwarf_unit_read_abbrevs(units, unit, err);
    if (code < 0)
        return code;
    struct cairn_dwarf_die root;
    if (!cairn_dwarf_die_at(units->d, unit, unit->dies, &root))
        return cairn_fail(err, CAIRN_E_FORMAT, "its first entry, at 0x%llx, is damaged",
                          (unsigned long long)unit->dies);
    cairn_dwarf_unit_note_numbers(units->d, unit, &root);
    note_texts(units->d, unit, &root);
    return CAIRN_OK;
}

int cairn_dwarf_unit_open(struct cairn_dwarf_units *units, struct cairn_dwarf_unit *unit,
                          struct cairn_err *err)
{
    if (unit->state == CAIRN_DWARF_UNIT_OPEN)
        return CAIRN_OK;
    if (unit->state == CAIRN_DWARF_UNIT_DAMAGED)
        return cairn_fail(err, CAIRN_E_MISSING, "unit at 0x%llx of .debug_info is damaged",
                          (unsigned long long)unit->off);
    int code = open_unit(units, unit, err);
    if (code == CAIRN_OK) {
        unit->state = CAIRN_DWARF_UNIT_OPEN;
    } else if (code != CAIRN_E_NOMEM) {
        char who[64];
        snprintf(who, sizeof who, ".debug_info: unit at 0x%llx", (unsigned long long)unit->off);
        unit->state = CAIRN_DWARF_UNIT_DAMAGED;
        cairn_fail_in(err, code, who);
    }
    return code;
}

int cairn_dwarf_unit_ranges(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit,
                            struct cairn_dwarf_ranges *ranges, struct cairn_err *err)
{
    if (unit->ranges_form)
        return cairn_dwarf_ranges_read(d, unit, unit->ranges_form, unit->ranges, ranges, err);
    uint64_t high = unit->high;
    if (!unit->has_low || !unit->high_form)
        return CAIRN_OK;
    if (!cairn_dwarf_form_is_address(unit->high_form))
        high += unit->low_vaddr;
    else if (!cairn_dwarf_address(d, unit, unit->high_form, high, &high))
        return CAIRN_OK;
    return cairn_dwarf_ranges_add(d, ranges, unit->low_vaddr, high, err);
}

struct cairn_reader cairn_dwarf_unit_reader(const struct cairn_dwarf *d,
                                            const struct cairn_dwarf_unit *unit, uint64_t off)
{
    struct cairn_span bytes = {d->info.data, (size_t)unit->end};
    struct cairn_reader r = cairn_reader_of(bytes, d->swap);
    cairn_reader_seek(&r, off);
    return r;
}

bool cairn_dwarf_die_at(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit,
                        uint64_t off, struct cairn_dwarf_die *ret_die)
{
    if (off < unit->dies || off >= unit->end)
        return false;
    struct cairn_reader r = cairn_dwarf_unit_reader(d, unit, off);
    if (!cairn_dwarf_die_begin(&r, unit, ret_die) || !ret_die->abbrev)
        return false;
    cairn_dwarf_die_values(&r, unit, ret_die);
    return !r.failed;
}
