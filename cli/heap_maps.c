/* SPDX-License-Identifier: MIT */
/* What was mapped with --mmap and lives, apart from the blocks. */
#include "cli/heap.h"
#include "cli/numbers.h"

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
    struct cairn_heap_totals t = {.size = sizeof t};
    struct cairn_profile *profile;
    struct cairn_heap_leak *rows;
    size_t n;
    int result = cairn_heap_mapped(heap, &profile, &rows, &n, err);
    if (result < 0)
        return result;
    if (n) {
        result = cli_heap_name(names, pid, profile, err);
        cairn_heap_totals(heap, &t);
        cairn_buffer_str(out, "\nmapped, beside the blocks: ");
        cli_add_size(out, t.mapped_bytes);
        cairn_buffer_str(out, " in ");
        cli_add_counted(out, t.n_mapped, "mapping");
        cairn_buffer_str(out, "; peak ");
        cli_add_size(out, t.peak_mapped_bytes);
        cairn_buffer_char(out, '\n');
    }
    for (size_t i = 0; result == CAIRN_OK && i < n && i < n_shown; i++)
        add_row(out, profile, &rows[i]);
    if (n > n_shown)
        cairn_buffer_printf(out, "and %zu more stacks\n", (size_t)(n - n_shown));
    cairn_heap_leaks_free(rows);
    cairn_profile_free(profile);
    return result;
}
