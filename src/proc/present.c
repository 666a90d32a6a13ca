/* SPDX-License-Identifier: MIT */
#include "proc/present.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define PRESENT_OR_SWAPPED (UINT64_C(3) << 62)
#define FILE_OR_SHARED     (UINT64_C(1) << 61)

void cairn_present_open(int pid, struct cairn_present *ret_present)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/pagemap", pid);
    ret_present->fd = open(path, O_RDONLY | O_CLOEXEC);
    ret_present->page_size = (uint64_t)sysconf(_SC_PAGESIZE);
    ret_present->n = 0;
    ret_present->skips_file = false;
}

void cairn_present_close(struct cairn_present *present)
{
    if (present->fd >= 0)
        close(present->fd);
    present->fd = -1;
}

/* False: the kernel does not tell. */
static bool is_present(struct cairn_present *p, uint64_t page, bool *ret_is)
{
    if (page < p->first || page - p->first >= p->n) {
        ssize_t got =
            pread(p->fd, p->entries, sizeof p->entries, (off_t)(page * sizeof p->entries[0]));
        p->first = page;
        p->n = got > 0 ? (size_t)got / sizeof p->entries[0] : 0;
    }
    if (!p->n)
        return false;
    uint64_t entry = p->entries[page - p->first];
    *ret_is = (entry & PRESENT_OR_SWAPPED) != 0 && !(p->skips_file && (entry & FILE_OR_SHARED));
    return true;
}

bool cairn_present_next(struct cairn_present *present, uint64_t va, uint64_t end, uint64_t most,
                        uint64_t *ret_from, uint64_t *ret_to)
{
    const uint64_t size = present->page_size;
    bool is = present->fd < 0;
    uint64_t at = va;
    while (!is && at < end) {
        if (!is_present(present, at / size, &is))
            is = true;
        if (!is)
            at = (at / size + 1) * size;
    }
    if (at >= end)
        return false;
    *ret_from = *ret_to = at;
    while (is && *ret_to < end && *ret_to - at < most) {
        *ret_to = (*ret_to / size + 1) * size;
        if (present->fd >= 0 && *ret_to < end && !is_present(present, *ret_to / size, &is))
            is = true;
    }
    *ret_to = *ret_to < end ? *ret_to : end;
    if (*ret_to - at > most)
        *ret_to = at + most;
    return true;
}
