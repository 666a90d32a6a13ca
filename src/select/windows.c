/* SPDX-License-Identifier: MIT */
#include "select/windows.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/span.h"
#include "base/table.h"

enum { WORDS_MAX = 4 };

struct parsing {
    struct cairn_select_windows *windows;
    struct cairn_table open; /* scope and id -> window that nothing ended yet */
    size_t line;             /* from 1 */
    struct cairn_span words[WORDS_MAX];
    size_t n_words;
};

void cairn_select_windows_done(struct cairn_select_windows *windows)
{
    cairn_free(windows->items);
    *windows = (struct cairn_select_windows){0};
}

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void split(struct parsing *p, struct cairn_span line)
{
    p->n_words = 0;
    for (size_t at = 0; at < line.size && p->n_words < WORDS_MAX;) {
        size_t start = at;
        while (at < line.size && !is_blank(line.data[at]))
            at++;
        if (at > start)
            p->words[p->n_words++] = (struct cairn_span){line.data + start, at - start};
        at++;
    }
}

static bool is_word(struct cairn_span word, const char *text)
{
    return cairn_span_equal(word, cairn_span_of(text));
}

static bool number_of(struct cairn_span word, uint64_t most, uint64_t *ret_number)
{
    uint64_t number = 0;
    for (size_t i = 0; i < word.size; i++)
        if (word.data[i] < '0' || word.data[i] > '9' ||
            __builtin_mul_overflow(number, 10u, &number) ||
            __builtin_add_overflow(number, (uint64_t)(word.data[i] - '0'), &number))
            return false;
    *ret_number = number;
    return word.size && number <= most;
}

static int fail_line(const struct parsing *p, const char *expected, struct cairn_err *err)
{
    return cairn_fail(err, CAIRN_E_ARG, "line %zu: expected %s", p->line, expected);
}

static int take_clock(struct parsing *p, struct cairn_err *err)
{
    bool is_realtime = p->n_words == 2 && is_word(p->words[1], "realtime");
    if (p->n_words != 2 || (!is_realtime && !is_word(p->words[1], "monotonic")))
        return fail_line(p, "CLOCK monotonic or CLOCK realtime", err);
    p->windows->is_realtime = is_realtime;
    return CAIRN_OK;
}

static int begin(struct parsing *p, uint64_t key, const struct cairn_select_window *window,
                 struct cairn_err *err)
{
    struct cairn_select_windows *all = p->windows;
    uint32_t number;
    if (cairn_table_find(&p->open, key, &number))
        return CAIRN_OK;
    if (all->n == CAIRN_SELECT_WINDOWS_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT, "line %zu: more than %d stretches of time", p->line,
                          CAIRN_SELECT_WINDOWS_MAX);
    if (cairn_grow((void **)&all->items, &all->cap, all->n + 1, sizeof *all->items) < 0 ||
        cairn_table_set(&p->open, key, (uint32_t)all->n) < 0)
        return cairn_fail_memory(err);
    all->items[all->n++] = *window;
    all->has[window->scope] = true;
    return CAIRN_OK;
}

static int end(struct parsing *p, uint64_t key, uint64_t ns, struct cairn_err *err)
{
    uint32_t number;
    if (!cairn_table_find(&p->open, key, &number))
        return CAIRN_OK;
    struct cairn_select_window *window = &p->windows->items[number];
    if (ns <= window->low)
        return fail_line(p, "an end later than the begin that it belongs to", err);
    window->high = ns;
    cairn_table_remove(&p->open, key);
    return CAIRN_OK;
}

static int take_line(struct parsing *p, struct cairn_err *err)
{
    static const char *const names[][2] = {{"GLOBAL_BEGIN", "GLOBAL_END"},
                                           {"PROCESS_BEGIN", "PROCESS_END"},
                                           {"THREAD_BEGIN", "THREAD_END"}};
    struct cairn_select_window window = {.high = UINT64_MAX};
    uint64_t id = 0;
    if (!p->n_words)
        return CAIRN_OK;
    if (is_word(p->words[0], "CLOCK"))
        return take_clock(p, err);
    bool is_end = false;
    while (window.scope < CAIRN_SELECT_N_SCOPES && !is_word(p->words[0], names[window.scope][0]) &&
           !(is_end = is_word(p->words[0], names[window.scope][1])))
        window.scope++;
    if (window.scope == CAIRN_SELECT_N_SCOPES)
        return fail_line(p,
                         "CLOCK, GLOBAL_BEGIN, GLOBAL_END, PROCESS_BEGIN, PROCESS_END, "
                         "THREAD_BEGIN or THREAD_END",
                         err);
    size_t n = window.scope == CAIRN_SELECT_GLOBAL ? 2 : 3;
    if (p->n_words != n || !number_of(p->words[n - 1], UINT64_MAX, &window.low) ||
        (n == 3 && !number_of(p->words[1], UINT32_MAX, &id)))
        return fail_line(
            p, n == 3 ? "a process or thread, and a time in nanoseconds" : "a time in nanoseconds",
            err);
    window.id = (uint32_t)id;
    const uint64_t key = (uint64_t)window.scope << 32 | id;
    return is_end ? end(p, key, window.low, err) : begin(p, key, &window, err);
}

static int compare_places(const struct cairn_select_window *a, uint32_t scope, uint32_t id)
{
    if (a->scope != scope)
        return a->scope < scope ? -1 : 1;
    return a->id < id ? -1 : a->id > id;
}

static int compare_windows(const void *a, const void *b)
{
    const struct cairn_select_window *x = a, *y = b;
    int order = compare_places(x, y->scope, y->id);
    return order ? order : x->low < y->low ? -1 : x->low > y->low;
}

/* Sorts them, and joins those that overlap: times in a file need not rise. */
static void arrange(struct cairn_select_windows *windows)
{
    size_t n = 0;
    if (windows->n)
        qsort(windows->items, windows->n, sizeof *windows->items, compare_windows);
    for (size_t i = 0; i < windows->n; i++) {
        const struct cairn_select_window *next = &windows->items[i];
        struct cairn_select_window *last = n ? &windows->items[n - 1] : NULL;
        if (last && compare_places(last, next->scope, next->id) == 0 && next->low <= last->high)
            last->high = next->high > last->high ? next->high : last->high;
        else
            windows->items[n++] = *next;
    }
    windows->n = n;
}

int cairn_select_windows_parse(struct cairn_select_windows *windows, const char *text,
                               struct cairn_err *err)
{
    struct parsing p = {.windows = windows};
    int code = CAIRN_OK;
    while (*text && code == CAIRN_OK) {
        size_t size = strcspn(text, "\n");
        p.line++;
        split(&p, (struct cairn_span){(const uint8_t *)text, size});
        code = take_line(&p, err);
        text += size + (text[size] == '\n');
    }
    cairn_table_done(&p.open);
    if (code == CAIRN_OK && !windows->n)
        code = cairn_fail(err, CAIRN_E_ARG,
                          "no stretch of time is in it, expected GLOBAL_BEGIN, "
                          "PROCESS_BEGIN or THREAD_BEGIN");
    if (code == CAIRN_OK)
        arrange(windows);
    else
        cairn_select_windows_done(windows);
    return code;
}

bool cairn_select_windows_hold(const struct cairn_select_windows *windows,
                               enum cairn_select_scope scope, uint32_t id, uint64_t ns)
{
    size_t low = 0, high = windows->n;
    if (!windows->has[scope])
        return true;
    while (low < high) { /* the first window that begins behind the moment */
        size_t middle = low + (high - low) / 2;
        const struct cairn_select_window *window = &windows->items[middle];
        int order = compare_places(window, scope, id);
        if (order < 0 || (order == 0 && window->low <= ns))
            low = middle + 1;
        else
            high = middle;
    }
    const struct cairn_select_window *last = low ? &windows->items[low - 1] : NULL;
    return last && compare_places(last, scope, id) == 0 && ns < last->high;
}
