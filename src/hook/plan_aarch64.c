/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Plans of aarch64: one b over the first instruction: every function is as long. Hints that
 * must stay are left in front: bti, because a call by register must meet it; paciasp, because it is
 * one too. What that did to x30, an island undoes.
 */
#include <string.h>

#include "code/flow.h"
#include "code/insn_aarch64.h"
#include "hook/plan.h"

enum { REACH = 1 << 27, END_MAX = 1 << 20, BTI = 0xd503241f, BTI_MASK = 0xffffff3f };
enum { PACIASP = 0xd503233f, PACIBSP = 0xd503237f, AUTIASP = 0xd50323bf, AUTIBSP = 0xd50323ff };

static bool read_word(const struct cairn_hook_function *f, uint64_t va, uint32_t *ret_word)
{
    const struct cairn_span code = cairn_hook_bytes_at(f, va);
    if (code.size < CAIRN_A64_BYTES)
        return false;
    *ret_word = cairn_aarch64_word(code.data);
    return true;
}

/* Behind the hints; `undo`: what takes their effect back, or 0. */
static uint64_t skip_hints(const struct cairn_hook_function *f, uint32_t *ret_undo)
{
    uint64_t va = f->entry_va;
    uint32_t word;
    *ret_undo = 0;
    if (read_word(f, va, &word) && (word & (uint32_t)BTI_MASK) == (uint32_t)BTI)
        va += CAIRN_A64_BYTES;
    if (read_word(f, va, &word) && (word == (uint32_t)PACIASP || word == (uint32_t)PACIBSP)) {
        *ret_undo = word == (uint32_t)PACIASP ? (uint32_t)AUTIASP : (uint32_t)AUTIBSP;
        va += CAIRN_A64_BYTES;
    }
    return va;
}

/* Is there a branch of the function to `to`? Without a size the function ends behind the first
 * instruction that does not go on, and that no branch before it leads over. */
static bool find_branch(const struct cairn_hook_function *f, uint64_t to, uint64_t *ret_va)
{
    const uint64_t size = f->entry_bytes && f->entry_bytes < END_MAX ? f->entry_bytes : END_MAX;
    uint64_t furthest = 0;
    struct cairn_code_step step;
    for (uint64_t off = 0; off < size; off += CAIRN_A64_BYTES) {
        const uint64_t va = f->entry_va + off;
        cairn_code_step_aarch64(cairn_hook_bytes_at(f, va), va, &step);
        if (!step.size)
            return false;
        const bool is_branch = step.flow == CAIRN_FLOW_BRANCH;
        if ((is_branch || step.flow == CAIRN_FLOW_JUMP) && step.to == to) {
            *ret_va = va;
            return true;
        }
        if (is_branch && step.to > furthest && step.to - f->entry_va < END_MAX)
            furthest = step.to;
        const bool goes_on =
            is_branch || step.flow == CAIRN_FLOW_NEXT || step.flow == CAIRN_FLOW_CALL;
        if (!f->entry_bytes && !goes_on && va >= furthest)
            return false;
    }
    return false;
}

/* Bytes that differ from the file's, or a jump out of the module: a hook is there already. */
static bool check_unhooked(const struct cairn_hook_function *f, uint64_t va, uint32_t word,
                           struct cairn_hook_plan *plan)
{
    struct cairn_aarch64_insn insn;
    cairn_aarch64_insn_take(word, va, &insn);
    const bool is_changed =
        f->unpatched && cairn_aarch64_word(f->unpatched + (va - f->code_va)) != word;
    const bool leaves = insn.kind == CAIRN_A64_JUMP && f->module_high &&
                        insn.to - f->module_low >= f->module_high - f->module_low;
    if (!is_changed && !leaves)
        return true;
    plan->leads_to = insn.kind == CAIRN_A64_JUMP ? insn.to : 0;
    return cairn_hook_refuse(plan, CAIRN_HOOK_HOOKED, va);
}

bool cairn_hook_plan_aarch64(const struct cairn_hook_function *f, struct cairn_hook_plan *plan)
{
    uint32_t undo, word;
    uint64_t from;
    if (f->entry_va % CAIRN_A64_BYTES)
        return cairn_hook_refuse(plan, CAIRN_HOOK_MISALIGNED, f->entry_va);
    const uint64_t va = skip_hints(f, &undo);
    if (!read_word(f, va, &word))
        return cairn_hook_refuse(plan, CAIRN_HOOK_CUT_OFF, va);
    if (!check_unhooked(f, va, word, plan))
        return false;
    if (find_branch(f, va, &from))
        return cairn_hook_refuse(plan, CAIRN_HOOK_BACKWARDS, from);
    plan->way = plan->how = CAIRN_HOOK_WAY_BRANCH;
    plan->patch_va = va;
    plan->patch_bytes = CAIRN_A64_BYTES;
    plan->resume_va = va + CAIRN_A64_BYTES;
    plan->move_bytes = (size_t)(plan->resume_va - f->entry_va);
    plan->target_low = va > REACH ? va - REACH : 0;
    plan->target_high = va + REACH;
    plan->undo_bytes = undo ? CAIRN_A64_BYTES : 0;
    for (unsigned b = 0; b < plan->undo_bytes; b++)
        plan->undo[b] = (uint8_t)(undo >> 8 * b);
    if (!cairn_hook_find_word(f, false, plan))
        return cairn_hook_refuse(plan, CAIRN_HOOK_CUT_OFF, va);
    if (!cairn_hook_find_island(f, plan->target_low, plan->target_high))
        return cairn_hook_refuse(plan, CAIRN_HOOK_OUT_OF_REACH, va);
    return cairn_hook_try_move(f, plan);
}

bool cairn_hook_aim_aarch64(const struct cairn_hook_plan *plan, uint64_t target_va,
                            struct cairn_hook_patch *patch)
{
    uint8_t *out = patch->word + (plan->patch_va - plan->word_va);
    uint32_t word;
    if (!cairn_aarch64_insn_aim(0x14000000, CAIRN_A64_JUMP, plan->patch_va, target_va, &word))
        return false;
    for (unsigned b = 0; b < CAIRN_A64_BYTES; b++)
        out[b] = (uint8_t)(word >> 8 * b);
    return true;
}
