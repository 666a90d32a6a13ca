/* SPDX-License-Identifier: MIT */
/*
 * What options of filters say, but for regular expressions, which are the C library's: a letter
 * says which, the text follows.
 *
 *     l list | t time | c run of cut stacks | w filter file of simpleperf
 */
#include <stdlib.h>
#include <string.h>

#include <cairn/select.h>

#include "select/span.h"
#include "select/windows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Windows of one scope and id neither touch nor overlap, and each holds its own moments. */
static void check_windows(const char *text)
{
    struct cairn_select_windows windows = {0};
    if (cairn_select_windows_parse(&windows, text, NULL) < 0)
        return;
    for (size_t i = 0; i < windows.n; i++) {
        const struct cairn_select_window *at = &windows.items[i], *last = i ? at - 1 : NULL;
        enum cairn_select_scope scope = (enum cairn_select_scope)at->scope;
        if (at->high <= at->low && at->low != UINT64_MAX)
            abort();
        if (last && last->scope == at->scope && last->id == at->id && last->high >= at->low)
            abort();
        if (at->low < at->high &&
            (!cairn_select_windows_hold(&windows, scope, at->id, at->low) ||
             !cairn_select_windows_hold(&windows, scope, at->id, at->high - 1)))
            abort();
        if (cairn_select_windows_hold(&windows, scope, at->id, at->high))
            abort();
    }
    cairn_select_windows_done(&windows);
}

static void check_spans(const char *text)
{
    static const struct cairn_select_times times = {.start_ns = INT64_C(1700000000000000000),
                                                    .first_ns = INT64_C(1700000000000000005),
                                                    .last_ns = INT64_C(1700090000000000000),
                                                    .is_wall = true};
    struct cairn_select_spans spans = {0};
    int64_t low, high;
    if (cairn_select_spans_add(&spans, text, NULL) == CAIRN_OK &&
        cairn_select_span_place(&spans.items[0], &times, &low, &high, NULL) == CAIRN_OK &&
        low >= high)
        abort();
    cairn_select_spans_done(&spans);
}

static void add(enum cairn_select_kind kind, const char *text)
{
    struct cairn_select *select;
    if (cairn_select_new(&select, NULL) < 0)
        return;
    (void)cairn_select_add(select, kind, 0, text, NULL);
    cairn_select_free(select);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = size ? malloc(size) : NULL;
    if (!text)
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = 0;
    if (data[0] == 'l')
        add(CAIRN_SELECT_PID, text);
    else if (data[0] == 'c')
        add(CAIRN_SELECT_CUT, text);
    else if (data[0] == 't')
        check_spans(text);
    else
        check_windows(text);
    free(text);
    return 0;
}
