/* SPDX-License-Identifier: MIT */
/*
 * Pages: what a walk has read of a process. A stack is read word by word, and each system call
 * costs more than a whole page. The frames of a stack, an interpreter's calls and its values are
 * each read in one direction, and in turn: pages that follow what was read before come several at
 * once, and a page lies in one of a few slots, so that none of them is in another's way.
 */
#ifndef CAIRN_TARGET_PAGES_H
#define CAIRN_TARGET_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CAIRN_PAGE = 4096, CAIRN_PAGE_SLOTS = 16, CAIRN_PAGE_BANKS = 4 };

/* A page's slot is given by its va, so that pages that follow each other can be read at once. */
struct cairn_page_bank {
    uint64_t below, above; /* the pages at both ends of what was read last */
    size_t n_ahead;        /* how many pages that was to be; 0: nothing was read */
    uint64_t va[CAIRN_PAGE_SLOTS];
    uint32_t used[CAIRN_PAGE_SLOTS]; /* when; 0: the slot is empty */
    uint8_t bytes[CAIRN_PAGE_SLOTS][CAIRN_PAGE];
};

struct cairn_pages {
    /* Reads up to `n` pages from `va`; returns how many. The one with the number `asked` is wanted,
     * the others are hoped for. */
    size_t (*read)(void *ctx, uint64_t va, uint8_t *to, size_t n, size_t asked);
    void *ctx;
    uint32_t now;
    uint64_t last_va; /* of the page that was asked for last; odd: none */
    const uint8_t *last;
    struct cairn_page_bank banks[CAIRN_PAGE_BANKS];
};

/* Nothing was read: before the first use, and when the memory may have changed. */
void cairn_pages_forget(struct cairn_pages *pages);

/* Up to the end of the page. False: it cannot be read. */
bool cairn_pages_read(struct cairn_pages *pages, uint64_t va, void *to, size_t size);

#endif /* CAIRN_TARGET_PAGES_H */
