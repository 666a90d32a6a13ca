/* SPDX-License-Identifier: MIT */
/* Report: what `cairn report` was asked for and what it found, for its parts to print. */
#ifndef CAIRN_CLI_REPORT_H
#define CAIRN_CLI_REPORT_H

#include <cairn/tree.h>

#include "base/buffer.h"
#include "base/json.h"
#include "cli/args.h"
#include "cli/profiles.h"
#include "cli/show.h"

enum cli_report_form { CLI_REPORT_TOP, CLI_REPORT_CALLS, CLI_REPORT_CALLEES, CLI_REPORT_CALLERS };

struct cli_report {
    struct cli_args *args;
    enum cli_report_form form;
    const char *root;     /* of callees and callers: names one function; NULL: each is a root */
    uint64_t n_shown;     /* functions of the table, or roots; 0: all */
    uint64_t depth;       /* levels of a tree; 0: all */
    double least_percent; /* of a tree's nodes */
    bool by_total, json;
    bool says_sort, says_depth, says_least; /* which options were given */
    struct cli_wanted wanted;
    struct cli_steps steps; /* of its filters */
    struct cli_show show;
    int verbosity;
    struct cairn_profile *profile;
    uint64_t n_read; /* samples before any were dropped */
    size_t value_type;
    int64_t sum;
    struct cairn_top *top;      /* these are NULL where there is no sample or another form is */
    struct cairn_top_row *rows; /* asked for */
    size_t n_rows, n_all_rows;  /* to show; that there are */
    struct cairn_tree *tree;
};

struct cairn_value_type cli_report_value(const struct cli_report *r);

/* The tree as text: what is shown of it, with a last line on what is not. Nothing is added where
 * nothing is shown. */
int cli_report_tree_add(struct cairn_buffer *out, const struct cli_report *r,
                        struct cairn_err *err);

/* The same as members of an object. */
int cli_report_tree_put(struct cairn_json *json, const struct cli_report *r, struct cairn_err *err);

/* All of it as one JSON object (docs/formats/report-json.md). */
int cli_report_json(struct cairn_buffer *out, const struct cli_report *r, struct cairn_err *err);

#endif /* CAIRN_CLI_REPORT_H */
