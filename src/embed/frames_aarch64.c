/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "code/insn_aarch64.h"
#include "embed/frames_entry.h"

/* DWARF for the Arm 64-bit Architecture, 4.1: x0 to x30 are 0 to 30, sp is 31. */
enum { SP = 31, X19 = 19, X30 = 30, SLOT = 8, NEGATE_RA_STATE = 0x2d };

enum { PACIASP = 0xd503233f, PACIBSP = 0xd503237f };

/* What an instruction does to the stack pointer, and which registers it keeps, where. */
struct effect {
    int32_t grows;
    int kept[2]; /* -1: none */
    int32_t at;  /* of the first, from the stack pointer behind the instruction */
    bool signs;  /* the return address */
    bool is_unknown;
};

static int32_t signed_bits(uint32_t word, unsigned low, unsigned n)
{
    const int32_t value = (int32_t)(word >> low & ((1u << n) - 1));
    return value >> (n - 1) ? value - (1 << n) : value;
}

static int kept(uint32_t reg)
{
    return reg >= X19 && reg <= X30 ? (int)reg : -1;
}

static void keep_pair(uint32_t word, int32_t at, struct effect *e)
{
    e->kept[0] = kept(word & 31);
    e->kept[1] = kept(word >> 10 & 31);
    e->at = at;
}

/* stp of x or d registers by sp */
static bool read_pair(uint32_t word, struct effect *e)
{
    const uint32_t form = word & 0xffc00000;
    const bool is_x = form == 0xa9800000 || form == 0xa9000000;
    const bool is_before = form == 0xa9800000 || form == 0x6d800000;
    if (!is_x && form != 0x6d800000 && form != 0x6d000000)
        return false;
    const int32_t distance = signed_bits(word, 15, 7) * SLOT;
    e->grows = is_before ? -distance : 0;
    if (is_x)
        keep_pair(word, is_before ? 0 : distance, e);
    return true;
}

/* str xN, [sp, #-n]! and str xN, [sp, #n] */
static bool read_store(uint32_t word, struct effect *e)
{
    const bool is_before = (word & 0xffe00c00) == 0xf8000c00;
    if (!is_before && (word & 0xffc00000) != 0xf9000000)
        return false;
    e->grows = is_before ? -signed_bits(word, 12, 9) : 0;
    e->kept[0] = kept(word & 31);
    e->at = is_before ? 0 : (int32_t)(word >> 10 & 0xfff) * SLOT;
    return true;
}

/* Other instructions that change the stack pointer: add, ldp and ldr with write-back, mov. */
static bool changes_sp(uint32_t word)
{
    const bool is_to_sp = (word & 31) == SP && !(word & 1u << 29);
    const bool is_sum = (word & 0x1f000000) == 0x11000000 || (word & 0x1fe00000) == 0x0b200000;
    const bool is_by_sp = (word >> 5 & 31) == SP;
    const bool is_pair = (word & 0x3a000000) == 0x28000000 && word & 1u << 23;
    const bool is_one = (word & 0x3b200400) == 0x38000400;
    return (is_sum && is_to_sp) || (is_by_sp && (is_pair || is_one));
}

static struct effect read_effect(uint32_t word)
{
    struct effect e = {.kept = {-1, -1}};
    const bool is_by_sp = (word >> 5 & 31) == SP;
    e.signs = word == (uint32_t)PACIASP || word == (uint32_t)PACIBSP;
    if (e.signs || (is_by_sp && (read_pair(word, &e) || read_store(word, &e))))
        return e;
    if ((word & 0xff8003ff) == 0xd10003ff) /* sub sp, sp, #n */
        e.grows = (int32_t)(word >> 10 & 0xfff) << (word & 1u << 22 ? 12 : 0);
    else
        e.is_unknown = changes_sp(word);
    return e;
}

static bool put_effect(struct cairn_embed_frames *f, const struct effect *e, int32_t *cfa)
{
    *cfa += e->grows;
    if (e->is_unknown || *cfa < 0)
        return false;
    if (e->signs)
        cairn_embed_frames_byte(f, NEGATE_RA_STATE);
    if (e->grows)
        cairn_embed_frames_cfa(f, (uint32_t)*cfa);
    for (int i = 0; i < 2; i++) {
        const int32_t below = *cfa - e->at - i * SLOT;
        if (e->kept[i] >= 0 && below > 0 && below % SLOT == 0)
            cairn_embed_frames_saved(f, (unsigned)e->kept[i], (uint32_t)below / SLOT);
    }
    return true;
}

/* The island's head takes back what the hints in front of the branch did to x30: it comes there
 * signed (hook/plan_aarch64.c). */
static void put_head(struct cairn_embed_frames *f, const uint8_t *original)
{
    const uint32_t first = cairn_aarch64_word(original);
    const uint32_t second = cairn_aarch64_word(original + CAIRN_A64_BYTES);
    const uint32_t hint = first == (uint32_t)PACIASP || first == (uint32_t)PACIBSP ? first : second;
    if (hint != (uint32_t)PACIASP && hint != (uint32_t)PACIBSP)
        return;
    cairn_embed_frames_byte(f, NEGATE_RA_STATE);
    cairn_embed_frames_advance(f, CAIRN_A64_BYTES);
    cairn_embed_frames_byte(f, NEGATE_RA_STATE);
}

size_t cairn_embed_frames_write(const struct cairn_hook_copy *copy, const uint8_t *original,
                                uint64_t low, uint64_t copy_va,
                                uint8_t ret_bytes[CAIRN_EMBED_FRAMES_MAX])
{
    /* Version 1, "zR", factors 1 and -8, return address in x30, addresses are absolute; at the
     * start the CFA is sp. */
    static const uint8_t cie[] = {1, 'z', 'R', 0, 1, 0x78, X30, 1, 0, 0x0c, SP, 0};
    struct cairn_embed_frames f;
    int32_t cfa = 0;
    bool done = true;
    cairn_embed_frames_begin(&f, ret_bytes, cie, sizeof cie, low, copy_va + copy->n_code - low);
    if (copy->n_insns > 1)
        put_head(&f, original);
    for (size_t i = 0; done && i < copy->n_insns; i++) {
        const struct effect e = read_effect(cairn_aarch64_word(original + copy->from_off[i]));
        if (e.grows || e.signs || e.kept[0] >= 0 || e.kept[1] >= 0)
            cairn_embed_frames_to(&f, (size_t)(copy_va - low) + copy->to_off[i + 1]);
        done = put_effect(&f, &e, &cfa);
    }
    return done ? cairn_embed_frames_end(&f) : 0;
}
