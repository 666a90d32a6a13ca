/* SPDX-License-Identifier: MIT */
/* Files that name no code by themselves: what each is, and what to do instead. */
#ifndef CAIRN_DEBUGFILE_OTHER_FILE_H
#define CAIRN_DEBUGFILE_OTHER_FILE_H

#include <cairn/error.h>

#include "base/reader.h"

/* `err` says that the file at `path` is no ELF file: says what it is, where that can be told. */
void cairn_other_file_name(struct cairn_span bytes, const char *path, struct cairn_err *err);

/* Fails for an ELF file of a type that names no code. */
int cairn_other_file_fail_type(uint16_t elf_type, const char *path, struct cairn_err *err);

#endif /* CAIRN_DEBUGFILE_OTHER_FILE_H */
