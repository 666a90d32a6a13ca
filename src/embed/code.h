/* SPDX-License-Identifier: MIT */
/*
 * Code: reads and writes of the own memory through /proc/self/mem, and pages for islands. A read of
 * what is not mapped fails instead of faulting. A write changes pages that are read-only, whose
 * protection stays as it is; other threads may see half of it (renew.h).
 */
#ifndef CAIRN_EMBED_CODE_H
#define CAIRN_EMBED_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/error.h>

/* An open /proc/self/mem. One for each operation: the descriptor that a fork(2) inherits writes to
 * the parent. */
struct cairn_embed_memory {
    int fd;
};

int cairn_embed_memory_open(struct cairn_embed_memory *memory, struct cairn_err *err);
void cairn_embed_memory_close(struct cairn_embed_memory *memory);

/* All `n` bytes, or false. */
bool cairn_embed_read(const struct cairn_embed_memory *memory, uint64_t va, void *to, size_t n);
/* Writes and reads back. */
bool cairn_embed_write(const struct cairn_embed_memory *memory, uint64_t va, const void *from,
                       size_t n);

/* The lowest address of [low, high) from which on `n_bytes` lie in unmapped pages; 0: none. As a
 * cairn_hook_free_fn. */
uint64_t cairn_embed_find_free(void *context, uint64_t low, uint64_t high, uint64_t n_bytes);

/* Maps pages of a file from `off` on, or of memory (`fd` is -1), private, readable and executable,
 * anywhere. NULL: the kernel refuses. */
void *cairn_embed_map_any(size_t n_bytes, int fd, uint64_t off);

/* Maps the pages of [va, va + n_bytes), readable and executable; false: they are not free. */
bool cairn_embed_map(uint64_t va, size_t n_bytes);

/* Space for `n_bytes` of code at an address in [low, high), in pages that are shared; aligned to
 * 16. Near `near_va` if possible. 0: there is none. */
uint64_t cairn_embed_take_code(uint64_t low, uint64_t high, uint64_t near_va, size_t n_bytes);

#endif /* CAIRN_EMBED_CODE_H */
