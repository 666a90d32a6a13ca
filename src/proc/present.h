/* SPDX-License-Identifier: MIT */
/*
 * Present: which pages of another process hold something, by /proc/PID/pagemap (bits 62 and 63 of
 * an entry; Documentation/admin-guide/mm/pagemap.rst, Linux 2.6.25). A page that was never written
 * holds zeros, and to read it would cost the process page tables: of 20 TB under a sanitizer.
 */
#ifndef CAIRN_PROC_PRESENT_H
#define CAIRN_PROC_PRESENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CAIRN_PRESENT_ENTRIES = 8192 };

/* One process. One thread at a time. */
struct cairn_present {
    int fd;           /* -1: the file cannot be read, and each page counts as present */
    bool has_no_scan; /* the kernel is older than 6.7: each page is asked for */
    bool skips_file;  /* of a private mapping: pages that are still the file's do not count */
    uint64_t page_size;
    uint64_t first; /* number of the page that entries[0] is of */
    size_t n;
    uint64_t entries[CAIRN_PRESENT_ENTRIES];
};

void cairn_present_open(int pid, struct cairn_present *ret_present);
void cairn_present_close(struct cairn_present *present);

/* The first run of present pages in [va, end), at most `most` bytes of it. False: there is none. */
bool cairn_present_next(struct cairn_present *present, uint64_t va, uint64_t end, uint64_t most,
                        uint64_t *ret_from, uint64_t *ret_to);

#endif /* CAIRN_PROC_PRESENT_H */
