/* SPDX-License-Identifier: MIT */
/* cairn agent: its parts, a row each. */
#include "cli/agent.h"

static const struct cli_command *const parts[] = {&cli_agent_run, &cli_agent_status,
                                                  &cli_agent_dump, NULL};

const struct cli_command cli_cmd_agent = {
    .name = "agent",
    .summary = "sample this machine all the time: a flight recorder, or profiles for a store",
    .parts = parts,
    .usual_part = &cli_agent_run,
};
