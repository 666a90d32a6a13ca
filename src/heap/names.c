/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "heap/names.h"

#include <errno.h>
#include <string.h>

#include "base/address.h"
#include "heap/build_id.h"
#include "rt/pages.h"
#include "rt/pairs.h"
#include "rt/sys.h"
#include "unwind/print_dynamic.h"
#include "unwind/print_file.h"

enum {
    FIRST_SLOTS = 1 << 12,
    NAME_BYTES = 4096, /* longer ones are cut */
    BLOCK_BYTES = 1 << 18,
    PATH_BYTES = 4096,
    MOST_OFFERS = 1 << 26 /* a file whose symbols all cover everything is not gone through */
};

/* Places of one module, on their way to names. */
struct search {
    struct cairn_heap_names *names;
    const struct cairn_heap_inside *inside;
    const struct cairn_pair *wanted; /* vaddrs to look up, sorted, and whose they are */
    size_t n_wanted;
    ElfW(Ehdr) head;
    struct cairn_print_source from;
    uint64_t names_at[2]; /* of the name that was read last: section, offset, */
    uint32_t last_text;   /* and where it is */
    uint32_t n_offers;
    uint64_t block[BLOCK_BYTES / 8]; /* of the table of symbols */
    char path[PATH_BYTES];
};

static uint64_t lookup_of(const struct cairn_tracked_place *place)
{
    return cairn_lookup_address(place->ret, CAIRN_ADDRESS_RETURN);
}

static struct cairn_tracked_place *place_at(const struct search *s, uint64_t number)
{
    return (struct cairn_tracked_place *)s->names->places.items + number;
}

static uint32_t *slot_of(const struct cairn_heap_names *names, uint64_t ret, uint32_t module)
{
    uint32_t *slots = names->slots.items;
    const struct cairn_tracked_place *places = names->places.items;
    uint64_t mask = names->slots.n - 1;
    uint64_t at = (ret * UINT64_C(0x9e3779b97f4a7c15) >> 20 ^ module) & mask;
    while (slots[at] &&
           (places[slots[at] - 1].ret != ret || places[slots[at] - 1].module != module))
        at = (at + 1) & mask;
    return &slots[at];
}

/* At most half of them are used. */
static bool have_slots(struct cairn_heap_names *names)
{
    struct cairn_array old = names->slots;
    if (names->places.n < old.n / 2)
        return true;
    size_t n = old.n ? old.n * 2 : FIRST_SLOTS;
    struct cairn_array slots = {0};
    if (!cairn_array_add(&slots, n, sizeof(uint32_t)))
        return false;
    names->slots = slots;
    for (uint32_t i = 0; i < names->places.n; i++) {
        const struct cairn_tracked_place *place = cairn_heap_names_place(names, i);
        *slot_of(names, place->ret, place->module) = i + 1;
    }
    cairn_array_done(&old);
    return true;
}

uint32_t cairn_heap_names_note(struct cairn_heap_names *names, uint64_t ret, uint32_t module)
{
    if (!have_slots(names))
        return UINT32_MAX;
    uint32_t *slot = slot_of(names, ret, module);
    if (*slot)
        return *slot - 1;
    struct cairn_tracked_place *place = cairn_array_add(&names->places, 1, sizeof(*place));
    if (!place)
        return UINT32_MAX;
    *place = (struct cairn_tracked_place){.ret = ret, .module = module};
    *slot = (uint32_t)names->places.n;
    return *slot - 1;
}

/* The text of a symbol's name; 0: none. Symbols come one behind another for several places. */
static uint32_t text_of(struct search *s, const ElfW(Shdr) * strings, const ElfW(Sym) * symbol)
{
    struct cairn_array *texts = &s->names->texts;
    if (s->names_at[0] == strings->sh_offset && s->names_at[1] == symbol->st_name)
        return s->last_text;
    size_t text = texts->n;
    char *to = text < UINT32_MAX - NAME_BYTES ? cairn_array_add(texts, NAME_BYTES, 1) : NULL;
    if (!to)
        return 0;
    cairn_print_file_name(&s->from, strings, symbol->st_name, to, NAME_BYTES);
    texts->n = text + strlen(to) + 1;
    s->names_at[0] = strings->sh_offset;
    s->names_at[1] = symbol->st_name;
    s->last_text = *to ? (uint32_t)text : 0;
    return s->last_text;
}

/* The innermost symbol counts: the one that starts last. */
static void offer(struct search *s, const ElfW(Shdr) * strings, const ElfW(Sym) * symbol)
{
    uint64_t start = cairn_print_file_start(&s->head, symbol);
    for (size_t i = cairn_pairs_find(s->wanted, s->n_wanted, start);
         i < s->n_wanted && s->wanted[i].key - start < symbol->st_size && s->n_offers < MOST_OFFERS;
         i++, s->n_offers++) {
        struct cairn_tracked_place *place = place_at(s, s->wanted[i].value);
        if (place->name && place->start >= start)
            continue;
        place->name = text_of(s, strings, symbol);
        place->start = start;
    }
}

static void pass_over(struct search *s, const ElfW(Shdr) * table, const ElfW(Shdr) * strings)
{
    const size_t in_block = sizeof(s->block) / (sizeof(ElfW(Sym)));
    uint64_t n = table->sh_size / sizeof(ElfW(Sym));
    const ElfW(Sym) *symbols = (const void *)s->block;
    for (uint64_t at = 0; at < n; at += in_block) {
        size_t now = n - at < in_block ? (size_t)(n - at) : in_block;
        if (!cairn_print_source_read(&s->from, table->sh_offset + at * sizeof(*symbols), s->block,
                                     now * sizeof(*symbols)))
            return;
        for (size_t i = 0; i < now; i++)
            if (cairn_print_file_is_code(&symbols[i]))
                offer(s, strings, &symbols[i]);
    }
}

/* What .symtab names, .dynsym does not name again. */
static void leave_unnamed(struct search *s, struct cairn_pair *wanted)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_wanted; i++)
        if (!place_at(s, wanted[i].value)->name)
            wanted[n++] = wanted[i];
    s->n_wanted = n;
}

/* Puts vaddrs in the place of vas: `bias` is added to the vaddr of each. */
static void move_by(struct search *s, struct cairn_pair *wanted, uint64_t bias)
{
    for (size_t i = 0; i < s->n_wanted; i++) {
        struct cairn_tracked_place *place = place_at(s, wanted[i].value);
        wanted[i].key -= bias;
        place->rel = place->ret - bias;
        place->has_rel = true;
    }
}

static void search_file(struct search *s, struct cairn_pair *wanted,
                        const struct cairn_heap_seen *module, uint64_t off)
{
    static const uint32_t types[] = {SHT_SYMTAB, SHT_DYNSYM};
    uintptr_t vaddr;
    ElfW(Shdr) table, strings;
    if (!cairn_print_file_head(&s->from, &s->head) ||
        !cairn_print_file_vaddr(&s->from, &s->head, off + (wanted[0].key - module->from), &vaddr))
        return;
    move_by(s, wanted, wanted[0].key - vaddr);
    for (unsigned k = 0; k < 2 && s->n_wanted; k++) {
        for (unsigned at = 0;
             cairn_print_file_table(&s->from, &s->head, types[k], &at, &table, &strings);)
            pass_over(s, &table, &strings);
        leave_unnamed(s, wanted);
    }
}

/* Where the first byte of a module is mapped, if it still is: another one may lie there now. */
static bool is_mapped(const struct cairn_heap_seen *module, uintptr_t image)
{
    uint8_t id[CAIRN_HEAP_BUILD_ID];
    size_t n = cairn_heap_build_id(image, id);
    return n > 0 && n == module->n_build_id && memcmp(id, module->build_id, n) == 0;
}

/* What a module exports whose file is gone. */
static void search_memory(struct search *s, struct cairn_pair *wanted,
                          const struct cairn_heap_seen *module)
{
    struct cairn_print_dynamic dynamic;
    uintptr_t image = (uintptr_t)(module->from - module->off);
    if (!is_mapped(module, image))
        return;
    s->from = (struct cairn_print_source){-1, image, UINTPTR_MAX - image};
    if (!cairn_print_file_head(&s->from, &s->head) ||
        !cairn_print_dynamic_read(&s->from, s->block, sizeof(s->block), &dynamic))
        return;
    move_by(s, wanted, dynamic.bias);
    pass_over(s, &dynamic.table, &dynamic.names);
}

static bool is_path(const struct cairn_heap_seen *module, const char *text)
{
    size_t n = strlen(text);
    return module->n_path == n && memcmp(module->path, text, n) == 0;
}

/* `wanted` holds vas. */
static void search_module(struct search *s, uint32_t number, struct cairn_pair *wanted)
{
    const struct cairn_heap_seen *module =
        (const struct cairn_heap_seen *)s->inside->modules.items + number;
    s->wanted = wanted;
    s->names_at[0] = s->names_at[1] = UINT64_MAX;
    s->from = (struct cairn_print_source){-1, (uintptr_t)module->from,
                                          (size_t)(module->to - module->from)};
    if (is_path(module, "[vdso]")) {
        search_file(s, wanted, module, 0);
        return;
    }
    if (module->n_path == 0 || *module->path != '/' || module->n_path >= sizeof(s->path))
        return;
    memcpy(s->path, module->path, module->n_path);
    s->path[module->n_path] = 0;
    s->from.fd = cairn_print_file_open(&(struct cairn_print_mapped){
        s->path, (uintptr_t)module->from, (uintptr_t)module->to, module->inode});
    if (s->from.fd < 0) {
        search_memory(s, wanted, module);
        return;
    }
    search_file(s, wanted, module, module->off);
    cairn_sys_close(s->from.fd);
}

/* By module, and in each by address. */
static bool sort_places(const struct cairn_heap_names *names, struct cairn_array *ret)
{
    struct cairn_pair *pairs = cairn_array_add(ret, names->places.n, sizeof(*pairs));
    for (uint32_t i = 0; pairs && i < names->places.n; i++)
        pairs[i] = (struct cairn_pair){cairn_heap_names_place(names, i)->module, i};
    if (pairs)
        cairn_pairs_sort(pairs, names->places.n);
    return pairs != NULL;
}

static void search_all(struct search *s, struct cairn_pair *pairs, size_t n)
{
    for (size_t first = 0, next; first < n; first = next) {
        uint32_t module = (uint32_t)pairs[first].key;
        for (next = first; next < n && pairs[next].key == module; next++)
            ;
        if (module >= s->inside->modules.n)
            continue;
        for (size_t i = first; i < next; i++)
            pairs[i].key = lookup_of(place_at(s, pairs[i].value));
        /* `next` is of another module still. */
        cairn_pairs_sort(pairs + first, next - first);
        s->n_wanted = next - first;
        search_module(s, module, pairs + first);
    }
}

void cairn_heap_names_find(struct cairn_heap_names *names, const struct cairn_heap_inside *inside)
{
    int saved = errno;
    struct cairn_array pairs = {0};
    struct search *s = cairn_pages_map(sizeof(*s));
    /* No name is at 0. */
    if (s && names->places.n > 0 && cairn_array_add(&names->texts, 1, 1) &&
        sort_places(names, &pairs)) {
        s->names = names;
        s->inside = inside;
        search_all(s, pairs.items, pairs.n);
    }
    cairn_array_done(&pairs);
    cairn_pages_unmap(s, sizeof(*s));
    errno = saved;
}

void cairn_heap_names_done(struct cairn_heap_names *names)
{
    cairn_array_done(&names->places);
    cairn_array_done(&names->slots);
    cairn_array_done(&names->texts);
}
