/* SPDX-License-Identifier: MIT */
/* cairn doctor: what this machine and these rights allow, and the command that allows more. */
#include <stdio.h>
#include <string.h>

#include "cli/args.h"
#include "cli/doctor_text.h"
#include "cli/term.h"

enum option { OPTION_JSON, OPTION_VERBOSE };

static const struct cli_option options[] = {
    [OPTION_JSON] = {.name = "json", .help = "print one JSON object"},
    [OPTION_VERBOSE] = {"verbose", 'v', NULL,
                        "say which debug files are looked for; twice: more of it"},
    {0},
};

static int show(int pid, bool as_json)
{
    const struct cairn_doctor_opts opts = {.size = sizeof opts, .pid = pid};
    const struct cli_doctor_form form = {.pid = pid, .width = cli_width(), .colour = cli_colour()};
    struct cairn_doctor *doctor;
    struct cairn_buffer out = {0};
    struct cairn_err err;
    if (cairn_doctor_new(&opts, &doctor, &err) < 0)
        return cli_report(&err);
    if (as_json)
        cli_doctor_add_json(&out, doctor, &form);
    else
        cli_doctor_add_text(&out, doctor, &form);
    cairn_doctor_free(doctor);
    bool failed = out.failed;
    if (failed)
        cli_say("out of memory");
    else
        fwrite(out.data, 1, out.size, stdout);
    cairn_buffer_done(&out);
    return failed ? CLI_FAILED : CLI_OK;
}

static int run(struct cli_args *args)
{
    bool as_json = false;
    int verbosity = 0, pid = 0, row;
    const char *value;
    size_t n;
    while ((row = cli_args_next(args, &value)) >= 0) {
        if (row == OPTION_JSON)
            as_json = true;
        else
            verbosity++;
    }
    if (row == CLI_ARGS_WRONG)
        return CLI_USAGE;
    char **operands = cli_args_operands(args, &n);
    if (n > 1)
        return cli_args_wrong(args, "\"%s\" is one word too many", operands[1]);
    if (n && !cli_args_pid(args, operands[0], &pid))
        return CLI_USAGE;
    cli_log_open(verbosity);
    return show(pid, as_json);
}

const struct cli_command cli_cmd_doctor = {
    .name = "doctor",
    .summary = "what this machine and these rights allow, and the command that allows more",
    .usage = (const char *const[]){"doctor [--json] [PID]", NULL},
    .options = options,
    .notes =
        "Each is tried and not guessed, on children of cairn's own: nothing else is stopped or "
        "changed. With PID also what there is to unwind and name that process by.",
    .run = run,
    .remote = CLI_REMOTE_TEXT,
};
