/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Array: items in a row on pages of our own, more of them as they are added. All zero: empty. Who
 * adds may move them.
 */
#ifndef CAIRN_RT_ARRAY_H
#define CAIRN_RT_ARRAY_H

#include <stddef.h>

struct cairn_array {
    void *items;
    size_t n;
    size_t room_bytes;
};

/* `n` more items of `size` bytes, zero at first. NULL: there is no memory, and all is as it was. */
void *cairn_array_add(struct cairn_array *array, size_t n, size_t size);
void cairn_array_done(struct cairn_array *array);

#endif /* CAIRN_RT_ARRAY_H */
