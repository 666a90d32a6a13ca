/* SPDX-License-Identifier: MIT */
#include "trace/usdt_files.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/maps.h>

#include "base/error.h"
#include "rt/program.h"
#include "target/library.h"
#include "trace/probe_file.h"

static int each_mapped(int pid, cairn_usdt_file_fn fn, void *ctx, struct cairn_err *err)
{
    struct cairn_maps *maps;
    struct cairn_buffer path = {0};
    const char *last = "";
    int code = cairn_maps_read_pid(pid, &maps, err);
    if (code < 0)
        return code;
    for (size_t i = 0; i < cairn_maps_count(maps) && !code; i++) {
        const struct cairn_map *map = cairn_maps_get(maps, i);
        /* a file's mappings stand beside each other */
        if (strcmp(map->path, last) == 0 || !cairn_probe_mapped_path(pid, map, &path))
            continue;
        last = map->path;
        code = fn(ctx, cairn_buffer_text(&path), map->path);
    }
    cairn_buffer_done(&path);
    cairn_maps_free(maps);
    return code;
}

struct asked {
    cairn_usdt_file_fn fn;
    void *ctx;
};

static int pass(void *ctx, const struct cairn_library_file *file)
{
    const struct asked *asked = ctx;
    return asked->fn(asked->ctx, file->path, file->path);
}

static int each_asked_for(const struct cairn_probes *probes, cairn_usdt_file_fn fn, void *ctx,
                          struct cairn_err *err)
{
    struct asked asked = {fn, ctx};
    char path[PATH_MAX];
    const char *program =
        cairn_program_find_mapped(probes->command, getenv("PATH"), path, sizeof path);
    if (!program)
        return cairn_fail(err, CAIRN_E_MISSING, "%s: there is no such program", probes->command);
    return cairn_library_each_file(program, pass, &asked);
}

int cairn_usdt_each_file(const struct cairn_probes *probes, cairn_usdt_file_fn fn, void *ctx,
                         struct cairn_err *err)
{
    int code = CAIRN_OK;
    for (size_t i = 0; i < probes->n_pids && !code; i++)
        code = each_mapped(probes->pids[i], fn, ctx, err);
    if (!code && probes->command)
        code = each_asked_for(probes, fn, ctx, err);
    return code;
}
