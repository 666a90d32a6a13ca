/* SPDX-License-Identifier: MIT */
/*
 * An entry is r_offset, r_info and, in SHT_RELA, r_addend, of a word each. r_info is symbol and
 * kind: 32 and 32 bits, or 24 and 8 in files of 32 bit.
 */
#include "elf/reloc.h"

#include <elf.h>

enum action {
    UNKNOWN,
    NOTHING,  /* nothing to write, or nothing that names and lines need (thread-local data) */
    ABSOLUTE, /* S + A */
    RELATIVE, /* S + A - P */
};

struct kind {
    uint32_t type;
    enum action action;
    unsigned width;
};

/* Ends with one of type 0, which is R_*_NONE on every machine. */
static const struct kind x86_64_kinds[] = {
    {R_X86_64_64, ABSOLUTE, 8},   {R_X86_64_32, ABSOLUTE, 4},      {R_X86_64_32S, ABSOLUTE, 4},
    {R_X86_64_16, ABSOLUTE, 2},   {R_X86_64_PC32, RELATIVE, 4},    {R_X86_64_PLT32, RELATIVE, 4},
    {R_X86_64_PC64, RELATIVE, 8}, {R_X86_64_DTPOFF32, NOTHING, 4}, {R_X86_64_DTPOFF64, NOTHING, 8},
    {R_X86_64_NONE, NOTHING, 0},
};
static const struct kind i386_kinds[] = {
    {R_386_32, ABSOLUTE, 4},        {R_386_16, ABSOLUTE, 2},  {R_386_PC32, RELATIVE, 4},
    {R_386_TLS_LDO_32, NOTHING, 4}, {R_386_NONE, NOTHING, 0},
};
static const struct kind aarch64_kinds[] = {
    {R_AARCH64_ABS64, ABSOLUTE, 8},  {R_AARCH64_ABS32, ABSOLUTE, 4},
    {R_AARCH64_ABS16, ABSOLUTE, 2},  {R_AARCH64_PREL64, RELATIVE, 8},
    {R_AARCH64_PREL32, RELATIVE, 4}, {R_AARCH64_TLS_DTPREL, NOTHING, 8},
    {R_AARCH64_NONE, NOTHING, 0},
};
static const struct kind arm_kinds[] = {
    {R_ARM_ABS32, ABSOLUTE, 4},    {R_ARM_ABS16, ABSOLUTE, 2}, {R_ARM_REL32, RELATIVE, 4},
    {R_ARM_TLS_LDO32, NOTHING, 4}, {R_ARM_NONE, NOTHING, 0},
};

static const struct kind *kinds_of(uint16_t machine)
{
    switch (machine) {
    case EM_X86_64:
        return x86_64_kinds;
    case EM_386:
        return i386_kinds;
    case EM_AARCH64:
        return aarch64_kinds;
    case EM_ARM:
        return arm_kinds;
    default:
        return NULL;
    }
}

bool cairn_elf_can_relocate(uint16_t machine)
{
    return kinds_of(machine) != NULL;
}

static struct kind find_kind(const struct kind *kinds, uint32_t type)
{
    while (kinds->type && kinds->type != type)
        kinds++;
    return kinds->type == type ? *kinds : (struct kind){.action = UNKNOWN};
}

void cairn_elf_put(uint8_t *at, unsigned width, uint64_t value, bool swap)
{
    bool little = swap != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    for (unsigned i = 0; i < width; i++)
        at[little ? i : width - 1 - i] = (uint8_t)(value >> 8 * i);
}

/* In SHT_REL the addend is what stands at the place, with its sign. */
static uint64_t read_addend(const uint8_t *at, unsigned width, bool swap)
{
    struct cairn_reader r = cairn_reader_of((struct cairn_span){at, width}, swap);
    uint64_t value = cairn_reader_word(&r, width);
    unsigned unused = 64 - 8 * width;
    return (uint64_t)((int64_t)(value << unused) >> unused);
}

void cairn_elf_relocate(struct cairn_elf_relocator *relocator, struct cairn_span entries,
                        bool has_addends, uint8_t *bytes, size_t size, uint64_t vaddr)
{
    const struct cairn_elf *elf = relocator->elf;
    const struct kind *kinds = kinds_of(elf->machine);
    unsigned word = elf->is64 ? 8 : 4;
    size_t entry = (has_addends ? 3 : 2) * (size_t)word;
    struct cairn_reader r = cairn_reader_of(entries, elf->swap);
    while (kinds && cairn_reader_left(&r) >= entry) {
        uint64_t off = cairn_reader_word(&r, word), info = cairn_reader_word(&r, word);
        uint64_t addend = has_addends ? cairn_reader_word(&r, word) : 0;
        uint64_t symbol = elf->is64 ? info >> 32 : info >> 8;
        uint32_t type = elf->is64 ? (uint32_t)info : (uint32_t)info & 0xff;
        struct kind kind = find_kind(kinds, type);
        if (kind.action == NOTHING)
            continue;
        if (kind.action == UNKNOWN) {
            if (!relocator->n_unknown++)
                relocator->first_unknown = type;
            continue;
        }
        if (off > size || size - off < kind.width) {
            relocator->n_outside++;
            continue;
        }
        if (symbol >= relocator->n_values) {
            relocator->n_symbols_lost++;
            continue;
        }
        uint8_t *at = bytes + off;
        if (!has_addends)
            addend = read_addend(at, kind.width, elf->swap);
        uint64_t value = relocator->values[symbol] + addend;
        if (kind.action == RELATIVE)
            value -= vaddr + off;
        cairn_elf_put(at, kind.width, value, elf->swap);
        relocator->n_applied++;
    }
}
