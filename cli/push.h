/* SPDX-License-Identifier: MIT */
#ifndef CAIRN_CLI_PUSH_H
#define CAIRN_CLI_PUSH_H

#include "cli/args.h"

extern const struct cli_command cli_cmd_push;

#endif /* CAIRN_CLI_PUSH_H */
