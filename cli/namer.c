/* SPDX-License-Identifier: MIT */
#include "cli/namer.h"

#include <stdio.h>

enum { PATH_BYTES = 64 };

static int open_resolver(const struct cairn_symbolizer_opts *symbols,
                         const struct cli_list *symbol_dirs, int pid,
                         const struct cairn_sampler *sampler, struct cairn_resolver **ret_resolver,
                         struct cairn_err *err)
{
    char root[PATH_BYTES];
    struct cairn_resolve_opts opts = {
        .size = sizeof opts, .symbols = *symbols, .live = pid != 0, .pid = pid};
    opts.symbols.size = sizeof opts.symbols;
    snprintf(root, sizeof root, "/proc/%d/root", pid);
    opts.symbols.root = pid > 0 ? root : NULL;
    opts.symbols.symbol_dirs = symbol_dirs->items;
    opts.symbols.n_symbol_dirs = symbol_dirs->n;
    if (sampler)
        opts.n_module_files = cairn_sampler_files(sampler, &opts.module_files);
    return cairn_resolver_new(&opts, ret_resolver, err);
}

int cli_namer_new(const struct cairn_symbolizer_opts *symbols, const struct cli_list *symbol_dirs,
                  int pid, struct cairn_resolver **ret_resolver, struct cairn_err *err)
{
    return open_resolver(symbols, symbol_dirs, pid, NULL, ret_resolver, err);
}

int cli_namer_name_sampled(const struct cairn_symbolizer_opts *symbols,
                           const struct cli_list *symbol_dirs, int pid,
                           const struct cairn_sampler *sampler, struct cairn_profile *profile,
                           struct cairn_err *err)
{
    struct cairn_resolver *resolver;
    int result = open_resolver(symbols, symbol_dirs, pid, sampler, &resolver, err);
    if (result < 0)
        return result;
    result = cairn_resolve_profile(resolver, profile, err);
    cairn_resolver_free(resolver);
    return result;
}

int cli_namer_name(const struct cairn_symbolizer_opts *symbols, const struct cli_list *symbol_dirs,
                   int pid, struct cairn_profile *profile, struct cairn_err *err)
{
    return cli_namer_name_sampled(symbols, symbol_dirs, pid, NULL, profile, err);
}
