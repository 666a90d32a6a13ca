/* SPDX-License-Identifier: MIT */
#include "base/table.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <cairn/error.h>

#include "base/alloc.h"

enum { CAP_FIRST = 16 };

struct cairn_table_slot {
    uint64_t key;
    uint32_t value_plus_1; /* 0: free */
};

/* Odd multipliers, drawn once per process: who does not know them cannot aim keys at one slot. */
static uint64_t seeds[3];
static atomic_bool seeded;
static pthread_once_t seed_once = PTHREAD_ONCE_INIT;

static void draw_seeds(void)
{
    if (getrandom(seeds, sizeof seeds, GRND_NONBLOCK) != (ssize_t)sizeof seeds) {
        /* Early in boot or where seccomp forbids it: poorer, but different each time. */
        struct timespec now = {0};
        clock_gettime(CLOCK_MONOTONIC, &now);
        for (unsigned i = 0; i < 3; i++)
            seeds[i] = ((uint64_t)now.tv_nsec << 32 ^ (uint64_t)getpid() ^ (uintptr_t)&now) *
                       (0x9e3779b97f4a7c15u + 2 * i);
    }
    for (unsigned i = 0; i < 3; i++)
        seeds[i] |= 1;
    atomic_store_explicit(&seeded, true, memory_order_release);
}

static inline void need_seeds(void)
{
    if (__builtin_expect(!atomic_load_explicit(&seeded, memory_order_acquire), 0))
        pthread_once(&seed_once, draw_seeds);
}

#ifdef __SIZEOF_INT128__
/* Both halves of the product folded into one: every bit of either factor reaches every bit. */
static inline uint64_t mix(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}
#else
static inline uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t low_a = (uint32_t)a, high_a = a >> 32, low_b = (uint32_t)b, high_b = b >> 32;
    uint64_t low = low_a * low_b, mid = high_a * low_b + (low >> 32);
    uint64_t cross = low_a * high_b + (uint32_t)mid;
    return (cross << 32 | (uint32_t)low) ^ (high_a * high_b + (mid >> 32) + (cross >> 32));
}
#endif

/* Twice: after one multiplication, keys a fixed stride apart (code addresses) still fall into rows
 * for one seed in 300. */
static inline uint64_t hash_seeded(uint64_t value)
{
    return mix(mix(value ^ seeds[0], seeds[1]), seeds[2]);
}

uint64_t cairn_hash_u64(uint64_t value)
{
    need_seeds();
    return hash_seeded(value);
}

static inline uint64_t load_u64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* The last 0 to 8 bytes; the length goes in elsewhere, so overlapping loads lose nothing. */
static inline uint64_t load_tail(const uint8_t *at, size_t size)
{
    uint32_t low, high;
    if (size >= 4) {
        memcpy(&low, at, 4);
        memcpy(&high, at + size - 4, 4);
        return (uint64_t)high << 32 | low;
    }
    if (size == 0)
        return 0;
    return (uint64_t)at[0] << 16 | (uint64_t)at[size / 2] << 8 | at[size - 1];
}

/* One multiplication for 16 bytes. */
uint64_t cairn_hash_bytes(const void *bytes, size_t size)
{
    need_seeds();
    const uint8_t *at = bytes;
    uint64_t hash = seeds[0] ^ size;
    size_t left = size;
    for (; left > 16; left -= 16, at += 16)
        hash = mix(load_u64(at) ^ seeds[1], load_u64(at + 8) ^ hash);
    if (left > 8)
        hash = mix(load_u64(at) ^ seeds[1], load_u64(at + left - 8) ^ hash);
    else
        hash = mix(load_tail(at, left) ^ seeds[1], seeds[2] ^ hash);
    return mix(hash, seeds[2]);
}

void cairn_table_done(struct cairn_table *t)
{
    cairn_free(t->slots);
    *t = (struct cairn_table){0};
}

/* The slot of `key`, or the free one where it belongs. There is always a free one. */
static struct cairn_table_slot *slot_of(struct cairn_table_slot *slots, size_t cap, uint64_t key)
{
    size_t at = (size_t)hash_seeded(key) & (cap - 1);
    while (slots[at].value_plus_1 && slots[at].key != key)
        at = (at + 1) & (cap - 1);
    return &slots[at];
}

bool cairn_table_find(const struct cairn_table *t, uint64_t key, uint32_t *ret_value)
{
    if (!t->n)
        return false;
    const struct cairn_table_slot *slot = slot_of(t->slots, t->cap, key);
    if (!slot->value_plus_1)
        return false;
    *ret_value = slot->value_plus_1 - 1;
    return true;
}

void cairn_table_fetch(const struct cairn_table *t, uint64_t key)
{
    if (t->n)
        __builtin_prefetch(&t->slots[(size_t)hash_seeded(key) & (t->cap - 1)]);
}

/* What follows in the row moves up into the gap where it is found from there, too. */
void cairn_table_remove(struct cairn_table *t, uint64_t key)
{
    struct cairn_table_slot *gap = t->n ? slot_of(t->slots, t->cap, key) : NULL;
    const size_t mask = t->cap - 1;
    if (!gap || !gap->value_plus_1)
        return;
    for (size_t at = (size_t)(gap - t->slots + 1) & mask; t->slots[at].value_plus_1;
         at = (at + 1) & mask) {
        size_t home = (size_t)hash_seeded(t->slots[at].key) & mask;
        size_t from_home = (at - home) & mask, from_gap = (at - (size_t)(gap - t->slots)) & mask;
        if (from_home >= from_gap) {
            *gap = t->slots[at];
            gap = &t->slots[at];
        }
    }
    *gap = (struct cairn_table_slot){0};
    t->n--;
}

static int grow(struct cairn_table *t)
{
    need_seeds();
    if (t->cap > SIZE_MAX / 2)
        return CAIRN_E_NOMEM;
    size_t cap = t->cap ? t->cap * 2 : CAP_FIRST;
    struct cairn_table_slot *slots = cairn_alloc(cap, sizeof *slots);
    if (!slots)
        return CAIRN_E_NOMEM;
    for (size_t i = 0; i < t->cap; i++)
        if (t->slots[i].value_plus_1)
            *slot_of(slots, cap, t->slots[i].key) = t->slots[i];
    cairn_free(t->slots);
    t->slots = slots;
    t->cap = cap;
    return CAIRN_OK;
}

static bool is_filled(const struct cairn_table *t)
{
    return t->n >= t->cap / 4 * 3;
}

size_t cairn_table_bytes(const struct cairn_table *t)
{
    return (is_filled(t) ? 3 : 1) * t->cap * sizeof *t->slots;
}

int cairn_table_set(struct cairn_table *t, uint64_t key, uint32_t value)
{
    struct cairn_table_slot *slot = t->cap ? slot_of(t->slots, t->cap, key) : NULL;
    if (slot && slot->value_plus_1) {
        slot->value_plus_1 = value + 1;
        return CAIRN_OK;
    }
    if (!slot || is_filled(t)) {
        if (grow(t) < 0)
            return CAIRN_E_NOMEM;
        slot = slot_of(t->slots, t->cap, key);
    }
    *slot = (struct cairn_table_slot){.key = key, .value_plus_1 = value + 1};
    t->n++;
    return CAIRN_OK;
}
