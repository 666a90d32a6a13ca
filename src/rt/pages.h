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
#include <stdint.h>

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

/* `bytes` of a file from `off` on, shared, and in no core dump. Not `open`: no access (PROT_NONE),
 * so that mlockall(2) allocates none of them. `at`: where, instead of what is mapped there; NULL:
 * anywhere. Returns NULL if the kernel refuses. */
void *cairn_pages_map_file(int fd, uint64_t off, size_t bytes, void *at, bool open);
/* Makes pages readable and writable. False: the kernel refuses. */
bool cairn_pages_open(void *pages, size_t bytes);
/* Pages of a file that is mapped shared, within its size: allocates them on the disk, so that no
 * touch of them is a SIGBUS. False: the disk is full, or the kernel is older than 5.14. */
bool cairn_pages_allocate(void *pages, size_t bytes);
/* The same pages: gives the disk's room back; they read as zero. */
bool cairn_pages_punch(void *pages, size_t bytes);

#endif /* CAIRN_RT_PAGES_H */
