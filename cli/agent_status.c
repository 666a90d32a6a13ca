/* SPDX-License-Identifier: MIT */
/* cairn agent status: what the state file of an agent says, for people. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/file.h"
#include "cli/agent.h"
#include "cli/numbers.h"
#include "cli/term.h"

enum { STATE_BYTES_MAX = 1 << 16 };

enum { OPT_RUN_FOLDER, OPT_METRICS };

static const struct cli_option options[] = {
    [OPT_RUN_FOLDER] = {"run-dir", 0, "FOLDER",
                        "where the agent writes agent.prom (as cairn agent run has it)"},
    [OPT_METRICS] = {"metrics", 0, NULL, "print agent.prom as it is"},
    {0},
};

struct state {
    const char *text;
    struct cairn_buffer out;
};

/* 0 where it is not there. */
static double value_of(const struct state *s, const char *name)
{
    char mark[80];
    snprintf(mark, sizeof mark, "\ncairn_agent_%s ", name);
    const char *at = strstr(s->text, mark);
    return at ? strtod(at + strlen(mark), NULL) : 0;
}

static uint64_t count_of(const struct state *s, const char *name)
{
    double value = value_of(s, name);
    return value > 0 && value < 1e18 ? (uint64_t)value : 0;
}

/* The text of a label of the line with such, without its escapes; harmless for a terminal. */
static void add_text(struct state *s, const char *key)
{
    char mark[40];
    struct cairn_buffer raw = {0};
    snprintf(mark, sizeof mark, "%s=\"", key);
    const char *line = strstr(s->text, "cairn_agent_info{");
    const char *at = line ? strstr(line, mark) : NULL;
    for (at = at ? at + strlen(mark) : ""; *at && *at != '"' && *at != '\n'; at++) {
        at += *at == '\\' && at[1];
        cairn_buffer_char(&raw, *at);
    }
    cairn_escape_terminal(&s->out, cairn_buffer_text(&raw), raw.size);
    cairn_buffer_done(&raw);
}

static void add_head(struct state *s, const char *head)
{
    cairn_buffer_printf(&s->out, "%-10s", head);
}

static uint64_t ns_since(double seconds)
{
    double now = (double)cairn_clock_ns(CLOCK_REALTIME) / 1e9;
    return now > seconds ? (uint64_t)((now - seconds) * 1e9) : 0;
}

static int pid_of(const struct state *s)
{
    const char *at = strstr(s->text, "pid=\"");
    int pid = at ? atoi(at + 5) : 0;
    return pid > 0 && (kill(pid, 0) == 0 || errno == EPERM) ? pid : 0;
}

static void add_sampling(struct state *s)
{
    double hz = value_of(s, "frequency_hz"), wanted = value_of(s, "frequency_wanted_hz");
    add_head(s, "sampling");
    if (hz == 0)
        cairn_buffer_printf(&s->out, "paused (wanted: %g Hz)", wanted);
    else if (hz < wanted)
        cairn_buffer_printf(&s->out, "%g Hz, to keep the budget (wanted: %g Hz)", hz, wanted);
    else
        cairn_buffer_printf(&s->out, "%g Hz", hz);
    cairn_buffer_str(&s->out, ", ");
    cli_add_counted(&s->out, count_of(s, "samples_total"), "sample");
    cairn_buffer_str(&s->out, ", ");
    cli_add_count(&s->out, count_of(s, "samples_lost_total"));
    cairn_buffer_str(&s->out, " lost\n");
}

static void add_windows(struct state *s)
{
    add_head(s, "windows");
    cli_add_count(&s->out, count_of(s, "windows_total"));
    cairn_buffer_str(&s->out, " written, ");
    cli_add_count(&s->out, count_of(s, "windows_paused_total"));
    cairn_buffer_str(&s->out, " paused, ");
    cli_add_count(&s->out,
                  count_of(s, "windows_dropped_total") + count_of(s, "windows_failed_total"));
    cairn_buffer_str(&s->out, " lost, ");
    cli_add_count(&s->out, count_of(s, "windows_held"));
    cairn_buffer_str(&s->out, " in memory; the last one ended ");
    cli_add_duration(&s->out, ns_since(value_of(s, "last_window_time_seconds")));
    cairn_buffer_str(&s->out, " ago\n");
    if (value_of(s, "missing_seconds") > 0) {
        add_head(s, "");
        cairn_buffer_printf(&s->out, "an agent before this one was killed: %.1f s are missing\n",
                            value_of(s, "missing_seconds"));
    }
}

static void add_folder(struct state *s)
{
    add_head(s, "folder");
    add_text(s, "folder");
    cairn_buffer_str(&s->out, ", ");
    cli_add_size(&s->out, count_of(s, "spool_bytes"));
    cairn_buffer_str(&s->out, "; ");
    cli_add_count(&s->out, count_of(s, "windows_removed_total"));
    cairn_buffer_str(&s->out, " removed, ");
    cli_add_count(&s->out, count_of(s, "windows_removed_unsent_total"));
    cairn_buffer_str(&s->out, " of them unsent\n");
}

static void add_store(struct state *s)
{
    if (value_of(s, "store") == 0)
        return;
    add_head(s, "store");
    cli_add_count(&s->out, count_of(s, "sent_total"));
    cairn_buffer_str(&s->out, " sent (");
    cli_add_size(&s->out, count_of(s, "sent_bytes_total"));
    cairn_buffer_str(&s->out, "), ");
    cli_add_count(&s->out, count_of(s, "waiting"));
    cairn_buffer_str(&s->out, " waiting, ");
    cli_add_count(&s->out, count_of(s, "sent_doubtful_total"));
    cairn_buffer_str(&s->out, " in doubt, ");
    cli_add_count(&s->out, count_of(s, "refused_total"));
    cairn_buffer_str(&s->out, " refused, ");
    cli_add_counted(&s->out, count_of(s, "send_failures_total"), "failed attempt");
    if (value_of(s, "send_pause_seconds") > 0)
        cairn_buffer_printf(&s->out, "; the next attempt within %.0f s",
                            value_of(s, "send_pause_seconds"));
    cairn_buffer_char(&s->out, '\n');
}

static void add_cost(struct state *s)
{
    double up = (double)ns_since(value_of(s, "start_time_seconds")) / 1e9;
    add_head(s, "cost");
    cairn_buffer_printf(&s->out, "%.2f %% of a core (%.2f %% since the start, budget %.2g %%), ",
                        100 * value_of(s, "cpu_share"),
                        up > 0 ? 100 * value_of(s, "cpu_seconds_total") / up : 0,
                        100 * value_of(s, "cpu_budget"));
    cli_add_size(&s->out, count_of(s, "memory_bytes"));
    cairn_buffer_str(&s->out, " of memory\n");
}

static void add_failure(struct state *s)
{
    if (strstr(s->text, ",failure=\"\""))
        return;
    add_head(s, "failure");
    add_text(s, "failure");
    cairn_buffer_char(&s->out, '\n');
}

/* The exit status says whether it runs. */
static int print_state(struct state *s)
{
    int pid = pid_of(s);
    add_head(s, "agent");
    if (pid)
        cairn_buffer_printf(&s->out, "runs, pid %d, for ", pid);
    else
        cairn_buffer_str(&s->out, "does not run; it started before ");
    cli_add_duration(&s->out, ns_since(value_of(s, "start_time_seconds")));
    cairn_buffer_char(&s->out, '\n');
    add_sampling(s);
    add_windows(s);
    add_folder(s);
    add_store(s);
    add_cost(s);
    add_failure(s);
    fputs(cairn_buffer_text(&s->out), stdout);
    cairn_buffer_done(&s->out);
    return pid ? CLI_OK : CLI_FAILED;
}

static int print(const char *folder, bool as_it_is)
{
    char path[CLI_AGENT_PATH + 16];
    struct cairn_buffer text = {0};
    struct cairn_err err = {0};
    int status = CLI_OK;
    snprintf(path, sizeof path, "%s/agent.prom", folder);
    if (cairn_file_slurp_regular(path, STATE_BYTES_MAX, &text, &err) < 0) {
        if (err.code == CAIRN_E_MISSING)
            snprintf(err.hint, sizeof err.hint,
                     "no agent has run with that folder for its state; --run-dir gives another");
        status = cli_report(&err);
    } else if (as_it_is) {
        fputs(cairn_buffer_text(&text), stdout);
    } else {
        struct state s = {.text = cairn_buffer_text(&text)};
        status = print_state(&s);
    }
    cairn_buffer_done(&text);
    return status;
}

static int run(struct cli_args *args)
{
    char folder[CLI_AGENT_PATH];
    const char *value;
    bool as_it_is = false;
    size_t n;
    int row;
    cli_agent_run_folder(folder);
    while ((row = cli_args_next(args, &value)) >= 0) {
        if (row == OPT_RUN_FOLDER)
            snprintf(folder, sizeof folder, "%s", value);
        else
            as_it_is = true;
    }
    if (row == CLI_ARGS_WRONG)
        return CLI_USAGE;
    if (cli_args_operands(args, &n)[0])
        return cli_args_wrong(args, "takes options alone");
    return print(folder, as_it_is);
}

const struct cli_command cli_agent_status = {
    .name = "agent status",
    .summary = "what the agent does, what it uses and what it lost",
    .usage = (const char *const[]){"agent status [OPTION...]", NULL},
    .options = options,
    .notes = "The exit status is 0 while the agent runs. Counts are those since its start.",
    .run = run,
};
