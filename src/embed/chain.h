/* SPDX-License-Identifier: MIT */
/*
 * Chain: the hooks of one function or of the slots of one name. The newest is called first; the
 * original of each leads to the next older one, of the oldest to the function.
 */
#ifndef CAIRN_EMBED_CHAIN_H
#define CAIRN_EMBED_CHAIN_H

#include "embed/code.h"
#include "embed/embed.h"

/* A hook that is not live yet, in front of the chain. NULL: there is no memory, or no page for
 * code. */
struct cairn_hook *cairn_embed_chain_add(const struct cairn_embed_memory *memory,
                                         struct cairn_embed_chain *chain, void *replacement,
                                         unsigned flags, struct cairn_embed_slots *slots);

/* Lets gates and head lead to where they should by now. False: a word could not be written. */
bool cairn_embed_chain_settle(const struct cairn_embed_memory *memory,
                              struct cairn_embed_chain *chain);

/* The newest live one; NULL: there is none. */
const struct cairn_hook *cairn_embed_chain_newest(const struct cairn_embed_chain *chain);

enum { CAIRN_EMBED_CELL_BYTES = 16 /* of a jump that can be led elsewhere: cpu.h */ };

#endif /* CAIRN_EMBED_CHAIN_H */
