/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/print_file.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "rt/inode.h"
#include "rt/text.h"

enum { HEADERS_MAX = 4096 }; /* program or section headers that are looked at */

/* The file that was mapped, or -1: another one at the same path has other symbols. Devices are not
 * compared, for btrfs and overlayfs tell another one in /proc/self/maps than stat(2) does. */
static int open_mapped(const char *path, uint64_t mapped_inode)
{
    uint64_t inode;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd >= 0 && cairn_inode_of(fd, &inode) && inode == mapped_inode)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* What is mapped, also where its file was deleted or replaced (proc(5); wants CAP_SYS_ADMIN, or
 * CAP_CHECKPOINT_RESTORE since Linux 5.9). */
static int open_map_file(const struct cairn_print_mapped *mapped)
{
    static const char folder[] = "/proc/self/map_files/";
    char path[sizeof folder + 2 * CAIRN_TEXT_HEX_BYTES];
    memcpy(path, folder, sizeof folder - 1);
    size_t n = sizeof folder - 1;
    n += cairn_text_hex(mapped->from, path + n);
    path[n++] = '-';
    n += cairn_text_hex(mapped->to, path + n);
    path[n] = 0;
    return open_mapped(path, mapped->inode);
}

int cairn_print_file_open(const struct cairn_print_mapped *mapped)
{
    int fd = open_mapped(mapped->path, mapped->inode);
    if (fd < 0)
        fd = open_map_file(mapped);
    /* a program that was replaced */
    return fd < 0 ? open_mapped("/proc/self/exe", mapped->inode) : fd;
}

bool cairn_print_file_head(const struct cairn_print_source *from, ElfW(Ehdr) * ret_head)
{
    return cairn_print_source_read(from, 0, ret_head, sizeof *ret_head) &&
           memcmp(ret_head->e_ident, ELFMAG, SELFMAG) == 0 &&
           ret_head->e_ident[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) &&
           ret_head->e_phentsize == sizeof(ElfW(Phdr));
}

bool cairn_print_file_vaddr(const struct cairn_print_source *from, const ElfW(Ehdr) * head,
                            uint64_t off, uintptr_t *ret_vaddr)
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

static bool read_section(const struct cairn_print_source *from, const ElfW(Ehdr) * head, uint64_t i,
                         ElfW(Shdr) * ret)
{
    return i < head->e_shnum && head->e_shentsize == sizeof *ret &&
           cairn_print_source_read(from, head->e_shoff + i * sizeof *ret, ret, sizeof *ret);
}

bool cairn_print_file_table(const struct cairn_print_source *from, const ElfW(Ehdr) * head,
                            uint32_t type, unsigned *at, ElfW(Shdr) * ret_table,
                            ElfW(Shdr) * ret_names)
{
    while (*at < head->e_shnum && *at < HEADERS_MAX) {
        if (!read_section(from, head, (*at)++, ret_table))
            return false;
        if (ret_table->sh_type == type && ret_table->sh_entsize == sizeof(ElfW(Sym)) &&
            read_section(from, head, ret_table->sh_link, ret_names))
            return true;
    }
    return false;
}

bool cairn_print_file_is_code(const ElfW(Sym) * symbol)
{
    unsigned type = symbol->st_info & 15; /* the same of both classes */
    return symbol->st_shndx != SHN_UNDEF && symbol->st_name &&
           (type == STT_FUNC || type == STT_NOTYPE || type == STT_GNU_IFUNC);
}

uintptr_t cairn_print_file_start(const ElfW(Ehdr) * head, const ElfW(Sym) * symbol)
{
    uintptr_t thumb = head->e_machine == EM_ARM;
    return (uintptr_t)symbol->st_value & ~thumb;
}

/* The string table may end with the name, or before. */
void cairn_print_file_name(const struct cairn_print_source *from, const ElfW(Shdr) * names,
                           uint64_t at, char *ret_name, size_t room)
{
    size_t n = 0;
    uint64_t left = at < names->sh_size ? names->sh_size - at : 0;
    size_t size = left < room ? (size_t)left : room;
    if (cairn_print_source_read(from, names->sh_offset + at, ret_name, size))
        n = strnlen(ret_name, size);
    ret_name[n < room ? n : room - 1] = 0;
}
