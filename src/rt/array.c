/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "rt/array.h"

#include <stdint.h>

#include "rt/pages.h"

enum { FIRST_BYTES = 1 << 16 };

void *cairn_array_add(struct cairn_array *array, size_t n, size_t size)
{
    size_t items, bytes;
    if (__builtin_add_overflow(array->n, n, &items) ||
        __builtin_mul_overflow(items, size, &bytes) || bytes > SIZE_MAX / 2)
        return NULL;
    if (bytes > array->room_bytes) {
        size_t room = array->room_bytes ? array->room_bytes : FIRST_BYTES;
        while (room < bytes)
            room *= 2;
        void *larger = cairn_pages_grow(array->items, array->room_bytes, room);
        if (!larger)
            return NULL;
        array->items = larger;
        array->room_bytes = room;
    }
    void *added = (char *)array->items + array->n * size;
    array->n = items;
    return added;
}

void cairn_array_done(struct cairn_array *array)
{
    cairn_pages_unmap(array->items, array->room_bytes);
    *array = (struct cairn_array){0};
}
