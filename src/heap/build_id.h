/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#ifndef CAIRN_HEAP_BUILD_ID_H
#define CAIRN_HEAP_BUILD_ID_H

#include <stddef.h>
#include <stdint.h>

enum { CAIRN_HEAP_BUILD_ID = 64 /* bytes; longer ones are taken for none */ };

/* The build ID of the module whose ELF header is mapped at `va`, read as bytes that nobody vouched
 * for (ELF gABI, notes; NT_GNU_BUILD_ID). Returns its length, 0: there is none. */
size_t cairn_heap_build_id(uint64_t va, uint8_t ret[CAIRN_HEAP_BUILD_ID]);

#endif /* CAIRN_HEAP_BUILD_ID_H */
