/* SPDX-License-Identifier: MIT */
#ifndef CAIRN_SYMBOL_ARCHIVE_ENTRY_H
#define CAIRN_SYMBOL_ARCHIVE_ENTRY_H

#include <cairn/symbolizer.h>

#include "base/buffer.h"

/*
 * Which file of a zip archive is mapped where a process mapped the archive from `off` on: Android's
 * loader maps libraries that are stored in an APK, and the process's maps tell the APK alone.
 * `path` is the archive's, as the process knows it; it is looked for in the symbol folders, below
 * the root, and as it stands. `ret_path` becomes PATH!/ENTRY, which cairn_symbolizer_open()
 * understands, and
 * `*ret_start` and `*ret_end` are the entry's bytes in the archive. CAIRN_E_MISSING where no such
 * archive holds a stored file there; CAIRN_E_NOMEM.
 */
int cairn_symbolizer_find_entry(struct cairn_symbolizer *symbolizer, const char *path, uint64_t off,
                                struct cairn_buffer *ret_path, uint64_t *ret_start,
                                uint64_t *ret_end, struct cairn_err *err);

#endif /* CAIRN_SYMBOL_ARCHIVE_ENTRY_H */
