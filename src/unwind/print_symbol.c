/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/print_symbol.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "rt/inode.h"
#include "rt/text.h"
#include "unwind/print_dynamic.h"
#include "unwind/print_source.h"

enum { HEADERS_MAX = 4096 }; /* program or section headers that are looked at */

/* The vaddr of what lies at `off` of the file. */
static bool vaddr_of(const struct cairn_print_source *from, const ElfW(Ehdr) * head, uint64_t off,
                     uintptr_t *ret_vaddr)
{
    for (unsigned i = 0; i < head->e_phnum && i < HEADERS_MAX; i++) {
        ElfW(Phdr) p;
        if (!cairn_print_source_read(from, head->e_phoff + (uint64_t)i * sizeof p, &p, sizeof p))
            return false;
        if (p.p_type == PT_LOAD && off >= p.p_offset && off - p.p_offset < p.p_filesz) {
            *ret_vaddr = (uintptr_t)(p.p_vaddr + (off - p.p_offset));
            return true;
        }
    }
    return false;
}

/* On arm bit 0 of a function says Thumb. */
static uintptr_t start_of(const ElfW(Ehdr) * head, const ElfW(Sym) * symbol)
{
    uintptr_t thumb = head->e_machine == EM_ARM;
    return (uintptr_t)symbol->st_value & ~thumb;
}

static bool covers(const ElfW(Ehdr) * head, const ElfW(Sym) * symbol, uintptr_t vaddr)
{
    unsigned type = symbol->st_info & 15; /* the same of both classes */
    return symbol->st_shndx != SHN_UNDEF && symbol->st_name &&
           (type == STT_FUNC || type == STT_NOTYPE || type == STT_GNU_IFUNC) &&
           vaddr - start_of(head, symbol) < symbol->st_size;
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
                (!found || start_of(head, &symbols[i]) > start_of(head, ret_symbol))) {
                *ret_symbol = symbols[i];
                found = true;
            }
    }
    return found;
}

static bool read_section(const struct cairn_print_source *from, const ElfW(Ehdr) * head, uint64_t i,
                         ElfW(Shdr) * ret)
{
    return i < head->e_shnum && head->e_shentsize == sizeof *ret &&
           cairn_print_source_read(from, head->e_shoff + i * sizeof *ret, ret, sizeof *ret);
}

/* What is there of the name: the string table may end with it, or before. */
static void read_name(const struct cairn_print_source *from, const ElfW(Shdr) * strings,
                      uint64_t at, char *ret_name)
{
    size_t n = 0;
    uint64_t left = at < strings->sh_size ? strings->sh_size - at : 0;
    size_t size = left < CAIRN_PRINT_NAME_BYTES ? (size_t)left : CAIRN_PRINT_NAME_BYTES;
    if (cairn_print_source_read(from, strings->sh_offset + at, ret_name, size))
        n = strnlen(ret_name, size);
    ret_name[n < CAIRN_PRINT_NAME_BYTES ? n : CAIRN_PRINT_NAME_BYTES - 1] = 0;
}

static void find_name(const struct cairn_print_source *from, const ElfW(Ehdr) * head,
                      uintptr_t vaddr, uintptr_t back, struct cairn_print_symbol *ret)
{
    static const uint32_t kinds[] = {SHT_SYMTAB, SHT_DYNSYM};
    for (unsigned k = 0; k < 2; k++)
        for (unsigned i = 0; i < head->e_shnum && i < HEADERS_MAX; i++) {
            ElfW(Shdr) table, strings;
            ElfW(Sym) symbol;
            if (!read_section(from, head, i, &table))
                return;
            if (table.sh_type != kinds[k] || table.sh_entsize != sizeof symbol ||
                !read_section(from, head, table.sh_link, &strings) ||
                !find_in(from, head, &table, vaddr, ret, &symbol))
                continue;
            read_name(from, &strings, symbol.st_name, ret->name);
            ret->off = vaddr + back - start_of(head, &symbol);
            return;
        }
}

static void find(const struct cairn_print_source *from, uint64_t off, uintptr_t back,
                 struct cairn_print_symbol *ret)
{
    ElfW(Ehdr) head;
    uintptr_t vaddr;
    if (!cairn_print_source_read(from, 0, &head, sizeof head) ||
        memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
        head.e_phentsize != sizeof(ElfW(Phdr)) || !vaddr_of(from, &head, off, &vaddr))
        return;
    ret->has_rel = true;
    ret->rel = vaddr + back;
    find_name(from, &head, vaddr, back, ret);
}

/* The file that was mapped, or -1: another one at the same path has other symbols. Devices are not
 * compared, for btrfs and overlayfs tell another one in /proc/self/maps than stat(2) does. */
static int open_mapped(const char *path, const struct cairn_print_map *map)
{
    uint64_t inode;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd >= 0 && cairn_inode_of(fd, &inode) && inode == map->inode)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* What is mapped, also where its file was deleted or replaced (proc(5); wants CAP_SYS_ADMIN, or
 * CAP_CHECKPOINT_RESTORE since Linux 5.9). */
static int open_map_file(const struct cairn_print_map *map)
{
    static const char folder[] = "/proc/self/map_files/";
    char path[sizeof folder + 2 * CAIRN_TEXT_HEX_BYTES];
    memcpy(path, folder, sizeof folder - 1);
    size_t n = sizeof folder - 1;
    n += cairn_text_hex(map->from, path + n);
    path[n++] = '-';
    n += cairn_text_hex(map->to, path + n);
    path[n] = 0;
    return open_mapped(path, map);
}

static int open_any(const char *path, const struct cairn_print_map *map)
{
    int fd = open_mapped(path, map);
    if (fd < 0)
        fd = open_map_file(map);
    return fd < 0 ? open_mapped("/proc/self/exe", map) : fd; /* a program that was replaced */
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
    if (!find_in(&from, &head, &dynamic.table, vaddr, ret_symbol, &symbol))
        return;
    read_name(&from, &dynamic.names, symbol.st_name, ret_symbol->name);
    ret_symbol->off = vaddr + back - start_of(&head, &symbol);
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
        from.fd = open_any(path, map);
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
