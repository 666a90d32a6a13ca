/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "embed/frames.h"

/* DWARF 5, 6.4.2 and 7.24; registers as the psABI numbers them. */
enum {
    ADVANCE_1 = 0x02,
    ADVANCE_2 = 0x03,
    DEF_CFA_OFFSET = 0x0e,
    OFFSET = 0x80,
    SLOT = 8,
    RBX = 3,
    RBP = 5, /* as instructions count */
    R12 = 12
};

struct writer {
    uint8_t *bytes;
    size_t n;
};

static void put(struct writer *w, const void *bytes, size_t n)
{
    if (w->n + n <= CAIRN_EMBED_FRAMES_MAX)
        memcpy(w->bytes + w->n, bytes, n);
    w->n += n;
}

static void put_byte(struct writer *w, unsigned byte)
{
    put(w, &(uint8_t){(uint8_t)byte}, 1);
}

static void put_uleb(struct writer *w, uint32_t value)
{
    for (; value >= 0x80; value >>= 7)
        put_byte(w, value | 0x80);
    put_byte(w, value);
}

/* Up to a multiple of 8, counted from the length at `at`, which is then known. */
static void close_entry(struct writer *w, size_t at)
{
    while ((w->n - at) % 8 != 4)
        put_byte(w, 0);
    const uint32_t length = (uint32_t)(w->n - at - sizeof length);
    if (w->n <= CAIRN_EMBED_FRAMES_MAX)
        memcpy(w->bytes + at, &length, sizeof length);
}

/* What an instruction does to the stack pointer. */
struct effect {
    int32_t grows;
    int pushed; /* a register that the caller wants back; -1: none */
    bool is_unknown;
};

static bool is_kept(unsigned reg)
{
    return reg == RBX || reg == RBP || reg >= R12;
}

static void read_group(const uint8_t *insn, size_t n, struct effect *ret)
{
    const unsigned modrm = insn[1];
    if (modrm >> 6 != 3 || (modrm & 7) != 4)
        return; /* not of the stack pointer */
    if (modrm != 0xec)
        ret->is_unknown = true; /* no sub */
    else if (insn[0] == 0x83 && n == 3)
        ret->grows = (int8_t)insn[2];
    else if (n == 6)
        memcpy(&ret->grows, insn + 2, sizeof ret->grows);
}

/* Without its REX prefix. */
static void read_plain(const uint8_t *insn, size_t n, unsigned rex, struct effect *ret)
{
    const unsigned op = insn[0], reg = (op & 7) + (rex & 1 ? 8 : 0);
    if (op >= 0x50 && op <= 0x57) {
        ret->grows = SLOT;
        ret->pushed = is_kept(reg) ? (int)reg : -1;
    } else if (op >= 0x58 && op <= 0x5f) {
        ret->is_unknown = reg == 4;
        ret->grows = -SLOT;
    } else if (op == 0x6a || op == 0x68) {
        ret->grows = SLOT;
    } else if (n >= 2 && (op == 0x83 || op == 0x81) && !(rex & 1)) {
        read_group(insn, n, ret);
    } else if (n >= 2 && op == 0x89 && !(rex & 1)) { /* mov to it */
        ret->is_unknown = insn[1] >> 6 == 3 && (insn[1] & 7) == 4;
    } else if (n >= 2 && (op == 0x8b || op == 0x8d) && !(rex & 4)) { /* mov, lea */
        ret->is_unknown = (insn[1] >> 3 & 7) == 4;
    } else {
        /* push and pop of memory and of the flags, enter, leave, call */
        ret->is_unknown = (n >= 2 && op == 0xff && (insn[1] >> 3 & 7) == 6) || op == 0x8f ||
                          op == 0x9c || op == 0x9d || op == 0xc8 || op == 0xc9 || op == 0xe8;
    }
}

static struct effect read_effect(const uint8_t *insn, size_t n)
{
    struct effect effect = {0, -1, false};
    unsigned rex = 0;
    if (n > 1 && insn[0] >> 4 == 4) {
        rex = insn[0];
        insn++;
        n--;
    }
    read_plain(insn, n, rex, &effect);
    return effect;
}

static void put_advance(struct writer *w, size_t distance)
{
    if (distance < 256) {
        put_byte(w, ADVANCE_1);
        put_byte(w, (unsigned)distance);
    } else {
        put_byte(w, ADVANCE_2);
        put(w, &(uint16_t){(uint16_t)distance}, 2);
    }
}

/* From the island on; each change holds behind its instruction. */
static bool put_rows(struct writer *w, const struct cairn_hook_copy *copy, const uint8_t *original,
                     size_t copy_at)
{
    size_t at = 0;
    int32_t cfa = SLOT;
    for (size_t i = 0; i < copy->n_insns; i++) {
        const size_t n = (size_t)(copy->from_off[i + 1] - copy->from_off[i]);
        const struct effect effect = read_effect(original + copy->from_off[i], n);
        const size_t behind = copy_at + copy->to_off[i + 1];
        cfa += effect.grows;
        if (effect.is_unknown || cfa < SLOT)
            return false;
        if (!effect.grows)
            continue;
        put_advance(w, behind - at);
        at = behind;
        put_byte(w, DEF_CFA_OFFSET);
        put_uleb(w, (uint32_t)cfa);
        if (effect.pushed >= 0) {
            put_byte(w, OFFSET | (unsigned)(effect.pushed == RBP ? 6 : effect.pushed));
            put_uleb(w, (uint32_t)cfa / SLOT);
        }
    }
    return true;
}

size_t cairn_embed_frames_write(const struct cairn_hook_copy *copy, const uint8_t *original,
                                uint64_t low, uint64_t copy_va,
                                uint8_t ret_bytes[CAIRN_EMBED_FRAMES_MAX])
{
    /* Length, 0, version 1, "zR", factors 1 and -8, return address in 16, addresses are absolute;
     * at the start the CFA is %rsp + 8 and the return address just below it. */
    static const uint8_t cie[] = {0, 0, 0,    0,  0, 0, 0,    0, 1, 'z',  'R',
                                  0, 1, 0x78, 16, 1, 0, 0x0c, 7, 8, 0x90, 1};
    struct writer w = {ret_bytes, 0};
    put(&w, cie, sizeof cie);
    close_entry(&w, 0);
    const size_t fde = w.n;
    const uint64_t n_bytes = copy_va + copy->n_code - low;
    put(&w, &(uint32_t){0}, 4);
    put(&w, &(uint32_t){(uint32_t)w.n}, 4); /* back to the CIE */
    put(&w, &low, sizeof low);
    put(&w, &n_bytes, sizeof n_bytes);
    put_byte(&w, 0); /* no augmentation */
    const bool done = put_rows(&w, copy, original, (size_t)(copy_va - low));
    close_entry(&w, fde);
    put(&w, &(uint32_t){0}, 4);
    return done && w.n <= CAIRN_EMBED_FRAMES_MAX ? w.n : 0;
}
