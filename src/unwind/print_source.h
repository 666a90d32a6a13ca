/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Where the bytes of an ELF file come from, for the names in a crash: the file, read by pread(2),
 * for a mapped one that somebody cuts short is a SIGBUS; or its image in this process's memory.
 */
#ifndef CAIRN_UNWIND_PRINT_SOURCE_H
#define CAIRN_UNWIND_PRINT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cairn_print_source {
    int fd; /* -1: memory */
    uintptr_t image;
    size_t image_bytes;
};

/* All of [off, off + size) or false. */
bool cairn_print_source_read(const struct cairn_print_source *from, uint64_t off, void *to,
                             size_t size);

#endif /* CAIRN_UNWIND_PRINT_SOURCE_H */
