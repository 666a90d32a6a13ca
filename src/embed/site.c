/* SPDX-License-Identifier: MIT */
#include "embed/site.h"

#include <string.h>

#include "base/error.h"
#include "embed/cpu.h"
#include "embed/frames.h"
#include "embed/plan.h"
#include "embed/renew.h"

static struct cairn_embed_site *sites;

enum { COPY_AT_MOST = 64, ISLAND_BYTES = COPY_AT_MOST + CAIRN_HOOK_COPY_MAX, HEAD_BYTES = 16 };

enum state {
    ORIGINAL, /* as it was planned */
    OURS,     /* leads to the island */
    OTHER,    /* neither */
    GONE      /* cannot be read */
};

static bool is_same(const struct cairn_embed_memory *memory, uint64_t va, const uint8_t *bytes,
                    size_t n)
{
    uint8_t now[CAIRN_HOOK_LEAST_MAX];
    return n <= sizeof now && cairn_embed_read(memory, va, now, n) && memcmp(now, bytes, n) == 0;
}

/* What the changed bytes hold now. */
static enum state state_of(const struct cairn_embed_memory *memory,
                           const struct cairn_embed_site *site)
{
    const struct cairn_hook_plan *plan = &site->plan;
    const size_t at = (size_t)(plan->patch_va - plan->word_va);
    uint8_t now[sizeof plan->word_before];
    if (!cairn_embed_read(memory, plan->patch_va, now, plan->patch_bytes))
        return GONE;
    if (memcmp(now, site->patch.word + at, plan->patch_bytes) == 0)
        return OURS;
    if (memcmp(now, plan->word_before + at, plan->patch_bytes) != 0)
        return OTHER;
    return is_same(memory, site->entry_va, site->code, plan->move_bytes) ? ORIGINAL : OTHER;
}

static bool has_own_padding(const struct cairn_embed_memory *memory,
                            const struct cairn_embed_site *site)
{
    return is_same(memory, site->plan.pad_va, site->patch.pad, site->patch.n_pad);
}

/* A library that was unloaded and came again has no jump of ours in its padding. */
static bool can_use_padding(const struct cairn_embed_memory *memory, struct cairn_embed_site *site)
{
    const struct cairn_hook_plan *plan = &site->plan;
    site->has_pad = site->has_pad && has_own_padding(memory, site);
    return site->has_pad || is_same(memory, plan->pad_va, plan->pad_before, plan->pad_bytes);
}

static bool is_same_module(const struct cairn_embed_site *site)
{
    struct cairn_embed_place place;
    return cairn_embed_place_find(site->entry_va, &place) &&
           cairn_embed_place_is_same(&place, &site->place);
}

/* Is the site still that of the function? Another tool's jump over ours leads to us in the end. */
static bool is_sound(const struct cairn_embed_memory *memory, struct cairn_embed_site *site)
{
    const enum state state = state_of(memory, site);
    if (site->is_in && state == OTHER)
        return is_same_module(site);
    if (state == OURS)
        return site->is_in;
    site->is_in = false;
    return state == ORIGINAL && can_use_padding(memory, site);
}

/* The head leads to the moved code at first. */
static bool fill_island(const struct cairn_embed_memory *memory, struct cairn_embed_site *site)
{
    uint8_t head[HEAD_BYTES];
    const size_t n_undo = site->plan.undo_bytes;
    if (!cairn_embed_write(memory, site->copy_va, site->copy.code, site->copy.n_code) ||
        !cairn_embed_chain_settle(memory, &site->chain))
        return false;
    if (site->chain.head_va)
        return true;
    memcpy(head, site->plan.undo, n_undo);
    const size_t n =
        cairn_embed_jump(site->island_va + n_undo, site->chain.head_word_va, head + n_undo);
    return cairn_embed_write(memory, site->island_va, head, n_undo + n);
}

static void lay_out(struct cairn_embed_site *site)
{
    if (site->island_va % sizeof(uint64_t) == 0 && !site->plan.undo_bytes)
        site->chain.head_va = site->island_va;
    else
        site->chain.head_word_va = (site->island_va + HEAD_BYTES + 7) & ~(uint64_t)7;
    site->copy_va = (site->island_va + 2 * HEAD_BYTES + 15) & ~(uint64_t)15;
    site->chain.end_va = site->copy_va;
}

static int make_island(const struct cairn_embed_memory *memory, struct cairn_embed_site *site,
                       const struct cairn_embed_window *window, struct cairn_err *err)
{
    const struct cairn_hook_plan *plan = &site->plan;
    site->island_va = plan->island_va && cairn_embed_map(plan->island_va, ISLAND_BYTES)
                          ? plan->island_va
                          : cairn_embed_take_code(plan->target_low, plan->target_high,
                                                  site->entry_va, ISLAND_BYTES);
    if (!site->island_va)
        return cairn_fail(err, CAIRN_E_NOMEM,
                          "function at 0x%llx: no page can be mapped in 0x%llx-0x%llx, which its "
                          "jump reaches",
                          (unsigned long long)site->entry_va, (unsigned long long)plan->target_low,
                          (unsigned long long)plan->target_high);
    lay_out(site);
    if (!cairn_embed_plan_move(window, site->entry_va, plan, site->copy_va, &site->copy) ||
        !cairn_hook_aim(plan, site->island_va, &site->patch))
        return cairn_fail(err, CAIRN_E_SUPPORT, "function at 0x%llx: at 0x%llx: %s",
                          (unsigned long long)site->entry_va,
                          (unsigned long long)site->copy.reason_va,
                          cairn_hook_reason_text(site->copy.reason));
    cairn_embed_shorten(site->copy_va, &site->copy);
    if (!fill_island(memory, site))
        return cairn_embed_fail_write(err, site->island_va);
    memcpy(site->code, window->code + (site->entry_va - window->low), plan->move_bytes);
    return CAIRN_OK;
}

static int make_site(const struct cairn_embed_memory *memory, uint64_t entry_va, unsigned flags,
                     struct cairn_embed_site **ret_site, struct cairn_err *err)
{
    static struct cairn_embed_window window; /* under the room's lock */
    struct cairn_embed_place place;
    struct cairn_hook_plan plan;
    int code = cairn_embed_place_check(entry_va, &place, err);
    if (code == CAIRN_OK)
        code = cairn_embed_window_read(memory, &place, entry_va, &window, err);
    if (code == CAIRN_OK)
        code = cairn_embed_plan(&window, &place, entry_va, flags, ISLAND_BYTES, &plan, err);
    if (code != CAIRN_OK)
        return code;
    struct cairn_embed_site *site = cairn_embed_alloc(sizeof *site);
    if (!site)
        return cairn_fail_memory(err);
    site->entry_va = entry_va;
    site->place = place;
    site->plan = plan;
    code = make_island(memory, site, &window, err);
    if (code != CAIRN_OK)
        return code;
    site->next = sites;
    sites = site;
    *ret_site = site;
    return CAIRN_OK;
}

int cairn_embed_site_get(const struct cairn_embed_memory *memory, uint64_t entry_va, unsigned flags,
                         struct cairn_embed_site **ret_site, struct cairn_err *err)
{
    for (struct cairn_embed_site *site = sites; site; site = site->next) {
        if (site->entry_va != entry_va || site->is_dead)
            continue;
        if (is_sound(memory, site)) {
            *ret_site = site;
            return CAIRN_OK;
        }
        site->is_dead = true;
    }
    return make_site(memory, entry_va, flags, ret_site, err);
}

/* At once. The bytes of the word that are not ours may have changed since the plan. */
static int put_word(const struct cairn_embed_memory *memory, const struct cairn_embed_site *site,
                    const uint8_t *from, struct cairn_err *err)
{
    const struct cairn_hook_plan *plan = &site->plan;
    const size_t at = (size_t)(plan->patch_va - plan->word_va);
    uint8_t word[sizeof plan->word_before];
    if (!cairn_embed_read(memory, plan->word_va, word, sizeof word))
        return cairn_embed_fail_write(err, plan->word_va);
    memcpy(word + at, from + at, plan->patch_bytes);
    return cairn_embed_renew(memory, plan->word_va, word, sizeof word, err);
}

void cairn_embed_site_register(struct cairn_embed_site *site)
{
    uint8_t bytes[CAIRN_EMBED_FRAMES_MAX];
    if (site->has_frames)
        return;
    const size_t n =
        cairn_embed_frames_write(&site->copy, site->code, site->island_va, site->copy_va, bytes);
    site->has_frames = n && cairn_embed_frames_register(bytes, n);
}

int cairn_embed_site_divert(const struct cairn_embed_memory *memory, struct cairn_embed_site *site,
                            struct cairn_err *err)
{
    if (site->is_in)
        return CAIRN_OK;
    const struct cairn_hook_patch *patch = &site->patch;
    if (patch->n_pad && !site->has_pad) {
        if (!cairn_embed_write(memory, site->plan.pad_va, patch->pad, patch->n_pad))
            return cairn_embed_fail_write(err, site->plan.pad_va);
        site->has_pad = true;
    }
    const int code = put_word(memory, site, patch->word, err);
    site->is_in = code == CAIRN_OK;
    return code;
}

/* A thread may stand at the jump in the padding, until it was seen elsewhere. */
static int restore_padding(const struct cairn_embed_memory *memory, struct cairn_embed_site *site,
                           struct cairn_err *err)
{
    const struct cairn_hook_plan *plan = &site->plan;
    if (!site->has_pad || !has_own_padding(memory, site))
        return CAIRN_OK;
    if (!cairn_embed_are_away(memory, plan->pad_va, plan->pad_bytes)) {
        cairn_fail(err, CAIRN_E_LIMIT,
                   "%s: the padding at 0x%llx keeps its jump, which nothing leads to: a thread was "
                   "not seen elsewhere within %d ms",
                   site->place.path, (unsigned long long)plan->pad_va, CAIRN_EMBED_AWAY_MS);
        cairn_hint(err, "the hook is removed; the next removal of a hook of this function tries "
                        "again");
        return CAIRN_E_LIMIT;
    }
    if (!cairn_embed_write(memory, plan->pad_va, plan->pad_before, plan->pad_bytes))
        return cairn_embed_fail_write(err, plan->pad_va);
    site->has_pad = false;
    return CAIRN_OK;
}

static int say_other(struct cairn_embed_site *site, struct cairn_err *err)
{
    if (!is_same_module(site)) {
        site->is_dead = true;
        return cairn_fail(err, CAIRN_E_MISSING,
                          "%s: unloaded since it was hooked: there is nothing to restore at 0x%llx",
                          site->place.path, (unsigned long long)site->plan.patch_va);
    }
    cairn_fail(err, CAIRN_E_EXISTS,
               "%s: another tool changed the bytes at 0x%llx since: they stay as they are, and "
               "calls that come to the island pass on",
               site->place.path, (unsigned long long)site->plan.patch_va);
    cairn_hint(err, "remove the other tool's hook first");
    return CAIRN_E_EXISTS;
}

int cairn_embed_site_restore(const struct cairn_embed_memory *memory, struct cairn_embed_site *site,
                             bool keeps_padding, struct cairn_err *err)
{
    if (!site->is_in)
        return CAIRN_OK;
    const enum state state = state_of(memory, site);
    if (state == OTHER || state == GONE)
        return say_other(site, err);
    const int code = state == OURS ? put_word(memory, site, site->plan.word_before, err) : CAIRN_OK;
    if (code != CAIRN_OK)
        return code;
    site->is_in = false;
    return keeps_padding ? CAIRN_OK : restore_padding(memory, site, err);
}
