/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "cli/guest_option.h"
#include "cli/record.h"
#include "cli/way_options.h"

enum { PID_MAX = 1 << 30, COUNT_MAX = 1 << 30 };

enum {
    OPT_PID,
    OPT_ALL,
    OPT_CGROUP,
    OPT_NO_INHERIT,
    OPT_EVENT,
    OPT_OFF_CPU,
    OPT_FREQUENCY,
    OPT_COUNT,
    OPT_TIMELINE,
    OPT_DURATION,
    OPT_OUTPUT,
    OPT_USER_ONLY,
    OPT_METHOD,
    OPT_GUEST,
    OPT_STACK_BYTES,
    OPT_MAX_MEMORY,
    OPT_SYMBOLS,
    OPT_FORCE,
    OPT_VERBOSE,
    OPT_WAYS,
};

const struct cli_option cli_record_options[] = {
    [OPT_PID] = {"pid", 'p', "PID|NAME",
                 "sample this process, or all that are called so: all their threads, and what they "
                 "start; several with commas between, and may be given several times"},
    [OPT_ALL] = {"all", 'a', NULL,
                 "sample all processes, and the kernel's threads, on all CPUs (root, CAP_PERFMON, "
                 "or kernel.perf_event_paranoid of at most 0)"},
    [OPT_CGROUP] = {"cgroup", 0, "CGROUP",
                    "sample what runs in this cgroup (version 2) and in those below it: its "
                    "folder, or a name below /sys/fs/cgroup; rights as for --all"},
    [OPT_NO_INHERIT] = {"no-inherit", 0, NULL,
                        "leave out processes that the target starts from now on"},
    [OPT_EVENT] =
        {"event", 'e', "EVENT",
         "what is sampled: cpu-clock, page-faults, context-switches; where the CPU's "
         "counters are there cycles, instructions, cache-misses; cpu (default): CPU time, "
         "by cycles or by the clock"},
    [OPT_OFF_CPU] =
        {"off-cpu", 0, NULL,
         "instead of samples, how long threads wait: sleeping, blocked or preempted, by "
         "stack and by who wakes them; as root"},
    [OPT_FREQUENCY] = {"frequency", 'F', "HZ",
                       "samples a second of CPU time, or about so many of another event (99)"},
    [OPT_COUNT] =
        {"count", 'c', "N",
         "a sample for each N events; not for CPU time (1 for page-faults and context-switches)"},
    [OPT_TIMELINE] = {"timeline", 0, NULL, "keep the time of each sample, in a label"},
    [OPT_DURATION] = {"duration", 'd', "SECONDS", "stop after SECONDS; the target runs on"},
    [OPT_OUTPUT] = {"output", 'o', "FILE",
                    "write to FILE: .pb.gz raw addresses; .html, .svg a flame graph; .txt, "
                    ".collapsed, .folded named stacks; "
                    ".firefox.json.gz, .speedscope.json.gz, .callgrind, .trace.json.gz for these "
                    "viewers (cairn.PID.pb.gz)"},
    [OPT_USER_ONLY] = {"user-only", 'u', NULL,
                       "no kernel frames; time in the kernel is not counted"},
    [OPT_METHOD] = {"method", 0, "HOW",
                    "bpf, dump, perf, ptrace, or auto (default): the first of these that is "
                    "allowed; ptrace records frames of Lua"},
    [OPT_GUEST] = CLI_GUEST_ROW("fold"),
    [OPT_STACK_BYTES] = {"stack-bytes", 0, "N",
                         "by dump: copy N bytes of each stack, a multiple of 8 up to 65528 "
                         "(32768)"},
    [OPT_MAX_MEMORY] = {"max-memory", 0, "SIZE",
                        "keep at most SIZE of stacks and samples in memory, such as 64M; then new "
                        "stacks are cut, which the last line counts (256Mi)"},
    [OPT_SYMBOLS] = {"symbols", 's', "DIR",
                     "look for binaries and debug files in DIR too, for output that is named; may "
                     "be given several times"},
    [OPT_FORCE] = {"force", 'f', NULL, "replace FILE where it is there already"},
    [OPT_VERBOSE] = {"verbose", 'v', NULL, "say what was decided; twice: more of it"},
    CLI_WAY_ROWS(OPT_WAYS),
    {0},
};

static bool set_method(struct cli_record *record, struct cli_args *args, const char *value)
{
    static const char *const words[] = {"auto", "bpf", "dump", "perf", "ptrace", NULL};
    static const enum cairn_sample_method methods[] = {CAIRN_SAMPLE_AUTO, CAIRN_SAMPLE_BPF,
                                                       CAIRN_SAMPLE_DUMP, CAIRN_SAMPLE_PERF,
                                                       CAIRN_SAMPLE_PTRACE};
    int index;
    if (!cli_args_word(args, "method", value, words, &index))
        return false;
    record->sampler.method = methods[index];
    return true;
}

static bool set_event(struct cli_record *record, struct cli_args *args, const char *value)
{
    static const char *const words[] = {
        "cpu",          "cpu-clock",   "cycles",           "instructions",
        "cache-misses", "page-faults", "context-switches", NULL};
    static const enum cairn_sample_event events[] = {CAIRN_EVENT_CPU,
                                                     CAIRN_EVENT_CPU_CLOCK,
                                                     CAIRN_EVENT_CYCLES,
                                                     CAIRN_EVENT_INSTRUCTIONS,
                                                     CAIRN_EVENT_CACHE_MISSES,
                                                     CAIRN_EVENT_PAGE_FAULTS,
                                                     CAIRN_EVENT_CONTEXT_SWITCHES};
    int index;
    if (!cli_args_word(args, "event", value, words, &index))
        return false;
    record->sampler.event = events[index];
    return true;
}

static bool set_stack_bytes(struct cli_record *record, struct cli_args *args, const char *value)
{
    enum { END = 1 << 16 };
    uint64_t bytes;
    if (!cli_args_u64(args, "stack-bytes", value, &bytes))
        return false;
    if (bytes == 0 || bytes % 8 || bytes >= END) {
        cli_args_wrong(args, "--stack-bytes: %s, expected a multiple of 8 up to %d", value,
                       END - 8);
        return false;
    }
    record->sampler.stack_bytes = (uint32_t)bytes;
    return true;
}

static bool set_max_memory(struct cli_record *record, struct cli_args *args, const char *value)
{
    enum { LEAST = 64000 };
    uint64_t *bytes = &record->sampler.memory_bytes;
    if (!cli_args_size(args, "max-memory", value, bytes))
        return false;
    if (*bytes >= LEAST)
        return true;
    cli_args_wrong(args, "--max-memory: %s, expected at least 64k", value);
    return false;
}

/* A name, or digits that are a number of a process. */
static bool check_process(struct cli_args *args, const char *text, size_t size)
{
    char *end;
    unsigned long pid = strtoul(text, &end, 10);
    bool is_number = size > 0 && *text >= '0' && *text <= '9' && end == text + size;
    bool is_blank = strspn(text, " \t") >= size;
    if (!is_blank && (!is_number || (pid > 0 && pid <= PID_MAX)))
        return true;
    cli_args_wrong(args, "--pid: \"%.*s\" is no process", (int)size, text);
    return false;
}

static bool add_processes(struct cli_record *record, struct cli_args *args, const char *value)
{
    for (const char *at = value;; at++) {
        size_t size = strcspn(at, ",");
        if (!check_process(args, at, size))
            return false;
        at += size;
        if (!*at)
            break;
    }
    cli_list_add(&record->processes, value);
    return true;
}

static bool set_option(struct cli_record *record, struct cli_args *args, int row, const char *value)
{
    if (row >= OPT_WAYS)
        return cli_way_take(args, (enum cli_way_row)(row - OPT_WAYS), value, &record->symbols);
    switch (row) {
    case OPT_PID:
        return add_processes(record, args, value);
    case OPT_ALL:
        record->sampler.all_processes = 1;
        return true;
    case OPT_CGROUP:
        record->sampler.cgroup = value;
        if (*value)
            return true;
        cli_args_wrong(args, "--cgroup: \"\" is no cgroup; / is all of them");
        return false;
    case OPT_NO_INHERIT:
        record->sampler.no_inherit = 1;
        return true;
    case OPT_EVENT:
        return set_event(record, args, value);
    case OPT_COUNT:
        return cli_args_count(args, "count", value, COUNT_MAX, &record->sampler.event_period);
    case OPT_FREQUENCY:
        if (!cli_args_positive(args, "frequency", value, 1e6, &record->sampler.frequency_hz))
            return false;
        if (record->sampler.frequency_hz >= 1)
            return true;
        cli_args_wrong(args, "--frequency: %s, expected at least 1", value);
        return false;
    case OPT_DURATION:
        return cli_args_positive(args, "duration", value, 1e8, &record->seconds);
    case OPT_OUTPUT:
        record->out = value;
        return true;
    case OPT_OFF_CPU:
        record->sampler.off_cpu = 1;
        return true;
    case OPT_TIMELINE:
        record->sampler.timeline = 1;
        return true;
    case OPT_USER_ONLY:
        record->sampler.user_only = 1;
        return true;
    case OPT_METHOD:
        return set_method(record, args, value);
    case OPT_GUEST:
        if (!cli_guest_take(args, value, &record->guest))
            return false;
        record->sampler.no_guests = record->guest == CAIRN_GUEST_OFF;
        return true;
    case OPT_STACK_BYTES:
        return set_stack_bytes(record, args, value);
    case OPT_MAX_MEMORY:
        return set_max_memory(record, args, value);
    case OPT_SYMBOLS:
        cli_list_add(&record->symbol_dirs, value);
        return true;
    case OPT_FORCE:
        record->force = true;
        return true;
    default:
        record->verbosity++;
        return true;
    }
}

static bool check_targets(const struct cli_record *record, struct cli_args *args)
{
    const struct cairn_sampler_opts *opts = &record->sampler;
    int n = (opts->argv != NULL) + (record->processes.n > 0) + opts->all_processes +
            (opts->cgroup != NULL);
    if (n > 1)
        cli_args_wrong(args, "one of --pid, --all, --cgroup and a command, not several");
    else if (n == 0)
        cli_args_wrong(args, "nothing to record: give --pid PID, --all, --cgroup CGROUP or -- "
                             "COMMAND");
    else if (opts->no_inherit && (opts->all_processes || opts->cgroup))
        cli_args_wrong(args, "--no-inherit is for --pid and commands: --all and --cgroup sample "
                             "whoever runs");
    else if ((opts->all_processes || opts->cgroup) && opts->method == CAIRN_SAMPLE_PTRACE)
        cli_args_wrong(args, "--method=ptrace is for --pid and commands");
    else
        return true;
    return false;
}

/* What is asked for together and does not go together. */
static bool check_what(const struct cli_record *record, struct cli_args *args)
{
    const struct cairn_sampler_opts *opts = &record->sampler;
    const bool is_time = opts->event == CAIRN_EVENT_CPU || opts->event == CAIRN_EVENT_CPU_CLOCK;
    const bool is_sampled =
        opts->method == CAIRN_SAMPLE_PERF || opts->method == CAIRN_SAMPLE_PTRACE;
    const char *wrong = NULL;
    if (opts->off_cpu &&
        (opts->event != CAIRN_EVENT_CPU || opts->frequency_hz > 0 || opts->event_period))
        wrong = "--off-cpu measures each wait: it goes with none of --event, --frequency, --count";
    else if (opts->off_cpu && is_sampled)
        wrong = "--off-cpu is measured by BPF alone";
    else if (opts->event_period && is_time)
        wrong = "--count is for events that are counted, see --event; CPU time is sampled by "
                "--frequency";
    else if (opts->event_period && opts->frequency_hz > 0)
        wrong = "either --count or --frequency, not both";
    else if (!is_time && opts->method == CAIRN_SAMPLE_PTRACE)
        wrong = "--method=ptrace samples CPU time alone";
    else if (opts->event == CAIRN_EVENT_CONTEXT_SWITCHES && opts->user_only)
        wrong = "context switches happen in the kernel: --user-only leaves none";
    if (wrong)
        cli_args_wrong(args, "%s", wrong);
    return !wrong;
}

bool cli_record_read(struct cli_args *args, struct cli_record *record)
{
    const char *value;
    int row;
    size_t n;
    record->sampler.size = sizeof record->sampler;
    cli_way_init(&record->symbols);
    while ((row = cli_args_next(args, &value)) >= 0)
        if (!set_option(record, args, row, value))
            return false;
    if (row == CLI_ARGS_WRONG)
        return false;
    char **operands = cli_args_operands(args, &n);
    if (n > 0)
        record->sampler.argv = operands;
    if (!check_targets(record, args))
        return false;
    if (!check_what(record, args))
        return false;
    return cli_result_of_name(args, record->out, &record->result);
}

void cli_record_done(struct cli_record *record)
{
    cli_list_done(&record->symbol_dirs);
    cli_list_done(&record->processes);
    free(record->pids);
    free(record->by_name);
}
