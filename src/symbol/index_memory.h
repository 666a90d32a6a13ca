/* SPDX-License-Identifier: MIT */
/* Memory of one thread for what it read of many units, filled from front to back. A large module
 * gives hundreds of megabytes: large pages, where the system has them, save a third of a second. */
#ifndef CAIRN_SYMBOL_INDEX_MEMORY_H
#define CAIRN_SYMBOL_INDEX_MEMORY_H

#include <stddef.h>

struct cairn_index_chunk;

struct cairn_index_memory {
    struct cairn_index_chunk *chunks; /* the newest first */
};

/* n * size bytes, aligned to 8, that live as long as the memory; not zeroed. NULL where there is no
 * more. Of nothing, something that is not NULL. */
void *cairn_index_memory_take(struct cairn_index_memory *memory, size_t n, size_t size);

/* The same, filled. */
void *cairn_index_memory_copy(struct cairn_index_memory *memory, const void *from, size_t n,
                              size_t size);
/* glibc gives what is freed at the end of the heap back to the system, and gets it again page by
 * page for the next table. After a block of this size came and went it keeps that much. */
void cairn_index_memory_warm(void);

void cairn_index_memory_done(struct cairn_index_memory *memory);

#endif /* CAIRN_SYMBOL_INDEX_MEMORY_H */
