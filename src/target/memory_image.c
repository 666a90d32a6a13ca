/* SPDX-License-Identifier: MIT */
#include "target/memory_image.h"

#include <elf.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "elf/note.h"

enum { PAGE = 4096, CHUNK = 65536, NOTES_MAX = 4096 };

/* What the first page of a module tells. */
struct head {
    uint8_t page[PAGE];
    struct cairn_elf elf;
    uint64_t bias; /* va - vaddr */
};

int cairn_memory_open_head(uint8_t *page, size_t size, struct cairn_elf *ret_elf,
                           struct cairn_err *err)
{
    enum { HEADER_BYTES = 0x40 };
    if (size < HEADER_BYTES)
        return cairn_fail(err, CAIRN_E_FORMAT, "%zu bytes are no ELF header", size);
    bool is64 = page[EI_CLASS] == ELFCLASS64;
    memset(page + (is64 ? 0x28 : 0x20), 0, is64 ? 8 : 4); /* e_shoff */
    memset(page + (is64 ? 0x3a : 0x2e), 0, 6);            /* e_shentsize, e_shnum, e_shstrndx */
    return cairn_elf_open((struct cairn_span){page, size}, ret_elf, err);
}

static int read_head(const struct cairn_memory *memory, uint64_t base, struct head *ret_head,
                     struct cairn_err *err)
{
    struct head *h = ret_head;
    uint64_t first;
    if (!memory->read(memory->ctx, base, h->page, sizeof h->page))
        return cairn_fail(err, CAIRN_E_MISSING, "memory at 0x%llx cannot be read",
                          (unsigned long long)base);
    int code = cairn_memory_open_head(h->page, sizeof h->page, &h->elf, err);
    if (code < 0)
        return code;
    if (!cairn_elf_first_vaddr(&h->elf, PAGE, &first))
        return cairn_fail(err, CAIRN_E_FORMAT, "ELF header in memory at 0x%llx: no segments",
                          (unsigned long long)base);
    h->bias = base - first;
    return CAIRN_OK;
}

/* Pages that cannot be read stay zeros, and untouched: a damaged header may claim many. */
static void read_what_can_be(const struct cairn_memory *memory, uint64_t va, uint8_t *to,
                             size_t size)
{
    for (size_t done = 0, step; done < size; done += step) {
        step = size - done < CHUNK ? size - done : CHUNK;
        if (memory->read(memory->ctx, va + done, to + done, (size_t)step))
            continue;
        for (size_t page = 0, part; page < step; page += part) {
            part = PAGE - (size_t)((va + done + page) % PAGE);
            if (part > step - page)
                part = step - page;
            (void)memory->read(memory->ctx, va + done + page, to + done + page, (size_t)part);
        }
    }
}

static bool is_address_tag(uint64_t tag)
{
    static const uint64_t tags[] = {DT_PLTGOT, DT_HASH,   DT_STRTAB,  DT_SYMTAB, DT_RELA,    DT_REL,
                                    DT_JMPREL, DT_VERSYM, DT_VERNEED, DT_VERDEF, DT_GNU_HASH};
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        if (tag == tags[i])
            return true;
    return false;
}

static void put_word(uint8_t *at, uint64_t value, bool is64, bool swap)
{
    uint32_t word = swap ? __builtin_bswap32((uint32_t)value) : (uint32_t)value;
    value = swap ? __builtin_bswap64(value) : value;
    memcpy(at, is64 ? (void *)&value : (void *)&word, is64 ? 8 : 4);
}

/* Takes the load base out of what the dynamic linker relocated. */
static void restore_dynamic(const struct head *h, uint8_t *image, size_t size,
                            const struct cairn_elf_segment *segment)
{
    unsigned width = h->elf.is64 ? 8 : 4;
    struct cairn_span bytes;
    if (!h->bias || !cairn_span_slice((struct cairn_span){image, size}, segment->off,
                                      segment->file_size, &bytes))
        return;
    struct cairn_reader r = cairn_reader_of(bytes, h->elf.swap);
    while (cairn_reader_more(&r)) {
        uint64_t tag = cairn_reader_word(&r, width), value = cairn_reader_word(&r, width);
        if (r.failed || tag == DT_NULL)
            return;
        uint64_t vaddr = h->elf.is64 ? value - h->bias : (uint32_t)(value - h->bias);
        if (is_address_tag(tag) && value >= h->bias && vaddr < CAIRN_IMAGE_MODULE_MAX)
            put_word(image + segment->off + r.pos - width, vaddr, h->elf.is64, h->elf.swap);
    }
}

static int image_size(const struct head *h, size_t *ret_size, struct cairn_err *err)
{
    struct cairn_elf_segment segment;
    *ret_size = PAGE;
    for (uint32_t i = 0; cairn_elf_segment(&h->elf, i, &segment); i++) {
        if (segment.type != PT_LOAD)
            continue;
        if (segment.off > CAIRN_IMAGE_MODULE_MAX ||
            segment.file_size > CAIRN_IMAGE_MODULE_MAX - segment.off)
            return cairn_fail(err, CAIRN_E_LIMIT,
                              "a segment of a module in memory ends at 0x%llx of its file, "
                              "expected at most 0x%x",
                              (unsigned long long)(segment.off + segment.file_size),
                              (unsigned)CAIRN_IMAGE_MODULE_MAX);
        if (segment.off + segment.file_size > *ret_size)
            *ret_size = (size_t)(segment.off + segment.file_size);
    }
    return CAIRN_OK;
}

int cairn_memory_image(const struct cairn_memory *memory, uint64_t base,
                       struct cairn_span *ret_image, struct cairn_err *err)
{
    struct head head;
    struct cairn_elf_segment segment;
    size_t size = 0;
    int code = read_head(memory, base, &head, err);
    if (code == CAIRN_OK)
        code = image_size(&head, &size, err);
    if (code < 0)
        return code;
    uint8_t *image = cairn_alloc((size_t)size, 1);
    if (!image)
        return cairn_fail_memory(err);
    for (uint32_t i = 0; cairn_elf_segment(&head.elf, i, &segment); i++)
        if (segment.type == PT_LOAD)
            read_what_can_be(memory, head.bias + segment.vaddr, image + segment.off,
                             (size_t)segment.file_size);
    memcpy(image, head.page, PAGE);
    for (uint32_t i = 0; cairn_elf_segment(&head.elf, i, &segment); i++)
        if (segment.type == PT_DYNAMIC)
            restore_dynamic(&head, image, (size_t)size, &segment);
    *ret_image = (struct cairn_span){image, (size_t)size};
    return CAIRN_OK;
}

void cairn_memory_build_id(const struct cairn_memory *memory, uint64_t base,
                           char ret_hex[CAIRN_IMAGE_BUILD_ID_MAX])
{
    struct head head;
    struct cairn_elf_segment segment;
    uint8_t notes[NOTES_MAX];
    ret_hex[0] = '\0';
    if (read_head(memory, base, &head, NULL) < 0)
        return;
    for (uint32_t i = 0; cairn_elf_segment(&head.elf, i, &segment); i++) {
        struct cairn_span id;
        size_t size = segment.file_size < NOTES_MAX ? (size_t)segment.file_size : NOTES_MAX;
        if (segment.type != PT_NOTE ||
            !memory->read(memory->ctx, head.bias + segment.vaddr, notes, size) ||
            cairn_elf_find_build_id((struct cairn_span){notes, size}, (size_t)segment.align,
                                    head.elf.swap, &id, NULL) < 0)
            continue;
        for (size_t n = 0; n < id.size && 2 * n + 2 < CAIRN_IMAGE_BUILD_ID_MAX; n++)
            snprintf(ret_hex + 2 * n, 3, "%02x", id.data[n]);
        return;
    }
}

bool cairn_memory_has_module(const struct cairn_memory *memory, uint64_t base, uint64_t va)
{
    struct head head;
    struct cairn_elf_segment segment;
    uint8_t magic[SELFMAG];
    if (va < base || !memory->read(memory->ctx, base, magic, sizeof magic) ||
        memcmp(magic, ELFMAG, SELFMAG) != 0 || read_head(memory, base, &head, NULL) < 0)
        return false;
    for (uint32_t i = 0; cairn_elf_segment(&head.elf, i, &segment); i++)
        if (segment.type == PT_LOAD && va - head.bias - segment.vaddr < segment.mem_size)
            return true;
    return false;
}
