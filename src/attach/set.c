/* SPDX-License-Identifier: MIT */
/*
 * Each function is changed by one word, with its page (renew.h): a thread sees all of it or
 * nothing. The padding that the word leads to is written before that; no thread runs it yet. The
 * way back: the word first, then the padding, once no thread can be in it.
 */
#include <string.h>

#include "attach/divert.h"
#include "attach/linger.h"
#include "attach/renew.h"
#include "heap/late.h"

enum { LINGER_MS = 500 };

enum holds { HOLDS_BEFORE, HOLDS_AFTER, HOLDS_OTHER, HOLDS_NOTHING };

/* Of a word's bytes only some are ours: neighbours may be changed, too, by us or by others. */
static bool is_same(const uint8_t *now, const uint8_t *wanted, const struct cairn_ledger_row *row)
{
    for (size_t i = 0; i < CAIRN_LEDGER_WORD; i++)
        if (row->word_before[i] != row->word_after[i] && now[i] != wanted[i])
            return false;
    return true;
}

static enum holds look(const struct cairn_target_process *target,
                       const struct cairn_ledger_row *row)
{
    uint8_t now[CAIRN_LEDGER_WORD];
    if (cairn_target_read(target, row->word_va, now, sizeof now, NULL) < 0)
        return HOLDS_NOTHING;
    if (is_same(now, row->word_before, row))
        return HOLDS_BEFORE;
    return is_same(now, row->word_after, row) ? HOLDS_AFTER : HOLDS_OTHER;
}

bool cairn_divert_leads_to_us(const struct cairn_target_process *target,
                              const struct cairn_ledger_row *row)
{
    return look(target, row) == HOLDS_AFTER;
}

static int change(struct cairn_renewal *renewal, const struct cairn_ledger_row *row, bool to_us,
                  struct cairn_err *err)
{
    const struct cairn_target_process *target = renewal->target;
    uint8_t word[CAIRN_LEDGER_WORD];
    const uint8_t *wanted = to_us ? row->word_after : row->word_before;
    int result = cairn_target_read(target, row->word_va, word, sizeof word, err);
    if (result == CAIRN_OK && to_us && row->n_pad)
        result = cairn_target_write(target, row->pad_va, row->pad_after, row->n_pad, err);
    for (size_t i = 0; i < sizeof word; i++)
        if (row->word_before[i] != row->word_after[i])
            word[i] = wanted[i];
    return result < 0 ? result : cairn_renewal_write(renewal, row->word_va, word, sizeof word, err);
}

bool cairn_divert_is_meant(const struct cairn_ledger_row *row, enum cairn_divert_what what)
{
    bool makes_only = row->roles & CAIRN_LATE_BIRTH && !(row->roles & CAIRN_LATE_DEATH);
    return what == CAIRN_DIVERT_ALL || (what == CAIRN_DIVERT_DEATHS && !makes_only);
}

static int set_row(struct cairn_renewal *renewal, const struct cairn_ledger_row *row,
                   enum cairn_divert_what what, struct cairn_divert_counts *counts,
                   struct cairn_err *err)
{
    bool to_us = cairn_divert_is_meant(row, what);
    enum holds holds = look(renewal->target, row), wanted = to_us ? HOLDS_AFTER : HOLDS_BEFORE;
    int result = CAIRN_OK;
    if (holds == HOLDS_NOTHING)
        counts->n_gone++;
    else if (holds == HOLDS_OTHER)
        counts->n_foreign++;
    else if (holds != wanted)
        result = change(renewal, row, to_us, err);
    if (result == CAIRN_OK && (holds == HOLDS_BEFORE || holds == HOLDS_AFTER))
        counts->n_done += to_us || what == CAIRN_DIVERT_NONE;
    return result;
}

/* Deaths alone, blocks that move, births, the rest. */
static unsigned rank_of(const struct cairn_ledger_row *row)
{
    bool births = row->roles & CAIRN_LATE_BIRTH, deaths = row->roles & CAIRN_LATE_DEATH;
    return deaths ? (births ? 1 : 0) : (births ? 2 : 0);
}

static bool pad_is_ours(const struct cairn_target_process *target,
                        const struct cairn_ledger_row *row)
{
    uint8_t now[CAIRN_LEDGER_WORD];
    return row->n_pad && look(target, row) == HOLDS_BEFORE &&
           cairn_target_read(target, row->pad_va, now, row->n_pad, NULL) == CAIRN_OK &&
           memcmp(now, row->pad_after, row->n_pad) == 0;
}

/* Nothing leads to them any more; a thread that was taken off its CPU there goes on there. */
static int clear_pads(const struct cairn_target_process *target, const struct cairn_ledger *ledger,
                      struct cairn_divert_counts *counts, struct cairn_err *err)
{
    uint64_t vas[CAIRN_LEDGER_ROWS];
    size_t n = 0;
    int result = CAIRN_OK;
    for (uint32_t i = 0; i < ledger->n_rows; i++)
        if (pad_is_ours(target, &ledger->rows[i]))
            vas[n++] = ledger->rows[i].pad_va;
    if (n == 0)
        return CAIRN_OK;
    if (!cairn_linger_away(target->pid, vas, n, CAIRN_LEDGER_WORD, LINGER_MS)) {
        counts->n_pads = (uint32_t)n;
        return CAIRN_OK;
    }
    for (uint32_t i = 0; i < ledger->n_rows && result == CAIRN_OK; i++) {
        const struct cairn_ledger_row *row = &ledger->rows[i];
        if (pad_is_ours(target, row))
            result = cairn_target_write(target, row->pad_va, row->pad_before, row->n_pad, err);
    }
    return result;
}

int cairn_divert_set(const struct cairn_target_process *target, struct cairn_foothold *foothold,
                     const struct cairn_ledger *ledger, enum cairn_divert_what what,
                     struct cairn_divert_counts *ret_counts, struct cairn_err *err)
{
    enum { RANKS = 3 };
    struct cairn_renewal renewal = {.target = target, .foothold = foothold, .their_fd = -1};
    struct cairn_divert_counts counts = {0};
    int result = CAIRN_OK;
    for (unsigned step = 0; step < RANKS; step++)
        for (uint32_t i = 0; i < ledger->n_rows && result == CAIRN_OK; i++)
            if (rank_of(&ledger->rows[i]) == (what ? step : RANKS - 1 - step))
                result = set_row(&renewal, &ledger->rows[i], what, &counts, err);
    cairn_renewal_done(&renewal);
    counts.n_nameless = renewal.n_nameless;
    if (result == CAIRN_OK && what != CAIRN_DIVERT_ALL)
        result = clear_pads(target, ledger, &counts, err);
    *ret_counts = counts;
    return result;
}
