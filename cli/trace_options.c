/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/trace.h"
#include "cli/way_options.h"

#define FIELD_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

enum { LIMIT = 1000, SNAPSHOT_LIMIT = 10, SIGNALS_MAX = 64, DEPTH_MAX = 1 << 16 };

enum {
    OPT_EVENT,
    OPT_PID,
    OPT_TID,
    OPT_ALL,
    OPT_CGROUP,
    OPT_NO_INHERIT,
    OPT_FILTER,
    OPT_FAILED,
    OPT_SLOWER,
    OPT_COMM,
    OPT_UID,
    OPT_EXCLUDE_PID,
    OPT_EXCLUDE_TID,
    OPT_EXCLUDE_COMM,
    OPT_NO_STACK,
    OPT_USER_ONLY,
    OPT_KERNEL_ONLY,
    OPT_REGS,
    OPT_ENTER_ONLY,
    OPT_SUMMARY,
    OPT_TOP,
    OPT_JSON,
    OPT_LIMIT,
    OPT_OUTPUT,
    OPT_TIMELINE,
    OPT_MAX_EVENTS,
    OPT_EVERY,
    OPT_DEPTH,
    OPT_DURATION,
    OPT_STOP,
    OPT_SIGNAL,
    OPT_SNAPSHOT,
    OPT_LIST,
    OPT_EXPLAIN,
    OPT_METHOD,
    OPT_SYMBOLS,
    OPT_FORCE,
    OPT_VERBOSE,
    OPT_WAYS,
};

const struct cli_option cli_trace_options[] = {
    [OPT_EVENT] =
        {"event", 'e', "EVENT",
         "trace syscall:NAME, with its filter in [...]; NAME is a name, a pattern such as "
         "*open*, all, %file, %desc, %net, %process, %memory, %signal or %ipc; several "
         "with commas between, !NAME takes out. Or uprobe:FILE:FUNCTION[+OFFSET], "
         "uprobe:FILE:SOURCE:LINE, "
         "uretprobe:FILE:FUNCTION, kprobe:FUNCTION[+OFFSET], kretprobe:FUNCTION, "
         "uprobe+uretprobe:FILE:FUNCTION and kprobe+kretprobe:FUNCTION for one event with a "
         "duration, "
         "tracepoint:GROUP:NAME, usdt:[FILE:]PROVIDER:NAME; mem:[FILE:]SYMBOL[+OFFSET][/BYTES]:w, "
         ":rw or :x for accesses to memory; signal:NAME, page-fault, exec, fork, exit, malloc, "
         "mmap, brk. /arg0:str,arg1:d32 behind uprobe, kprobe and usdt says what arguments are, "
         "/ret:d32 what is returned. "
         "May be given several times"},
    [OPT_PID] = {"pid", 'p', "PID|NAME",
                 "trace this process, or all that are called so, and what they start; several with "
                 "commas between, and may be given several times"},
    [OPT_TID] = {"tid", 't', "TID", "trace this thread alone"},
    [OPT_ALL] = {"all", 'a', NULL, "trace all processes but this one"},
    [OPT_CGROUP] = {"cgroup", 0, "CGROUP",
                    "trace what runs in this cgroup (version 2) and in those below it"},
    [OPT_NO_INHERIT] = {"no-inherit", 0, NULL,
                        "leave out processes that the target starts from now on"},
    [OPT_FILTER] = {"filter", 0, "FILTER", "of all events those for which FILTER holds"},
    [OPT_FAILED] = {"failed", 0, "ERROR", "of all events calls that failed, with ERROR if given",
                    .optional = true},
    [OPT_SLOWER] = {"slower-than", 0, "TIME", "of all events calls that took longer, such as 10ms"},
    [OPT_COMM] = {"comm", 0, "NAME", "of all events those of threads with this name"},
    [OPT_UID] = {"uid", 0, "UID", "of all events those of this user"},
    [OPT_EXCLUDE_PID] = {"exclude-pid", 0, "PID",
                         "leave out this process; may be given several times"},
    [OPT_EXCLUDE_TID] = {"exclude-tid", 0, "TID",
                         "leave out this thread; may be given several times"},
    [OPT_EXCLUDE_COMM] = {"exclude-comm", 0, "NAME",
                          "leave out threads with this name; may be given several times"},
    [OPT_NO_STACK] = {"no-stack", 0, NULL, "no stacks"},
    [OPT_USER_ONLY] = {"user-only", 0, NULL,
                       "leave out the kernel's frames, which tracepoints and kprobes have"},
    [OPT_KERNEL_ONLY] = {"kernel-only", 0, NULL,
                         "of stacks the kernel's frames alone, of tracepoints and kprobes; user "
                         "memory is not read"},
    [OPT_REGS] = {"regs", 0, NULL, "print the registers of the user side as the event began"},
    [OPT_ENTER_ONLY] = {"enter-only", 0, NULL,
                        "count calls as they begin: cheaper, without results and durations"},
    [OPT_SUMMARY] = {"summary", 0, NULL,
                     "print sums at the end, with the three stacks that made most of each call, "
                     "and no events"},
    [OPT_TOP] = {"top", 0, "stack|function|FIELD",
                 "print a table of what has most events, each second on a terminal, and at the "
                 "end: by stack (the default), by the innermost function, or by the value of a "
                 "field, such as an argument's name or comm",
                 .optional = true},
    [OPT_JSON] = {"json", 0, NULL, "print one JSON object a line for each event"},
    [OPT_LIMIT] = {"limit", 0, "N/s",
                   "print at most N events a second; the others are counted; 0: no bound (1000/s; "
                   "with --json 0)"},
    [OPT_OUTPUT] =
        {"output", 'o', "FILE",
         "write the sums to FILE, and print no events: .pb.gz raw addresses; .html, .svg "
         "a flame graph; .txt, .collapsed, .folded named stacks; "
         ".firefox.json.gz, .speedscope.json.gz, .callgrind, .trace.json.gz for these viewers"},
    [OPT_TIMELINE] = {"timeline", 0, NULL,
                      "with --output: keep each event too, with its time, arguments and stack, as "
                      "a marker of the profile; at most 500,000"},
    [OPT_MAX_EVENTS] = {"max-events", 0, "N", "stop after N events"},
    [OPT_EVERY] = {"every", 0, "N", "report every Nth event alone; the others are filtered out"},
    [OPT_DEPTH] = {"depth", 0, "N", "keep the N innermost frames of each stack"},
    [OPT_DURATION] = {"duration", 'd', "SECONDS", "stop after SECONDS; the target runs on"},
    [OPT_STOP] = {"stop", 0, NULL, "stop the process at each event, by SIGSTOP"},
    [OPT_SIGNAL] = {"signal", 0, "SIG", "send SIG to the process at each event"},
    [OPT_SNAPSHOT] = {"snapshot", 0, NULL,
                      "print what all threads of the process do at each event, as cairn stack "
                      "does; --limit is 10/s then"},
    [OPT_LIST] = {"list", 0, "PATTERN",
                  "list the events of this machine, and trace none; usdt:FILE, or usdt: with "
                  "--pid, lists static probes"},
    [OPT_EXPLAIN] = {"explain", 0, NULL,
                     "print where each event would be attached, the instruction there and what a "
                     "hit costs, and trace none"},
    [OPT_METHOD] =
        {"method", 0, "HOW",
         "trace by bpf, programs in the kernel; by perf, events with a copy of the stack, "
         "of system calls and tracepoints; or by ptrace, which needs no rights: of a "
         "command the traced calls stop, of a process all of them; auto takes the first "
         "that is allowed"},
    [OPT_SYMBOLS] = {"symbols", 's', "DIR",
                     "look for binaries and debug files in DIR too; may be given several times"},
    [OPT_FORCE] = {"force", 'f', NULL, "replace FILE where it is there already"},
    [OPT_VERBOSE] = {"verbose", 'v', NULL, "say what was decided; twice: more of it"},
    CLI_WAY_ROWS(OPT_WAYS),
    {0},
};

/* All conditions are one text, in the language of filters. */
static void add_condition(struct cli_trace *trace, const char *before, const char *value,
                          const char *behind)
{
    if (trace->filter.size)
        cairn_buffer_str(&trace->filter, " && ");
    cairn_buffer_str(&trace->filter, before);
    cairn_buffer_str(&trace->filter, value);
    cairn_buffer_str(&trace->filter, behind);
}

static bool add_name(struct cli_trace *trace, struct cli_args *args, const char *option,
                     const char *before, const char *value)
{
    enum { NAME_MAX_BYTES = 15 };
    if (strlen(value) <= NAME_MAX_BYTES && !strpbrk(value, "\"\\")) {
        add_condition(trace, before, value, "\"");
        return true;
    }
    cli_args_wrong(args, "--%s: a thread's name has at most %d bytes, and no quotes", option,
                   NAME_MAX_BYTES);
    return false;
}

static bool add_number(struct cli_trace *trace, struct cli_args *args, const char *option,
                       const char *before, const char *value)
{
    uint64_t number;
    if (!cli_args_u64(args, option, value, &number))
        return false;
    add_condition(trace, before, value, "");
    return true;
}

static bool set_limit(struct cli_trace *trace, struct cli_args *args, const char *value)
{
    char *end;
    unsigned long long n = strtoull(value, &end, 10);
    if (*value >= '0' && *value <= '9' && (!*end || strcmp(end, "/s") == 0) && n <= 1000000000) {
        trace->limit = n;
        return true;
    }
    cli_args_wrong(args, "--limit: \"%s\", expected a number of events a second, such as 100/s",
                   value);
    return false;
}

static bool set_signal(struct cli_trace *trace, struct cli_args *args, const char *value)
{
    const char *bare = strncmp(value, "SIG", 3) == 0 ? value + 3 : value;
    for (int i = 1; i < SIGNALS_MAX; i++) {
        const char *name = sigabbrev_np(i);
        if (name && strcmp(name, bare) == 0) {
            trace->opts.signal = i;
            return true;
        }
    }
    char *end;
    long number = strtol(value, &end, 10);
    if (*value && !*end && number > 0 && number <= SIGNALS_MAX) {
        trace->opts.signal = (int)number;
        return true;
    }
    cli_args_wrong(args, "--signal: %s is no signal", value);
    return false;
}

static bool set_filter_option(struct cli_trace *trace, struct cli_args *args, int row,
                              const char *value)
{
    switch (row) {
    case OPT_FILTER:
        add_condition(trace, "(", value, ")");
        return true;
    case OPT_FAILED:
        if (value)
            add_condition(trace, "errno == ", value, "");
        else
            add_condition(trace, "ret < 0 && ret >= -4095", "", "");
        return true;
    case OPT_SLOWER:
        add_condition(trace, "duration > ", value, "");
        return true;
    case OPT_COMM:
        return add_name(trace, args, "comm", "comm == \"", value);
    case OPT_UID:
        return add_number(trace, args, "uid", "uid == ", value);
    case OPT_EXCLUDE_PID:
        return add_number(trace, args, "exclude-pid", "event_pid != ", value);
    case OPT_EXCLUDE_TID:
        return add_number(trace, args, "exclude-tid", "event_tid != ", value);
    default:
        return add_name(trace, args, "exclude-comm", "comm != \"", value);
    }
}

static bool set_count(struct cli_args *args, const char *option, const char *value,
                      uint64_t *ret_count)
{
    if (!cli_args_u64(args, option, value, ret_count))
        return false;
    if (*ret_count)
        return true;
    cli_args_wrong(args, "--%s: 0, expected at least 1", option);
    return false;
}

static bool set_depth(struct cli_trace *trace, struct cli_args *args, const char *value)
{
    uint64_t depth;
    if (!set_count(args, "depth", value, &depth))
        return false;
    trace->opts.depth = depth < DEPTH_MAX ? (uint32_t)depth : DEPTH_MAX;
    return true;
}

static bool set_method(struct cli_trace *trace, struct cli_args *args, const char *value)
{
    static const char *const words[] = {"auto", "bpf", "ptrace", "perf", NULL};
    static const enum cairn_trace_way ways[] = {CAIRN_TRACE_WAY_AUTO, CAIRN_TRACE_WAY_BPF,
                                                CAIRN_TRACE_WAY_PTRACE, CAIRN_TRACE_WAY_PERF};
    int index;
    if (!cli_args_word(args, "method", value, words, &index))
        return false;
    trace->opts.way = ways[index];
    return true;
}

static bool set_option(struct cli_trace *trace, struct cli_args *args, int row, const char *value)
{
    if (row >= OPT_WAYS)
        return cli_way_take(args, (enum cli_way_row)(row - OPT_WAYS), value, &trace->whom.symbols);
    if (row >= OPT_FILTER && row <= OPT_EXCLUDE_COMM)
        return set_filter_option(trace, args, row, value);
    switch (row) {
    case OPT_EVENT:
        cli_list_add(&trace->events, value);
        return true;
    case OPT_PID:
        cli_list_add(&trace->whom.processes, value);
        return true;
    case OPT_TID:
        return cli_args_pid(args, value, &trace->opts.tid);
    case OPT_ALL:
        trace->opts.all_processes = 1;
        return true;
    case OPT_CGROUP:
        trace->opts.cgroup = value;
        return true;
    case OPT_NO_INHERIT:
        trace->opts.no_inherit = 1;
        return true;
    case OPT_NO_STACK:
        trace->opts.no_stack = 1;
        return true;
    case OPT_USER_ONLY:
        trace->opts.user_only = 1;
        return true;
    case OPT_REGS:
        trace->opts.regs = 1;
        return true;
    case OPT_KERNEL_ONLY:
        trace->opts.kernel_only = 1;
        return true;
    case OPT_ENTER_ONLY:
        trace->opts.enter_only = 1;
        return true;
    case OPT_SUMMARY:
        trace->summary = true;
        return true;
    case OPT_TOP:
        trace->top = value ? value : "stack";
        return true;
    case OPT_JSON:
        trace->json = true;
        return true;
    case OPT_LIMIT:
        return set_limit(trace, args, value);
    case OPT_OUTPUT:
        trace->whom.out = value;
        return true;
    case OPT_TIMELINE:
        trace->opts.timeline = 1;
        return true;
    case OPT_MAX_EVENTS:
        return set_count(args, "max-events", value, &trace->opts.max_events);
    case OPT_EVERY:
        return set_count(args, "every", value, &trace->opts.every);
    case OPT_DEPTH:
        return set_depth(trace, args, value);
    case OPT_DURATION:
        return cli_args_positive(args, "duration", value, 1e8, &trace->whom.seconds);
    case OPT_STOP:
        trace->opts.signal = SIGSTOP;
        return true;
    case OPT_SIGNAL:
        return set_signal(trace, args, value);
    case OPT_SNAPSHOT:
        trace->snapshot = true;
        return true;
    case OPT_LIST:
        cli_list_add(&trace->patterns, value);
        return true;
    case OPT_EXPLAIN:
        trace->explain = true;
        return true;
    case OPT_METHOD:
        return set_method(trace, args, value);
    case OPT_SYMBOLS:
        cli_list_add(&trace->whom.symbol_dirs, value);
        return true;
    case OPT_FORCE:
        trace->whom.force = true;
        return true;
    default:
        trace->whom.verbosity++;
        return true;
    }
}

/* A field of each event is counted, and no stack is needed. */
static bool is_by_field(const struct cli_trace *trace)
{
    return trace->top && strcmp(trace->top, "stack") != 0 && strcmp(trace->top, "function") != 0;
}

static bool check(const struct cli_trace *trace, struct cli_args *args)
{
    const struct cairn_trace_opts *opts = &trace->opts;
    const int n = (opts->argv != NULL) + (trace->whom.processes.n > 0 || opts->tid) +
                  opts->all_processes + (opts->cgroup != NULL);
    if (trace->patterns.n)
        return true;
    if (!trace->events.n)
        cli_args_wrong(args, "nothing to trace: give --event, such as -e syscall:openat");
    else if (n > 1 || (trace->whom.processes.n && opts->tid))
        cli_args_wrong(args, "one of --pid, --tid, --all, --cgroup and a command, not several");
    else if (n == 0 && !trace->explain)
        cli_args_wrong(args, "no target: give --pid PID, --tid TID, --all, --cgroup CGROUP or -- "
                             "COMMAND");
    else if (opts->no_inherit && (opts->all_processes || opts->cgroup))
        cli_args_wrong(args, "--no-inherit is for --pid and commands");
    else if (opts->way == CAIRN_TRACE_WAY_PTRACE && (opts->all_processes || opts->cgroup))
        cli_args_wrong(args, "--method=ptrace is for --pid, --tid and commands");
    else if (trace->json && (trace->summary || trace->whom.out))
        cli_args_wrong(args, "--json prints events, and --summary and --output print none");
    else if (trace->snapshot && (trace->json || trace->summary || trace->whom.out))
        cli_args_wrong(args, "--snapshot is for the lines of events: not with --json, --summary "
                             "and --output");
    else if (trace->top && (trace->json || trace->summary || trace->snapshot || trace->whom.out))
        cli_args_wrong(args, "--top prints a table: not with --json, --summary, --snapshot and "
                             "--output");
    else if (trace->top && strspn(trace->top, FIELD_LETTERS) != strlen(trace->top))
        cli_args_wrong(args, "--top: expected stack, function or the name of a field");
    else if (opts->no_stack && trace->top && !is_by_field(trace))
        cli_args_wrong(args, "--top=%s needs stacks, and --no-stack leaves them out", trace->top);
    else if (opts->regs && (trace->summary || trace->top || trace->whom.out))
        cli_args_wrong(args, "--regs prints registers with each event, and --summary, --top and "
                             "--output print none");
    else if (opts->kernel_only && (opts->user_only || opts->no_stack))
        cli_args_wrong(args, "--kernel-only, --user-only and --no-stack: one of them");
    else if (opts->timeline && !trace->whom.out)
        cli_args_wrong(args, "--timeline is kept in a file: give --output FILE.pb.gz or FILE.html");
    else
        return true;
    return false;
}

bool cli_trace_read(struct cli_args *args, struct cli_trace *trace)
{
    const char *value;
    int row;
    size_t n;
    trace->opts.size = sizeof trace->opts;
    trace->limit = UINT64_MAX;
    cli_way_init(&trace->whom.symbols);
    while ((row = cli_args_next(args, &value)) >= 0)
        if (!set_option(trace, args, row, value))
            return false;
    if (row == CLI_ARGS_WRONG)
        return false;
    char **operands = cli_args_operands(args, &n);
    if (n > 0)
        trace->opts.argv = operands;
    if (!check(trace, args))
        return false;
    if (trace->limit == UINT64_MAX)
        trace->limit = trace->json || trace->top || trace->opts.timeline ? 0
                       : trace->snapshot                                 ? SNAPSHOT_LIMIT
                                                                         : LIMIT;
    trace->opts.events = trace->events.items;
    trace->opts.n_events = trace->events.n;
    trace->opts.filter = trace->filter.size ? cairn_buffer_text(&trace->filter) : NULL;
    trace->opts.per_second = trace->limit;
    trace->opts.sums_only = trace->summary || trace->whom.out || trace->top;
    if (is_by_field(trace)) {
        trace->opts.sums_only = 0;
        trace->opts.no_stack = 1;
        trace->opts.field = trace->top;
    }
    return !trace->whom.out || cli_result_of_name(args, trace->whom.out, &trace->whom.result);
}

void cli_trace_done(struct cli_trace *trace)
{
    cli_list_done(&trace->events);
    cli_list_done(&trace->patterns);
    cairn_buffer_done(&trace->filter);
    cli_record_done(&trace->whom);
}
