/* SPDX-License-Identifier: MIT */
/* Where: which libraries a hook of slots is for. Copies of the caller's, kept for good. */
#ifndef CAIRN_EMBED_WHERE_H
#define CAIRN_EMBED_WHERE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/hook.h>

struct cairn_embed_name;

struct cairn_embed_slots {
    struct cairn_embed_slots *next; /* of the same name */
    struct cairn_embed_name *name;
    const char **modules, **except; /* patterns */
    size_t n_modules, n_except;
    const char *version; /* NULL: all */
    bool later;
    uintptr_t *bases; /* of the modules that were loaded at the call; not of `later` */
    size_t n_bases;
};

int cairn_embed_where_check(const char *name, const struct cairn_hook_where *where,
                            struct cairn_err *err);
/* NULL: there is no memory. */
struct cairn_embed_slots *cairn_embed_where_copy(const struct cairn_hook_where *where);
bool cairn_embed_where_is_same(const struct cairn_embed_slots *a,
                               const struct cairn_embed_slots *b);
/* Notes that the module is loaded now. False: there is no memory. */
bool cairn_embed_where_note(struct cairn_embed_slots *slots, uintptr_t base);
bool cairn_embed_where_has(const struct cairn_embed_slots *slots, const char *path, uintptr_t base);

#endif /* CAIRN_EMBED_WHERE_H */
