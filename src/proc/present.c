/* SPDX-License-Identifier: MIT */
#include "proc/present.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define PRESENT_OR_SWAPPED (UINT64_C(3) << 62)
#define FILE_OR_SHARED     (UINT64_C(1) << 61)

/* PAGEMAP_SCAN of <linux/fs.h> (Linux 6.7), which the headers of most systems do not have yet. */
struct region {
    uint64_t start, end, categories;
};
struct scan {
    uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
    uint64_t inverted, mask, anyof_mask, return_mask;
};
enum { SCAN_FILE = 1 << 2, SCAN_PRESENT = 1 << 3, SCAN_SWAPPED = 1 << 4 };
#define PAGEMAP_SCAN _IOWR('f', 16, struct scan)

/* From here on the kernel is asked to skip what is empty: it knows that of gigabytes at once. */
static const uint64_t SCAN_LEAST = 64 << 20;

void cairn_present_open(int pid, struct cairn_present *ret_present)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/pagemap", pid);
    ret_present->fd = open(path, O_RDONLY | O_CLOEXEC);
    ret_present->page_size = (uint64_t)sysconf(_SC_PAGESIZE);
    ret_present->n = 0;
    ret_present->skips_file = ret_present->has_no_scan = false;
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

/* The first page in [va, end) that may be present; `end`: there is none. */
static uint64_t jump(struct cairn_present *p, uint64_t va, uint64_t end)
{
    struct region region = {0};
    struct scan scan = {
        .size = sizeof scan,
        .start = va / p->page_size * p->page_size,
        .end = (end + p->page_size - 1) / p->page_size * p->page_size,
        .vec = (uintptr_t)&region,
        .vec_len = 1,
        .max_pages = 1,
        .inverted = p->skips_file ? SCAN_FILE : 0,
        .mask = p->skips_file ? SCAN_FILE : 0,
        .anyof_mask = SCAN_PRESENT | SCAN_SWAPPED,
    };
    int n = ioctl(p->fd, PAGEMAP_SCAN, &scan);
    p->has_no_scan = n < 0;
    if (n < 0)
        return va;
    return n == 0 ? end : region.start > va ? region.start : va;
}

bool cairn_present_next(struct cairn_present *present, uint64_t va, uint64_t end, uint64_t most,
                        uint64_t *ret_from, uint64_t *ret_to)
{
    const uint64_t size = present->page_size;
    bool is = present->fd < 0;
    uint64_t at = va;
    if (!is && !present->has_no_scan && end - va > SCAN_LEAST)
        at = jump(present, va, end);
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
