/* SPDX-License-Identifier: MIT */
/*
 * A text is in the arena, its entry in an array by number, and the entry's number in a slot found
 * by the hash. The entry keeps half of the hash: most probes that miss never touch the text, and
 * growing the slots reads no text at all.
 */
#include "base/strings.h"

#include <string.h>

#include <cairn/error.h>

#include "base/alloc.h"
#include "base/table.h"

enum { SLOTS_FIRST = 64 };

struct cairn_string_entry {
    const char *text;
    uint32_t size;
    uint32_t hash; /* the low half: slots are found by it */
};

void cairn_strings_done(struct cairn_strings *s)
{
    cairn_arena_done(&s->arena);
    cairn_free(s->entries);
    cairn_free(s->slots);
    *s = (struct cairn_strings){0};
}

/* The slot that holds the text, or the free one where it belongs. */
static uint32_t *slot_of(const struct cairn_strings *s, const char *text, size_t size,
                         uint32_t hash)
{
    size_t at = hash & (s->n_slots - 1);
    for (; s->slots[at]; at = (at + 1) & (s->n_slots - 1)) {
        const struct cairn_string_entry *entry = &s->entries[s->slots[at] - 1];
        if (entry->hash == hash && entry->size == size && memcmp(entry->text, text, size) == 0)
            break;
    }
    return &s->slots[at];
}

static int grow_slots(struct cairn_strings *s)
{
    if (s->n_slots > SIZE_MAX / 2)
        return CAIRN_E_NOMEM;
    size_t n_slots = s->n_slots ? s->n_slots * 2 : SLOTS_FIRST;
    uint32_t *slots = cairn_alloc(n_slots, sizeof *slots);
    if (!slots)
        return CAIRN_E_NOMEM;
    for (size_t number = 1; number < s->n; number++) {
        size_t at = s->entries[number].hash & (n_slots - 1);
        while (slots[at])
            at = (at + 1) & (n_slots - 1);
        slots[at] = (uint32_t)number + 1;
    }
    cairn_free(s->slots);
    s->slots = slots;
    s->n_slots = n_slots;
    return CAIRN_OK;
}

/* Room for one more entry and, in a fresh pool, number 0. */
static int make_room(struct cairn_strings *s)
{
    if (s->n >= UINT32_MAX - 1 ||
        cairn_grow((void **)&s->entries, &s->cap, s->n + 2, sizeof *s->entries) < 0)
        return CAIRN_E_NOMEM;
    if (s->n == 0)
        s->entries[s->n++] = (struct cairn_string_entry){.text = ""};
    return s->n + 1 > s->n_slots / 4 * 3 ? grow_slots(s) : CAIRN_OK;
}

uint32_t cairn_strings_add(struct cairn_strings *s, const char *text, size_t size)
{
    size = size ? strnlen(text, size) : 0;
    if (size == 0)
        return 0;
    if (size >= UINT32_MAX)
        return UINT32_MAX;
    uint32_t hash = (uint32_t)cairn_hash_bytes(text, size);
    uint32_t *slot = s->n_slots ? slot_of(s, text, size, hash) : NULL;
    if (slot && *slot)
        return *slot - 1;
    size_t n_slots = s->n_slots;
    if (make_room(s) < 0)
        return UINT32_MAX;
    char *copy = cairn_arena_text(&s->arena, text, size);
    if (!copy)
        return UINT32_MAX;
    if (s->n_slots != n_slots)
        slot = slot_of(s, text, size, hash);
    uint32_t number = (uint32_t)s->n++;
    s->entries[number] = (struct cairn_string_entry){copy, (uint32_t)size, hash};
    *slot = number + 1;
    return number;
}

uint32_t cairn_strings_add_str(struct cairn_strings *s, const char *text)
{
    return text ? cairn_strings_add(s, text, strlen(text)) : 0;
}

const char *cairn_strings_get(const struct cairn_strings *s, uint32_t number)
{
    return number < s->n ? s->entries[number].text : "";
}

size_t cairn_strings_size(const struct cairn_strings *s, uint32_t number)
{
    return number < s->n ? s->entries[number].size : 0;
}

size_t cairn_strings_bytes(const struct cairn_strings *s)
{
    return s->arena.used_bytes + s->n * sizeof *s->entries + s->n_slots * sizeof *s->slots;
}
