/* SPDX-License-Identifier: MIT */
/*
 * What a cursor knows, for the files that make up one. There are two ways from a frame to its
 * caller, and they give the same frames:
 *
 *     in full   by a row of CFI: every register that it speaks of
 *     quickly   by the rule of the module's table (cursor_quick.c): ip, sp and fp alone
 *
 * A cursor that went quickly is lean. `full` is then the last frame whose registers were all there;
 * who asks for another one of them has the way from there walked again, in full.
 */
#ifndef CAIRN_UNWIND_CURSOR_STATE_H
#define CAIRN_UNWIND_CURSOR_STATE_H

#include <cairn/unwind.h>

#include "base/address.h"
#include "unwind/space.h"

struct cursor {
    struct cairn_unwind_space *space;
    const struct cairn_unwind_arch *arch;
    const struct cairn_space_place *place; /* that holds the address; NULL: none is known */
    struct cairn_unwind_regs regs;
    struct cairn_module_entry entry; /* what covers the address */
    uint64_t vaddr;                  /* the address to look up, in the module */
    uint32_t generation;             /* of the space; another one: all of the above is stale */
    uint32_t n_frames, max_frames;
    uint8_t how;      /* enum cairn_frame_how of this frame */
    uint8_t sigframe; /* enum cairn_sigframe: the kernel's own instructions */
    bool is_signal;   /* this frame is the kernel's */
    bool ended;
    uint8_t end; /* enum cairn_unwind_end, where `ended` */
    bool swap;

    bool in_full; /* never quickly */
    bool is_lean; /* of `regs` ip, sp and fp alone are those of the frame; then: */
    uint8_t full_how;
    uint32_t full_n_frames;
    struct cairn_unwind_regs full;
};

_Static_assert(sizeof(struct cursor) <= sizeof(struct cairn_cursor), "it must fit");

static inline bool cairn_cursor_is_exact(const struct cursor *c)
{
    return cairn_frame_is_exact(c->how);
}

static inline uint64_t cairn_cursor_lookup_address(const struct cursor *c)
{
    return cairn_lookup_address(c->regs.ip, cairn_cursor_is_exact(c) ? CAIRN_ADDRESS_EXACT
                                                                     : CAIRN_ADDRESS_RETURN);
}

/* After a refresh of its space a cursor knows no more than its registers. */
static inline bool cairn_cursor_is_stale(const struct cursor *c)
{
    return c->generation != c->space->generation;
}

static inline bool cairn_cursor_has_code(const struct cursor *c)
{
    return !cairn_cursor_is_stale(c) && c->place && c->place->module &&
           c->place->module->elf.machine == c->arch->machine;
}

/* Finds the rule for the frame's address. False: there is none that is enough, and nothing was
 * changed but the place. */
bool cairn_cursor_look_quickly(struct cursor *c);

/* To the caller's frame, by the rule that was found; look then. False: not to be had from it, and
 * nothing was changed. */
bool cairn_cursor_step_quickly(struct cursor *c);

#endif /* CAIRN_UNWIND_CURSOR_STATE_H */
