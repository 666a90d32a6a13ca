/* SPDX-License-Identifier: MIT */
#include "cli/way_options.h"

#include <inttypes.h>
#include <stdlib.h>

#include <cairn/debuginfod.h>

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

static int show_progress(void *ctx, const struct cairn_debuginfod_progress *p)
{
    (void)ctx;
    if (p->name)
        cli_progress("debuginfod: %" PRIu64 " of %" PRIu64 " files, %.1f MB, %s", p->n_done,
                     p->n_files, (double)p->bytes / 1e6, p->name);
    else
        cli_progress_done();
    return 0;
}

/* Of the whole program, in whatever order its two options stand. */
static bool use_debuginfod(enum cli_way_row row, const char *url, uint64_t limit)
{
    static struct cairn_debuginfod_opts opts = {.size = sizeof opts, .progress = show_progress};
    static bool is_wanted;
    struct cairn_err err;
    if (row == CLI_WAY_DEBUGINFOD) {
        is_wanted = true;
        opts.urls = url;
    } else {
        opts.max_bytes = limit;
    }
    if (!is_wanted || cairn_debuginfod_use(&opts, &err) == CAIRN_OK)
        return true;
    cli_report(&err);
    return false;
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
    case CLI_WAY_DEBUGINFOD:
        return use_debuginfod(row, value, 0);
    case CLI_WAY_FETCH_LIMIT:
        return cli_args_size(args, "fetch-limit", value, &n) && use_debuginfod(row, NULL, n);
    case CLI_N_WAYS:
        break;
    }
    return false;
}
