/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * File: the state file of this process (rt/heap_state.h), as bytes: made, found again where the
 * program closed what was open, grown. By system calls alone, none of which is a cancellation
 * point; errno stays.
 */
#ifndef CAIRN_HEAP_FILE_H
#define CAIRN_HEAP_FILE_H

#include <stdbool.h>
#include <stdint.h>

enum { CAIRN_HEAP_PATH = 512 };

struct cairn_heap_file {
    int fd; /* kept at a high number; the program may have closed it, or put another there */
    uint64_t dev, ino;
    char path[CAIRN_HEAP_PATH];
};

/* `dir`/PID-STARTTICKS.heap, 0600, where none is of that name; else with a number. `dir` is a
 * folder of ours that nobody else may use. `ret_before` is how many there were: the programs that
 * this process was before. False: it cannot be. */
bool cairn_heap_file_make(struct cairn_heap_file *file, const char *dir, uint64_t start_ticks,
                          uint32_t *ret_before);
/* May one be made there now? `dir` must be a folder that no other user can put anything into. */
bool cairn_heap_file_may_make(const char *dir);
/* A file of that folder without a name, that may have so many bytes; its descriptor, or -1. */
int cairn_heap_file_copy_begin(const char *dir, uint64_t bytes);
/* Writes some of them; NULL: zeros. */
bool cairn_heap_file_copy(int fd, const void *from, uint64_t off, uint64_t bytes);
/* Gives such a one its name, as above. On success `fd` is the file's. */
bool cairn_heap_file_adopt(struct cairn_heap_file *file, int fd, const char *dir,
                           uint64_t start_ticks);
void cairn_heap_file_close(int fd);
/* The name of the number-th. */
bool cairn_heap_file_name(char path[CAIRN_HEAP_PATH], const char *dir, uint64_t start_ticks,
                          uint32_t number);

/* Makes [off, off + bytes) part of it, zero, and allocated: what is mapped of it cannot be a
 * SIGBUS; of btrfs that needs a file that is written in place, as ours are. False: the disk is
 * full, or a limit forbids it; no signal comes of it. */
bool cairn_heap_file_grow(struct cairn_heap_file *file, uint64_t off, uint64_t bytes);
/* Gives the room on the disk back; it reads as zero. */
bool cairn_heap_file_shrink(struct cairn_heap_file *file, uint64_t off, uint64_t bytes);

/* The descriptor as long as it is that of this file, opened again by its path if it is not; -1. */
int cairn_heap_file_fd(struct cairn_heap_file *file);

/* Field 22 of a /proc/PID/stat; 0: not known. */
uint64_t cairn_heap_file_start_ticks(const char *stat_path);

#endif /* CAIRN_HEAP_FILE_H */
