/* SPDX-License-Identifier: MIT */
/* List: numbers as an option names them, "1,4-7". */
#ifndef CAIRN_SELECT_LIST_H
#define CAIRN_SELECT_LIST_H

#include <stdbool.h>

#include <cairn/error.h>

#include "base/span.h"

enum { CAIRN_SELECT_LIST_MAX = 4096 };

struct cairn_select_numbers {
    int64_t first, last; /* both belong to it */
};

struct cairn_select_list {
    struct cairn_select_numbers *items;
    size_t n, cap;
};

/* Adds what `text` names. CAIRN_E_ARG says at which column it is wrong. */
int cairn_select_list_add(struct cairn_select_list *list, const char *text, struct cairn_err *err);
bool cairn_select_list_has(const struct cairn_select_list *list, int64_t number);
void cairn_select_list_done(struct cairn_select_list *list); /* all-zero is fine */

#endif /* CAIRN_SELECT_LIST_H */
