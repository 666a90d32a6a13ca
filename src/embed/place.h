/* SPDX-License-Identifier: MIT */
/* Place: which mapping of the process an address is in, and whether code there may be diverted. */
#ifndef CAIRN_EMBED_PLACE_H
#define CAIRN_EMBED_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include <cairn/error.h>

struct cairn_embed_place {
    uint64_t from, to, off, inode;
    uint32_t dev_major, dev_minor;
    uint64_t module_low, module_high; /* of the mappings of this file that follow each other */
    char access[4];
    char path[256]; /* cut off; "" without a file */
};

/* False: nothing is mapped there. */
bool cairn_embed_place_find(uint64_t va, struct cairn_embed_place *ret);
bool cairn_embed_place_is_same(const struct cairn_embed_place *a,
                               const struct cairn_embed_place *b);
/* A function of a file, readable and executable, in memory of its own. */
int cairn_embed_place_check(uint64_t va, struct cairn_embed_place *ret, struct cairn_err *err);

#endif /* CAIRN_EMBED_PLACE_H */
