/* SPDX-License-Identifier: MIT */
#include "guest/words.h"

#include <string.h>

enum { PIECE = 64 }; /* divides each page */

bool cairn_guest_text(struct cairn_memory memory, uint64_t va, char *to, size_t max,
                      size_t *ret_size)
{
    size_t size = 0;
    while (size < max) {
        size_t n = PIECE - (size_t)((va + size) % PIECE);
        n = n < max - size ? n : max - size;
        if (!memory.read(memory.ctx, va + size, to + size, n))
            return false;
        const char *nul = memchr(to + size, 0, n);
        if (nul) {
            *ret_size = (size_t)(nul - to);
            return true;
        }
        size += n;
    }
    *ret_size = size;
    return true;
}
