/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/loader.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>

/* <link.h> of other C libraries has no such thing. */
extern const struct r_debug loader_debug __asm__("_r_debug") __attribute__((weak));
extern const struct r_debug *const loader_debug_at __asm__("_dl_debug_addr")
    __attribute__((weak)); /* musl's, whose structures begin as glibc's do */
extern const ElfW(Dyn) own_dynamic[] __asm__("_DYNAMIC")
    __attribute__((weak, visibility("hidden")));

enum { HIDDEN_VERSION = 0x8000, MAX_MODULES = 1 << 16 };

/* A module's dynamic symbols. */
struct symbols {
    uintptr_t base;
    const ElfW(Sym) * table;
    const ElfW(Half) * versions; /* NULL: they have none */
    const char *names;
    size_t names_bytes;
    const uint32_t *hash; /* DT_GNU_HASH */
};

/* glibc puts addresses into the section in place of vaddrs, but not into the vdso's. */
static const void *pointer_of(uintptr_t base, const ElfW(Dyn) * entry)
{
    uintptr_t va = entry->d_un.d_ptr;
    return (const void *)(va < base ? base + va : va);
}

static bool open_symbols(const struct link_map *map, struct symbols *ret)
{
    *ret = (struct symbols){.base = map->l_addr};
    for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_SYMTAB)
            ret->table = pointer_of(ret->base, entry);
        else if (entry->d_tag == DT_STRTAB)
            ret->names = pointer_of(ret->base, entry);
        else if (entry->d_tag == DT_STRSZ)
            ret->names_bytes = entry->d_un.d_val;
        else if (entry->d_tag == DT_VERSYM)
            ret->versions = pointer_of(ret->base, entry);
        else if (entry->d_tag == DT_GNU_HASH)
            ret->hash = pointer_of(ret->base, entry);
    }
    return ret->table && ret->names && ret->hash;
}

static bool is_function(const struct symbols *in, uint32_t i, const char *name, size_t name_bytes)
{
    const ElfW(Sym) *symbol = &in->table[i];
    return symbol->st_shndx != SHN_UNDEF && (symbol->st_info & 15) == STT_FUNC &&
           !(in->versions && in->versions[i] & HIDDEN_VERSION) &&
           symbol->st_name < in->names_bytes && name_bytes <= in->names_bytes - symbol->st_name &&
           memcmp(in->names + symbol->st_name, name, name_bytes) == 0;
}

/* Buckets, number of the first symbol that is in one, words of the filter, its shift; the filter;
 * the buckets; a word of hash for each symbol, bit 0 of which ends a bucket. */
static uintptr_t find_in(const struct symbols *in, const char *name)
{
    uint32_t wanted = 5381;
    size_t bytes = strlen(name) + 1;
    for (const char *at = name; *at; at++)
        wanted = wanted * 33 + (uint8_t)*at;
    uint32_t n_buckets = in->hash[0], first = in->hash[1];
    const uint32_t *buckets = in->hash + 4 + in->hash[2] * (sizeof(uintptr_t) / sizeof(uint32_t));
    const uint32_t *hashes = buckets + n_buckets;
    uint32_t i = n_buckets ? buckets[wanted % n_buckets] : 0;
    for (; i >= first && i != 0; i++) {
        uint32_t hash = hashes[i - first];
        if ((hash | 1) == (wanted | 1) && is_function(in, i, name, bytes))
            return in->base + (uintptr_t)in->table[i].st_value;
        if (hash & 1)
            break;
    }
    return 0;
}

static uintptr_t find(const struct link_map *map, const char *name)
{
    struct symbols symbols;
    return open_symbols(map, &symbols) ? find_in(&symbols, name) : 0;
}

static const struct link_map *first_map(void)
{
    if (&loader_debug)
        return loader_debug.r_map;
    return &loader_debug_at && loader_debug_at ? loader_debug_at->r_map : NULL;
}

static uintptr_t find_beside(const char *mark, const char *name)
{
    const struct link_map *map = first_map();
    for (unsigned i = 0; map && i < MAX_MODULES; i++, map = map->l_next)
        if (find(map, mark))
            return find(map, name);
    return 0;
}

uintptr_t cairn_loader_libc(const char *name)
{
    return find_beside("gnu_get_libc_version", name);
}

/* Its loader is its libc. */
uintptr_t cairn_loader_musl(const char *name)
{
    return &loader_debug ? 0 : find_beside("_dl_debug_state", name);
}

static uintptr_t first_of(const struct link_map *map, const char *name)
{
    uintptr_t va = 0;
    for (unsigned i = 0; map && !va && i < MAX_MODULES; i++, map = map->l_next)
        va = map->l_ld == own_dynamic ? 0 : find(map, name);
    return va;
}

uintptr_t cairn_loader_before(const char *name)
{
    const struct link_map *map = first_map();
    uintptr_t va = 0;
    unsigned i = 0;
    for (; map && map->l_ld != own_dynamic && i < MAX_MODULES; i++, map = map->l_next)
        va = va ? va : find(map, name);
    return map && i < MAX_MODULES ? va : 0;
}

uintptr_t cairn_loader_next(const char *name)
{
    const struct link_map *own = first_map();
    while (own && own->l_ld != own_dynamic)
        own = own->l_next;
    uintptr_t va = own ? first_of(own->l_next, name) : 0;
    return va ? va : first_of(first_map(), name);
}

/* What the loader fills in for a module: entries of `entry_bytes`, whose second word is r_info. */
struct relocations {
    const char *entries;
    size_t bytes, entry_bytes;
};

enum { KINDS = 3 };

static void open_relocations(const struct link_map *map, struct relocations ret[KINDS])
{
    static const struct {
        ElfW(Sxword) at, bytes;
        size_t entry_bytes;
    } kinds[KINDS] = {{DT_JMPREL, DT_PLTRELSZ, sizeof(ElfW(Rela))},
                      {DT_RELA, DT_RELASZ, sizeof(ElfW(Rela))},
                      {DT_REL, DT_RELSZ, sizeof(ElfW(Rel))}};
    for (unsigned k = 0; k < KINDS; k++)
        ret[k] = (struct relocations){NULL, 0, kinds[k].entry_bytes};
    for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_PLTREL && entry->d_un.d_val == DT_REL)
            ret[0].entry_bytes = sizeof(ElfW(Rel));
        for (unsigned k = 0; k < KINDS; k++) {
            if (entry->d_tag == (ElfW(Sxword))kinds[k].at)
                ret[k].entries = pointer_of(map->l_addr, entry);
            else if (entry->d_tag == (ElfW(Sxword))kinds[k].bytes)
                ret[k].bytes = entry->d_un.d_val;
        }
    }
}

static bool is_wanted(const struct symbols *in, size_t symbol, const char *const *starts, size_t n)
{
    const ElfW(Sym) *s = &in->table[symbol];
    if (symbol == 0 || s->st_shndx != SHN_UNDEF || s->st_name >= in->names_bytes)
        return false;
    for (size_t i = 0; i < n; i++)
        if (strncmp(in->names + s->st_name, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

static bool uses(const struct link_map *map, const char *const *starts, size_t n)
{
    struct symbols symbols;
    struct relocations relocations[KINDS];
    if (map->l_ld == own_dynamic || !open_symbols(map, &symbols))
        return false;
    open_relocations(map, relocations);
    for (unsigned k = 0; k < KINDS; k++)
        for (size_t at = 0; relocations[k].entries && at < relocations[k].bytes;
             at += relocations[k].entry_bytes) {
            const ElfW(Rel) *r = (const void *)(relocations[k].entries + at);
            /* ELF32_R_SYM, ELF64_R_SYM */
            size_t symbol = (size_t)(r->r_info >> (sizeof(r->r_info) == 8 ? 32 : 8));
            if (is_wanted(&symbols, symbol, starts, n))
                return true;
        }
    return false;
}

bool cairn_loader_uses(const char *const *starts, size_t n)
{
    const struct link_map *map = first_map();
    for (unsigned i = 0; map && i < MAX_MODULES; i++, map = map->l_next)
        if (uses(map, starts, n))
            return true;
    return false;
}
