/* SPDX-License-Identifier: MIT */
/*
 * What a run spends on unpacking files that a target chose: compressed sections, .gnu_debugdata,
 * and the checksum of a debug file. A megabyte can claim a gigabyte, and a target can map as many
 * as it likes; so all of them together have one budget of bytes and of time for the whole process.
 *
 * Files that the caller named, that lie below --symbols or the debug folder, or that only root and
 * the caller could write are not counted.
 */
#ifndef CAIRN_BASE_BUDGET_H
#define CAIRN_BASE_BUDGET_H

#include <stddef.h>
#include <stdint.h>

#include <cairn/error.h>

enum { CAIRN_BUDGET_BYTES = 256000000, CAIRN_BUDGET_MS = 5000 };

/* One piece of work. */
struct cairn_budget_turn {
    uint64_t start_ns;
};

/* Takes `bytes` off the budget, and begins to count time. CAIRN_E_LIMIT: there is not that much
 * left; the first time a warning says so. Thread-safe. */
int cairn_budget_begin(size_t bytes, const char *what, struct cairn_budget_turn *ret_turn,
                       struct cairn_err *err);
/* Takes off what is known afterwards alone, more than is left too. */
void cairn_budget_spend(size_t bytes);
void cairn_budget_end(const struct cairn_budget_turn *turn);

/* Is there time left, in the middle of a piece of work? */
int cairn_budget_check(const struct cairn_budget_turn *turn, const char *what,
                       struct cairn_err *err);

/* Bytes that are left. */
size_t cairn_budget_left(void);

/* The whole budget again: a new symbolizer is a new run. */
void cairn_budget_renew(void);

#endif /* CAIRN_BASE_BUDGET_H */
