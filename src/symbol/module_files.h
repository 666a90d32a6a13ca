/* SPDX-License-Identifier: MIT */
/* Which files went into what is known of a module, as the cache wants to know it. */
#ifndef CAIRN_SYMBOL_MODULE_FILES_H
#define CAIRN_SYMBOL_MODULE_FILES_H

#include "cache/cache.h"

struct cairn_module;

struct cairn_module_key {
    struct cairn_cache_key key;
    struct cairn_cache_file *files;
    struct cairn_buffer path;
    char build_ids[2][2 * 64 + 1]; /* of image and debug file */
};

/* Lists image and debug file, and where `all` says so those that were opened on the way. Texts are
 * borrowed from the module and from `ret_key`. CAIRN_E_NOMEM. */
int cairn_module_key_make(const struct cairn_module *m, bool all, struct cairn_module_key *ret_key,
                          struct cairn_err *err);
void cairn_module_key_done(struct cairn_module_key *key);

#endif /* CAIRN_SYMBOL_MODULE_FILES_H */
