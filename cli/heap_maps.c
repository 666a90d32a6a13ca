/* SPDX-License-Identifier: MIT */
/* What was mapped with --mmap and lives, apart from the blocks. */
#include "cli/heap.h"
#include "cli/numbers.h"

struct mapped {
    struct cairn_profile *profile; /* named */
    struct cairn_heap_leak *rows;
    size_t n;
};

static void done(struct mapped *mapped)
{
    cairn_heap_leaks_free(mapped->rows);
    cairn_profile_free(mapped->profile);
}

static int read_it(struct cairn_heap *heap, const struct cli_heap_names *names, int pid,
                   struct mapped *ret_mapped, struct cairn_err *err)
{
    struct mapped mapped = {0};
    int result = cairn_heap_mapped(heap, &mapped.profile, &mapped.rows, &mapped.n, err);
    if (result == CAIRN_OK)
        result = cairn_heap_merge_leaks(mapped.profile, mapped.rows, &mapped.n, err);
    if (result == CAIRN_OK && mapped.n)
        result = cli_heap_name(names, pid, mapped.profile, err);
    if (result < 0)
        done(&mapped);
    else
        *ret_mapped = mapped;
    return result;
}

static size_t least(size_t n, uint64_t n_shown)
{
    return n_shown && n_shown < n ? (size_t)n_shown : n;
}

static void add_sum(struct cairn_buffer *out, const struct cairn_heap *heap)
{
    struct cairn_heap_totals t = {.size = sizeof t};
    cairn_heap_totals(heap, &t);
    cairn_buffer_str(out, "\nmapped, beside the blocks: ");
    cli_add_size(out, t.mapped_bytes);
    cairn_buffer_str(out, " in ");
    cli_add_counted(out, t.n_mapped, "mapping");
    cairn_buffer_str(out, "; peak ");
    cli_add_size(out, t.peak_mapped_bytes);
    cairn_buffer_char(out, '\n');
}

static void add_row(struct cairn_buffer *out, const struct cairn_profile *profile,
                    const struct cairn_heap_leak *row)
{
    struct cairn_buffer size = {0};
    cli_add_size(&size, row->bytes);
    cairn_buffer_printf(out, "%12s  ", cairn_buffer_text(&size));
    cairn_buffer_done(&size);
    cli_add_counted(out, row->n_blocks, "mapping");
    cairn_buffer_printf(out, " (%s)  ", row->kind);
    cli_heap_add_place(out, profile, row->stack);
    cairn_buffer_char(out, '\n');
}

int cli_heap_add_maps(struct cairn_buffer *out, struct cairn_heap *heap,
                      const struct cli_heap_names *names, int pid, uint64_t n_shown,
                      struct cairn_err *err)
{
    struct mapped mapped;
    int result = read_it(heap, names, pid, &mapped, err);
    if (result < 0)
        return result;
    if (mapped.n)
        add_sum(out, heap);
    size_t n = least(mapped.n, n_shown);
    for (size_t i = 0; i < n; i++)
        add_row(out, mapped.profile, &mapped.rows[i]);
    if (n < mapped.n)
        cairn_buffer_printf(out, "and %zu more stacks\n", mapped.n - n);
    done(&mapped);
    return CAIRN_OK;
}

static void put_row(struct cairn_json *json, struct cairn_heap *heap,
                    const struct cairn_profile *profile, const struct cairn_heap_leak *row)
{
    cairn_json_open(json, NULL, '{');
    cairn_json_u64(json, "bytes", row->bytes);
    cairn_json_u64(json, "mappings", row->n_blocks);
    cairn_json_str(json, "kind", row->kind);
    cli_heap_put_origin(json, heap, row);
    cli_heap_put_stack(json, profile, row->stack);
    cairn_json_close(json, '}');
}

int cli_heap_put_maps(struct cairn_json *json, struct cairn_heap *heap,
                      const struct cli_heap_names *names, int pid, uint64_t n_shown,
                      struct cairn_err *err)
{
    struct cairn_heap_totals t = {.size = sizeof t};
    struct mapped mapped;
    int result = read_it(heap, names, pid, &mapped, err);
    if (result < 0)
        return result;
    cairn_heap_totals(heap, &t);
    cairn_json_u64(json, "mappings", t.n_mapped);
    cairn_json_u64(json, "mapped_bytes", t.mapped_bytes);
    cairn_json_u64(json, "peak_mapped_bytes", t.peak_mapped_bytes);
    cairn_json_open(json, "mapped", '[');
    for (size_t i = 0; i < least(mapped.n, n_shown); i++)
        put_row(json, heap, mapped.profile, &mapped.rows[i]);
    cairn_json_close(json, ']');
    done(&mapped);
    return CAIRN_OK;
}
