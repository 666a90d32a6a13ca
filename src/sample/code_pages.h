/* SPDX-License-Identifier: MIT */
/*
 * Code pages: code of a process that is in no file at hand, such as a JIT compiler's, read by
 * pages. A walk through such code reads some bytes at a time, hundreds of times a stack; each would
 * be a system call.
 *
 * The process may replace its code at any time, so a page counts for 10 ms.
 */
#ifndef CAIRN_SAMPLE_CODE_PAGES_H
#define CAIRN_SAMPLE_CODE_PAGES_H

#include "sample/space.h"

enum { CAIRN_CODE_PAGES = 32, CAIRN_CODE_PAGE_BYTES = 4096 };

struct cairn_code_pages {
    uint64_t version; /* of the space that the pages are of: no two spaces have the same */
    uint64_t read_ns; /* CLOCK_MONOTONIC: when the first of them was read */
    uint64_t n_reads; /* pages read so far */
    struct cairn_code_page {
        uint64_t va;   /* page-aligned */
        uint32_t size; /* bytes that could be read; valid where is_read */
        bool is_read;
        uint8_t bytes[CAIRN_CODE_PAGE_BYTES];
    } pages[CAIRN_CODE_PAGES];
};

/* Drops the pages of another process, of older mappings, and those that are too old at `now_ns`. */
void cairn_code_pages_begin(struct cairn_code_pages *pages, const struct cairn_space *space,
                            uint64_t now_ns);

/* True where all `size` bytes at `va` were read. */
bool cairn_code_pages_read(struct cairn_code_pages *pages, struct cairn_space *space, uint64_t va,
                           void *to, size_t size);

#endif /* CAIRN_SAMPLE_CODE_PAGES_H */
