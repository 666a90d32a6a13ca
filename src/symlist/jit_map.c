/* SPDX-License-Identifier: MIT */
#include "symlist/jit_map.h"

#include "base/error.h"
#include "base/log.h"
#include "symlist/line.h"

/* Ranges without bytes are no fault of the line: compilers write them for code that is gone. */
static bool read_line(struct cairn_span line, struct cairn_listed_symbol *ret_row,
                      struct cairn_span *ret_name)
{
    uint64_t size;
    struct cairn_listed_symbol row = {.rank = 1};
    if (!cairn_list_hex(cairn_list_word(&line), &row.start) ||
        !cairn_list_hex(cairn_list_word(&line), &size) ||
        __builtin_add_overflow(row.start, size, &row.end))
        return false;
    *ret_name = cairn_list_rest(line);
    *ret_row = row;
    return ret_name->size > 0;
}

static int read_lines(struct cairn_span text, struct cairn_symbol_list *list, struct cairn_err *err)
{
    struct cairn_span line, name;
    struct cairn_listed_symbol row;
    size_t n = 0, n_bad = 0, first_bad = 0, n_good = 0;
    while (cairn_list_line_next(&text, &line)) {
        if (n++ == CAIRN_SYMBOL_LIST_LINES_MAX)
            return cairn_fail(err, CAIRN_E_LIMIT, "more than %d lines",
                              CAIRN_SYMBOL_LIST_LINES_MAX);
        if (!cairn_list_rest(line).size)
            continue;
        if (!read_line(line, &row, &name)) {
            first_bad = n_bad++ ? first_bad : n;
            continue;
        }
        n_good++;
        int code = row.start == row.end
                       ? CAIRN_OK
                       : cairn_symbol_list_add(list, &row, (const char *)name.data, name.size, err);
        if (code < 0)
            return code;
    }
    if (n_bad && !n_good)
        return cairn_fail(err, CAIRN_E_FORMAT,
                          "line %zu: no line of a perf map, expected START SIZE NAME in hex",
                          first_bad);
    if (n_bad)
        cairn_log(CAIRN_LOG_WARNING, "perf map: %zu of %zu lines are none, the first is line %zu",
                  n_bad, n, first_bad);
    return CAIRN_OK;
}

int cairn_jit_map_read(struct cairn_span text, struct cairn_symbol_list *list,
                       struct cairn_err *err)
{
    list->source = CAIRN_SOURCE_JIT;
    int code = read_lines(text, list, err);
    if (code == CAIRN_OK)
        code = cairn_symbol_list_paint(list, err);
    if (code < 0)
        cairn_symbol_list_done(list);
    return code;
}
