/* SPDX-License-Identifier: MIT */
/*
 * Library: where the loader would find a shared library (ld.so(8)). Its cache and its configuration
 * are not read; the folders that they name on most machines are known here.
 */
#ifndef CAIRN_TARGET_LIBRARY_H
#define CAIRN_TARGET_LIBRARY_H

#include "base/buffer.h"

struct cairn_elf;

/* Who asks for the library. */
struct cairn_library_user {
    const char *folders; /* of its DT_RUNPATH or DT_RPATH, with colons between; "": none */
    const char *origin;  /* the folder that it lies in itself, for $ORIGIN; "": unknown */
};

/* `name` as DT_NEEDED has it: with a slash it is a path. `user` NULL: nobody, the usual folders
 * alone. Also those of LD_LIBRARY_PATH in the own environment. False: it is in none of them, and
 * `ret_path` holds nothing of use. */
bool cairn_library_find(const char *name, const struct cairn_library_user *user,
                        struct cairn_buffer *ret_path);

/* A file that the loader maps. All of it is borrowed for the call. */
struct cairn_library_file {
    const char *path;
    int fd;
    const struct cairn_elf *elf; /* NULL: it is no ELF file */
};

/* Calls `fn` with a program, with each library that it needs, and with those that these need: each
 * once, in the order of the loader. Files that cannot be opened are passed over. A nonzero answer
 * ends it, and comes back. */
typedef int (*cairn_library_file_fn)(void *ctx, const struct cairn_library_file *file);
int cairn_library_each_file(const char *program, cairn_library_file_fn fn, void *ctx);

#endif /* CAIRN_TARGET_LIBRARY_H */
