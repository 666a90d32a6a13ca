/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "heap/build_id.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>

#include "rt/self.h"

enum { MAX_SEGMENTS = 64, MAX_NOTES = 64, MAX_NOTES_BYTES = 1 << 16 };

static size_t padded(size_t bytes)
{
    return (bytes + 3) & ~(size_t)3;
}

static size_t in_notes(uintptr_t va, size_t bytes, uint8_t ret[CAIRN_HEAP_BUILD_ID])
{
    size_t at = 0;
    for (unsigned i = 0; i < MAX_NOTES && bytes - at >= sizeof(ElfW(Nhdr)); i++) {
        struct {
            ElfW(Nhdr) head;
            char name[4];
        } note;
        if (!cairn_self_read(va + at, &note, sizeof(note)))
            return 0;
        size_t name = padded(note.head.n_namesz), id = note.head.n_descsz;
        size_t all = sizeof(note.head) + name + padded(id);
        if (all > bytes - at || note.head.n_namesz > bytes || id > bytes)
            return 0;
        if (note.head.n_type == NT_GNU_BUILD_ID && note.head.n_namesz == 4 &&
            memcmp(note.name, "GNU", 4) == 0 && id <= CAIRN_HEAP_BUILD_ID)
            return cairn_self_read(va + at + sizeof(note.head) + name, ret, id) ? id : 0;
        at += all;
    }
    return 0;
}

size_t cairn_heap_build_id(uint64_t va, uint8_t ret[CAIRN_HEAP_BUILD_ID])
{
    ElfW(Ehdr) header;
    if (!cairn_self_read((uintptr_t)va, &header, sizeof(header)) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(ElfW(Phdr)) ||
        header.e_phnum > MAX_SEGMENTS)
        return 0;
    ElfW(Phdr) segment;
    uintptr_t base = 0;
    bool has_base = false;
    for (unsigned pass = 0; pass < 2; pass++)
        for (unsigned i = 0; i < header.e_phnum; i++) {
            if (!cairn_self_read((uintptr_t)(va + header.e_phoff + i * sizeof(segment)), &segment,
                                 sizeof(segment)))
                return 0;
            if (pass == 0 && segment.p_type == PT_LOAD && segment.p_offset == 0 && !has_base) {
                base = (uintptr_t)(va - segment.p_vaddr);
                has_base = true;
            }
            if (pass == 1 && has_base && segment.p_type == PT_NOTE &&
                segment.p_memsz >= sizeof(ElfW(Nhdr)) && segment.p_memsz <= MAX_NOTES_BYTES) {
                size_t id = in_notes(base + segment.p_vaddr, segment.p_memsz, ret);
                if (id > 0)
                    return id;
            }
        }
    return 0;
}
