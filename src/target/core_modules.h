/* SPDX-License-Identifier: MIT */
/*
 * What was mapped where, for core files that do not say it (NT_FILE; qemu-user's and those of Linux
 * before 3.7 have none): the dynamic linker's own list, as debuggers read it (<link.h>), and the
 * ELF headers that memory begins with, whose build IDs name the files.
 *
 *     AT_PHDR ──► the program's headers ──► PT_DYNAMIC: DT_DEBUG ──► struct r_debug
 *                                    ──► struct link_map { base, name, ..., next } ...
 *
 * Each module's segments are those of the headers on its first page, which the kernel writes and
 * qemu does not: then they are those of the file.
 */
#ifndef CAIRN_TARGET_CORE_MODULES_H
#define CAIRN_TARGET_CORE_MODULES_H

#include <limits.h>

#include "base/memory.h"
#include "target/core_notes.h"

enum { CAIRN_CORE_MODULES_MAX = 1 << 12, CAIRN_CORE_PATH_MAX = 4096 };

struct cairn_core_access {
    const struct cairn_memory *memory; /* of the core file alone */
    /* The first `size` bytes of a file; false: not at hand. */
    bool (*read_head)(void *ctx, const char *path, uint8_t *to, size_t size);
    /* Is the file of the build with this ID, in hexadecimal digits? */
    bool (*is_of_build)(void *ctx, const char *path, const char *build_id);
    /* The absolute path of a file of that build, or one that has the build ID for its name. */
    void (*find_build)(void *ctx, const char *build_id, char ret_path[PATH_MAX]);
    void *ctx;
    const char *program; /* its path; NULL: as it was started; by a relative path, if the build is
                            the same */
};

/* Adds them to notes->files. What memory does not tell is left out. CAIRN_E_NOMEM. */
int cairn_core_modules_read(const struct cairn_elf *core, const struct cairn_core_access *access,
                            struct cairn_core_notes *notes, struct cairn_err *err);

#endif /* CAIRN_TARGET_CORE_MODULES_H */
