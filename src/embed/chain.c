/* SPDX-License-Identifier: MIT */
#include "embed/chain.h"

#include <string.h>

#include "embed/cpu.h"
#include "embed/renew.h"
#include "embed/slots.h"

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
                                       const struct cairn_hook *wanted, bool is_gated)
{
    const uint64_t next = next_of(wanted, false);
    for (struct cairn_hook **at = &chain->all; *at; at = &(*at)->older) {
        struct cairn_hook *hook = *at;
        if (!hook->is_live && hook->generation < CAIRN_EMBED_LAST_GENERATION &&
            hook->slots == wanted->slots && next_of(hook, true) == next &&
            (is_gated ? hook->gate_va != 0 : hook->original_va == next)) {
            *at = hook->older;
            hook->generation++;
            return hook;
        }
    }
    return NULL;
}

/* Changes words, unless they hold that. Where no thread can be yet, they are zero. */
static bool put_words(const struct cairn_embed_memory *memory, uint64_t va, const uint64_t *words,
                      size_t n_bytes)
{
    static const uint64_t none;
    const void *now = (const void *)(uintptr_t)va;
    if (memcmp(now, words, n_bytes) == 0)
        return true;
    return memcmp(now, &none, sizeof none) == 0
               ? cairn_embed_write(memory, va, words, n_bytes)
               : cairn_embed_renew(memory, va, words, n_bytes, NULL) == CAIRN_OK;
}

/* Leads a cell elsewhere. */
static bool point(const struct cairn_embed_memory *memory, uint64_t cell_va, uint64_t target_va)
{
    const uint64_t words[] = {cairn_embed_cell(cell_va, target_va), target_va};
    return put_words(memory, cell_va, words, sizeof words);
}

/* Can what it calls ever change? In front of a function only newer hooks come; of slots a hook for
 * more of them may come. */
static bool needs_gate(const struct cairn_hook *hook)
{
    const bool is_last = next_of(hook, false) == hook->chain->end_va;
    return !is_last || (hook->slots && !cairn_embed_slots_are_all(hook->slots));
}

static bool make_gate(struct cairn_hook *hook, bool is_needed)
{
    const uint64_t end_va = hook->chain->end_va;
    if (is_needed)
        hook->gate_va = cairn_embed_take_code(0, highest_va, end_va, CAIRN_EMBED_CELL_BYTES);
    hook->original_va = is_needed ? hook->gate_va : end_va;
    return hook->original_va != 0;
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
                                         unsigned flags, struct cairn_embed_slots *slots)
{
    const struct cairn_hook wanted = {.chain = chain, .slots = slots};
    const bool is_gated = needs_gate(&wanted);
    struct cairn_hook *hook = take_removed(chain, &wanted, is_gated);
    if (!hook) {
        hook = cairn_embed_alloc(sizeof *hook);
        if (!hook)
            return NULL;
        hook->chain = chain;
        hook->slots = slots;
        if (!make_gate(hook, is_gated))
            return NULL;
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
        if (hook->gate_va)
            done &= point(memory, hook->gate_va, next_of(hook, true));
    const struct cairn_hook *newest = cairn_embed_chain_newest(chain);
    const uint64_t head_va = newest ? newest->entry_va : chain->end_va;
    if (chain->head_va)
        return done & point(memory, chain->head_va, head_va);
    return done & (!chain->head_word_va ||
                   put_words(memory, chain->head_word_va, &head_va, sizeof head_va));
}
