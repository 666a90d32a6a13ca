/* SPDX-License-Identifier: MIT */
/*
 * Table: 64-bit keys to 32-bit values, open addressing, linear probing, load at most 3/4. For keys
 * that are not numbers (strings, records) the caller hashes and compares, and stores the number of
 * its own entry as the value.
 *
 *     slots: | key value+1 | 0 0 | key value+1 | ...      capacity a power of two, 0 = free
 */
#ifndef CAIRN_BASE_TABLE_H
#define CAIRN_BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cairn_table_slot;

struct cairn_table {
    struct cairn_table_slot *slots;
    size_t cap;
    size_t n;
};

void cairn_table_done(struct cairn_table *t);

/* False where the key is absent. */
bool cairn_table_find(const struct cairn_table *t, uint64_t key, uint32_t *ret_value);

/* Lets the processor fetch what cairn_table_find() will look at. */
void cairn_table_fetch(const struct cairn_table *t, uint64_t key);

/* Sets or replaces; `value` < UINT32_MAX. CAIRN_OK or CAIRN_E_NOMEM, then nothing changed. */
int cairn_table_set(struct cairn_table *t, uint64_t key, uint32_t value);

/* Takes a key out; one that is absent is fine. What it had in memory is there for other keys. */
void cairn_table_remove(struct cairn_table *t, uint64_t key);

/* Memory that it takes, counted so that one more key has room: while it grows, with old and new. */
size_t cairn_table_bytes(const struct cairn_table *t);

/* A hash with no structure left that hostile input could use to collide cheaply: seeded once per
 * process. */
uint64_t cairn_hash_bytes(const void *bytes, size_t size);
uint64_t cairn_hash_u64(uint64_t value);

#endif /* CAIRN_BASE_TABLE_H */
