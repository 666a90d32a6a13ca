/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "embed/frames_entry.h"

/* Registers as the psABI numbers them. */
enum {
    SLOT = 8,
    RBX = 3,
    RBP = 5, /* as instructions count */
    R12 = 12
};

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

/* From the island on; each change holds behind its instruction. */
static bool put_rows(struct cairn_embed_frames *f, const struct cairn_hook_copy *copy,
                     const uint8_t *original, size_t copy_at)
{
    int32_t cfa = SLOT;
    for (size_t i = 0; i < copy->n_insns; i++) {
        const size_t n = (size_t)(copy->from_off[i + 1] - copy->from_off[i]);
        const struct effect effect = read_effect(original + copy->from_off[i], n);
        cfa += effect.grows;
        if (effect.is_unknown || cfa < SLOT)
            return false;
        if (!effect.grows)
            continue;
        cairn_embed_frames_to(f, copy_at + copy->to_off[i + 1]);
        cairn_embed_frames_cfa(f, (uint32_t)cfa);
        if (effect.pushed >= 0)
            cairn_embed_frames_saved(f, (unsigned)(effect.pushed == RBP ? 6 : effect.pushed),
                                     (uint32_t)cfa / SLOT);
    }
    return true;
}

size_t cairn_embed_frames_write(const struct cairn_hook_copy *copy, const uint8_t *original,
                                uint64_t low, uint64_t copy_va,
                                uint8_t ret_bytes[CAIRN_EMBED_FRAMES_MAX])
{
    /* Version 1, "zR", factors 1 and -8, return address in 16, addresses are absolute; at the start
     * the CFA is %rsp + 8 and the return address just below it. */
    static const uint8_t cie[] = {1, 'z', 'R', 0, 1, 0x78, 16, 1, 0, 0x0c, 7, 8, 0x90, 1};
    struct cairn_embed_frames f;
    cairn_embed_frames_begin(&f, ret_bytes, cie, sizeof cie, low, copy_va + copy->n_code - low);
    return put_rows(&f, copy, original, (size_t)(copy_va - low)) ? cairn_embed_frames_end(&f) : 0;
}
