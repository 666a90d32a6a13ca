/* SPDX-License-Identifier: MIT */
/* Core blocks: what glibc's malloc has in use, by the class of its objects and by their size: the
 * only births that a core file tells. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <cairn/symbolizer.h>

#include "arena/arena.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/table.h"
#include "formats/heap_make.h"
#include "watch/core.h"
#include "watch/variables.h"

enum { CLASSES_MAX = 1 << 16, NAME_BYTES = 512, CLASS_AT = 48 /* in a key, above the size */ };

struct listing {
    struct cairn_heap_core *core;
    struct cairn_heap_make make;
    struct cairn_arena_region *regions;
    size_t n, cap;
    struct cairn_variables *variables;
    struct cairn_table classes; /* of a word: the number of its class; 0: it is no vtable's */
    const char **names;         /* of classes, mangled. Borrowed from the variables */
    size_t n_names, cap_names;
    struct cairn_table kinds; /* of a class and a size */
    bool failed;              /* memory is gone */
};

static bool read_core(void *context, uint64_t va, void *out, size_t size)
{
    const struct cairn_heap_core *core = context;
    return cairn_core_memory_read(core->file, va, out, size) == size;
}

static bool is_libc(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && (strncmp(slash, "/libc.so.6", 10) == 0 || strncmp(slash, "/libc-2.", 8) == 0);
}

/* Without libc.so.6 malloc is the program's own: it is static. */
static bool has_libc(const struct cairn_maps *maps)
{
    for (size_t i = 0; i < cairn_maps_count(maps); i++)
        if (is_libc(cairn_maps_get(maps, i)->path))
            return true;
    return false;
}

static enum cairn_arena_region_kind kind_of(const struct cairn_map *map, bool has_libc)
{
    const uint32_t access = CAIRN_MAP_READ | CAIRN_MAP_WRITE;
    if ((map->flags & (access | CAIRN_MAP_SHARED)) != access || strcmp(map->path, "[stack]") == 0)
        return 0;
    if (map->flags & CAIRN_MAP_FILE)
        return !has_libc || is_libc(map->path) ? CAIRN_ARENA_DATA : 0;
    return CAIRN_ARENA_ANONYMOUS;
}

static bool find_regions(struct listing *l)
{
    const struct cairn_maps *maps = l->core->maps;
    bool with_libc = has_libc(maps);
    for (size_t i = 0; i < cairn_maps_count(maps); i++) {
        const struct cairn_map *map = cairn_maps_get(maps, i);
        enum cairn_arena_region_kind kind = kind_of(map, with_libc);
        if (!kind)
            continue;
        if (cairn_grow((void **)&l->regions, &l->cap, l->n + 1, sizeof *l->regions) < 0)
            return false;
        l->regions[l->n++] = (struct cairn_arena_region){map->start, map->end, kind};
    }
    return true;
}

/* The class of the object in a block: its first word points into a vtable. 0: it tells none. */
static uint32_t class_of(struct listing *l, uint64_t va)
{
    uint64_t word;
    uint32_t number = 0;
    if (!read_core(l->core, va, &word, sizeof word) || !word || word % sizeof word)
        return 0;
    if (cairn_table_find(&l->classes, word, &number) || l->classes.n >= CLASSES_MAX)
        return number;
    const char *name = cairn_variables_class(l->variables, word);
    if (name) {
        l->failed |=
            cairn_grow((void **)&l->names, &l->cap_names, l->n_names + 1, sizeof *l->names) < 0;
        if (!l->failed)
            l->names[l->n_names++] = name;
        number = (uint32_t)l->n_names;
    }
    /* Most words are no vtable's; those of memory that no file is mapped to need no row. */
    if (name || cairn_variables_is_data(l->variables, word))
        l->failed |= cairn_table_set(&l->classes, word, number) < 0;
    return number;
}

static uint32_t make_kind(struct listing *l, uint32_t class, uint64_t bytes)
{
    static const char head[] = "vtable for ";
    char symbol[NAME_BYTES], plain[NAME_BYTES], text[2 * NAME_BYTES];
    if (class) {
        snprintf(symbol, sizeof symbol, "_ZTV%s", l->names[class - 1]);
        (void)cairn_symbol_demangle(symbol, plain, sizeof plain);
        const char *name = plain + (strncmp(plain, head, strlen(head)) == 0 ? strlen(head) : 0);
        snprintf(text, sizeof text, "[%s, %" PRIu64 " bytes]", name, bytes);
    } else {
        snprintf(text, sizeof text, "[%" PRIu64 " bytes]", bytes);
    }
    return cairn_heap_make_kind(&l->make, text);
}

static uint32_t kind_number(struct listing *l, const struct cairn_arena_block *block)
{
    uint32_t class = class_of(l, block->va), number = 0;
    uint64_t key = block->bytes | (uint64_t) class << CLASS_AT;
    if (l->failed || cairn_table_find(&l->kinds, key, &number))
        return number;
    number = make_kind(l, class, block->bytes);
    l->failed |= cairn_table_set(&l->kinds, key, number) < 0;
    return number;
}

static void add_blocks(struct listing *l, const struct cairn_arena_walk *walk)
{
    const struct cairn_core_target *file = l->core->file;
    cairn_heap_make_begin(&l->make, file->elf.machine, (uint32_t)file->notes.facts.pid,
                          file->notes.facts.arguments);
    for (size_t i = 0; i < walk->n && !l->failed && !l->make.is_full; i++)
        cairn_heap_make_block(&l->make, walk->blocks[i].va, walk->blocks[i].bytes,
                              kind_number(l, &walk->blocks[i]));
}

/* Memory that was not read may hold blocks that are not known (lost_pass.c). */
static void note_unread(struct cairn_buffer *bytes, const struct cairn_arena_walk *walk)
{
    struct cairn_heap_header header;
    memcpy(&header, bytes->data, sizeof header);
    header.older_unread_bytes = walk->unread_bytes;
    memcpy(bytes->data, &header, sizeof header);
}

static int list(struct listing *l, struct cairn_buffer *ret_bytes, struct cairn_err *err)
{
    struct cairn_arena_walk walk = {0};
    int code = find_regions(l) ? CAIRN_OK : cairn_fail_memory(err);
    const struct cairn_arena_space space = {read_core, l->core, l->regions, l->n};
    if (code == CAIRN_OK)
        code = cairn_arena_walk(&space, &walk, err);
    if (code < 0)
        return code;
    l->core->break_start = walk.main_low;
    l->core->break_end = walk.main_high;
    if (walk.is_ring_cut)
        cairn_log(CAIRN_LOG_WARNING,
                  "the program has overwritten the list of its malloc's arenas: they were found by "
                  "the heads of their heaps, and one without such a head is missing");
    add_blocks(l, &walk);
    code = l->failed ? cairn_fail_memory(err) : cairn_heap_make_end(&l->make, ret_bytes, err);
    if (code == CAIRN_OK)
        note_unread(ret_bytes, &walk);
    cairn_arena_walk_done(&walk);
    return code;
}

int cairn_heap_core_blocks(struct cairn_heap_core *core, struct cairn_buffer *ret_bytes,
                           struct cairn_err *err)
{
    struct listing l = {.core = core};
    int code = cairn_variables_of_core(core->space, core->maps, &l.variables, err);
    if (code == CAIRN_OK)
        code = list(&l, ret_bytes, err);
    cairn_variables_free(l.variables);
    cairn_heap_make_done(&l.make);
    cairn_table_done(&l.classes);
    cairn_table_done(&l.kinds);
    cairn_free(l.regions);
    cairn_free(l.names);
    return code;
}
