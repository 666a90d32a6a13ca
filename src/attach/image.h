/* SPDX-License-Identifier: MIT */
/*
 * Image: a library's file, and the relocated segments that another process needs to run it. It does
 * from outside what the dynamic linker does, but runs no constructor, has no thread-local storage,
 * and is in no list of modules.
 */
#ifndef CAIRN_ATTACH_IMAGE_H
#define CAIRN_ATTACH_IMAGE_H

#include "base/file.h"
#include "elf/dynamic.h"
#include "elf/image.h"

enum { CAIRN_IMAGE_PAGE = 4096, CAIRN_IMAGE_BYTES_MAX = 256 << 20 };

struct cairn_image {
    int fd; /* of the file */
    const char *path;
    struct cairn_file file;
    struct cairn_elf elf;
    struct cairn_elf_dynamic dynamic;
    uint64_t bytes; /* from its first page to behind its last one; its vaddrs begin at 0 */
};

/* The va of what the library asks for by name; 0: there is none. */
typedef uint64_t (*cairn_image_import_fn)(void *ctx, const char *name);

/* `path` is borrowed. CAIRN_E_FORMAT: damaged, or it needs what is not done here: thread-local
 * storage, relocations of other kinds, vaddrs that do not begin at 0. */
int cairn_image_open(const char *path, struct cairn_image *ret_image, struct cairn_err *err);
void cairn_image_close(struct cairn_image *image);

/* The vaddr of a symbol that it exports; false: it does not. */
bool cairn_image_find(const struct cairn_image *image, const char *name, uint64_t *ret_vaddr);

/* The bytes that a writable segment has once it is relocated for `base`: `segment->file_size`, to
 * be freed with cairn_free(). CAIRN_E_MISSING: an import that it cannot do without is nowhere. */
int cairn_image_relocate(const struct cairn_image *image, const struct cairn_elf_segment *segment,
                         uint64_t base, cairn_image_import_fn import, void *ctx,
                         uint8_t **ret_bytes, struct cairn_err *err);

#endif /* CAIRN_ATTACH_IMAGE_H */
