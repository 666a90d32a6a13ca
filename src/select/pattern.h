/* SPDX-License-Identifier: MIT */
/* Pattern: POSIX extended regular expressions, of which one must match. */
#ifndef CAIRN_SELECT_PATTERN_H
#define CAIRN_SELECT_PATTERN_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

#include <cairn/error.h>

/* Of a name only so many bytes are looked at: names may come from hostile files, and the time of a
 * match may grow faster than the name. */
enum {
    CAIRN_SELECT_PATTERNS_MAX = 256,
    CAIRN_SELECT_PATTERN_BYTES_MAX = 4096,
    CAIRN_SELECT_NAME_BYTES_MAX = 4096
};

struct cairn_select_pattern {
    regex_t *regex;
    char *text;
};

struct cairn_select_patterns {
    struct cairn_select_pattern *items;
    size_t n, cap;
};

/* CAIRN_E_ARG says at which column the text is no expression. */
int cairn_select_patterns_add(struct cairn_select_patterns *patterns, const char *text,
                              struct cairn_err *err);
/* The first one that matches somewhere in the name; NULL: none. */
const struct cairn_select_pattern *
cairn_select_patterns_find(const struct cairn_select_patterns *patterns, const char *name);
void cairn_select_patterns_done(struct cairn_select_patterns *patterns); /* all-zero is fine */

#endif /* CAIRN_SELECT_PATTERN_H */
