/* SPDX-License-Identifier: MIT */
/*
 * Slots: hooks of the words by which chosen libraries call a function (hook/slots.h).
 *
 * The newest hook that covers a slot is what the slot holds. Its original leads to the next older
 * hook of that name that covers all slots of this one; hooks whose slots overlap otherwise are
 * refused, since an original cannot know through which slot its caller came.
 */
#ifndef CAIRN_EMBED_SLOTS_H
#define CAIRN_EMBED_SLOTS_H

#include <stdbool.h>

#include "embed/code.h"
#include "embed/embed.h"

/* Does `older` cover each slot that `newer` covers? */
bool cairn_embed_slots_cover(const struct cairn_embed_slots *older,
                             const struct cairn_embed_slots *newer);

/* All slots of the name, now and later? */
bool cairn_embed_slots_are_all(const struct cairn_embed_slots *slots);

/* The hook is not live any more. */
int cairn_embed_slots_remove(const struct cairn_embed_memory *memory, struct cairn_hook *hook,
                             struct cairn_err *err);

/* If modules were loaded since, or anyhow: replaces the slots of those that hooks cover later. */
void cairn_embed_slots_look(bool anyhow);

/* Arguments that both kinds of hooks have. */
int cairn_embed_check_flags(const void *replacement, unsigned flags, struct cairn_hook **ret_hook,
                            struct cairn_err *err);

#endif /* CAIRN_EMBED_SLOTS_H */
