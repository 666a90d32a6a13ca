/* SPDX-License-Identifier: MIT */
#include "sample/build_ids.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/apart.h"

/* struct procmap_query of <linux/fs.h>, which Debian 12's headers do not have yet. */
struct query {
    uint64_t size, flags, address;
    uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_off, inode;
    uint32_t dev_major, dev_minor, name_size, build_id_size;
    uint64_t name_address, build_id_address;
};

void cairn_build_ids_open(int pid, struct cairn_build_ids *ret_ids)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    ret_ids->fd = open(path, O_RDONLY | O_CLOEXEC);
}

void cairn_build_ids_close(struct cairn_build_ids *ids)
{
    if (ids->fd >= 0)
        close(ids->fd);
    ids->fd = -1;
}

/* The kernel reads the note from the file, which may lie on FUSE. The bytes lie behind the query.
 */
static long ask(uint8_t *io, int fd, int *ret_fd)
{
    struct query query;
    (void)ret_fd;
    memcpy(&query, io, sizeof query);
    query.build_id_address = (uint64_t)(uintptr_t)(io + sizeof query);
    return ioctl(fd, _IOWR('f', 17, struct query), &query) < 0 ? -errno : (long)query.build_id_size;
}

struct cairn_span cairn_build_ids_find(struct cairn_build_ids *ids, uint64_t va)
{
    const struct query query = {
        .size = sizeof query, .address = va, .build_id_size = sizeof ids->bytes};
    const struct cairn_apart_call call = {
        .fn = ask,
        .fd = ids->fd,
        .in = &query,
        .in_size = sizeof query,
        .out = ids->bytes,
        .out_off = sizeof query,
        .out_size = sizeof ids->bytes,
        .out_is_result = true,
    };
    long size = ids->fd < 0 ? -1 : cairn_apart_do(&call);
    if (size < 0 || size > (long)sizeof ids->bytes)
        return (struct cairn_span){0};
    return (struct cairn_span){ids->bytes, (size_t)size};
}
