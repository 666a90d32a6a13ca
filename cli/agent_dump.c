/* SPDX-License-Identifier: MIT */
/* cairn agent dump: one profile of the last minutes, out of the agent's windows. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "cli/agent.h"
#include "cli/numbers.h"
#include "cli/profiles.h"
#include "cli/result.h"
#include "cli/term.h"

enum { NEW_WINDOW_TRIES = 40, NEW_WINDOW_PAUSE_US = 100000, GAPS_MAX = 3, LINE_BYTES = 512 };
static const uint64_t NS_PER_S = 1000000000, GAP_NS = 1000000000;

enum { OPT_LAST, OPT_UNTIL, OPT_FOLDER, OPT_OUTPUT, OPT_FORCE, OPT_VERBOSE };

static const struct cli_option options[] = {
    [OPT_LAST] = {"last", 0, "TIME", "of the last TIME, such as 5m (5m)"},
    [OPT_UNTIL] = {"until", 0, "TIME", "before the last TIME, which is left out"},
    [OPT_FOLDER] = {"dir", 0, "FOLDER", "of the agent's profiles (as cairn agent run has it)"},
    [OPT_OUTPUT] = {"output", 'o', "FILE",
                    "write to FILE: .pb.gz a profile, .html, .svg a flame graph, .txt named "
                    "stacks (cairn.agent.pb.gz)"},
    [OPT_FORCE] = {"force", 'f', NULL, "replace FILE where it is there already"},
    [OPT_VERBOSE] = {"verbose", 'v', NULL, "say what is done"},
    {0},
};

struct dump {
    uint64_t last_ns, until_ns;
    char folder[CLI_AGENT_PATH];
    const char *out;
    enum cli_result result;
    bool force;
    int verbosity;
    struct cairn_spool *spool;
    struct cairn_profile *profile;
    int64_t from, to; /* that was asked for, since 1970 */
    uint64_t covered_ns, n_windows, n_gaps;
    int64_t end; /* of the last window that was taken */
    struct cairn_buffer gaps;
};

static bool take(struct dump *d, struct cli_args *args, int row, const char *value)
{
    uint64_t *time = row == OPT_LAST ? &d->last_ns : &d->until_ns;
    switch (row) {
    case OPT_LAST:
    case OPT_UNTIL:
        if (cli_agent_duration(value, time))
            return true;
        cli_args_wrong(args, "--%s: %s, expected a time such as 30s, 5m, 2h", options[row].name,
                       value);
        return false;
    case OPT_FOLDER:
        snprintf(d->folder, sizeof d->folder, "%s", value);
        return true;
    case OPT_OUTPUT:
        d->out = value;
        return true;
    case OPT_FORCE:
        d->force = true;
        return true;
    default:
        d->verbosity++;
        return true;
    }
}

static bool read_args(struct dump *d, struct cli_args *args)
{
    const char *value;
    size_t n;
    int row;
    while ((row = cli_args_next(args, &value)) >= 0)
        if (!take(d, args, row, value))
            return false;
    if (row == CLI_ARGS_WRONG)
        return false;
    if (cli_args_operands(args, &n)[0])
        return cli_args_wrong(args, "takes options alone") == CLI_OK;
    if (d->until_ns >= d->last_ns)
        return cli_args_wrong(args, "--until is not before --last: nothing is left") == CLI_OK;
    return cli_result_of_name(args, d->out, &d->result);
}

static long read_file(void *ctx, void *buf, size_t size)
{
    return read(*(int *)ctx, buf, size);
}

static int read_one(const struct dump *d, const struct cairn_window *window,
                    struct cairn_profile **ret_profile, struct cairn_err *err)
{
    char path[CLI_AGENT_PATH + 100];
    cairn_spool_path(d->spool, window, path, sizeof path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return cairn_fail_os(err, errno, "%s", path);
    int code = cairn_profile_read(read_file, &fd, CAIRN_FORMAT_PPROF, ret_profile, err);
    close(fd);
    return code < 0 ? cairn_fail_in(err, code, path) : code;
}

/* The sender may give it another name meanwhile: the list is read again then. */
static int read_window(struct dump *d, uint64_t number, struct cairn_profile **ret_profile,
                       struct cairn_err *err)
{
    const struct cairn_window *windows;
    int code = CAIRN_E_MISSING;
    for (int tries = 0; code == CAIRN_E_MISSING && tries < 3; tries++) {
        size_t n, i = 0;
        code = cairn_spool_list(d->spool, &windows, &n, err);
        while (code == CAIRN_OK && i < n && windows[i].number != number)
            i++;
        if (code == CAIRN_OK && i == n)
            return cairn_fail(err, CAIRN_E_MISSING, "window %" PRIu64 ": was removed meanwhile",
                              number);
        if (code == CAIRN_OK)
            code = read_one(d, &windows[i], ret_profile, err);
    }
    return code;
}

/* From the end of what came before it; a few of them are named. */
static void note_gap(struct dump *d, int64_t from, int64_t to)
{
    char text[32];
    time_t seconds = (time_t)(from / (int64_t)NS_PER_S);
    struct tm tm;
    if (to - from < (int64_t)GAP_NS || d->n_gaps++ >= GAPS_MAX)
        return;
    localtime_r(&seconds, &tm);
    strftime(text, sizeof text, "%H:%M:%S", &tm);
    cairn_buffer_printf(&d->gaps, "%s%.1f s from %s on", d->gaps.size ? ", " : "",
                        (double)(to - from) / 1e9, text);
}

static int add_window(struct dump *d, const struct cairn_window *window, struct cairn_err *err)
{
    struct cairn_profile *profile;
    struct cairn_err damage = {0};
    const int64_t end = window->start_ns + (int64_t)window->length_ns;
    if (read_window(d, window->number, &profile, &damage) < 0) { /* it is a gap then */
        cli_report(&damage);
        return CAIRN_OK;
    }
    int code = cairn_profile_merge(d->profile, profile, err);
    cairn_profile_free(profile);
    if (code < 0)
        return code;
    note_gap(d, d->end, window->start_ns);
    d->end = end > d->end ? end : d->end;
    d->covered_ns += window->length_ns;
    d->n_windows++;
    return CAIRN_OK;
}

static bool is_wanted(const struct dump *d, const struct cairn_window *window)
{
    return window->start_ns < d->to && window->start_ns + (int64_t)window->length_ns > d->from;
}

/* Lets a running agent end its window, so that the last seconds are there, too. */
static int end_running_window(struct dump *d, struct cairn_err *err)
{
    const struct cairn_window *windows;
    size_t n;
    int pid = cairn_spool_writer(d->spool);
    int code = cairn_spool_list(d->spool, &windows, &n, err);
    if (code < 0 || !pid || d->until_ns)
        return code;
    uint64_t last = n ? windows[n - 1].number + 1 : 0;
    if (kill(pid, SIGUSR1) < 0) {
        cli_say("the window that runs is not in it: pid %d: %s", pid, strerror(errno));
        return CAIRN_OK;
    }
    for (int i = 0; i < NEW_WINDOW_TRIES; i++) {
        (void)usleep(NEW_WINDOW_PAUSE_US);
        code = cairn_spool_list(d->spool, &windows, &n, err);
        if (code < 0 || (n && windows[n - 1].number >= last))
            return code;
    }
    cli_say("the window that runs is not in it: the agent (pid %d) did not end it in %d s", pid,
            NEW_WINDOW_TRIES * NEW_WINDOW_PAUSE_US / 1000000);
    return code;
}

static int collect(struct dump *d, struct cairn_err *err)
{
    const struct cairn_window *listed;
    size_t n;
    const int64_t now = (int64_t)cairn_clock_ns(CLOCK_REALTIME);
    int code = end_running_window(d, err);
    d->from = now - (int64_t)d->last_ns;
    d->to = now - (int64_t)d->until_ns;
    d->end = d->from;
    if (code == CAIRN_OK)
        code = cairn_spool_list(d->spool, &listed, &n, err);
    if (code == CAIRN_OK)
        code = cairn_profile_new(&d->profile, err);
    struct cairn_buffer copy = {0}; /* reading one lists them again */
    if (code == CAIRN_OK)
        cairn_buffer_add(&copy, listed, n * sizeof *listed);
    const struct cairn_window *windows = (const void *)copy.data;
    for (size_t i = 0; code == CAIRN_OK && !copy.failed && i < n; i++)
        if (is_wanted(d, &windows[i]))
            code = add_window(d, &windows[i], err);
    if (copy.failed)
        code = cairn_fail_memory(err);
    cairn_buffer_done(&copy);
    if (code == CAIRN_OK)
        note_gap(d, d->end, d->to);
    return code;
}

static void describe(const struct dump *d, char line[LINE_BYTES])
{
    struct cairn_buffer b = {0};
    cli_add_counted(&b, d->n_windows, "window");
    cairn_buffer_str(&b, ", ");
    cli_add_duration(&b, d->covered_ns);
    cairn_buffer_str(&b, " of ");
    cli_add_duration(&b, (uint64_t)(d->to - d->from));
    if (d->n_gaps)
        cairn_buffer_printf(&b, "; missing: %s", cairn_buffer_text(&d->gaps));
    if (d->n_gaps > GAPS_MAX)
        cairn_buffer_printf(&b, ", and %" PRIu64 " more gaps", d->n_gaps - GAPS_MAX);
    snprintf(line, LINE_BYTES, "%s", cairn_buffer_text(&b));
    cairn_buffer_done(&b);
}

static int write_dump(struct dump *d, struct cairn_err *err)
{
    struct cli_output *output;
    struct cairn_buffer written = {0};
    char line[LINE_BYTES];
    const char *out = d->out ? d->out : "cairn.agent.pb.gz";
    int code = cli_output_open(out, d->force, &output, err);
    if (code < 0)
        return code;
    describe(d, line);
    code = d->result == CLI_RESULT_RAW ? CAIRN_OK : cli_name_profile(d->profile, false, err);
    if (code == CAIRN_OK)
        code = cli_result_write(d->result, CAIRN_GUEST_FOLD, d->profile, line, output, err);
    code = code == CAIRN_OK ? cli_output_commit_anyway(output, &written, err)
                            : cli_result_end(output, code, err);
    if (code == CAIRN_OK)
        cli_say("wrote %s: %s", cairn_buffer_text(&written), line);
    cairn_buffer_done(&written);
    return code;
}

static int work(struct dump *d, struct cairn_err *err)
{
    int code = cairn_spool_open(d->folder, 0, &d->spool, err);
    if (code < 0) {
        cairn_hint(err, "--dir says where the agent keeps its profiles");
        return code;
    }
    code = collect(d, err);
    if (code == CAIRN_OK && !d->n_windows) {
        cairn_fail(err, CAIRN_E_MISSING, "%s: no window of that time", d->folder);
        cairn_hint(err, "cairn agent status says what the agent does; a longer --last looks "
                        "farther back");
        return CAIRN_E_MISSING;
    }
    return code < 0 ? code : write_dump(d, err);
}

static int run(struct cli_args *args)
{
    static struct dump d;
    struct cairn_err err = {0};
    int status = CLI_USAGE;
    d.last_ns = 300 * NS_PER_S;
    cli_agent_folder(d.folder);
    if (read_args(&d, args)) {
        cli_log_open(d.verbosity);
        status = work(&d, &err) < 0 ? cli_report(&err) : CLI_OK;
    }
    cairn_profile_free(d.profile);
    cairn_spool_close(d.spool);
    cairn_buffer_done(&d.gaps);
    return status;
}

const struct cli_command cli_agent_dump = {
    .name = "agent dump",
    .summary = "one profile of the last minutes that the agent kept",
    .usage = (const char *const[]){"agent dump [OPTION...]", NULL},
    .options = options,
    .notes = "Whole windows are taken. The last line says how much of the time they cover, and "
             "what is missing. An agent that runs ends its window first.",
    .run = run,
};
