/* SPDX-License-Identifier: MIT */
/* Diff: what `cairn diff` was asked for and what it found, for its parts to
 * print. */
#ifndef CAIRN_CLI_DIFF_H
#define CAIRN_CLI_DIFF_H

#include <cairn/diff.h>

#include "base/buffer.h"
#include "base/json.h"
#include "cli/args.h"
#include "cli/profiles.h"
#include "cli/show.h"

enum cli_diff_by { CLI_DIFF_BY_BOTH, CLI_DIFF_BY_FUNCTION, CLI_DIFF_BY_STACK };

struct cli_diff_side {
    char *inputs[2]; /* one, and NULL */
    struct cairn_profile *profile;
    size_t value_type;
    uint64_t n_read; /* samples before any were dropped */
    int64_t sum;
    struct cli_steps steps; /* of its filters */
};

struct cli_diff {
    struct cli_args *args;
    uint64_t n_shown; /* of each list; 0: all */
    int by;           /* enum cli_diff_by */
    bool by_total, absolute, json;
    int verbosity;
    struct cli_wanted wanted;
    struct cli_show show;
    struct cli_diff_side sides[2]; /* before, now */
    struct cairn_value_type value;
    struct cairn_diff *diff;
    const struct cairn_diff_row *functions;
    size_t n_functions, n_functions_grew, n_functions_shrank;
    const struct cairn_diff_stack *stacks;
    size_t n_stacks, n_stacks_grew, n_stacks_shrank;
};

/* How many of `n` are shown. */
size_t cli_diff_shown(const struct cli_diff *d, size_t n);

int cli_diff_text(struct cairn_buffer *out, const struct cli_diff *d, struct cairn_err *err);

/* docs/formats/diff-json.md */
int cli_diff_json(struct cairn_buffer *out, const struct cli_diff *d, struct cairn_err *err);

#endif /* CAIRN_CLI_DIFF_H */
