/* SPDX-License-Identifier: MIT */
#include "unwind/cursor_state.h"
#include "unwind/sigframe.h"

/* Most callers are in the same mapping. */
static const struct cairn_space_place *place_at(const struct cursor *c, uint64_t va)
{
    const struct cairn_space_place *place = c->place;
    if (place && va >= place->region.start && va < place->region.end)
        return place;
    return cairn_space_at(c->space, va);
}

/* Only behind a call: an exact address may be a signal's return. So may the first byte of another
 * function be, whose call ends the one before: there a new row begins, and rows say more. */
bool cairn_cursor_look_quickly(struct cursor *c)
{
    if (c->in_full || cairn_cursor_is_exact(c))
        return false;
    uint64_t at = cairn_cursor_lookup_address(c);
    c->place = place_at(c, at);
    if (!cairn_cursor_has_code(c))
        return false;
    const struct cairn_unwind_table *table =
        cairn_space_module_table(c->place->module, c->arch, CAIRN_TABLE_WHEN_IT_PAYS);
    if (!table)
        return false;
    uint64_t vaddr = at - c->place->bias;
    uint32_t rule = cairn_unwind_table_find(table, vaddr);
    if (cairn_rule_kind(rule) < CAIRN_RULE_OF_CPU ||
        rule != cairn_unwind_table_find(table, vaddr + 1))
        return false;
    c->vaddr = vaddr;
    c->swap = c->place->module->elf.swap;
    c->entry.kind = CAIRN_ENTRY_RULE;
    c->entry.rule = rule;
    c->sigframe = CAIRN_SIGFRAME_NONE;
    c->is_signal = false;
    return true;
}

bool cairn_cursor_step_quickly(struct cursor *c)
{
    struct cairn_unwind_regs next = c->regs;
    if (cairn_unwind_step(c->arch, c->entry.rule, false, &c->space->memory, c->swap, &next) !=
            CAIRN_STEP_OK ||
        !next.ip)
        return false;
    if (!c->is_lean) {
        c->is_lean = true;
        c->full = c->regs;
        c->full_how = c->how;
        c->full_n_frames = c->n_frames;
    }
    c->regs = next;
    bool is_derived = cairn_space_module_is_derived(c->place->module, c->vaddr);
    c->how = c->place->module->has_exidx ? CAIRN_HOW_EXIDX
             : is_derived                ? CAIRN_HOW_DERIVED
                                         : CAIRN_HOW_CFI;
    c->n_frames++;
    return true;
}
