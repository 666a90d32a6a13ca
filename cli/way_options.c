/* SPDX-License-Identifier: MIT */
#include "cli/way_options.h"

#include <stdlib.h>

#include "cli/term.h"

enum { THREADS_MAX = 256 };

void cli_way_init(struct cairn_symbolizer_opts *opts)
{
    const char *text = getenv("CAIRN_CACHE_SIZE");
    uint64_t bytes = 0;
    opts->use_cache = 1;
    if (!text || !*text)
        return;
    if (!cli_parse_size(text, &bytes)) {
        cli_say("CAIRN_CACHE_SIZE: \"%s\" is no size (512M, 2G); passed over", text);
        return;
    }
    opts->cache_max_bytes = bytes;
    opts->use_cache = bytes != 0;
}

bool cli_way_take(struct cli_args *args, enum cli_way_row row, const char *value,
                  struct cairn_symbolizer_opts *opts)
{
    static const char *const whens[] = {"auto", "never", "always", NULL};
    uint64_t n;
    int when;
    switch (row) {
    case CLI_WAY_NO_CACHE:
        opts->use_cache = 0;
        return true;
    case CLI_WAY_INDEX:
        if (!cli_args_word(args, "index", value, whens, &when))
            return false;
        opts->index = (enum cairn_index_use)when;
        return true;
    case CLI_WAY_THREADS:
        if (!cli_args_count(args, "threads", value, THREADS_MAX, &n))
            return false;
        opts->n_threads = (unsigned)n;
        return true;
    case CLI_N_WAYS:
        break;
    }
    return false;
}
