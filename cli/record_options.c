/* SPDX-License-Identifier: MIT */
#include "cli/record.h"
#include "cli/way_options.h"

enum { PID_MAX = 1 << 30 };

enum {
    OPT_PID,
    OPT_FREQUENCY,
    OPT_DURATION,
    OPT_OUTPUT,
    OPT_USER_ONLY,
    OPT_METHOD,
    OPT_SYMBOLS,
    OPT_FORCE,
    OPT_VERBOSE,
    OPT_WAYS,
};

const struct cli_option cli_record_options[] = {
    [OPT_PID] = {"pid", 'p', "PID", "sample this process: all its threads, and what they start"},
    [OPT_FREQUENCY] = {"frequency", 'F', "HZ", "samples a second of CPU time (99)"},
    [OPT_DURATION] = {"duration", 'd', "SECONDS", "stop after SECONDS; the target runs on"},
    [OPT_OUTPUT] = {"output", 'o', "FILE",
                    "write to FILE: .pb.gz raw addresses; .html, .svg a flame graph; .txt, "
                    ".collapsed, .folded named stacks (cairn.PID.pb.gz)"},
    [OPT_USER_ONLY] = {"user-only", 'u', NULL,
                       "no kernel frames; time in the kernel is not counted"},
    [OPT_METHOD] = {"method", 0, "HOW",
                    "bpf, perf, ptrace (commands only), or auto (default): the first of these that "
                    "is allowed"},
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
    static const char *const words[] = {"auto", "bpf", "perf", "ptrace", NULL};
    static const enum cairn_sample_method methods[] = {CAIRN_SAMPLE_AUTO, CAIRN_SAMPLE_BPF,
                                                       CAIRN_SAMPLE_PERF, CAIRN_SAMPLE_PTRACE};
    int index;
    if (!cli_args_word(args, "method", value, words, &index))
        return false;
    record->sampler.method = methods[index];
    return true;
}

static bool set_pid(struct cli_record *record, struct cli_args *args, const char *value)
{
    uint64_t pid;
    if (!cli_args_u64(args, "pid", value, &pid))
        return false;
    if (pid == 0 || pid > PID_MAX) {
        cli_args_wrong(args, "--pid: %s is no process", value);
        return false;
    }
    record->sampler.pid = (int)pid;
    return true;
}

static bool set_positive(struct cli_args *args, const char *option, const char *value, double most,
                         double *ret_value)
{
    if (!cli_args_real(args, option, value, ret_value))
        return false;
    if (*ret_value > 0 && *ret_value <= most)
        return true;
    cli_args_wrong(args, "--%s: %s, expected more than 0 and at most %.0f", option, value, most);
    return false;
}

static bool set_option(struct cli_record *record, struct cli_args *args, int row, const char *value)
{
    if (row >= OPT_WAYS)
        return cli_way_take(args, (enum cli_way_row)(row - OPT_WAYS), value, &record->symbols);
    switch (row) {
    case OPT_PID:
        return set_pid(record, args, value);
    case OPT_FREQUENCY:
        if (!set_positive(args, "frequency", value, 1e6, &record->sampler.frequency_hz))
            return false;
        if (record->sampler.frequency_hz >= 1)
            return true;
        cli_args_wrong(args, "--frequency: %s, expected at least 1", value);
        return false;
    case OPT_DURATION:
        return set_positive(args, "duration", value, 1e8, &record->seconds);
    case OPT_OUTPUT:
        record->out = value;
        return true;
    case OPT_USER_ONLY:
        record->sampler.user_only = 1;
        return true;
    case OPT_METHOD:
        return set_method(record, args, value);
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
    if ((n > 0) == (record->sampler.pid > 0)) {
        cli_args_wrong(args, n ? "either --pid or a command, not both"
                               : "nothing to record: give --pid PID or -- COMMAND");
        return false;
    }
    if (record->sampler.method == CAIRN_SAMPLE_PTRACE && n == 0) {
        cli_args_wrong(args, "--method=ptrace is for commands only");
        return false;
    }
    return cli_result_of_name(args, record->out, &record->result);
}

void cli_record_done(struct cli_record *record)
{
    cli_list_done(&record->symbol_dirs);
}
