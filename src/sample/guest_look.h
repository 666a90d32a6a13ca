/* SPDX-License-Identifier: MIT */
/*
 * Guest look: which processes have an interpreter, such as Lua, in them. Each file is looked
 * through once, however many processes map it; a process of files that have none costs no look.
 */
#ifndef CAIRN_SAMPLE_GUEST_LOOK_H
#define CAIRN_SAMPLE_GUEST_LOOK_H

#include "sample/copy_files.h"
#include "sample/guest_walk.h"

struct cairn_guest_looks {
    struct cairn_table files; /* cairn_copy_files_identity() -> is an interpreter in it */
    struct cairn_share share; /* of the recorder's CPU time */
};

void cairn_guest_looks_done(struct cairn_guest_looks *looks); /* all-zero is fine */

/* The interpreters in the process, looked for when its mappings have changed, but few times. NULL:
 * none is there, or nobody has looked yet. Owned by the space. CAIRN_OK or CAIRN_E_NOMEM. */
int cairn_guest_looks_find(struct cairn_guest_looks *looks, const struct cairn_spaces *spaces,
                           struct cairn_space *space, struct cairn_guest_walk **ret_guests);

#endif /* CAIRN_SAMPLE_GUEST_LOOK_H */
