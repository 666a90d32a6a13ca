/* SPDX-License-Identifier: MIT */
#ifndef CAIRN_ELF_COMPRESSED_H
#define CAIRN_ELF_COMPRESSED_H

#include "elf/image.h"

/* A section's contents: borrowed from the image, or owned where it was compressed. */
struct cairn_elf_data {
    struct cairn_span bytes;
    void *owned; /* NULL: borrowed */
};

/*
 * The contents of a section, decompressed where SHF_COMPRESSED says so (gABI "Section Compression":
 * ELFCOMPRESS_ZLIB, ELFCOMPRESS_ZSTD). Where there is no such section, `ret_data` is empty and the
 * answer CAIRN_OK. CAIRN_E_FORMAT: damaged. CAIRN_E_LIMIT: claims more than 1,032 times (zlib) or
 * 100,000 times (zstd) its size, or more than 16 GiB. CAIRN_E_SUPPORT: another method.
 */
int cairn_elf_read_section(const struct cairn_elf *elf, const char *name,
                           struct cairn_elf_data *ret_data, struct cairn_err *err);
void cairn_elf_data_done(struct cairn_elf_data *data);

#endif /* CAIRN_ELF_COMPRESSED_H */
