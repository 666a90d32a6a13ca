/* SPDX-License-Identifier: MIT */
/*
 * Each function is changed by one store of an aligned word, which is there or not there for every
 * thread; before that the padding that it leads to is written, which nobody runs. Back: the word
 * first, and the padding when no thread can stand in it any more.
 */
#include <string.h>

#include "attach/divert.h"
#include "attach/linger.h"
#include "heap/late.h"

enum { LINGER_MS = 500 };

enum holds { HOLDS_BEFORE, HOLDS_AFTER, HOLDS_OTHER, HOLDS_NOTHING };

static enum holds look(const struct cairn_target_process *target,
                       const struct cairn_ledger_row *row)
{
    uint8_t now[CAIRN_LEDGER_WORD];
    if (cairn_target_read(target, row->word_va, now, sizeof now, NULL) < 0)
        return HOLDS_NOTHING;
    if (memcmp(now, row->word_before, sizeof now) == 0)
        return HOLDS_BEFORE;
    return memcmp(now, row->word_after, sizeof now) == 0 ? HOLDS_AFTER : HOLDS_OTHER;
}

static int change(const struct cairn_target_process *target, const struct cairn_ledger_row *row,
                  bool to_us, struct cairn_err *err)
{
    int result = CAIRN_OK;
    if (to_us && row->n_pad)
        result = cairn_target_write(target, row->pad_va, row->pad_after, row->n_pad, err);
    if (result == CAIRN_OK)
        result =
            cairn_target_write(target, row->word_va, to_us ? row->word_after : row->word_before,
                               CAIRN_LEDGER_WORD, err);
    return result;
}

static int set_row(const struct cairn_target_process *target, const struct cairn_ledger_row *row,
                   bool to_us, struct cairn_divert_counts *counts, struct cairn_err *err)
{
    enum holds holds = look(target, row), wanted = to_us ? HOLDS_AFTER : HOLDS_BEFORE;
    int result = CAIRN_OK;
    if (holds == HOLDS_NOTHING)
        counts->n_gone++;
    else if (holds == HOLDS_OTHER)
        counts->n_foreign++;
    else if (holds != wanted)
        result = change(target, row, to_us, err);
    if (result == CAIRN_OK && (holds == HOLDS_BEFORE || holds == HOLDS_AFTER))
        counts->n_done++;
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

int cairn_divert_set(const struct cairn_target_process *target, const struct cairn_ledger *ledger,
                     bool to_us, struct cairn_divert_counts *ret_counts, struct cairn_err *err)
{
    enum { RANKS = 3 };
    struct cairn_divert_counts counts = {0};
    int result = CAIRN_OK;
    for (unsigned step = 0; step < RANKS; step++)
        for (uint32_t i = 0; i < ledger->n_rows && result == CAIRN_OK; i++)
            if (rank_of(&ledger->rows[i]) == (to_us ? step : RANKS - 1 - step))
                result = set_row(target, &ledger->rows[i], to_us, &counts, err);
    if (result == CAIRN_OK && !to_us)
        result = clear_pads(target, ledger, &counts, err);
    *ret_counts = counts;
    return result;
}
