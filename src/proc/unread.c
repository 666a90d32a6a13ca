/* SPDX-License-Identifier: MIT */
#include "proc/unread.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <cairn/maps.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "proc/fuse.h"
#include "proc/process.h"

enum { PAGE = 4096, SMAPS_MAX_BYTES = 256 << 20 };

const char cairn_unread_fuse[] = "in memory of a FUSE file, which is not read";
const char cairn_unread_uffd[] = "in memory under userfaultfd(2), which is not read";
static const char why_hung[] = "in memory whose read did not end";
static const char why_all[] = "in memory of a process whose reads do not end";

void cairn_unread_done(struct cairn_unread *unread)
{
    cairn_free(unread->ranges);
    *unread = (struct cairn_unread){0};
}

void cairn_unread_forget(struct cairn_unread *unread)
{
    unread->n = 0;
    unread->why = NULL;
}

void cairn_unread_add(struct cairn_unread *unread, uint64_t start, uint64_t end, const char *why)
{
    for (size_t i = 0; i < unread->n; i++)
        if (unread->ranges[i].start == start && unread->ranges[i].end == end)
            return;
    if (cairn_grow((void **)&unread->ranges, &unread->cap, unread->n + 1, sizeof *unread->ranges) <
        0)
        return; /* the deadline still holds */
    unread->ranges[unread->n++] = (struct cairn_unread_range){start, end, why};
}

void cairn_unread_add_maps(struct cairn_unread *unread, int pid, const struct cairn_maps *maps)
{
    struct cairn_fuse_devices devices = {0};
    bool asked = false;
    for (size_t i = 0; i < cairn_maps_count(maps); i++) {
        const struct cairn_map *map = cairn_maps_get(maps, i);
        /* FUSE has devices without a major number, but for fuseblk, which the deadline serves. */
        if (map->dev_major || !map->inode)
            continue;
        if (!asked)
            cairn_fuse_devices_read(pid, &devices);
        asked = true;
        if (cairn_fuse_has(&devices, map->dev_major, map->dev_minor))
            cairn_unread_add(unread, map->start, map->end, cairn_unread_fuse);
    }
    cairn_fuse_devices_done(&devices);
}

static size_t refuse(struct cairn_unread *unread, uint64_t va, const char *why)
{
    unread->why = why;
    unread->why_va = va;
    return 0;
}

size_t cairn_unread_clip(struct cairn_unread *unread, uint64_t va, size_t size)
{
    if (unread->n_hung >= CAIRN_UNREAD_HUNG_MAX)
        return refuse(unread, va, why_all);
    for (size_t i = 0; i < unread->n; i++) {
        const struct cairn_unread_range *range = &unread->ranges[i];
        if (va >= range->start && va < range->end)
            return refuse(unread, va, range->why);
        if (range->start > va && range->start - va < size)
            size = (size_t)(range->start - va);
    }
    return size;
}

/* proc_pid_smaps(5): um, uw and ui are the three modes of userfaultfd(2). */
static bool has_uffd(const char *flags)
{
    size_t size = strcspn(flags, "\n");
    return memmem(flags, size, " um", 3) || memmem(flags, size, " uw", 3) ||
           memmem(flags, size, " ui", 3);
}

void cairn_unread_parse(struct cairn_unread *unread, const char *text)
{
    static const char flags[] = "VmFlags:";
    uint64_t start = 0, end = 0;
    for (const char *line = text; *line;) {
        size_t size = strcspn(line, "\n");
        uint64_t first, second;
        char blank;
        if (strncmp(line, flags, sizeof flags - 1) == 0) {
            if (has_uffd(line + sizeof flags - 1))
                cairn_unread_add(unread, start, end, cairn_unread_uffd);
        } else if (sscanf(line, "%" SCNx64 "-%" SCNx64 "%c", &first, &second, &blank) == 3 &&
                   blank == ' ') {
            start = first;
            end = second;
        }
        line += size + (line[size] == '\n');
    }
}

static bool touches(const struct cairn_unread *unread, uint64_t va, size_t size)
{
    for (size_t i = 0; i < unread->n; i++)
        if (unread->ranges[i].start < va + size && unread->ranges[i].end > va)
            return true;
    return false;
}

void cairn_unread_hung(struct cairn_unread *unread, int pid, uint64_t va, size_t size)
{
    struct cairn_buffer text = {0};
    uint64_t start = va - va % PAGE;
    unread->n_hung++;
    if (cairn_process_slurp(pid, "smaps", SMAPS_MAX_BYTES, &text, NULL) == 0)
        cairn_unread_parse(unread, cairn_buffer_text(&text));
    cairn_buffer_done(&text);
    if (!touches(unread, va, size))
        cairn_unread_add(unread, start, va + size, why_hung);
}
