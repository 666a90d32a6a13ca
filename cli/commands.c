/* SPDX-License-Identifier: MIT */
#include "cli/commands.h"

#include "cli/agent.h"
#include "cli/push.h"

const struct cli_command *const cli_commands[] = {
    /* clang-format off */
    &cli_cmd_stack, &cli_cmd_trace,
    &cli_cmd_record,
    &cli_cmd_heap,
    &cli_cmd_hook,
    &cli_cmd_resolve,
    &cli_cmd_symbolize,
    &cli_cmd_addr2line,
    &cli_cmd_flame,
    &cli_cmd_report,
    &cli_cmd_diff,
    &cli_cmd_convert,
    &cli_cmd_view,
    &cli_cmd_agent,
    &cli_cmd_push,
    &cli_cmd_remote,
    &cli_cmd_symbols,
    &cli_cmd_cache,
    &cli_cmd_doctor,
    &cli_cmd_completion,
    &cli_cmd_version,
    /* clang-format on */
    NULL};
