/* SPDX-License-Identifier: MIT */
#include "select/list.h"

#include "base/alloc.h"
#include "base/error.h"

void cairn_select_list_done(struct cairn_select_list *list)
{
    cairn_free(list->items);
    *list = (struct cairn_select_list){0};
}

/* Moves `*at` behind the digits; false where there are none, or too many from `*at` on. */
static bool take_number(const char **at, int64_t *ret_number)
{
    const char *start = *at;
    int64_t number = 0;
    for (; **at >= '0' && **at <= '9'; ++*at)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, **at - '0', &number)) {
            *at = start;
            return false;
        }
    *ret_number = number;
    return *at != start;
}

static int fail_at(const char *text, const char *at, struct cairn_err *err)
{
    return cairn_fail(err, CAIRN_E_ARG,
                      "\"%.100s\": column %zu: expected a number, or a span of them (1,4-7)", text,
                      (size_t)(at - text) + 1);
}

int cairn_select_list_add(struct cairn_select_list *list, const char *text, struct cairn_err *err)
{
    const char *at = text;
    for (;;) {
        const char *start = at;
        struct cairn_select_numbers span;
        if (!take_number(&at, &span.first))
            return fail_at(text, at, err);
        span.last = span.first;
        if (*at == '-' && (at++, !take_number(&at, &span.last)))
            return fail_at(text, at, err);
        if (span.last < span.first)
            return cairn_fail(err, CAIRN_E_ARG,
                              "\"%.100s\": column %zu: the span ends before it begins", text,
                              (size_t)(start - text) + 1);
        if (list->n == CAIRN_SELECT_LIST_MAX)
            return cairn_fail(err, CAIRN_E_LIMIT, "more than %d numbers", CAIRN_SELECT_LIST_MAX);
        if (cairn_grow((void **)&list->items, &list->cap, list->n + 1, sizeof *list->items) < 0)
            return cairn_fail_memory(err);
        list->items[list->n++] = span;
        if (!*at)
            return CAIRN_OK;
        if (*at++ != ',')
            return fail_at(text, at - 1, err);
    }
}

bool cairn_select_list_has(const struct cairn_select_list *list, int64_t number)
{
    for (size_t i = 0; i < list->n; i++)
        if (number >= list->items[i].first && number <= list->items[i].last)
            return true;
    return false;
}
