/* SPDX-License-Identifier: MIT */
/* Show: a text that a person reads goes to stdout, on a terminal through a pager, as git does it:
 * $CAIRN_PAGER, else $PAGER, else less, which with LESS=FRX ends by itself where all fits. */
#ifndef CAIRN_CLI_SHOW_H
#define CAIRN_CLI_SHOW_H

#include "base/buffer.h"
#include "base/error.h"
#include "cli/args.h"

struct cli_show {
    struct cli_args *args;
    int colour; /* index of the word of --color: auto, always, never */
    bool no_pager;
};

enum cli_show_row { CLI_SHOW_COLOUR, CLI_SHOW_NO_PAGER, CLI_N_SHOW };

/* Their rows in a table of options, from number `first` on. */
/* clang-format off */
#define CLI_SHOW_ROWS(first)                                                                       \
    [(first) + CLI_SHOW_COLOUR] = {"color", 0, "WHEN",                                             \
        "auto (default: on a terminal, unless NO_COLOR is set), always or never"},                 \
    [(first) + CLI_SHOW_NO_PAGER] = {"no-pager", 0, NULL,                                          \
        "print to the terminal at once, and not through $CAIRN_PAGER, $PAGER or less"}
/* clang-format on */

/* One of these options; false after having said what is wrong. */
bool cli_show_take(struct cli_show *show, enum cli_show_row row, const char *value);

bool cli_show_colours(const struct cli_show *show);

/* Columns that lines are cut to; 0: stdout is no terminal, nothing is cut. */
unsigned cli_show_width(void);

/* What a command has made: JSON as it is, a text by the pager, once that has ended. Who leaves it
 * before the end of the text has seen enough: that is no failure. Fails where `made` did. */
int cli_show(const struct cli_show *show, bool json, const struct cairn_buffer *made,
             struct cairn_err *err);

#endif /* CAIRN_CLI_SHOW_H */
