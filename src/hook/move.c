/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "hook/move.h"

#include <string.h>

static const struct mover {
    enum cairn_hook_cpu cpu;
    unsigned alignment; /* of instructions */
    cairn_hook_mover_fn *move;
    cairn_hook_check_fn *check;
} movers[] = {
    {CAIRN_HOOK_X86_64, 1, cairn_hook_move_x86_64, cairn_hook_check_x86_64},
    {CAIRN_HOOK_AARCH64, 4, cairn_hook_move_aarch64, cairn_hook_check_aarch64},
};

static const struct mover *find_mover(enum cairn_hook_cpu cpu)
{
    for (size_t i = 0; i < sizeof movers / sizeof *movers; i++)
        if (movers[i].cpu == cpu)
            return &movers[i];
    return NULL;
}

bool cairn_hook_copy_refuse(struct cairn_hook_copy *copy, enum cairn_hook_reason reason,
                            uint64_t va)
{
    copy->reason = reason;
    copy->reason_va = va;
    return false;
}

bool cairn_hook_copy_add(struct cairn_hook_copy *copy, const void *bytes, size_t n)
{
    if (n > CAIRN_HOOK_COPY_MAX - copy->n_code)
        return cairn_hook_copy_refuse(copy, CAIRN_HOOK_TOO_LARGE, 0);
    memcpy(copy->code + copy->n_code, bytes, n);
    copy->n_code += n;
    return true;
}

bool cairn_hook_copy_begin(struct cairn_hook_copy *copy, size_t from_off)
{
    if (copy->n_insns >= CAIRN_HOOK_INSNS_MAX)
        return cairn_hook_copy_refuse(copy, CAIRN_HOOK_TOO_LARGE, 0);
    copy->from_off[copy->n_insns] = (uint8_t)from_off;
    copy->to_off[copy->n_insns++] = (uint16_t)copy->n_code;
    return true;
}

/* A sum that leaves the address space has no place. */
static bool fits_space(uint64_t va)
{
    return va <= UINT64_MAX - CAIRN_HOOK_COPY_MAX;
}

static bool is_sound(const struct cairn_hook_piece *piece, const struct mover *mover,
                     struct cairn_hook_copy *copy)
{
    if (!mover)
        return cairn_hook_copy_refuse(copy, CAIRN_HOOK_NO_CPU, piece->from_va);
    if (piece->from_va % mover->alignment || piece->to_va % mover->alignment)
        return cairn_hook_copy_refuse(copy, CAIRN_HOOK_MISALIGNED,
                                      piece->from_va % mover->alignment ? piece->from_va
                                                                        : piece->to_va);
    if (piece->least > CAIRN_HOOK_LEAST_MAX)
        return cairn_hook_copy_refuse(copy, CAIRN_HOOK_TOO_LARGE, piece->from_va);
    if (!piece->least || piece->n_code < piece->least)
        return cairn_hook_copy_refuse(copy, CAIRN_HOOK_CUT_OFF, piece->from_va);
    if (!fits_space(piece->from_va) || !fits_space(piece->to_va))
        return cairn_hook_copy_refuse(copy, CAIRN_HOOK_OUT_OF_REACH, piece->from_va);
    return true;
}

bool cairn_hook_move(const struct cairn_hook_piece *piece, struct cairn_hook_copy *ret_copy)
{
    const struct mover *mover = find_mover(piece->cpu);
    struct cairn_hook_copy copy = {0};
    bool is_moved = is_sound(piece, mover, &copy) && mover->move(piece, &copy);
    if (is_moved && !mover->check(piece, &copy))
        is_moved = cairn_hook_copy_refuse(&copy, CAIRN_HOOK_UNCHECKED, piece->from_va);
    if (is_moved) {
        *ret_copy = copy;
    } else {
        ret_copy->reason = copy.reason;
        ret_copy->reason_va = copy.reason_va ? copy.reason_va : piece->from_va;
    }
    return is_moved;
}
