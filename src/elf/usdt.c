/* SPDX-License-Identifier: MIT */
#include "elf/usdt.h"

#include <elf.h>

#include "base/error.h"

enum { NT_STAPSDT = 3, NOTE_ALIGN = 4, NOTES_MAX = 1 << 16 };

static const char owner[] = "stapsdt";

int cairn_elf_usdt_open(const struct cairn_elf *elf, struct cairn_elf_usdt_notes *ret_notes,
                        struct cairn_err *err)
{
    struct cairn_elf_section section;
    struct cairn_span bytes;
    if (!cairn_elf_find_section(elf, ".note.stapsdt", &section))
        return cairn_fail(err, CAIRN_E_MISSING, "has no static probes (.note.stapsdt)");
    if (section.type == SHT_NOBITS)
        return cairn_fail(err, CAIRN_E_MISSING,
                          "has no static probes: .note.stapsdt is empty, as "
                          "in a file of debug information alone");
    if (!cairn_elf_section_bytes(elf, &section, &bytes))
        return cairn_fail(err, CAIRN_E_FORMAT, ".note.stapsdt lies out of the file");
    *ret_notes = (struct cairn_elf_usdt_notes){.reader = cairn_reader_of(bytes, elf->swap),
                                               .width = elf->is64 ? 8 : 4};
    if (cairn_elf_find_section(elf, ".stapsdt.base", &section))
        ret_notes->base = section.vaddr;
    return CAIRN_OK;
}

/* A name comes from a file that anybody may have made, and is printed as part of an event. */
static bool is_name(const char *text)
{
    size_t n = 0;
    while (text[n] > ' ' && text[n] < 127 && text[n] != ':')
        n++;
    return n && !text[n] && n <= CAIRN_ELF_USDT_NAME_MAX;
}

static int read_descriptor(const struct cairn_elf_usdt_notes *notes, struct cairn_span bytes,
                           size_t off, struct cairn_elf_usdt_note *ret_note, struct cairn_err *err)
{
    struct cairn_reader r = cairn_reader_of(bytes, notes->reader.swap);
    struct cairn_elf_usdt_note note = {.off = off};
    note.vaddr = cairn_reader_word(&r, notes->width);
    const uint64_t base = cairn_reader_word(&r, notes->width);
    note.semaphore = cairn_reader_word(&r, notes->width);
    note.provider = cairn_reader_str(&r);
    note.name = cairn_reader_str(&r);
    note.args = cairn_reader_more(&r) ? cairn_reader_str(&r) : ""; /* some writers leave it out */
    if (r.failed)
        return cairn_fail(err, CAIRN_E_FORMAT,
                          ".note.stapsdt: note at 0x%zx: the descriptor of %zu bytes ends before "
                          "its addresses and texts do",
                          off, bytes.size);
    if (!is_name(note.provider) || !is_name(note.name))
        return cairn_fail(err, CAIRN_E_FORMAT,
                          ".note.stapsdt: note at 0x%zx: the %s is no name of at most %d bytes",
                          off, is_name(note.provider) ? "probe" : "provider",
                          CAIRN_ELF_USDT_NAME_MAX);
    if (notes->base && base) {
        note.vaddr += notes->base - base;
        note.semaphore += note.semaphore ? notes->base - base : 0;
    }
    if (notes->width == 4) {
        note.vaddr = (uint32_t)note.vaddr;
        note.semaphore = (uint32_t)note.semaphore;
    }
    *ret_note = note;
    return 1;
}

int cairn_elf_usdt_next(struct cairn_elf_usdt_notes *notes, struct cairn_elf_usdt_note *ret_note,
                        struct cairn_err *err)
{
    struct cairn_reader *r = &notes->reader;
    while (cairn_reader_more(r)) {
        const size_t off = r->pos;
        if (notes->n++ == NOTES_MAX)
            return cairn_fail(err, CAIRN_E_LIMIT, ".note.stapsdt: more than %d notes", NOTES_MAX);
        const uint32_t name_size = cairn_reader_u32(r), size = cairn_reader_u32(r);
        const uint32_t type = cairn_reader_u32(r);
        const struct cairn_span name = cairn_reader_take(r, name_size);
        cairn_reader_align(r, NOTE_ALIGN);
        const struct cairn_span bytes = cairn_reader_take(r, size);
        cairn_reader_align(r, NOTE_ALIGN);
        if (r->failed)
            return cairn_fail(
                err, CAIRN_E_FORMAT,
                ".note.stapsdt: note at 0x%zx runs past the end of the section (0x%zx "
                "bytes)",
                off, r->bytes.size);
        if (type != NT_STAPSDT || name.size != sizeof owner ||
            memcmp(name.data, owner, sizeof owner) != 0)
            continue;
        const int code = read_descriptor(notes, bytes, off, ret_note, err);
        r->failed = code < 0;
        return code;
    }
    return 0;
}
