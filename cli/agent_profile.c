/* SPDX-License-Identifier: MIT */
/* What becomes of a window's profile before it is kept: labels, names, notes, bytes. */
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include <cairn/log.h>
#include <cairn/resolve.h>

#include "base/error.h"
#include "cli/agent.h"
#include "cli/term.h"
#include "cli/way_options.h"

/* What is known of modules serves so many windows. It is dropped then, for files that nobody has
 * mapped any more are held by it. */
enum { WINDOWS_MAX = 60 };

static int need_resolver(struct cli_agent_maker *m, const struct cli_agent_options *o,
                         struct cairn_err *err)
{
    struct cairn_resolve_opts opts = {.size = sizeof opts, .live = 1, .pid = -1};
    if (m->resolver && m->n_windows++ < WINDOWS_MAX)
        return CAIRN_OK;
    cli_agent_maker_done(m);
    cli_way_init(&opts.symbols);
    opts.symbols.size = sizeof opts.symbols;
    opts.symbols.no_debug_info = !o->lines;
    opts.symbols.index = CAIRN_INDEX_NEVER; /* an index is made by all CPUs, at once */
    opts.symbols.n_threads = 1;
    opts.symbols.memory_bytes =
        o->max_memory / 4 < SIZE_MAX ? (size_t)(o->max_memory / 4) : SIZE_MAX;
    return cairn_resolver_new(&opts, &m->resolver, err);
}

static int name_frames(struct cli_agent_maker *m, const struct cli_agent_options *o,
                       const struct cairn_sampler *sampler, struct cairn_profile *profile,
                       struct cairn_err *err)
{
    const int *files;
    size_t n_files = cairn_sampler_files(sampler, &files);
    int code = need_resolver(m, o, err);
    if (code < 0)
        return code;
    cairn_resolver_next(m->resolver, files, n_files);
    if (!o->verbosity) /* the same files are missing at each window */
        cairn_log_set(NULL, NULL, CAIRN_LOG_WARNING);
    code = cairn_resolve_profile(m->resolver, profile, err);
    cli_log_open(o->verbosity);
    return code;
}

static int add_bytes(void *buffer, const void *bytes, size_t size)
{
    cairn_buffer_add(buffer, bytes, size);
    return ((struct cairn_buffer *)buffer)->failed;
}

static int add_host(struct cairn_profile *profile)
{
    char host[HOST_NAME_MAX + 1] = "";
    (void)gethostname(host, sizeof host - 1);
    return *host ? cairn_profile_add_note(profile, CAIRN_NOTE_HOST, host) : CAIRN_OK;
}

int cli_agent_profile_finish(struct cli_agent_maker *m, const struct cli_agent_options *o,
                             const struct cairn_sampler *sampler, struct cairn_profile *profile,
                             struct cairn_buffer *bytes, struct cairn_err *err)
{
    const struct cairn_agent_labels labels = {.size = sizeof labels,
                                              .environment = o->environment.items,
                                              .n_environment = o->environment.n,
                                              .max_sets = o->max_sets};
    m->n_sets_lost = 0;
    m->why = (struct cairn_err){0};
    int code = cairn_agent_label(profile, &labels, &m->n_sets_lost, err);
    if (code == CAIRN_OK && !o->no_names && name_frames(m, o, sampler, profile, &m->why) < 0)
        cli_agent_maker_done(m); /* it has addresses and build IDs all the same */
    if (code == CAIRN_OK && add_host(profile) < 0)
        code = cairn_fail_memory(err);
    return code < 0 ? code
                    : cairn_profile_write(profile, CAIRN_FORMAT_PPROF, add_bytes, bytes, err);
}

void cli_agent_maker_done(struct cli_agent_maker *m)
{
    cairn_resolver_free(m->resolver);
    m->resolver = NULL;
    m->n_windows = 0;
}
