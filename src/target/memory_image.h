/* SPDX-License-Identifier: MIT */
/*
 * Memory image: makes an ELF file again out of what the loader mapped of it, for files that were
 * deleted, or replaced by another build.
 *
 *     memory   base │ segment │  gap  │ segment │     ELF header, program headers and notes are
 *                   │         │       │         │     in the first segment
 *                   ▼         ▼       ▼         ▼
 *     file     0    │ segment │ segment         │     at the file offsets that the program headers
 *                                                     give; no section headers
 *
 * Bytes that cannot be read are 0.
 *
 * The dynamic linker writes addresses into the dynamic section of a module that it loaded: they are
 * made vaddrs again.
 */
#ifndef CAIRN_TARGET_MEMORY_IMAGE_H
#define CAIRN_TARGET_MEMORY_IMAGE_H

#include <cairn/error.h>

#include "base/memory.h"
#include "base/span.h"
#include "elf/image.h"

/* MODULE_MAX: bytes of what is read for one module; no real library has more. */
enum { CAIRN_IMAGE_BUILD_ID_MAX = 2 * 64 + 1, CAIRN_IMAGE_MODULE_MAX = 1 << 29 };

/* `base`: va of the ELF header. The bytes are the caller's to free with cairn_free().
 * CAIRN_E_FORMAT: no ELF header there, CAIRN_E_LIMIT, CAIRN_E_NOMEM. */
int cairn_memory_image(const struct cairn_memory *memory, uint64_t base,
                       struct cairn_span *ret_image, struct cairn_err *err);

/* Opens the headers on a module's first page, `size` bytes of which are at `page`, without the
 * sections: those are not in memory, and what the header says of them is overwritten. */
int cairn_memory_open_head(uint8_t *page, size_t size, struct cairn_elf *ret_elf,
                           struct cairn_err *err);

/* The build ID in hex of the module whose header is at `base`; "" where it has none, or none that
 * can be read. */
void cairn_memory_build_id(const struct cairn_memory *memory, uint64_t base,
                           char ret_hex[CAIRN_IMAGE_BUILD_ID_MAX]);

/* Is there an ELF header at `base` whose segments reach over `va`? */
bool cairn_memory_has_module(const struct cairn_memory *memory, uint64_t base, uint64_t va);

#endif /* CAIRN_TARGET_MEMORY_IMAGE_H */
