/* SPDX-License-Identifier: MIT */
/*
 * Strings: each text once, known by a number. Number 0 is "". Texts may hold any byte but NUL.
 * Pointers hold until cairn_strings_done(). Not thread-safe.
 */
#ifndef CAIRN_BASE_STRINGS_H
#define CAIRN_BASE_STRINGS_H

#include "base/arena.h"
#include "base/span.h"

struct cairn_string_entry;

struct cairn_strings {
    struct cairn_arena arena;
    struct cairn_string_entry *entries; /* by number */
    size_t n, cap;
    uint32_t *slots; /* entry number + 1; 0 = free */
    size_t n_slots;
};

/* An all-zero struct is an empty pool; number 0 answers "" even there. */
void cairn_strings_done(struct cairn_strings *s);

/* The number of `text`, new or old; UINT32_MAX where memory is gone. A NUL inside ends the text. */
uint32_t cairn_strings_add(struct cairn_strings *s, const char *text, size_t size);
uint32_t cairn_strings_add_str(struct cairn_strings *s, const char *text); /* NULL: 0 */

/* Memory that it takes. */
size_t cairn_strings_bytes(const struct cairn_strings *s);

/* Never NULL; "" for a number that was never given out. */
const char *cairn_strings_get(const struct cairn_strings *s, uint32_t number);
size_t cairn_strings_size(const struct cairn_strings *s, uint32_t number); /* bytes, without NUL */

#endif /* CAIRN_BASE_STRINGS_H */
