/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/print_symbol.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "unwind/print_dynamic.h"
#include "unwind/print_file.h"

static bool covers(const ElfW(Ehdr) * head, const ElfW(Sym) * symbol, uintptr_t vaddr)
{
    return cairn_print_file_is_code(symbol) &&
           vaddr - cairn_print_file_start(head, symbol) < symbol->st_size;
}

/* The innermost symbol of a table that covers `vaddr`. */
static bool find_in(const struct cairn_print_source *from, const ElfW(Ehdr) * head,
                    const ElfW(Shdr) * table, uintptr_t vaddr, struct cairn_print_symbol *scratch,
                    ElfW(Sym) * ret_symbol)
{
    const size_t in_block = sizeof scratch->block / (sizeof(ElfW(Sym)));
    uint64_t n = table->sh_size / sizeof(ElfW(Sym));
    const ElfW(Sym) *symbols = (const void *)scratch->block;
    bool found = false;
    for (uint64_t at = 0; at < n; at += in_block) {
        size_t now = n - at < in_block ? (size_t)(n - at) : in_block;
        if (!cairn_print_source_read(from, table->sh_offset + at * sizeof *symbols, scratch->block,
                                     now * sizeof *symbols))
            return found;
        for (size_t i = 0; i < now; i++)
            if (covers(head, &symbols[i], vaddr) &&
                (!found || cairn_print_file_start(head, &symbols[i]) >
                               cairn_print_file_start(head, ret_symbol))) {
                *ret_symbol = symbols[i];
                found = true;
            }
    }
    return found;
}

static void take(const struct cairn_print_source *from, const ElfW(Ehdr) * head,
                 const ElfW(Shdr) * names, const ElfW(Sym) * symbol, uintptr_t vaddr,
                 struct cairn_print_symbol *ret)
{
    cairn_print_file_name(from, names, symbol->st_name, ret->name, sizeof ret->name);
    ret->off = vaddr - cairn_print_file_start(head, symbol);
}

static void find_name(const struct cairn_print_source *from, const ElfW(Ehdr) * head,
                      uintptr_t vaddr, uintptr_t back, struct cairn_print_symbol *ret)
{
    static const uint32_t types[] = {SHT_SYMTAB, SHT_DYNSYM};
    ElfW(Shdr) table, names;
    ElfW(Sym) symbol;
    for (unsigned k = 0; k < 2; k++)
        for (unsigned at = 0; cairn_print_file_table(from, head, types[k], &at, &table, &names);)
            if (find_in(from, head, &table, vaddr, ret, &symbol)) {
                take(from, head, &names, &symbol, vaddr + back, ret);
                return;
            }
}

static void find(const struct cairn_print_source *from, uint64_t off, uintptr_t back,
                 struct cairn_print_symbol *ret)
{
    ElfW(Ehdr) head;
    uintptr_t vaddr;
    if (!cairn_print_file_head(from, &head) || !cairn_print_file_vaddr(from, &head, off, &vaddr))
        return;
    ret->has_rel = true;
    ret->rel = vaddr + back;
    find_name(from, &head, vaddr, back, ret);
}

void cairn_print_symbol_in_memory(uintptr_t image, uintptr_t va, uintptr_t lookup_va,
                                  struct cairn_print_symbol *ret_symbol)
{
    const struct cairn_print_source from = {-1, image, UINTPTR_MAX - image};
    struct cairn_print_dynamic dynamic;
    ElfW(Ehdr) head;
    ElfW(Sym) symbol;
    ret_symbol->has_rel = false;
    ret_symbol->name[0] = 0;
    if (!cairn_print_source_read(&from, 0, &head, sizeof head) ||
        !cairn_print_dynamic_read(&from, ret_symbol->block, sizeof ret_symbol->block, &dynamic))
        return;
    uintptr_t vaddr = lookup_va - dynamic.bias, back = va - lookup_va;
    ret_symbol->has_rel = true;
    ret_symbol->rel = vaddr + back;
    if (find_in(&from, &head, &dynamic.table, vaddr, ret_symbol, &symbol))
        take(&from, &head, &dynamic.names, &symbol, vaddr + back, ret_symbol);
}

void cairn_print_symbol_find(const struct cairn_print_maps *maps, const struct cairn_print_map *map,
                             uintptr_t va, uintptr_t lookup_va,
                             struct cairn_print_symbol *ret_symbol)
{
    int saved = errno;
    const char *path = maps->paths + map->path;
    struct cairn_print_source from = {
        .fd = -1, .image = map->from, .image_bytes = map->to - map->from};
    uint64_t off = map->off + (lookup_va - map->from);
    ret_symbol->has_rel = false;
    ret_symbol->name[0] = 0;
    if (path[0] == '/') {
        from.fd = cairn_print_file_open(
            &(struct cairn_print_mapped){path, map->from, map->to, map->inode});
        if (from.fd >= 0)
            find(&from, off, va - lookup_va, ret_symbol);
        else if (map->image)
            cairn_print_symbol_in_memory(map->image, va, lookup_va, ret_symbol);
    } else if (strcmp(path, "[vdso]") == 0) {
        find(&from, lookup_va - map->from, va - lookup_va, ret_symbol);
    }
    if (from.fd >= 0)
        close(from.fd);
    errno = saved;
}
