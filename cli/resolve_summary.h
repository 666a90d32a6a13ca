/* SPDX-License-Identifier: MIT */
/* The end of `cairn resolve`: what was named and why the rest was not. */
#ifndef CAIRN_CLI_RESOLVE_SUMMARY_H
#define CAIRN_CLI_RESOLVE_SUMMARY_H

#include <stdbool.h>

#include <cairn/resolve.h>

void cli_resolve_say_summary(const struct cairn_resolver *resolver);

/* One JSON object (docs/formats/resolve-json.md) on stdout, or on stderr where stdout is taken. */
void cli_resolve_print_json(const struct cairn_resolver *resolver, bool stdout_is_taken);

#endif /* CAIRN_CLI_RESOLVE_SUMMARY_H */
