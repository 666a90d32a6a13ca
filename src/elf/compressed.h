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
 * ELFCOMPRESS_ZLIB, ELFCOMPRESS_ZSTD). Where there is no ".debug_info" but a ".zdebug_info", as old
 * toolchains wrote it, that is read. Where there is no such section, or one without bytes
 * (SHT_NOBITS), `ret_data` is empty and the answer CAIRN_OK.
 *
 * CAIRN_E_FORMAT: damaged. CAIRN_E_SUPPORT: another method. CAIRN_E_LIMIT: a bomb, which is a claim
 * of more than 4 GiB, or of more than 64 MiB at more than 1,032 times its size (which zlib cannot
 * reach and no real section compressed by zstd does).
 */
int cairn_elf_read_section(const struct cairn_elf *elf, const char *name,
                           struct cairn_elf_data *ret_data, struct cairn_err *err);

/* The same for a section at hand. */
int cairn_elf_read_section_of(const struct cairn_elf *elf, const struct cairn_elf_section *section,
                              struct cairn_elf_data *ret_data, struct cairn_err *err);

/* What so many compressed bytes may stand for at most, by the rule above. */
size_t cairn_elf_plain_bytes_max(size_t packed_bytes);

void cairn_elf_data_done(struct cairn_elf_data *data); /* all-zero is fine */

#endif /* CAIRN_ELF_COMPRESSED_H */
