/* SPDX-License-Identifier: MIT */
#include "sample/build_ids.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

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

struct cairn_span cairn_build_ids_find(struct cairn_build_ids *ids, uint64_t va)
{
    struct query query = {
        .size = sizeof query,
        .address = va,
        .build_id_size = sizeof ids->bytes,
        .build_id_address = (uint64_t)(uintptr_t)ids->bytes,
    };
    if (ids->fd < 0 || ioctl(ids->fd, _IOWR('f', 17, struct query), &query) < 0 ||
        query.build_id_size > sizeof ids->bytes)
        return (struct cairn_span){0};
    return (struct cairn_span){ids->bytes, query.build_id_size};
}
