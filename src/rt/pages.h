/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Pages: memory of our own where malloc may not be called. By system calls alone, so that neither
 * an interposed mmap(3) sees them nor errno changes.
 */
#ifndef CAIRN_RT_PAGES_H
#define CAIRN_RT_PAGES_H

#include <stdbool.h>
#include <stddef.h>

/* Of one page. */
size_t cairn_pages_size(void);
/* Zeroed, private, committed as they are touched, and not counted before (MAP_NORESERVE). `bytes`
 * is rounded up to pages. NULL: there is no memory, or RLIMIT_AS forbids it. */
void *cairn_pages_map(size_t bytes);
/* Accepts NULL. */
void cairn_pages_unmap(void *pages, size_t bytes);
/* The same contents in `more` bytes, perhaps elsewhere; NULL: there is no memory, and all is as it
 * was. Accepts NULL with 0 bytes. */
void *cairn_pages_grow(void *pages, size_t bytes, size_t more);
/* They stay mapped, read as zero, and cost nothing until they are touched again. */
void cairn_pages_drop(void *pages, size_t bytes);
/* In a child of fork(2), or of any clone without CLONE_VM, they read as zero. False: the kernel is
 * older than 4.14, and the child gets a copy. */
bool cairn_pages_wipe_on_fork(void *pages, size_t bytes);

#endif /* CAIRN_RT_PAGES_H */
