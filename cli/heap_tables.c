/* SPDX-License-Identifier: MIT */
/* The tables of cairn heap report: who has most, by each value. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/escape.h"
#include "cli/heap.h"
#include "cli/numbers.h"

static const struct {
    const char *value; /* of a profile's type */
    size_t field;      /* of a struct cairn_heap_leak */
    const char *name;  /* in JSON */
    const char *title;
    bool is_bytes;
} tables[] = {
    {"inuse_space", offsetof(struct cairn_heap_leak, bytes), "live_bytes", "live bytes", true},
    {"peak_space", offsetof(struct cairn_heap_leak, peak_bytes), "peak_bytes",
     "bytes when the most were live", true},
    {"alloc_space", offsetof(struct cairn_heap_leak, alloc_bytes), "allocated_bytes",
     "bytes allocated in all", true},
    {"alloc_objects", offsetof(struct cairn_heap_leak, n_allocs), "allocations",
     "blocks allocated in all", false},
    {"temporary_objects", offsetof(struct cairn_heap_leak, n_temporary), "temporary_blocks",
     "temporary blocks: freed before the next one was allocated", false},
};
enum { N_TABLES = sizeof tables / sizeof *tables };

/* A stack and what it has of the table that is made. */
struct row {
    const struct cairn_heap_leak *leak;
    uint64_t value;
};

static uint64_t value_of(const struct cairn_heap_leak *leak, size_t table)
{
    uint64_t value;
    memcpy(&value, (const char *)leak + tables[table].field, sizeof value);
    return value;
}

static int compare_rows(const void *x, const void *y)
{
    const struct row *a = x, *b = y;
    if (a->value != b->value)
        return a->value > b->value ? -1 : 1;
    return a->leak->stack < b->leak->stack ? -1 : a->leak->stack > b->leak->stack;
}

static void fill(struct row *rows, const struct cli_heap_look *look, size_t table,
                 uint64_t *ret_sum)
{
    *ret_sum = 0;
    for (size_t i = 0; i < look->n; i++) {
        rows[i] = (struct row){&look->leaks[i], value_of(&look->leaks[i], table)};
        *ret_sum += rows[i].value;
    }
    if (look->n)
        qsort(rows, look->n, sizeof *rows, compare_rows);
}

static void add_head(struct cairn_buffer *out, uint64_t value, uint64_t sum, bool is_bytes)
{
    struct cairn_buffer text = {0};
    if (is_bytes)
        cli_add_size(&text, value);
    else
        cli_add_count(&text, value);
    cairn_buffer_printf(out, "%12s %5.1f %%  ", cairn_buffer_text(&text),
                        sum ? 100.0 * (double)value / (double)sum : 0.0);
    cairn_buffer_done(&text);
}

/* Beside the live bytes, what is lost of them. */
static bool has_lost(const struct cli_heap_look *look, size_t table)
{
    return table == 0 && look->lost;
}

static void add_title(struct cairn_buffer *out, size_t table, const char *by, bool with_lost)
{
    cairn_buffer_printf(out, "\n%s, by the %s that allocated them%s\n", tables[table].title, by,
                        with_lost ? "; lost: what nothing points to, and what hangs on that" : "");
}

static void add_lost(struct cairn_buffer *out, uint64_t bytes)
{
    struct cairn_buffer text = {0};
    if (bytes) {
        cli_add_size(&text, bytes);
        cairn_buffer_str(&text, " lost");
    }
    cairn_buffer_printf(out, "%14s  ", cairn_buffer_text(&text));
    cairn_buffer_done(&text);
}

static void add_stacks(struct cairn_buffer *out, const struct cli_heap_look *look, struct row *rows,
                       size_t table, uint64_t n_shown)
{
    uint64_t sum;
    fill(rows, look, table, &sum);
    if (!sum)
        return;
    add_title(out, table, "stack", has_lost(look, table));
    for (size_t i = 0; i < look->n && (!n_shown || i < n_shown) && rows[i].value; i++) {
        add_head(out, rows[i].value, sum, tables[table].is_bytes);
        if (has_lost(look, table))
            add_lost(out, look->lost[rows[i].leak - look->leaks]);
        cli_heap_add_place(out, look->profile, rows[i].leak->stack);
        cairn_buffer_char(out, '\n');
    }
}

static bool find_value(const struct cairn_profile *profile, const char *name, size_t *ret_value)
{
    const struct cairn_value_type *types;
    size_t n = cairn_profile_value_types(profile, &types);
    for (size_t i = 0; i < n; i++)
        if (strcmp(types[i].type, name) == 0) {
            *ret_value = i;
            return true;
        }
    return false;
}

static void add_function(struct cairn_buffer *out, const struct cairn_top_row *row, int64_t sum,
                         bool is_bytes)
{
    add_head(out, (uint64_t)row->self, (uint64_t)sum, is_bytes);
    cairn_escape_terminal(out, row->function, strlen(row->function));
    if (*row->module) {
        cairn_buffer_str(out, "  ");
        cairn_escape_terminal(out, row->module, strlen(row->module));
    }
    cairn_buffer_char(out, '\n');
}

/* The functions that called an allocation function. */
static int add_functions(struct cairn_buffer *out, const struct cli_heap_look *look, size_t table,
                         uint64_t n_shown, struct cairn_err *err)
{
    struct cairn_top *top;
    const struct cairn_top_row *rows;
    size_t value;
    if (!find_value(look->profile, tables[table].value, &value))
        return CAIRN_OK;
    int result = cairn_profile_top(look->profile, value, &top, err);
    if (result < 0)
        return result;
    size_t n = cairn_top_rows(top, &rows);
    int64_t sum = cairn_top_sum(top);
    if (sum > 0)
        add_title(out, table, "function", false);
    for (size_t i = 0; sum > 0 && i < n && (!n_shown || i < n_shown) && rows[i].self > 0; i++)
        add_function(out, &rows[i], sum, tables[table].is_bytes);
    cairn_top_free(top);
    return CAIRN_OK;
}

int cli_heap_add_tables(struct cairn_buffer *out, const struct cli_heap_look *look,
                        uint64_t n_shown, bool by_function, struct cairn_err *err)
{
    struct row *rows = cairn_alloc(look->n + 1, sizeof *rows);
    int result = rows ? CAIRN_OK : cairn_fail_memory(err);
    for (size_t i = 0; result == CAIRN_OK && i < N_TABLES; i++) {
        if (by_function)
            result = add_functions(out, look, i, n_shown, err);
        else
            add_stacks(out, look, rows, i, n_shown);
    }
    cairn_free(rows);
    return result;
}

static void put_stacks(struct cairn_json *json, const struct cli_heap_look *look, struct row *rows,
                       size_t table, uint64_t n_shown)
{
    uint64_t sum;
    fill(rows, look, table, &sum);
    cairn_json_open(json, tables[table].name, '[');
    for (size_t i = 0; i < look->n && (!n_shown || i < n_shown) && rows[i].value; i++) {
        cairn_json_open(json, NULL, '{');
        cairn_json_u64(json, "value", rows[i].value);
        if (has_lost(look, table))
            cairn_json_u64(json, "lost_bytes", look->lost[rows[i].leak - look->leaks]);
        cli_heap_put_stack(json, look->profile, rows[i].leak->stack);
        cairn_json_close(json, '}');
    }
    cairn_json_close(json, ']');
}

int cli_heap_put_tables(struct cairn_json *json, const struct cli_heap_look *look, uint64_t n_shown,
                        struct cairn_err *err)
{
    struct row *rows = cairn_alloc(look->n + 1, sizeof *rows);
    if (!rows)
        return cairn_fail_memory(err);
    cairn_json_open(json, "top", '{');
    for (size_t i = 0; i < N_TABLES; i++)
        put_stacks(json, look, rows, i, n_shown);
    cairn_json_close(json, '}');
    cairn_free(rows);
    return CAIRN_OK;
}
