/* SPDX-License-Identifier: MIT */
#include "embed/chain.h"

#include <string.h>

#include "embed/cpu.h"
#include "embed/slots.h"

enum { WORD_AT = 8 /* of a gate, behind its jump */ };
static const uint64_t highest_va = UINT64_MAX >> 17; /* of user space, x86-64 and aarch64 */

/* Is it between the hook and the function? Of slots: one for more slots, or an older one for the
 * same. */
static bool is_behind(const struct cairn_hook *hook, const struct cairn_hook *other, bool is_older)
{
    if (!other->is_live || !hook->slots)
        return other->is_live && is_older;
    return cairn_embed_slots_cover(other->slots, hook->slots) &&
           (is_older || !cairn_embed_slots_cover(hook->slots, other->slots));
}

static bool is_for_fewer(const struct cairn_hook *hook, const struct cairn_hook *than)
{
    return hook->slots && cairn_embed_slots_cover(than->slots, hook->slots) &&
           !cairn_embed_slots_cover(hook->slots, than->slots);
}

/* What its gate is to lead to. A hook that is not in the chain yet is newer than all. */
static uint64_t next_of(const struct cairn_hook *hook, bool is_in_chain)
{
    const struct cairn_hook *best = NULL;
    bool is_older = !is_in_chain;
    for (const struct cairn_hook *other = hook->chain->all; other; other = other->older)
        if (other == hook)
            is_older = true;
        else if (is_behind(hook, other, is_older) && (!best || is_for_fewer(other, best)))
            best = other;
    return best ? best->entry_va : hook->chain->end_va;
}

const struct cairn_hook *cairn_embed_chain_newest(const struct cairn_embed_chain *chain)
{
    const struct cairn_hook *hook = chain->all;
    while (hook && !hook->is_live)
        hook = hook->older;
    return hook;
}

/* A removed hook whose gate leads where that of the new one is to lead: threads that are still in
 * the removed one are not led astray. It is taken out of the chain. */
static struct cairn_hook *take_removed(struct cairn_embed_chain *chain,
                                       const struct cairn_hook *wanted)
{
    const uint64_t next = next_of(wanted, false);
    for (struct cairn_hook **at = &chain->all; *at; at = &(*at)->older) {
        struct cairn_hook *hook = *at;
        if (!hook->is_live && hook->slots == wanted->slots && next_of(hook, true) == next) {
            *at = hook->older;
            return hook;
        }
    }
    return NULL;
}

static bool make_gate(const struct cairn_embed_memory *memory, struct cairn_hook *hook,
                      uint64_t gate_va)
{
    uint8_t code[CAIRN_EMBED_JUMP_MAX];
    if (!gate_va)
        gate_va = cairn_embed_take_code(0, highest_va, (uintptr_t)hook, CAIRN_EMBED_GATE_BYTES);
    hook->gate_va = gate_va;
    hook->gate_word_va = gate_va + WORD_AT;
    return gate_va != 0 && cairn_embed_write(memory, gate_va, code,
                                             cairn_embed_jump(gate_va, hook->gate_word_va, code));
}

/* The guard, or the replacement itself. */
static bool set_entry(const struct cairn_embed_memory *memory, struct cairn_hook *hook)
{
    uint8_t code[CAIRN_EMBED_THUNK_MAX];
    hook->entry_va = (uintptr_t)hook->replacement;
    if (!(hook->flags & CAIRN_HOOK_GUARDED))
        return true;
    if (!hook->thunk_va) {
        const size_t n = cairn_embed_thunk(hook, code);
        const uint64_t va = n ? cairn_embed_take_code(0, highest_va, (uintptr_t)hook, n) : 0;
        if (!va || !cairn_embed_write(memory, va, code, n))
            return false;
        hook->thunk_va = va;
    }
    hook->entry_va = hook->thunk_va;
    return true;
}

struct cairn_hook *cairn_embed_chain_add(const struct cairn_embed_memory *memory,
                                         struct cairn_embed_chain *chain, void *replacement,
                                         unsigned flags, struct cairn_embed_slots *slots,
                                         uint64_t gate_va)
{
    const struct cairn_hook wanted = {.chain = chain, .slots = slots};
    struct cairn_hook *hook = take_removed(chain, &wanted);
    if (!hook) {
        hook = cairn_embed_alloc(sizeof *hook);
        if (!hook || !make_gate(memory, hook, gate_va))
            return NULL;
        hook->chain = chain;
        hook->slots = slots;
    }
    hook->replacement = replacement;
    hook->flags = flags;
    hook->older = chain->all;
    chain->all = hook;
    return set_entry(memory, hook) ? hook : NULL;
}

bool cairn_embed_chain_settle(const struct cairn_embed_memory *memory,
                              struct cairn_embed_chain *chain)
{
    bool done = true;
    for (struct cairn_hook *hook = chain->all; hook; hook = hook->older)
        done &= cairn_embed_store(memory, hook->gate_word_va, next_of(hook, true));
    const struct cairn_hook *newest = cairn_embed_chain_newest(chain);
    if (chain->head_word_va)
        done &= cairn_embed_store(memory, chain->head_word_va,
                                  newest ? newest->entry_va : chain->end_va);
    return done;
}
