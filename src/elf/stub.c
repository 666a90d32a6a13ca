/* SPDX-License-Identifier: MIT */
#include "elf/stub.h"

#include <elf.h>

/* A reader of code from `vaddr` on. Code is little-endian but on old big-endian ARM. */
static struct cairn_reader code_at(const struct cairn_elf_code *code, uint64_t vaddr)
{
    enum { ARM_BE8 = 0x00800000 }; /* EF_ARM_BE8: big-endian data, little-endian code */
    bool little_host = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    bool big = code->elf->machine == EM_ARM && !(code->elf->flags & ARM_BE8) &&
               code->elf->swap == little_host;
    struct cairn_reader r = cairn_reader_of(code->bytes, big == little_host);
    if (vaddr < code->vaddr)
        r.failed = true;
    cairn_reader_seek(&r, vaddr - code->vaddr);
    return r;
}

/*
 * x86: what GNU ld, gold, lld and mold write. Two hex digits a byte; in place of four bytes
 *
 *     RRRRRRRR  the slot, counted from behind them     AAAAAAAA  the slot's address
 *     BBBBBBBB  the slot, counted from the GOT (EBX)   IIIIIIII  index of the relocation
 *     ........  anything
 */
static const char *const forms_x86_64[] = {
    "ff25RRRRRRRR68........e9........",    /* .plt, and lld's .iplt */
    "f30f1efaf2ff25RRRRRRRR0f1f440000",    /* .plt.sec with branch checks and MPX */
    "f30f1efaff25RRRRRRRR660f1f440000",    /* .plt.sec */
    "f30f1efa41bb........ff25RRRRRRRR",    /* mold's .plt */
    "f30f1efaff25RRRRRRRRcccccccccccc",    /* mold's .plt.got */
    "ff25RRRRRRRR6690",                    /* .plt.got */
    "f2ff25RRRRRRRR90",                    /* .plt.got and .plt.bnd with MPX */
    "4c8b1dRRRRRRRRe8........e9........68" /* lld -z retpolineplt */
    "........e9........cccccccccc",
    "4c8b1dRRRRRRRRe9........cccccccc", /* the same with -z now */
    "f30f1efa68IIIIIIIIf2e9........90", /* .plt beside a .plt.sec */
    "f30f1efa68IIIIIIIIe9........6690",
    NULL,
};

static const char *const forms_386[] = {
    "ff25AAAAAAAA68........e9........", /* .plt */
    "ffa3BBBBBBBB68........e9........",
    "f30f1efbff25AAAAAAAA660f1f440000", /* .plt.sec */
    "f30f1efbffa3BBBBBBBB660f1f440000",
    "ff25AAAAAAAA6690", /* .plt.got */
    "ffa3BBBBBBBB6690",
    "f30f1efb68IIIIIIIIe9........6690", /* .plt beside a .plt.sec; counts bytes, not entries */
    NULL,
};

static int hex_value(const char *digits)
{
    int value = 0;
    for (int i = 0; i < 2; i++)
        value = value * 16 + (digits[i] <= '9' ? digits[i] - '0' : digits[i] - 'a' + 10);
    return value;
}

/* Takes a field of four bytes; false where its letter needs a GOT that is unknown. */
static bool take_field(const struct cairn_elf_code *code, char letter, struct cairn_reader *r,
                       struct cairn_elf_stub_code *stub)
{
    uint32_t value = cairn_reader_u32(r);
    uint64_t distance = (uint64_t)(int64_t)(int32_t)value;
    if (letter == 'R')
        stub->slot = code->vaddr + r->pos + distance;
    else if (letter == 'B')
        stub->slot = (uint32_t)(code->got_vaddr + distance);
    else if (letter == 'A' || letter == 'I')
        stub->slot = value;
    stub->by_index = stub->by_index || letter == 'I';
    return letter != 'B' || code->got_vaddr;
}

static bool match_form(const struct cairn_elf_code *code, uint64_t vaddr, const char *form,
                       struct cairn_elf_stub_code *ret_stub)
{
    enum { DIGITS_OF_FIELD = 8, DIGITS_OF_BYTE = 2 };
    struct cairn_reader r = code_at(code, vaddr);
    struct cairn_elf_stub_code stub = {0};
    while (*form && !r.failed) {
        bool is_field = *form == '.' || (*form >= 'A' && *form <= 'Z');
        if (is_field ? !take_field(code, *form, &r, &stub) : cairn_reader_u8(&r) != hex_value(form))
            return false;
        form += is_field ? DIGITS_OF_FIELD : DIGITS_OF_BYTE;
    }
    stub.size = code->vaddr + r.pos - vaddr;
    *ret_stub = stub;
    return !r.failed;
}

static bool decode_x86(const struct cairn_elf_code *code, uint64_t vaddr,
                       struct cairn_elf_stub_code *ret_stub)
{
    bool is_386 = code->elf->machine == EM_386;
    const char *const *forms = is_386 ? forms_386 : forms_x86_64;
    for (; *forms; forms++) {
        if (!match_form(code, vaddr, *forms, ret_stub))
            continue;
        if (ret_stub->by_index && is_386)
            ret_stub->slot /= sizeof(Elf32_Rel);
        return true;
    }
    return false;
}

/*
 * aarch64, with what BTI and PAC add in brackets; the whole is 16 or 24 bytes:
 *
 *     [bti c]  adrp x16, page  ldr x17, [x16, off]  add x16, x16, off  [autia1716]  br x17 [nop]...
 */
static bool decode_aarch64(const struct cairn_elf_code *code, uint64_t vaddr,
                           struct cairn_elf_stub_code *ret_stub)
{
    enum { NOP = 0xd503201f, BTI_C = 0xd503245f, AUTIA1716 = 0xd503219f, PADDED_BYTES = 24 };
    struct cairn_reader r = code_at(code, vaddr), before = code_at(code, vaddr - 4);
    if (vaddr - code->vaddr >= 4 && cairn_reader_u32(&before) == (uint32_t)BTI_C)
        return false; /* belongs to this stub */
    uint32_t adrp = cairn_reader_u32(&r);
    uint64_t at = vaddr;
    if (adrp == (uint32_t)BTI_C) {
        adrp = cairn_reader_u32(&r);
        at += 4;
    }
    uint32_t ldr = cairn_reader_u32(&r), add = cairn_reader_u32(&r), br = cairn_reader_u32(&r);
    if (br == (uint32_t)AUTIA1716)
        br = cairn_reader_u32(&r);
    if (r.failed || (adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211 ||
        (add & 0xffc003ff) != 0x91000210 || br != 0xd61f0220)
        return false;
    uint32_t pages = (adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3);
    int64_t page = (int64_t)((uint64_t)pages << 43) >> 43; /* 21 bits, signed */
    *ret_stub = (struct cairn_elf_stub_code){.slot = (at & ~0xfffull) + ((uint64_t)page << 12) +
                                                     (ldr >> 10 & 0xfff) * 8};
    uint64_t end = code->vaddr + r.pos;
    while (end - vaddr < PADDED_BYTES && cairn_reader_u32(&r) == (uint32_t)NOP)
        end += 4;
    ret_stub->size = end - vaddr;
    return true;
}

/* The value of an immediate of ARM data processing: eight bits, rotated right. */
static uint32_t arm_immediate(uint32_t instruction)
{
    uint32_t value = instruction & 0xff, by = (instruction >> 8 & 0xf) * 2;
    return by ? value >> by | value << (32 - by) : value;
}

/*
 * ARM code, by one of two ways:
 *
 *     add ip, pc, A   add ip, ip, B  [add ip, ip, C]   ldr pc, [ip, D]!   [lld: a trap as padding]
 *     ldr ip, [pc, 4]  add ip, ip, pc  ldr pc, [ip]  .word distance        lld, where it is far
 */
static bool arm_slot(const struct cairn_elf_code *code, struct cairn_reader *r, uint32_t *ret_slot)
{
    uint32_t ip = (uint32_t)(code->vaddr + r->pos), word = cairn_reader_u32(r);
    if (word == 0xe59fc004) {
        uint32_t add = cairn_reader_u32(r), ldr = cairn_reader_u32(r);
        *ret_slot = ip + 12 + cairn_reader_u32(r); /* the PC of the add is two instructions on */
        return (add == 0xe08cc00f || add == 0xe08fc00c) && ldr == 0xe59cf000 && !r->failed;
    }
    if ((word & 0xfffff000) != 0xe28fc000)
        return false;
    ip += 8 + arm_immediate(word);
    word = cairn_reader_u32(r);
    for (int n = 0; n < 2 && (word & 0xfffff000) == 0xe28cc000; n++) {
        ip += arm_immediate(word);
        word = cairn_reader_u32(r);
    }
    *ret_slot = ip + (word & 0xfff);
    return (word & 0xfffff000) == 0xe5bcf000 && !r->failed;
}

/* The 16 bits of Thumb's movw and movt, which lie in four pieces. */
static uint32_t thumb_immediate(uint32_t first, uint32_t second)
{
    return (first & 0xf) << 12 | (first & 0x400) << 1 | (second & 0x7000) >> 4 | (second & 0xff);
}

/* Thumb code: movw ip, low  movt ip, high  add ip, pc  ldr.w pc, [ip]  b . */
static bool thumb_slot(const struct cairn_elf_code *code, struct cairn_reader *r,
                       uint32_t *ret_slot)
{
    uint32_t half[8], start = (uint32_t)(code->vaddr + r->pos);
    for (int i = 0; i < 8; i++)
        half[i] = cairn_reader_u16(r);
    *ret_slot = (thumb_immediate(half[2], half[3]) << 16 | thumb_immediate(half[0], half[1])) +
                start + 12; /* the PC of the add is one instruction on */
    return (half[0] & 0xfbf0) == 0xf240 && (half[1] & 0x8f00) == 0x0c00 &&
           (half[2] & 0xfbf0) == 0xf2c0 && (half[3] & 0x8f00) == 0x0c00 && half[4] == 0x44fc &&
           half[5] == 0xf8dc && half[6] == 0xf000 && !r->failed;
}

/* Before ARM code may stand an entry for Thumb code: bx pc, and a nop or a branch to itself. */
static bool is_thumb_entry(struct cairn_reader r)
{
    uint16_t bx = cairn_reader_u16(&r), filler = cairn_reader_u16(&r);
    return bx == 0x4778 && (filler == 0x46c0 || filler == 0xe7fd);
}

static bool decode_arm(const struct cairn_elf_code *code, uint64_t vaddr,
                       struct cairn_elf_stub_code *ret_stub)
{
    enum { ENTRY_BYTES = 4, PADDED_BYTES = 16 };
    struct cairn_reader r = code_at(code, vaddr), padding;
    uint32_t slot;
    if (vaddr - code->vaddr >= ENTRY_BYTES && is_thumb_entry(code_at(code, vaddr - ENTRY_BYTES)))
        return false; /* belongs to this stub */
    bool has_entry = is_thumb_entry(r);
    if (has_entry)
        cairn_reader_skip(&r, ENTRY_BYTES);
    struct cairn_reader thumb = r;
    if (!arm_slot(code, &r, &slot)) {
        if (has_entry || !thumb_slot(code, &thumb, &slot))
            return false;
        r = thumb;
    }
    padding = r;
    uint64_t size = code->vaddr + r.pos - vaddr;
    if (size < PADDED_BYTES && cairn_reader_u32(&padding) == 0xd4d4d4d4)
        size = PADDED_BYTES;
    *ret_stub = (struct cairn_elf_stub_code){.size = size, .slot = slot};
    return true;
}

/* riscv: auipc t3, page  l[wd] t3, off(t3)  jalr t1, t3  nop */
static bool decode_riscv(const struct cairn_elf_code *code, uint64_t vaddr,
                         struct cairn_elf_stub_code *ret_stub)
{
    struct cairn_reader r = code_at(code, vaddr);
    uint32_t auipc = cairn_reader_u32(&r), load = cairn_reader_u32(&r);
    uint32_t jalr = cairn_reader_u32(&r), nop = cairn_reader_u32(&r);
    if (r.failed || (auipc & 0xfff) != 0xe17 || (load & 0xfefff) != 0xe2e03 || jalr != 0x000e0367 ||
        nop != 0x00000013)
        return false;
    int64_t page = (int32_t)(auipc & 0xfffff000), off = (int32_t)load >> 20;
    *ret_stub =
        (struct cairn_elf_stub_code){.size = 16, .slot = vaddr + (uint64_t)page + (uint64_t)off};
    return true;
}

unsigned cairn_elf_stub_step(const struct cairn_elf *elf)
{
    switch (elf->machine) {
    case EM_X86_64:
    case EM_386:
        return 8;
    case EM_AARCH64:
    case EM_ARM:
    case EM_RISCV:
        return 4;
    default:
        return 0;
    }
}

bool cairn_elf_stub_decode(const struct cairn_elf_code *code, uint64_t vaddr,
                           struct cairn_elf_stub_code *ret_stub)
{
    switch (code->elf->machine) {
    case EM_X86_64:
    case EM_386:
        return decode_x86(code, vaddr, ret_stub);
    case EM_AARCH64:
        return decode_aarch64(code, vaddr, ret_stub);
    case EM_ARM:
        return decode_arm(code, vaddr, ret_stub);
    case EM_RISCV:
        return decode_riscv(code, vaddr, ret_stub);
    default:
        return false;
    }
}
