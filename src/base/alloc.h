/* SPDX-License-Identifier: MIT */
/* The library's door to malloc: sizes are checked for overflow, and a test can make any call fail.
 */
#ifndef CAIRN_BASE_ALLOC_H
#define CAIRN_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

/* Zeroed; NULL where memory is gone or n * size overflows. Free with cairn_free(). */
void *cairn_alloc(size_t n, size_t size);

/* As realloc for n * size bytes; what is new is not zeroed. On failure the old block stays. */
void *cairn_realloc(void *old, size_t n, size_t size);

void cairn_free(void *block);
char *cairn_strdup(const char *text);

/*
 * Grows the array at `*array` so that `need` elements fit, by doubling; `*cap` follows. Returns
 * CAIRN_OK or CAIRN_E_NOMEM with the array as it was.
 * Use: if (cairn_grow((void **)&v->rows, &v->cap, v->n + 1, sizeof *v->rows) < 0) ...
 */
int cairn_grow(void **array, size_t *cap, size_t need, size_t size);

/* Says that a large block will be filled whole, so that the system may give it large pages: fewer
 * page faults. Changes nothing else. */
void cairn_advise_filled(void *block, size_t bytes);

/*
 * For a program whose arrays grow for hours: from now on a block of `bytes` or more has pages of
 * its own, which are moved, not copied, when it grows, and given back whole. Else glibc puts ever
 * larger ones into its heap (mallopt(3), M_MMAP_THRESHOLD: the threshold rises), where those before
 * leave holes. Of the whole process, and so no library's to call. False: this libc has no such
 * choice.
 */
bool cairn_alloc_apart(size_t bytes);

/* Tests only: the allocation after `countdown` more fails, and every one after it until reset with
 * a negative number (the default). Not thread-safe. */
void cairn_alloc_fail_after(long countdown);

#endif /* CAIRN_BASE_ALLOC_H */
