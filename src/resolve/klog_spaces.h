/* SPDX-License-Identifier: MIT */
/* Klog spaces: what the frames of a kernel log are looked up in: the maps of its processes, and the
 * files of the kernel by the names of functions. */
#ifndef CAIRN_RESOLVE_KLOG_SPACES_H
#define CAIRN_RESOLVE_KLOG_SPACES_H

#include <cairn/klog.h>

#include "resolve/address_space.h"
#include "symbol/kernel_files.h"
#include "symbol/name_index.h"

/* A file of the kernel: vmlinux, or a module's. */
struct cairn_klog_image {
    struct cairn_module *file; /* NULL: none was found */
    struct cairn_name_index *names;
};

struct cairn_klog_spaces {
    struct cairn_address_space *spaces;
    size_t n, cap;
    struct cairn_strings names; /* "MODULE BUILDID" of the images */
    struct cairn_table by_name; /* number of the string -> index */
    struct cairn_klog_image *images;
    size_t n_images, cap_images;
    struct cairn_kernel_files *files; /* NULL: not looked for yet */
};

void cairn_klog_spaces_free(struct cairn_klog_spaces *spaces); /* accepts NULL */

struct cairn_resolver;

/* Those of the resolver, made the first time. CAIRN_E_NOMEM. */
int cairn_klog_spaces_get(struct cairn_resolver *resolver, struct cairn_klog_spaces **ret_spaces,
                          struct cairn_err *err);

/* The place of a kernel symbol in its file; `ret_file` is NULL where that is not here, or has no
 * such function. `build_id` is the kernel's; "": unknown. CAIRN_E_NOMEM. */
int cairn_klog_spaces_find(struct cairn_resolver *resolver, const struct cairn_klog_symbol *symbol,
                           const char *build_id, struct cairn_module **ret_file,
                           uint64_t *ret_vaddr, struct cairn_err *err);

#endif /* CAIRN_RESOLVE_KLOG_SPACES_H */
