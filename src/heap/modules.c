/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "heap/modules.h"

#include <string.h>

#include "heap/build_id.h"
#include "rt/pages.h"
#include "unwind/unload.h"

enum {
    FIRST_ROOM = 128,
    MOST_RECORDS = 1 << 16, /* of a JIT's mappings, which come and go */
    PAGE_BITS = 12
};

/* A look at /proc/self/maps. */
struct look {
    struct cairn_heap_modules *modules;
    struct cairn_tracked_state *state;
    struct cairn_tracked_mapping
        first; /* of the file whose mappings come now: its header is there */
    bool replaced;
};

static bool is_same_file(const struct cairn_tracked_mapping *a,
                         const struct cairn_tracked_mapping *b)
{
    return a->inode == b->inode && a->dev_major == b->dev_major && a->dev_minor == b->dev_minor;
}

/* Would an address of both be named alike? */
static bool is_same_code(const struct cairn_tracked_mapping *a,
                         const struct cairn_tracked_mapping *b)
{
    return is_same_file(a, b) && (a->inode == 0 || a->from - a->off == b->from - b->off);
}

/* The first known mapping that ends above `va`. */
static uint32_t first_above(const struct cairn_heap_modules *modules, uint64_t va)
{
    uint32_t low = 0, high = modules->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (modules->known[middle].to > va)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static bool is_known(struct cairn_heap_modules *modules, uint64_t va)
{
    if (modules->last < modules->n && va >= modules->known[modules->last].from &&
        va < modules->known[modules->last].to)
        return true;
    modules->last = first_above(modules, va);
    return modules->last < modules->n && va >= modules->known[modules->last].from;
}

static bool have_room(struct cairn_heap_modules *modules)
{
    if (modules->n < modules->room)
        return true;
    uint32_t room = modules->room ? modules->room * 2 : FIRST_ROOM;
    struct cairn_tracked_mapping *known = cairn_pages_map(room * sizeof(*known));
    if (!known)
        return false;
    if (modules->n > 0)
        memcpy(known, modules->known, modules->n * sizeof(*known));
    cairn_pages_unmap(modules->known, modules->room * sizeof(*known));
    modules->known = known;
    modules->room = room;
    return true;
}

/* Puts it in the place of all that it covers a part of. */
static void replace(struct look *look, const struct cairn_tracked_mapping *mapping)
{
    struct cairn_heap_modules *modules = look->modules;
    if (!have_room(modules))
        return;
    uint32_t begin = first_above(modules, mapping->from), end = begin;
    for (; end < modules->n && modules->known[end].from < mapping->to; end++)
        look->replaced |= modules->known[end].is_used && modules->known[end].inode != 0 &&
                          !is_same_code(&modules->known[end], mapping);
    memmove(modules->known + begin + 1, modules->known + end,
            (modules->n - end) * sizeof(*mapping));
    modules->known[begin] = *mapping;
    modules->n = modules->n - (end - begin) + 1;
}

static void *record_room(struct look *look, uint32_t bytes)
{
    struct cairn_heap_modules *modules = look->modules;
    if (!modules->chunk || CAIRN_HEAP_CHUNK - modules->chunk_used < bytes) {
        uint8_t *chunk =
            cairn_heap_state_take(look->state, CAIRN_HEAP_MODULES, 1, 0, modules->n_chunks);
        if (!chunk)
            return NULL;
        modules->chunk = chunk;
        modules->chunk_used = 0;
        modules->n_chunks++;
    }
    void *room = modules->chunk + modules->chunk_used;
    modules->chunk_used += bytes;
    return room;
}

static void write_record(struct look *look, const struct cairn_tracked_mapping *mapping,
                         const char *path)
{
    struct cairn_heap_modules *modules = look->modules;
    uint8_t id[CAIRN_HEAP_BUILD_ID];
    size_t n_id = 0, n_path = strlen(path);
    if (modules->n_records >= MOST_RECORDS)
        return;
    if (mapping->off == 0)
        n_id = cairn_heap_build_id(mapping->from, id);
    else if (mapping->inode != 0 && is_same_file(&look->first, mapping))
        n_id = cairn_heap_build_id(look->first.from, id);
    struct cairn_heap_module *record;
    uint32_t bytes = (uint32_t)(sizeof(*record) + n_id + n_path + 7) & ~7u;
    record = record_room(look, bytes);
    if (!record)
        return;
    *record = (struct cairn_heap_module){
        .from = mapping->from,
        .to = mapping->to,
        .off = mapping->off,
        .inode = mapping->inode,
        .dev_major = mapping->dev_major,
        .dev_minor = mapping->dev_minor,
        .n_build_id = (uint16_t)n_id,
        .n_path = (uint16_t)n_path,
    };
    memcpy(record + 1, id, n_id);
    memcpy((uint8_t *)(record + 1) + n_id, path, n_path);
    atomic_thread_fence(memory_order_release);
    record->bytes = bytes;
    modules->n_records++;
}

static bool take_mapping(void *context, const struct cairn_own_mapping *own)
{
    struct look *look = context;
    struct cairn_heap_modules *modules = look->modules;
    struct cairn_tracked_mapping mapping = {.from = own->from,
                                            .to = own->to,
                                            .off = own->off,
                                            .inode = own->inode,
                                            .dev_major = own->dev_major,
                                            .dev_minor = own->dev_minor};
    if (mapping.off == 0)
        look->first = mapping;
    if (own->access[2] != 'x')
        return true;
    uint32_t at = first_above(modules, mapping.from);
    const struct cairn_tracked_mapping *known = at < modules->n ? &modules->known[at] : NULL;
    if (known && known->from <= mapping.from && known->to >= mapping.to &&
        is_same_code(known, &mapping)) {
        modules->known[at].is_seen = true;
        return true;
    }
    mapping.is_seen = true;
    replace(look, &mapping);
    write_record(look, &mapping, own->path);
    return true;
}

/* False: they cannot be read. */
static bool read_maps(struct look *look)
{
    return cairn_own_maps_each(&look->modules->text, take_mapping, look);
}

void cairn_heap_modules_meet(struct cairn_heap_modules *modules, struct cairn_tracked_state *state,
                             uint64_t va)
{
    /* A return address may be the first one behind its module. */
    va--;
    if (is_known(modules, va)) {
        modules->known[modules->last].is_used = true;
        return;
    }
    if (va >> PAGE_BITS == modules->unknown)
        return;
    struct look look = {.modules = modules, .state = state};
    read_maps(&look);
    if (is_known(modules, va))
        modules->known[modules->last].is_used = true;
    else
        modules->unknown = va >> PAGE_BITS;
}

/* Whatever comes to lie there is to be met anew. */
static void drop_unseen(struct look *look)
{
    struct cairn_heap_modules *modules = look->modules;
    uint32_t n = 0;
    for (uint32_t i = 0; i < modules->n; i++) {
        const struct cairn_tracked_mapping *known = &modules->known[i];
        if (known->is_seen)
            modules->known[n++] = *known;
        else
            look->replaced |= known->is_used && known->inode != 0;
    }
    modules->n = n;
    modules->last = 0;
}

bool cairn_heap_modules_refresh(struct cairn_heap_modules *modules,
                                struct cairn_tracked_state *state)
{
    struct look look = {.modules = modules, .state = state};
    uint64_t generation = atomic_load(&cairn_unload_generation);
    if (generation == modules->generation)
        return false;
    modules->generation = generation;
    modules->unknown = 0;
    if (modules->n == 0)
        return false;
    for (uint32_t i = 0; i < modules->n; i++)
        modules->known[i].is_seen = false;
    if (read_maps(&look))
        drop_unseen(&look);
    return look.replaced;
}
