/* SPDX-License-Identifier: MIT */
/* What cairn heap run says at the end: shortly, for somebody waits. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
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

/* The largest of all stacks, and what they have in the process that has most of it. */
struct largest {
    struct cairn_heap_leak leaks[SUMMARY_TOP];
    uint32_t keys[SUMMARY_TOP];
    size_t n;
    uint64_t least; /* bytes, of the parts in those processes */
};

static int find_largest(struct cairn_heap_keys *keys, const struct cairn_profile *profile,
                        struct cairn_heap_leak *leaks, size_t n, struct largest *ret_largest,
                        struct cairn_err *err)
{
    struct largest largest = {.least = UINT64_MAX};
    int result = cairn_heap_merge_leaks(profile, leaks, &n, err);
    for (; largest.n < n && largest.n < SUMMARY_TOP && leaks[largest.n].bytes; largest.n++) {
        const struct cairn_heap_leak *leak = &leaks[largest.n];
        uint64_t part = leak->bytes / leak->n_processes; /* it has no less than its share */
        largest.leaks[largest.n] = *leak;
        largest.least = part < largest.least ? part : largest.least;
    }
    if (result == CAIRN_OK)
        result = cairn_heap_keys_of(keys, profile, largest.leaks, largest.n, largest.keys, err);
    *ret_largest = largest;
    return result;
}

/* The sums are of all, the names out of a profile that has the largest parts alone. */
static int add_rows(struct cairn_buffer *out, struct cairn_heap_keys *keys,
                    const struct cairn_profile *profile, const struct cairn_heap_leak *leaks,
                    size_t n, struct largest *largest, struct cairn_err *err)
{
    uint32_t *found = cairn_alloc(n + 1, sizeof *found);
    int result =
        found ? cairn_heap_keys_of(keys, profile, leaks, n, found, err) : cairn_fail_memory(err);
    for (size_t i = 0; result == CAIRN_OK && i < largest->n; i++)
        for (size_t k = 0; k < n; k++)
            if (found[k] == largest->keys[i]) {
                largest->leaks[i].stack = leaks[k].stack;
                add_largest_row(out, profile, &largest->leaks[i]);
                break;
            }
    cairn_free(found);
    return result;
}

/* Only what is shown is named: the command has just ended, and somebody waits. */
static int add_largest(struct cairn_buffer *out, struct cairn_heap *heap,
                       struct cairn_heap_keys *keys, struct largest *largest,
                       const struct cli_heap_names *names, struct cairn_err *err)
{
    const struct cairn_heap_filter filter = {.size = sizeof filter, .min_bytes = largest->least};
    struct cairn_profile *profile;
    struct cairn_heap_leak *leaks;
    size_t n;
    if (largest->n == 0)
        return CAIRN_OK;
    int result = cairn_heap_leaks(heap, &filter, &profile, &leaks, &n, err);
    if (result < 0)
        return result;
    result = cli_heap_name(names, 0, profile, err);
    if (result == CAIRN_OK)
        result = add_rows(out, keys, profile, leaks, n, largest, err);
    cairn_heap_leaks_free(leaks);
    cairn_profile_free(profile);
    return result;
}

static int add_stacks(struct cairn_buffer *out, struct cairn_heap *heap,
                      const struct cairn_profile *profile, struct cairn_heap_leak *leaks, size_t n,
                      const struct cli_heap_names *names, struct cairn_err *err)
{
    struct largest largest;
    struct cairn_heap_keys *keys;
    int result = cairn_heap_keys_new(NULL, 0, &keys, err);
    if (result < 0)
        return result;
    result = find_largest(keys, profile, leaks, n, &largest, err);
    if (result == CAIRN_OK)
        result = add_largest(out, heap, keys, &largest, names, err);
    cairn_heap_keys_free(keys);
    return result;
}

static void add_note(struct cairn_buffer *out, bool *has_notes)
{
    cairn_buffer_str(out, *has_notes ? ", " : " (");
    *has_notes = true;
}

void cli_heap_add_peak(struct cairn_buffer *out, const struct cairn_heap_totals *t)
{
    enum { SMALL_PART = 100 };
    bool has_notes = false;
    cli_add_size(out, t->peak_bytes);
    if (t->n_processes > 1) { /* each had its own at another time */
        add_note(out, &has_notes);
        cairn_buffer_str(out, "the sum of each process's peak");
    }
    if (t->peak_bound_bytes > t->peak_bytes / SMALL_PART) {
        add_note(out, &has_notes);
        cairn_buffer_str(out, "right to ");
        cli_add_size(out, t->peak_bound_bytes);
    }
    if (has_notes)
        cairn_buffer_char(out, ')');
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
    cli_heap_add_peak(&out, &t);
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
    if (t.n_running)
        cli_say("%llu of the processes still run%s: what is shown of them is of this moment",
                (unsigned long long)t.n_running, t.n_running == 1 ? "s" : "");
    int result = cairn_heap_leaks(heap, NULL, &profile, &leaks, &n, err);
    if (result == CAIRN_OK)
        result = add_stacks(&out, heap, profile, leaks, n, names, err);
    if (result == CAIRN_OK)
        fputs(cairn_buffer_text(&out), stderr);
    if (result == CAIRN_OK)
        say_quality(heap, profile);
    cairn_heap_leaks_free(leaks);
    cairn_profile_free(profile);
    cairn_buffer_done(&out);
    return result;
}
