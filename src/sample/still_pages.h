/* SPDX-License-Identifier: MIT */
/*
 * Still pages: memory of a process that runs, of which a reader asks only for what does not change,
 * such as the names and lines of an interpreter's functions. Each page is read once and kept, a
 * second at most, or for good once the process has ended. The reader proves that what it found is
 * still what was there when a stack was caught, and renews the pages where it is not.
 */
#ifndef CAIRN_SAMPLE_STILL_PAGES_H
#define CAIRN_SAMPLE_STILL_PAGES_H

#include "base/table.h"
#include "proc/mem.h"

enum { CAIRN_STILL_PAGE_BYTES = 4096, CAIRN_STILL_PAGES_MAX = 2048 };

struct cairn_still_page;

struct cairn_still_pages {
    struct cairn_mem *mem; /* borrowed */
    struct cairn_table by_number;
    struct cairn_still_page **pages;
    size_t n, cap;
    uint64_t read_ns; /* CLOCK_MONOTONIC: when the first of them was read */
    uint64_t n_reads; /* pages, ever */
};

void cairn_still_pages_done(struct cairn_still_pages *pages);

/* Forgets all of them, unless the process has ended. */
void cairn_still_pages_renew(struct cairn_still_pages *pages);
/* Those that are too old at `now_ns` are forgotten. */
void cairn_still_pages_begin(struct cairn_still_pages *pages, uint64_t now_ns);

/* False: not all of it can be read, or memory is gone. */
bool cairn_still_pages_read(struct cairn_still_pages *pages, uint64_t va, void *to, size_t size);

#endif /* CAIRN_SAMPLE_STILL_PAGES_H */
