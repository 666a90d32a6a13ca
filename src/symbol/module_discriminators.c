/* SPDX-License-Identifier: MIT */
/* Discriminators of a module: of no use to most, so neither unit tables nor an index have them, and
 * whoever wants them has the line programs run once more, unit by unit. */
#include <string.h>

#include "base/alloc.h"
#include "symbol/module.h"

/* A search through the units that claim an address. */
struct search {
    struct cairn_module *m;
    uint32_t at;
    uint32_t value;
};

/* What is kept for a unit; NULL: memory is gone. */
static struct cairn_module_discriminators *state_of(struct cairn_module *m,
                                                    const struct cairn_dwarf_unit *unit)
{
    size_t need = (size_t)unit->number + 1;
    if (need > m->n_discriminators) {
        if (cairn_grow((void **)&m->discriminators, &m->cap_discriminators, need,
                       sizeof *m->discriminators) < 0)
            return NULL;
        memset(m->discriminators + m->n_discriminators, 0,
               (need - m->n_discriminators) * sizeof *m->discriminators);
        m->n_discriminators = need;
    }
    return &m->discriminators[unit->number];
}

/* Those of one unit, read the first time. */
static int need_unit(struct cairn_module *m, struct cairn_dwarf_unit *unit,
                     const struct cairn_dwarf_discriminators **ret_of, struct cairn_err *err)
{
    struct cairn_module_discriminators *state = state_of(m, unit);
    struct cairn_err why;
    if (!state)
        return CAIRN_E_NOMEM;
    if (!state->read) {
        int code = cairn_dwarf_unit_open(&m->units, unit, &why);
        if (code == CAIRN_OK)
            code = cairn_dwarf_discriminators_read(&m->dwarf, unit, &state->of, &why);
        if (code < 0 && code != CAIRN_E_NOMEM)
            code = cairn_module_tell_damage(m, unit, &why, err);
        if (code < 0)
            return code;
        state->read = true;
        m->discriminator_bytes += state->of.n * sizeof *state->of.list;
    }
    *ret_of = &state->of;
    return CAIRN_OK;
}

/* The first unit that has a line there ends the search. */
static int ask(void *ctx, uint64_t unit_off, struct cairn_err *err)
{
    struct search *s = ctx;
    const struct cairn_dwarf_discriminators *of;
    struct cairn_dwarf_unit *unit = cairn_dwarf_units_at(&s->m->units, unit_off);
    if (!unit)
        return cairn_dwarf_units_failed(&s->m->units, err);
    int code = need_unit(s->m, unit, &of, err);
    return code < 0 ? code : cairn_dwarf_discriminators_find(of, s->at, &s->value);
}

uint32_t cairn_module_find_discriminator(struct cairn_module *m, uint64_t vaddr)
{
    struct search search = {.m = m};
    struct cairn_err ignored;
    uint32_t end;
    if (cairn_module_need_dwarf(m, &ignored) < 0 || !m->unit_finder.units ||
        !cairn_dwarf_place(&m->dwarf, vaddr, vaddr + 1, &search.at, &end))
        return 0;
    int code = cairn_unit_finder_ask_aranges(&m->unit_finder, vaddr, ask, &search, &ignored);
    if (code == CAIRN_OK)
        code = cairn_unit_finder_ask_roots(&m->unit_finder, vaddr, ask, &search, &ignored);
    return code < 0 ? 0 : search.value;
}

void cairn_module_drop_discriminators(struct cairn_module *m)
{
    for (size_t i = 0; i < m->n_discriminators; i++)
        cairn_dwarf_discriminators_done(&m->discriminators[i].of);
    cairn_free(m->discriminators);
    m->discriminators = NULL;
    m->n_discriminators = m->cap_discriminators = m->discriminator_bytes = 0;
}
