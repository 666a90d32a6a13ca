/* SPDX-License-Identifier: MIT */
#include "watch/lost_shared.h"

#include <linux/magic.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/foreign.h"
#include "proc/mapped_file.h"

enum { PIECE = CAIRN_REACH_WINDOW };

/* Read-only mappings of files are of gconv's cache and the like. */
static bool may_hold(const struct cairn_lost_map *map)
{
    return (map->flags & CAIRN_MAP_SHARED) &&
           ((map->flags & CAIRN_MAP_WRITE) || !(map->flags & CAIRN_MAP_FILE));
}

static bool is_unread(const struct cairn_lost_space *s, const struct cairn_lost_map *map)
{
    const struct cairn_unread *unread = &s->mem.unread;
    for (size_t i = 0; i < unread->n; i++)
        if (unread->ranges[i].start <= map->start && unread->ranges[i].end > map->start)
            return true;
    return false;
}

/* -1: it cannot be read this way. */
static int open_file(const struct cairn_lost_space *s, const struct cairn_lost_map *map)
{
    const struct cairn_mapped_file file = {s->pid, map->start, map->end, ""};
    struct cairn_buffer path = {0};
    struct statfs of;
    int fd = -1;
    if (!cairn_mapped_name(&file, CAIRN_MAPPED_BY_LINK, &path) ||
        cairn_foreign_open_path(cairn_buffer_text(&path), &fd, NULL) < 0)
        fd = -1;
    cairn_buffer_done(&path);
    if (fd < 0 || (fstatfs(fd, &of) == 0 && of.f_type == TMPFS_MAGIC))
        return fd;
    close(fd);
    return -1;
}

/* Holes are passed over. */
static int each_run(struct cairn_lost_space *s, const struct cairn_lost_map *map, int fd,
                    cairn_lost_piece_fn each, void *ctx)
{
    uint64_t at = map->off, end = map->off + (map->end - map->start);
    int code = CAIRN_OK;
    while (code == CAIRN_OK && at < end) {
        off_t data = lseek(fd, (off_t)at, SEEK_DATA);
        off_t hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);
        if (hole < 0 || (uint64_t)data >= end)
            break;
        uint64_t from = (uint64_t)data & ~UINT64_C(7),
                 to = (uint64_t)hole < end ? (uint64_t)hole : end;
        size_t size = to - from < PIECE ? (size_t)(to - from) : PIECE;
        ssize_t got = pread(fd, s->piece, size, (off_t)from);
        if (got <= 0)
            break;
        s->n_bytes += (uint64_t)got;
        at = from + (uint64_t)got;
        code =
            each(ctx, map->start + (from - map->off), (struct cairn_span){s->piece, (size_t)got});
    }
    return code;
}

int cairn_lost_shared_each(struct cairn_lost_space *space, const struct cairn_lost_map *map,
                           cairn_lost_piece_fn each, void *ctx, bool *ret_is_read)
{
    int fd = may_hold(map) && !is_unread(space, map) ? open_file(space, map) : -1;
    *ret_is_read = fd >= 0;
    if (fd < 0)
        return CAIRN_OK;
    int code = each_run(space, map, fd, each, ctx);
    close(fd);
    return code;
}
