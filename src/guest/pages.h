/* SPDX-License-Identifier: MIT */
/*
 * Pages: memory that does not change while one stack is read, so that its pages are read once. What
 * an interpreter has of its functions lies close together.
 */
#ifndef CAIRN_GUEST_PAGES_H
#define CAIRN_GUEST_PAGES_H

#include "base/memory.h"

enum { CAIRN_GUEST_PAGE = 1024, CAIRN_GUEST_PAGES = 64 };

struct cairn_guest_pages {
    struct cairn_memory memory;     /* what is read */
    uint64_t va[CAIRN_GUEST_PAGES]; /* of each page + 1; 0: none */
    uint8_t bytes[CAIRN_GUEST_PAGES][CAIRN_GUEST_PAGE];
};

/* Memory that reads through `pages`, which is forgotten first. */
struct cairn_memory cairn_guest_pages_begin(struct cairn_guest_pages *pages,
                                            struct cairn_memory memory);

/* Words of 8 bytes, or fewer, in the byte order of this machine. False: not to be read. */
bool cairn_guest_u64(struct cairn_memory memory, uint64_t va, uint64_t *ret_value);
bool cairn_guest_u32(struct cairn_memory memory, uint64_t va, uint32_t *ret_value);

/* The text at `va`, up to a NUL or `max` bytes; `*ret_size` is without the NUL. Reads no page that
 * it does not need. */
bool cairn_guest_text(struct cairn_memory memory, uint64_t va, char *to, size_t max,
                      size_t *ret_size);

#endif /* CAIRN_GUEST_PAGES_H */
