/* SPDX-License-Identifier: MIT */
/* Namer: what gives the frames of a profile their names, by a command's options. */
#ifndef CAIRN_CLI_NAMER_H
#define CAIRN_CLI_NAMER_H

#include <cairn/profile.h>
#include <cairn/resolve.h>
#include <cairn/sampler.h>
#include <cairn/symbolizer.h>

#include "cli/args.h"

enum { CLI_NAMER_MANY = -1 };

/* Reads modules in the way of `symbols`, also in `symbol_dirs`; those of a running process by its
 * own files. `pid`: 0 where it is none, CLI_NAMER_MANY where it is several: by our own files. */
int cli_namer_new(const struct cairn_symbolizer_opts *symbols, const struct cli_list *symbol_dirs,
                  int pid, struct cairn_resolver **ret_resolver, struct cairn_err *err);

/* The frames of one profile. */
int cli_namer_name(const struct cairn_symbolizer_opts *symbols, const struct cli_list *symbol_dirs,
                   int pid, struct cairn_profile *profile, struct cairn_err *err);

/* The same of what a sampler has made, with the files that it holds. */
int cli_namer_name_sampled(const struct cairn_symbolizer_opts *symbols,
                           const struct cli_list *symbol_dirs, int pid,
                           const struct cairn_sampler *sampler, struct cairn_profile *profile,
                           struct cairn_err *err);

#endif /* CAIRN_CLI_NAMER_H */
