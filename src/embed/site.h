/* SPDX-License-Identifier: MIT */
/*
 * Site: one function that is or was diverted: its plan, its island, its chain. A site stays, with
 * its island, for the next hook of the function.
 *
 *     island_va     the head: a cell, or, at an address that is no multiple of 8, a jump by a word
 *     copy_va       moved code, and a jump behind it
 */
#ifndef CAIRN_EMBED_SITE_H
#define CAIRN_EMBED_SITE_H

#include "embed/chain.h"
#include "embed/code.h"
#include "embed/embed.h"
#include "embed/place.h"

struct cairn_embed_site {
    struct cairn_embed_site *next;
    uint64_t entry_va;
    struct cairn_embed_place place;
    struct cairn_hook_plan plan;
    struct cairn_hook_patch patch;
    uint64_t island_va, copy_va;
    struct cairn_embed_chain chain;
    struct cairn_hook_copy copy;
    uint8_t code[CAIRN_HOOK_LEAST_MAX]; /* the original, plan.move_bytes of it */
    bool is_in;                         /* the function leads to the island */
    bool has_pad;                       /* the padding holds our jump */
    bool has_frames;                    /* of unwind tables for the island */
    bool is_dead;                       /* other code is there by now */
};

/* The site of the function, made if it is missing. Nothing is diverted yet. */
int cairn_embed_site_get(const struct cairn_embed_memory *memory, uint64_t entry_va, unsigned flags,
                         struct cairn_embed_site **ret_site, struct cairn_err *err);

/* Unwind tables of the moved code, if there is an unwinder to give them to. */
void cairn_embed_site_register(struct cairn_embed_site *site);

/* Lets the function lead to the island, or not any more. */
int cairn_embed_site_divert(const struct cairn_embed_memory *memory, struct cairn_embed_site *site,
                            struct cairn_err *err);
int cairn_embed_site_restore(const struct cairn_embed_memory *memory, struct cairn_embed_site *site,
                             bool keeps_padding, struct cairn_err *err);

#endif /* CAIRN_EMBED_SITE_H */
