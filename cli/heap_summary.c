/* SPDX-License-Identifier: MIT */
/* What cairn heap run says at the end: shortly, for somebody waits. */
#include <stdio.h>

#include "cli/heap.h"
#include "cli/numbers.h"
#include "cli/term.h"

enum { QUALITY_BYTES = 4096, SUMMARY_TOP = 3 };

static void say_quality(const struct cairn_heap *heap, const struct cairn_profile *profile)
{
    char quality[QUALITY_BYTES];
    cairn_heap_quality_text(heap, profile, quality, sizeof quality);
    cli_say("%s", quality);
}

static void add_largest_row(struct cairn_buffer *out, const struct cairn_profile *profile,
                            const struct cairn_heap_leak *leak)
{
    cairn_buffer_str(out, "  ");
    cli_add_size(out, leak->bytes);
    cairn_buffer_str(out, " in ");
    cli_add_counted(out, leak->n_blocks, "block");
    cairn_buffer_str(out, ": ");
    cli_heap_add_place(out, profile, leak->stack);
    cairn_buffer_char(out, '\n');
}

/* Only what is shown is named: the command has just ended, and somebody waits. `least`: what the
 * last stack that is shown has. */
static int add_largest(struct cairn_buffer *out, struct cairn_heap *heap,
                       const struct cli_heap_names *names, uint64_t least, struct cairn_err *err)
{
    const struct cairn_heap_filter filter = {.size = sizeof filter, .min_bytes = least};
    struct cairn_profile *profile;
    struct cairn_heap_leak *leaks;
    size_t n;
    int result = cairn_heap_leaks(heap, &filter, &profile, &leaks, &n, err);
    if (result < 0)
        return result;
    result = cli_heap_name(names, 0, profile, err);
    for (size_t i = 0; result == CAIRN_OK && i < n && i < SUMMARY_TOP; i++)
        add_largest_row(out, profile, &leaks[i]);
    cairn_heap_leaks_free(leaks);
    cairn_profile_free(profile);
    return result;
}

int cli_heap_say_summary(struct cairn_heap *heap, const struct cli_heap_names *names,
                         struct cairn_err *err)
{
    struct cairn_heap_totals t = {.size = sizeof t};
    struct cairn_profile *profile = NULL;
    struct cairn_heap_leak *leaks = NULL;
    size_t n = 0;
    struct cairn_buffer out = {0};
    cairn_heap_totals(heap, &t);
    cairn_buffer_str(&out, "peak ");
    cli_add_size(&out, t.peak_bytes);
    cairn_buffer_str(&out, ", ");
    cli_add_size(&out, t.live_bytes);
    cairn_buffer_str(&out, " in ");
    cli_add_counted(&out, t.n_live, "block");
    cairn_buffer_str(&out, " live at the end, ");
    cli_add_counted(&out, t.n_allocs, "allocation");
    if (t.n_processes > 1) {
        cairn_buffer_str(&out, " in ");
        cli_add_count(&out, t.n_processes);
        cairn_buffer_str(&out, " processes");
    }
    cli_say("%s", cairn_buffer_text(&out));
    cairn_buffer_clear(&out);
    int result = cairn_heap_leaks(heap, NULL, &profile, &leaks, &n, err);
    uint64_t least = n ? leaks[n < SUMMARY_TOP ? n - 1 : SUMMARY_TOP - 1].bytes : 0;
    if (result == CAIRN_OK && least)
        result = add_largest(&out, heap, names, least, err);
    if (result == CAIRN_OK)
        fputs(cairn_buffer_text(&out), stderr);
    if (result == CAIRN_OK)
        say_quality(heap, profile);
    cairn_heap_leaks_free(leaks);
    cairn_profile_free(profile);
    cairn_buffer_done(&out);
    return result;
}
