/* SPDX-License-Identifier: MIT */
/* cairn hook: its parts. Each is a file hook_NAME.c, a name below and a row in cmd_hook.c. */
#ifndef CAIRN_CLI_HOOK_H
#define CAIRN_CLI_HOOK_H

#include "cli/args.h"

extern const struct cli_command cli_hook_plan, cli_hook_move, cli_hook_slots;

/* What plan and slots are asked: functions of a file or a process. Texts are borrowed. */
struct cli_hook_query {
    const char *input;
    int pid; /* 0: `input` is a file */
    const char *const *names;
    size_t n_names;
    bool json;
};
extern const struct cli_option cli_hook_query_options[];

/* Opens the log, too; false after having said what is wrong. */
bool cli_hook_take_query(struct cli_args *args, bool needs_names, struct cli_hook_query *ret_query);

#endif /* CAIRN_CLI_HOOK_H */
