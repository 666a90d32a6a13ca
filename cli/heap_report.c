/* SPDX-License-Identifier: MIT */
/* cairn heap report: sums, the largest stacks by each value, what cannot be trusted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/escape.h"
#include "base/json.h"
#include "cli/heap.h"
#include "cli/numbers.h"
#include "cli/term.h"

enum { QUALITY_BYTES = 4096, TOP_DEFAULT = 10, SUMMARY_TOP = 3 };

enum option { OPTION_TOP, OPTION_JSON, OPTION_NAMES };

static const struct cli_option options[] = {
    [OPTION_TOP] = {"top", 'n', "N", "print at most N functions of each table (default: 10)"},
    [OPTION_JSON] = {"json", 0, NULL, "print one JSON object, numbers uncut"},
    CLI_HEAP_NAME_ROWS(OPTION_NAMES),
    {0},
};

/* The tables of a report, by the name of the value. */
static const struct {
    const char *value, *title;
    bool is_bytes;
} tables[] = {
    {"inuse_space", "live bytes", true},
    {"peak_space", "bytes when the most were live", true},
    {"alloc_space", "bytes allocated in all", true},
    {"alloc_objects", "blocks allocated in all", false},
    {"temporary_objects", "temporary blocks: freed before the next one was allocated", false},
};
enum { N_TABLES = sizeof tables / sizeof *tables };

static void add_value(struct cairn_buffer *out, int64_t value, bool is_bytes)
{
    struct cairn_buffer text = {0};
    if (is_bytes)
        cli_add_size(&text, (uint64_t)value);
    else
        cli_add_count(&text, (uint64_t)value);
    cairn_buffer_printf(out, "%12s", cairn_buffer_text(&text));
    cairn_buffer_done(&text);
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

static void add_row(struct cairn_buffer *out, const struct cairn_top_row *row, int64_t sum,
                    bool is_bytes)
{
    add_value(out, row->self, is_bytes);
    cairn_buffer_printf(out, " %5.1f %%  ", sum ? 100.0 * (double)row->self / (double)sum : 0.0);
    cairn_escape_terminal(out, row->function, strlen(row->function));
    if (*row->module) {
        cairn_buffer_str(out, "  ");
        cairn_escape_terminal(out, row->module, strlen(row->module));
    }
    cairn_buffer_char(out, '\n');
}

/* The functions that called an allocation function, by what they have of a value. */
static int add_table(struct cairn_buffer *out, const struct cairn_profile *profile, size_t table,
                     uint64_t n_shown, struct cairn_err *err)
{
    struct cairn_top *top;
    const struct cairn_top_row *rows;
    size_t value;
    if (!find_value(profile, tables[table].value, &value))
        return CAIRN_OK;
    int result = cairn_profile_top(profile, value, &top, err);
    if (result < 0)
        return result;
    size_t n = cairn_top_rows(top, &rows);
    int64_t sum = cairn_top_sum(top);
    if (sum > 0) {
        cairn_buffer_printf(out, "\n%s, by the function that allocated them\n",
                            tables[table].title);
        for (size_t i = 0; i < n && i < n_shown && rows[i].self > 0; i++)
            add_row(out, &rows[i], sum, tables[table].is_bytes);
    }
    cairn_top_free(top);
    return CAIRN_OK;
}

static void add_sums(struct cairn_buffer *out, const struct cairn_heap_totals *t)
{
    cli_add_counted(out, t->n_allocs, "allocation");
    cairn_buffer_str(out, ", ");
    cli_add_size(out, t->alloc_bytes);
    if (t->duration_ns >= 1000000000) {
        cairn_buffer_str(out, ", ");
        cli_add_count(out, (uint64_t)((double)t->n_allocs / ((double)t->duration_ns / 1e9)));
        cairn_buffer_str(out, " a second over ");
        cli_add_duration(out, t->duration_ns);
    }
    cairn_buffer_str(out, "\nlive: ");
    cli_add_size(out, t->live_bytes);
    cairn_buffer_str(out, " in ");
    cli_add_counted(out, t->n_live, "block");
    cairn_buffer_str(out, "; peak ");
    cli_add_size(out, t->peak_bytes);
    cairn_buffer_str(out, "; ");
    cli_add_counted(out, t->n_temporary, "temporary block");
    cairn_buffer_str(out, "; ");
    cli_add_counted(out, t->n_threads, "thread");
    cairn_buffer_char(out, '\n');
}

static void add_processes(struct cairn_buffer *out, const struct cairn_heap *heap)
{
    struct cairn_heap_process p = {.size = sizeof p};
    for (size_t i = 0; cairn_heap_process(heap, i, &p); i++) {
        cairn_buffer_printf(out, "process %d: ", p.pid);
        cairn_escape_terminal(out, p.command, strlen(p.command));
        cairn_buffer_str(out, ": ");
        cli_add_size(out, p.live_bytes);
        cairn_buffer_str(out, " live, peak ");
        cli_add_size(out, p.peak_bytes);
        cairn_buffer_char(out, '\n');
    }
}

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

struct job {
    struct cli_args *args;
    const char *input;
    uint64_t n_shown;
    bool json;
    int pid;
    struct cli_heap_names names;
    struct cairn_heap *heap;
    struct cairn_profile *profile;
};

static bool take_option(struct job *job, int option, const char *value)
{
    switch (option) {
    case OPTION_TOP:
        return cli_args_u64(job->args, "top", value, &job->n_shown);
    case OPTION_JSON:
        job->json = true;
        return true;
    default:
        return cli_heap_take_name(job->args, option - OPTION_NAMES, value, &job->names);
    }
}

static bool parse(struct job *job)
{
    const char *value;
    int option;
    while ((option = cli_args_next(job->args, &value)) >= 0)
        if (!take_option(job, option, value))
            return false;
    job->input = option == CLI_ARGS_WRONG ? NULL : cli_heap_input(job->args);
    return job->input != NULL;
}

static void add_json(struct job *job, struct cairn_buffer *out)
{
    struct cairn_heap_totals t = {.size = sizeof t};
    struct cairn_heap_process p = {.size = sizeof p};
    struct cairn_json json = {.out = out};
    cairn_heap_totals(job->heap, &t);
    cairn_json_open(&json, NULL, '{');
    cairn_json_u64(&json, "allocations", t.n_allocs);
    cairn_json_u64(&json, "allocated_bytes", t.alloc_bytes);
    cairn_json_u64(&json, "frees", t.n_frees);
    cairn_json_u64(&json, "freed_bytes", t.free_bytes);
    cairn_json_u64(&json, "live_blocks", t.n_live);
    cairn_json_u64(&json, "live_bytes", t.live_bytes);
    cairn_json_u64(&json, "peak_bytes", t.peak_bytes);
    cairn_json_u64(&json, "temporary_blocks", t.n_temporary);
    cairn_json_u64(&json, "mappings", t.n_mapped);
    cairn_json_u64(&json, "mapped_bytes", t.mapped_bytes);
    cairn_json_u64(&json, "stacks", t.n_stacks);
    cairn_json_u64(&json, "threads", t.n_threads);
    cairn_json_u64(&json, "duration_ns", t.duration_ns);
    cairn_json_u64(&json, "not_recorded_blocks", t.n_unrecorded);
    cairn_json_u64(&json, "without_stack_blocks", t.n_without_stack);
    cairn_json_u64(&json, "unknown_frees", t.n_unknown_frees);
    cairn_json_u64(&json, "inherited_frees", t.n_inherited_frees);
    cairn_json_u64(&json, "mismatched_frees", t.n_mismatched);
    cairn_json_u64(&json, "damaged_entries", t.n_damaged);
    cairn_json_open(&json, "processes", '[');
    for (size_t i = 0; cairn_heap_process(job->heap, i, &p); i++) {
        cairn_json_open(&json, NULL, '{');
        cairn_json_i64(&json, "pid", p.pid);
        cairn_json_i64(&json, "parent", p.parent);
        cairn_json_str(&json, "command", p.command);
        cairn_json_u64(&json, "live_bytes", p.live_bytes);
        cairn_json_u64(&json, "peak_bytes", p.peak_bytes);
        cairn_json_close(&json, '}');
    }
    cairn_json_close(&json, ']');
    cairn_json_close(&json, '}');
}

static int add_text(struct job *job, struct cairn_buffer *out, struct cairn_err *err)
{
    struct cairn_heap_totals t = {.size = sizeof t};
    int result = CAIRN_OK;
    cairn_heap_totals(job->heap, &t);
    add_processes(out, job->heap);
    add_sums(out, &t);
    for (size_t i = 0; result == CAIRN_OK && i < N_TABLES; i++)
        result = add_table(out, job->profile, i, job->n_shown ? job->n_shown : UINT64_MAX, err);
    if (result == CAIRN_OK)
        result = cli_heap_add_maps(out, job->heap, &job->names, job->pid,
                                   job->n_shown ? job->n_shown : UINT64_MAX, err);
    return result;
}

static int work(struct job *job, struct cairn_err *err)
{
    struct cairn_buffer out = {0};
    int result = cli_heap_read(job->input, &job->heap, &job->pid, err);
    if (result == CAIRN_OK)
        result = cairn_heap_profile(job->heap, NULL, &job->profile, err);
    if (result == CAIRN_OK && !job->json)
        result = cli_heap_name(&job->names, job->pid, job->profile, err);
    if (result == CAIRN_OK && job->json)
        add_json(job, &out);
    else if (result == CAIRN_OK)
        result = add_text(job, &out, err);
    if (result == CAIRN_OK && out.failed)
        result = cairn_fail_memory(err);
    if (result == CAIRN_OK)
        fwrite(out.data, 1, out.size, stdout);
    cairn_buffer_done(&out);
    if (result == CAIRN_OK && !job->json) {
        fflush(stdout);
        say_quality(job->heap, job->profile);
    }
    return result;
}

static int run(struct cli_args *args)
{
    struct job job = {.args = args, .n_shown = TOP_DEFAULT};
    struct cairn_err err = {0};
    int status = CLI_USAGE;
    cli_way_init(&job.names.symbols);
    if (parse(&job)) {
        cli_log_open(job.names.verbosity);
        status = work(&job, &err) < 0 ? cli_report(&err) : CLI_OK;
    }
    cairn_profile_free(job.profile);
    cairn_heap_free(job.heap);
    cli_list_done(&job.names.symbol_dirs);
    return status;
}

const struct cli_command cli_heap_report = {
    .name = "heap report",
    .summary = "sums, and who allocated most",
    .usage = (const char *const[]){"heap report [OPTION...] PID|FILE", NULL},
    .options = options,
    .run = run,
};
