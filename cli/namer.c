/* SPDX-License-Identifier: MIT */
#include "cli/namer.h"

#include <stdio.h>

enum { PATH_BYTES = 64 };

int cli_namer_new(const struct cairn_symbolizer_opts *symbols, const struct cli_list *symbol_dirs,
                  int pid, struct cairn_resolver **ret_resolver, struct cairn_err *err)
{
    char root[PATH_BYTES];
    struct cairn_resolve_opts opts = {
        .size = sizeof opts, .symbols = *symbols, .live = pid != 0, .pid = pid};
    opts.symbols.size = sizeof opts.symbols;
    snprintf(root, sizeof root, "/proc/%d/root", pid);
    opts.symbols.root = pid > 0 ? root : NULL;
    opts.symbols.symbol_dirs = symbol_dirs->items;
    opts.symbols.n_symbol_dirs = symbol_dirs->n;
    return cairn_resolver_new(&opts, ret_resolver, err);
}

int cli_namer_name(const struct cairn_symbolizer_opts *symbols, const struct cli_list *symbol_dirs,
                   int pid, struct cairn_profile *profile, struct cairn_err *err)
{
    struct cairn_resolver *resolver;
    int result = cli_namer_new(symbols, symbol_dirs, pid, &resolver, err);
    if (result < 0)
        return result;
    result = cairn_resolve_profile(resolver, profile, err);
    cairn_resolver_free(resolver);
    return result;
}
