/* SPDX-License-Identifier: MIT */
/*
 * Library: where the loader would find a shared library (ld.so(8)). Its cache and its configuration
 * are not read; the folders that they name on most machines are known here.
 */
#ifndef CAIRN_TARGET_LIBRARY_H
#define CAIRN_TARGET_LIBRARY_H

#include "base/buffer.h"

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

#endif /* CAIRN_TARGET_LIBRARY_H */
