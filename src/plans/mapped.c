/* SPDX-License-Identifier: MIT */
#include "plans/mapped.h"

#include <unistd.h>

#include "base/error.h"
#include "base/foreign.h"
#include "base/log.h"
#include "proc/mapped_file.h"

struct opening {
    struct cairn_file *file;
    struct cairn_err err; /* of the last attempt */
    bool is_open;
};

static bool open_link(void *context, enum cairn_mapped_by by, const char *link)
{
    struct opening *o = context;
    int fd;
    (void)by;
    if (cairn_foreign_open_path(link, &fd, &o->err) < 0)
        return false;
    o->is_open = cairn_file_open_fd(fd, link, o->file, &o->err) == CAIRN_OK;
    close(fd);
    return o->is_open;
}

int cairn_plans_open_mapped(int pid, const struct cairn_map *map, struct cairn_file *ret_file,
                            struct cairn_err *err)
{
    static const enum cairn_mapped_by order[] = {CAIRN_MAPPED_BY_LINK, CAIRN_MAPPED_BY_ROOT,
                                                 CAIRN_MAPPED_BY_NONE};
    const struct cairn_mapped_file file = {pid, map->start, map->end, map->path};
    struct opening o = {.file = ret_file};
    (void)cairn_mapped_find(&file, order, open_link, &o);
    if (!o.is_open && !o.err.code)
        return cairn_fail(err, CAIRN_E_MISSING, "its file cannot be opened");
    if (!o.is_open && err)
        *err = o.err;
    return o.is_open ? CAIRN_OK : (int)o.err.code;
}

int cairn_plans_each_mapping(const struct cairn_maps *maps, cairn_plans_mapping_fn *fn,
                             void *context, struct cairn_err *err)
{
    for (size_t i = 0; i < cairn_maps_count(maps); i++) {
        const struct cairn_map *map = cairn_maps_get(maps, i);
        struct cairn_err why;
        if (!(map->flags & CAIRN_MAP_EXEC) || !(map->flags & CAIRN_MAP_FILE))
            continue;
        int code = fn(context, i, &why);
        if (code == CAIRN_E_NOMEM || code == CAIRN_E_STOPPED) {
            if (err)
                *err = why;
            return code;
        }
        if (code < 0) {
            cairn_fail_in(&why, code, map->path);
            cairn_log_err(CAIRN_LOG_WARNING, &why);
        }
    }
    return CAIRN_OK;
}
