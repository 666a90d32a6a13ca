/* SPDX-License-Identifier: MIT */
/* cairn heap report: sums, the line over time, who has most of each value, what cannot be trusted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/escape.h"
#include "base/json.h"
#include "cli/heap_lost.h"
#include "cli/numbers.h"
#include "cli/term.h"

enum { TOP_DEFAULT = 10, TIMELINES = 3 };

enum option { OPTION_TOP, OPTION_BY, OPTION_LOST, OPTION_JSON, OPTION_NAMES };

static const struct cli_option options[] = {
    [OPTION_TOP] = {"top", 'n', "N", "print at most N rows of each table, 0 for all (default: 10)"},
    [OPTION_BY] = {"by", 0, "WHAT",
                   "what rows are: stack (default), or function: all that one allocated"},
    [OPTION_LOST] = {"lost", 0, NULL,
                     "say beside the live bytes of a process which of them nothing points to"},
    [OPTION_JSON] = {"json", 0, NULL, "print one JSON object, numbers and names uncut"},
    CLI_HEAP_NAME_ROWS(OPTION_NAMES),
    {0},
};

struct job {
    struct cli_args *args;
    const char *input;
    uint64_t n_shown; /* 0: all */
    int by_function;
    bool json, wants_lost;
    struct cli_heap_wanted wanted;
    struct cli_heap_look look;
    struct cairn_heap_lost lost;
};

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
    cli_heap_add_peak(out, t);
    cairn_buffer_str(out, "; ");
    cli_add_counted(out, t->n_temporary, "temporary block");
    cairn_buffer_str(out, "; ");
    cli_add_counted(out, t->n_threads, "thread");
    cairn_buffer_char(out, '\n');
}

static void add_process(struct cairn_buffer *out, const struct cairn_heap_process *p)
{
    cairn_buffer_printf(out, "process %d: ", p->pid);
    cairn_escape_terminal(out, p->command, strlen(p->command));
}

static void add_process_sums(struct cairn_buffer *out, const struct cairn_heap_process *p)
{
    add_process(out, p);
    cairn_buffer_str(out, ": ");
    cli_add_size(out, p->live_bytes);
    cairn_buffer_str(out, " live, peak ");
    cli_add_size(out, p->peak_bytes);
    cairn_buffer_char(out, '\n');
}

/* Processes by what they hold. */
struct ranking {
    struct ranked {
        uint64_t live_bytes, peak_bytes;
        size_t number;
    } * items;
    size_t n;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->live_bytes != y->live_bytes)
        return x->live_bytes > y->live_bytes ? -1 : 1;
    if (x->peak_bytes != y->peak_bytes)
        return x->peak_bytes > y->peak_bytes ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static int rank(const struct cairn_heap *heap, struct ranking *ret_ranking, struct cairn_err *err)
{
    struct cairn_heap_process p = {.size = sizeof p};
    struct ranking ranking = {0};
    while (cairn_heap_process(heap, ranking.n, &p))
        ranking.n++;
    ranking.items = cairn_alloc(ranking.n + 1, sizeof *ranking.items);
    if (!ranking.items)
        return cairn_fail_memory(err);
    for (size_t i = 0; i < ranking.n && cairn_heap_process(heap, i, &p); i++)
        ranking.items[i] = (struct ranked){p.live_bytes, p.peak_bytes, i};
    qsort(ranking.items, ranking.n, sizeof *ranking.items, compare_ranked);
    *ret_ranking = ranking;
    return CAIRN_OK;
}

static void add_processes(struct cairn_buffer *out, const struct cairn_heap *heap,
                          const struct ranking *ranking, uint64_t n_shown)
{
    struct cairn_heap_process p = {.size = sizeof p};
    size_t n = n_shown && n_shown < ranking->n ? (size_t)n_shown : ranking->n;
    for (size_t i = 0; i < n; i++)
        if (cairn_heap_process(heap, ranking->items[i].number, &p))
            add_process_sums(out, &p);
    if (n == ranking->n)
        return;
    cairn_buffer_str(out, "and ");
    cli_add_count(out, ranking->n - n);
    cairn_buffer_printf(out, " more process%s: --top 0 prints all\n",
                        ranking->n - n == 1 ? "" : "es");
}

/* Of several, those with most. */
static void add_timelines(struct cairn_buffer *out, const struct cairn_heap *heap,
                          const struct ranking *ranking)
{
    struct cairn_heap_process p = {.size = sizeof p};
    for (size_t i = 0; i < ranking->n && i < TIMELINES; i++) {
        struct cairn_buffer lines = {0};
        cli_heap_add_timeline(&lines, heap, ranking->items[i].number);
        if (lines.size && ranking->n > 1 &&
            cairn_heap_process(heap, ranking->items[i].number, &p)) {
            cairn_buffer_char(out, '\n');
            add_process(out, &p);
        }
        cairn_buffer_add(out, cairn_buffer_text(&lines), lines.size);
        cairn_buffer_done(&lines);
    }
}

static bool take_option(struct job *job, int option, const char *value)
{
    switch (option) {
    case OPTION_TOP:
        return cli_args_u64(job->args, "top", value, &job->n_shown);
    case OPTION_BY:
        return cli_args_word(job->args, "by", value,
                             (const char *const[]){"stack", "function", NULL}, &job->by_function);
    case OPTION_LOST:
        job->wants_lost = true;
        return true;
    case OPTION_JSON:
        job->json = true;
        return true;
    default:
        return cli_heap_take_name(job->args, option - OPTION_NAMES, value, &job->wanted.names);
    }
}

static bool parse(struct job *job)
{
    const char *value;
    int option;
    while ((option = cli_args_next(job->args, &value)) >= 0)
        if (!take_option(job, option, value))
            return false;
    if (option != CLI_ARGS_WRONG && job->wants_lost && job->by_function) {
        cli_args_wrong(job->args, "--lost is known by stack, not by function: leave one out");
        return false;
    }
    job->input = option == CLI_ARGS_WRONG ? NULL : cli_heap_input(job->args);
    return job->input != NULL;
}

static int add_json(struct job *job, struct cairn_buffer *out, struct cairn_err *err)
{
    struct cairn_heap_totals t = {.size = sizeof t};
    struct cairn_heap_process p = {.size = sizeof p};
    struct cairn_json json = {.out = out};
    cairn_heap_totals(job->look.heap, &t);
    cairn_json_open(&json, NULL, '{');
    cairn_json_u64(&json, "allocations", t.n_allocs);
    cairn_json_u64(&json, "allocated_bytes", t.alloc_bytes);
    cairn_json_u64(&json, "frees", t.n_frees);
    cairn_json_u64(&json, "freed_bytes", t.free_bytes);
    cairn_json_u64(&json, "live_blocks", t.n_live);
    cairn_json_u64(&json, "live_bytes", t.live_bytes);
    cairn_json_u64(&json, "peak_bytes", t.peak_bytes);
    cairn_json_u64(&json, "peak_bound_bytes", t.peak_bound_bytes);
    cairn_json_u64(&json, "processes_apart", t.n_apart);
    cairn_json_u64(&json, "processes_other_names", t.n_other_names);
    cairn_json_u64(&json, "processes_late", t.n_late);
    cairn_json_u64(&json, "processes_late_known", t.n_late_known);
    cairn_json_u64(&json, "older_blocks", t.n_older);
    cairn_json_u64(&json, "older_bytes", t.older_bytes);
    cairn_json_u64(&json, "older_unread_bytes", t.older_unread_bytes);
    cairn_json_u64(&json, "processes_chosen", t.n_chosen);
    cairn_json_u64(&json, "processes_paused", t.n_paused);
    cairn_json_u64(&json, "untracked_programs", t.n_untracked);
    cairn_json_u64(&json, "temporary_blocks", t.n_temporary);
    cairn_json_u64(&json, "stacks", t.n_stacks);
    cairn_json_u64(&json, "threads", t.n_threads);
    cairn_json_u64(&json, "duration_ns", t.duration_ns);
    cairn_json_u64(&json, "not_recorded_blocks", t.n_unrecorded);
    cairn_json_u64(&json, "without_stack_blocks", t.n_without_stack);
    cairn_json_u64(&json, "unknown_frees", t.n_unknown_frees);
    cairn_json_u64(&json, "inherited_frees", t.n_inherited_frees);
    cairn_json_u64(&json, "mismatched_frees", t.n_mismatched);
    cairn_json_u64(&json, "damaged_entries", t.n_damaged);
    cairn_json_u64(&json, "unmade_checks", t.n_unmade_checks);
    cairn_json_u64(&json, "running_processes", t.n_running);
    cairn_json_u64(&json, "changed_entries", t.n_changed);
    cairn_json_open(&json, "processes", '[');
    for (size_t i = 0; cairn_heap_process(job->look.heap, i, &p); i++) {
        cairn_json_open(&json, NULL, '{');
        cairn_json_i64(&json, "pid", p.pid);
        cairn_json_i64(&json, "parent", p.parent);
        cairn_json_str(&json, "command", p.command);
        cairn_json_u64(&json, "live_bytes", p.live_bytes);
        cairn_json_u64(&json, "peak_bytes", p.peak_bytes);
        cli_heap_put_timeline(&json, job->look.heap, i);
        cairn_json_close(&json, '}');
    }
    cairn_json_close(&json, ']');
    if (job->wants_lost)
        cli_lost_put_sums(&json, &job->lost);
    int result = cli_heap_put_tables(&json, &job->look, job->n_shown, err);
    if (result == CAIRN_OK)
        result = cli_heap_put_maps(&json, job->look.heap, &job->wanted.names, job->look.pid,
                                   job->n_shown, err);
    cairn_json_close(&json, '}');
    return result;
}

/* "3,604 processes" */
static void add_all(struct cairn_buffer *out, const struct cairn_heap_totals *t)
{
    cli_add_count(out, t->n_processes);
    cairn_buffer_str(out, " processes: ");
}

static int add_text(struct job *job, struct cairn_buffer *out, struct cairn_err *err)
{
    struct cairn_heap_totals t = {.size = sizeof t};
    struct ranking ranking = {0};
    int result = rank(job->look.heap, &ranking, err);
    if (result < 0)
        return result;
    cairn_heap_totals(job->look.heap, &t);
    if (ranking.n == 1)
        add_processes(out, job->look.heap, &ranking, 0);
    else
        add_all(out, &t);
    add_sums(out, &t);
    if (ranking.n > 1)
        add_processes(out, job->look.heap, &ranking, job->n_shown);
    if (job->wants_lost)
        cli_lost_add_sums(out, &job->lost);
    add_timelines(out, job->look.heap, &ranking);
    cairn_free(ranking.items);
    result = cli_heap_add_tables(out, &job->look, job->n_shown, job->by_function, err);
    return result < 0 ? result
                      : cli_heap_add_maps(out, job->look.heap, &job->wanted.names, job->look.pid,
                                          job->n_shown, err);
}

static int work(struct job *job, struct cairn_err *err)
{
    struct cairn_buffer out = {0};
    int result = cli_heap_look(&job->wanted, job->input, &job->look, err);
    if (result == CAIRN_OK && job->wants_lost)
        result = cli_heap_report_lost(&job->wanted, &job->look, &job->lost, err);
    if (result == CAIRN_OK)
        result = job->json ? add_json(job, &out, err) : add_text(job, &out, err);
    if (result == CAIRN_OK && out.failed)
        result = cairn_fail_memory(err);
    if (result == CAIRN_OK)
        fwrite(out.data, 1, out.size, stdout);
    cairn_buffer_done(&out);
    if (result == CAIRN_OK && !job->json) {
        fflush(stdout);
        if (job->wants_lost)
            cli_lost_say(&job->lost, false);
        cli_heap_say_quality(&job->look, NULL);
    }
    return result;
}

static int run(struct cli_args *args)
{
    struct job job = {.args = args,
                      .n_shown = TOP_DEFAULT,
                      .wanted = {.filter = {.size = sizeof job.wanted.filter, .all_stacks = 1}}};
    struct cairn_err err = {0};
    int status = CLI_USAGE;
    cli_way_init(&job.wanted.names.symbols);
    if (parse(&job)) {
        cli_log_open(job.wanted.names.verbosity);
        status = work(&job, &err) < 0 ? cli_report(&err) : CLI_OK;
    }
    cairn_heap_lost_done(&job.lost);
    cli_heap_look_done(&job.look);
    cli_heap_wanted_done(&job.wanted);
    return status;
}

const struct cli_command cli_heap_report = {
    .name = "heap report",
    .summary = "sums, and who allocated most",
    .usage = (const char *const[]){"heap report [OPTION...] PID|NAME|FILE", NULL},
    .options = options,
    .run = run,
    .remote = CLI_REMOTE_TEXT,
};
