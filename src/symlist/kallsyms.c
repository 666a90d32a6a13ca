/* SPDX-License-Identifier: MIT */
/*
 * Every symbol is a row first, data too, because it ends the function before it. Then the rows of
 * one address become one symbol, and those that only end others go.
 */
#include "symlist/kallsyms.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "symlist/line.h"

enum { PAGE_BYTES = 4096, MODULES_MAX = UINT16_MAX, RANK_WEAK = 1, RANK_LOCAL, RANK_GLOBAL };

/* Where a module lies, by /proc/modules. */
struct extent {
    uint64_t start, end;
};

struct reading {
    struct cairn_symbol_list *list;
    struct extent *extents; /* by module; NULL: nobody said */
    size_t n_lines, n_bad, first_bad, n_symbols, n_zero;
    struct cairn_err *err;
};

/* What the linker's script puts around code: it has the address of a function, or of none. */
static bool is_marker(struct cairn_span name)
{
    static const char *const whole[] = {"_text",      "_stext",     "_etext",
                                        "_sinittext", "_einittext", "_exittext"};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (cairn_span_equal(name, cairn_span_of(whole[i])))
            return true;
    if (!cairn_span_begins(name, "__") || !memmem(name.data, name.size, "text", 4))
        return false;
    return memcmp(name.data + name.size - 4, "_end", 4) == 0 ||
           (name.size > 6 && memcmp(name.data + name.size - 6, "_start", 6) == 0);
}

/* The padding before a function (__pfx_) belongs to nobody. */
static uint8_t rank_of(uint8_t type, struct cairn_span name)
{
    if (cairn_span_begins(name, "__pfx_") || cairn_span_begins(name, "__cfi_") || is_marker(name))
        return 0;
    switch (type) {
    case 'T':
        return RANK_GLOBAL;
    case 't':
    case 'i':
        return RANK_LOCAL;
    case 'W':
    case 'w':
        return RANK_WEAK;
    default:
        return 0;
    }
}

/* Absolute values are no places; mapping symbols and local labels mark none that counts. */
static bool is_place(uint8_t type, struct cairn_span name)
{
    return type != 'a' && type != 'A' && name.data[0] != '$' && !cairn_span_begins(name, ".L");
}

/* "[nf_tables]" at the end of the line. */
static int read_module(struct reading *r, struct cairn_span word, uint16_t *ret_module)
{
    *ret_module = 0;
    if (word.size < 3 || word.data[0] != '[' || word.data[word.size - 1] != ']')
        return CAIRN_OK;
    uint32_t number =
        cairn_strings_add(&r->list->modules, (const char *)word.data + 1, word.size - 2);
    if (number == UINT32_MAX)
        return cairn_fail_memory(r->err);
    if (number > MODULES_MAX)
        return cairn_fail(r->err, CAIRN_E_LIMIT, "line %zu: more than %d modules", r->n_lines,
                          MODULES_MAX);
    *ret_module = (uint16_t)number;
    return CAIRN_OK;
}

static int add_symbol(struct reading *r, uint64_t va, uint8_t type, struct cairn_span name,
                      struct cairn_span module)
{
    struct cairn_listed_symbol row = {.start = va, .rank = rank_of(type, name)};
    if (cairn_span_equal(name, cairn_span_of("_text")))
        r->list->kernel_text = va;
    if (!is_place(type, name))
        return CAIRN_OK;
    int code = read_module(r, module, &row.module);
    if (code < 0)
        return code;
    return cairn_symbol_list_add(r->list, &row, (const char *)name.data, row.rank ? name.size : 0,
                                 r->err);
}

static int read_line(struct reading *r, struct cairn_span line)
{
    uint64_t va;
    struct cairn_span address = cairn_list_word(&line), type = cairn_list_word(&line);
    struct cairn_span name = cairn_list_rest(cairn_list_word(&line));
    if (!address.size)
        return CAIRN_OK;
    if (!cairn_list_hex(address, &va) || type.size != 1 || !name.size) {
        r->first_bad = r->n_bad++ ? r->first_bad : r->n_lines;
        return CAIRN_OK;
    }
    r->n_symbols++;
    r->n_zero += va == 0;
    return va ? add_symbol(r, va, type.data[0], name, cairn_list_word(&line)) : CAIRN_OK;
}

static int read_lines(struct reading *r, struct cairn_span text)
{
    struct cairn_span line;
    while (cairn_list_line_next(&text, &line)) {
        if (r->n_lines++ == CAIRN_SYMBOL_LIST_LINES_MAX)
            return cairn_fail(r->err, CAIRN_E_LIMIT, "more than %d lines",
                              CAIRN_SYMBOL_LIST_LINES_MAX);
        int code = read_line(r, line);
        if (code < 0)
            return code;
    }
    if (r->n_symbols && r->n_zero == r->n_symbols) {
        cairn_fail(r->err, CAIRN_E_ACCESS,
                   "the kernel hides the addresses of its symbols: all are 0");
        cairn_hint(
            r->err,
            "sudo sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1, or run as root");
        return CAIRN_E_ACCESS;
    }
    if (!r->n_symbols)
        return cairn_fail(r->err, CAIRN_E_FORMAT,
                          "line %zu: no symbol, expected ADDRESS TYPE NAME as in /proc/kallsyms",
                          r->n_bad ? r->first_bad : 1);
    if (r->n_bad)
        cairn_log(CAIRN_LOG_WARNING,
                  "kernel symbols: %zu of %zu lines are none, the first is line %zu", r->n_bad,
                  r->n_lines, r->first_bad);
    return CAIRN_OK;
}

/* "nf_tables 356352 0 - Live 0xffffffffc0a00000"; false where it says no place. */
static bool read_extent(struct cairn_span line, struct cairn_span *ret_name,
                        struct extent *ret_extent)
{
    struct extent extent = {0};
    struct cairn_span name = cairn_list_word(&line), size = cairn_list_word(&line), at = {0};
    for (int i = 0; i < 4; i++)
        at = cairn_list_word(&line);
    for (size_t i = 0; i < size.size && size.data[i] >= '0' && size.data[i] <= '9'; i++)
        extent.end = extent.end * 10 + (uint64_t)(size.data[i] - '0');
    if (!name.size || !extent.end || !cairn_list_hex(at, &extent.start) || !extent.start ||
        __builtin_add_overflow(extent.start, extent.end, &extent.end))
        return false;
    *ret_name = name;
    *ret_extent = extent;
    return true;
}

static int read_extents(struct reading *r, struct cairn_span text)
{
    struct cairn_span line, name;
    struct extent extent;
    if (!text.size)
        return CAIRN_OK;
    r->extents = cairn_alloc(MODULES_MAX + 1, sizeof *r->extents);
    if (!r->extents)
        return cairn_fail_memory(r->err);
    while (cairn_list_line_next(&text, &line)) {
        if (!read_extent(line, &name, &extent))
            continue;
        uint32_t module = cairn_strings_add(&r->list->modules, (const char *)name.data, name.size);
        if (module == UINT32_MAX)
            return cairn_fail_memory(r->err);
        if (module <= MODULES_MAX)
            r->extents[module] = extent;
    }
    return CAIRN_OK;
}

/* Names of one address, the best first: by rank, then with fewer leading underscores, then the
 * shorter one (memcpy before __pi_memcpy), then in the order of the alphabet. */
static int compare_names(const char *a, const char *b)
{
    size_t lead_a = strspn(a, "_"), lead_b = strspn(b, "_");
    if (lead_a != lead_b)
        return lead_a < lead_b ? -1 : 1;
    size_t size_a = strlen(a), size_b = strlen(b);
    if (size_a != size_b)
        return size_a < size_b ? -1 : 1;
    return strcmp(a, b);
}

static int compare_rows(const void *left, const void *right, void *names)
{
    const struct cairn_listed_symbol *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank > b->rank ? -1 : 1;
    return compare_names((const char *)names + a->name, (const char *)names + b->name);
}

/* Where the symbol must end though no other one ends it. */
static uint64_t limit_of(const struct reading *r, const struct cairn_listed_symbol *row,
                         bool next_is_near)
{
    const struct extent *extent = row->module && r->extents ? &r->extents[row->module] : NULL;
    if (extent && row->start >= extent->start && row->start < extent->end)
        return extent->end;
    if (next_is_near)
        return UINT64_MAX;
    uint64_t page_end = row->start | (PAGE_BYTES - 1);
    return page_end == UINT64_MAX ? page_end : page_end + 1;
}

static void join_rows(struct reading *r)
{
    struct cairn_symbol_list *list = r->list;
    struct cairn_listed_symbol *rows = list->symbols;
    size_t n = 0;
    for (size_t i = 0, next; i < list->n; i = next) {
        struct cairn_listed_symbol row = rows[i];
        for (next = i + 1; next < list->n && rows[next].start == row.start; next++)
            row.shared |= rows[next].rank && strcmp(cairn_symbol_list_name(list, &rows[next]),
                                                    cairn_symbol_list_name(list, &row)) != 0;
        if (!row.rank)
            continue;
        bool near = next < list->n && rows[next].module == row.module;
        uint64_t limit = limit_of(r, &row, near);
        row.end = next < list->n && rows[next].start < limit ? rows[next].start : limit;
        if (row.start < row.end) /* not the last address of all */
            rows[n++] = row;
    }
    list->n = n;
}

int cairn_kallsyms_read(struct cairn_span text, struct cairn_span modules,
                        struct cairn_symbol_list *list, struct cairn_err *err)
{
    struct reading r = {.list = list, .err = err};
    list->source = CAIRN_SOURCE_KERNEL;
    int code = read_lines(&r, text);
    if (code == CAIRN_OK)
        code = read_extents(&r, modules);
    if (code == CAIRN_OK && list->n) {
        qsort_r(list->symbols, list->n, sizeof *list->symbols, compare_rows, list->names.data);
        join_rows(&r);
    }
    cairn_free(r.extents);
    if (code < 0)
        cairn_symbol_list_done(list);
    return code;
}
