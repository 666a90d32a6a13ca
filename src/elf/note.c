/* SPDX-License-Identifier: MIT */
/*
 * Notes and the debug link. A note (gABI "Note Section"), name and descriptor each padded:
 *
 *     u32 name size | u32 descriptor size | u32 type | name ... pad | descriptor ... pad
 *
 * .gnu_debuglink (GDB manual, "Separate Debug Files"): name NUL, padded to 4 | u32 CRC
 */
#include "elf/note.h"

#include <elf.h>
#include <zlib.h>

#include "base/error.h"

enum {
    NOTES_MAX = 4096, /* of one segment; real files have a dozen */
    BUILD_ID_MAX = 64 /* a SHA-512; what is longer is damage */
};

int cairn_elf_find_build_id(struct cairn_span notes, size_t align, bool swap,
                            struct cairn_span *ret_id, struct cairn_err *err)
{
    /* Linkers also write 0 and 1 where they mean 4; 8 is what property notes use. */
    if (align != 8 && align > 4)
        return cairn_fail(err, CAIRN_E_FORMAT, "notes are aligned to %zu, expected 4 or 8", align);
    size_t pad = align == 8 ? 8 : 4;

    struct cairn_reader r = cairn_reader_of(notes, swap);
    for (unsigned i = 0; i < NOTES_MAX && cairn_reader_more(&r); i++) {
        size_t start = r.pos;
        uint32_t name_size = cairn_reader_u32(&r);
        uint32_t id_size = cairn_reader_u32(&r);
        uint32_t type = cairn_reader_u32(&r);
        struct cairn_span name = cairn_reader_take(&r, name_size);
        cairn_reader_align(&r, pad);
        struct cairn_span id = cairn_reader_take(&r, id_size);
        cairn_reader_align(&r, pad);
        if (r.failed)
            return cairn_fail(err, CAIRN_E_FORMAT,
                              "note at 0x%zx runs past the end of the notes (0x%zx bytes)", start,
                              notes.size);
        if (type != NT_GNU_BUILD_ID || name.size != sizeof ELF_NOTE_GNU ||
            memcmp(name.data, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) != 0)
            continue;
        if (id.size == 0 || id.size > BUILD_ID_MAX)
            return cairn_fail(err, CAIRN_E_FORMAT,
                              "build ID in the note at 0x%zx has %zu bytes, expected 1 to %d",
                              start, id.size, BUILD_ID_MAX);
        *ret_id = id;
        return CAIRN_OK;
    }
    return cairn_fail(err, CAIRN_E_MISSING, "no build ID among the notes");
}

/* Notes of one segment or section: found, or remembers the worst that was said so far. */
static bool look_in(const struct cairn_elf *elf, struct cairn_span notes, uint64_t align,
                    struct cairn_span *ret_id, int *worst, struct cairn_err *err)
{
    struct cairn_err why;
    int code = cairn_elf_find_build_id(notes, align <= 8 ? (size_t)align : SIZE_MAX, elf->swap,
                                       ret_id, &why);
    if (code == CAIRN_E_FORMAT && *worst != CAIRN_E_FORMAT) {
        *worst = code;
        if (err)
            *err = why;
    }
    return code == CAIRN_OK;
}

int cairn_elf_build_id(const struct cairn_elf *elf, struct cairn_span *ret_id,
                       struct cairn_err *err)
{
    int worst = cairn_fail(err, CAIRN_E_MISSING, "no build ID among the notes");
    struct cairn_span notes;
    struct cairn_elf_segment segment;
    for (uint32_t i = 0; cairn_elf_segment(elf, i, &segment); i++) {
        if (segment.type == PT_NOTE &&
            cairn_span_slice(elf->bytes, segment.off, segment.file_size, &notes) &&
            look_in(elf, notes, segment.align, ret_id, &worst, err))
            return CAIRN_OK;
    }
    struct cairn_elf_section section;
    for (uint32_t i = 1; cairn_elf_section(elf, i, &section); i++) {
        if (section.type == SHT_NOTE && cairn_elf_section_bytes(elf, &section, &notes) &&
            look_in(elf, notes, section.align, ret_id, &worst, err))
            return CAIRN_OK;
    }
    return worst;
}

bool cairn_elf_debuglink(const struct cairn_elf *elf, const char **ret_name, uint32_t *ret_crc)
{
    struct cairn_elf_section section;
    struct cairn_span bytes;
    if (!cairn_elf_find_section(elf, ".gnu_debuglink", &section) ||
        !cairn_elf_section_bytes(elf, &section, &bytes))
        return false;
    struct cairn_reader r = cairn_reader_of(bytes, elf->swap);
    const char *name = cairn_reader_str(&r);
    cairn_reader_align(&r, sizeof(uint32_t));
    uint32_t crc = cairn_reader_u32(&r);
    if (r.failed || !*name)
        return false;
    *ret_name = name;
    *ret_crc = crc;
    return true;
}

uint32_t cairn_elf_debuglink_crc(uint32_t before, struct cairn_span bytes)
{
    return (uint32_t)crc32_z(before, bytes.data, bytes.size);
}
