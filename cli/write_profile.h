/* SPDX-License-Identifier: MIT */
#ifndef CAIRN_CLI_WRITE_PROFILE_H
#define CAIRN_CLI_WRITE_PROFILE_H

#include <cairn/profile.h>

#include "cli/term.h"

/* Is the format for viewers of other projects? No command can add names to it later. */
bool cli_format_is_for_viewers(enum cairn_format format);

/* Has it a place for events that were kept one by one? */
bool cli_format_holds_events(enum cairn_format format);

/* Has it a place for the time of each sample? */
bool cli_format_holds_times(enum cairn_format format);

/* As cairn_profile_write(), in one gzip member. */
int cli_write_packed(const struct cairn_profile *profile, enum cairn_format format,
                     cairn_write_fn write, void *ctx, struct cairn_err *err);

/* cairn_profile_write(), packed by gzip if the output's name ends in .gz: pprof always is, and
 * collapsed stacks never. The error is the output's own where that has one. */
int cli_write_profile(const struct cairn_profile *profile, enum cairn_format format,
                      struct cli_output *output, struct cairn_err *err);

#endif /* CAIRN_CLI_WRITE_PROFILE_H */
