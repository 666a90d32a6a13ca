/* SPDX-License-Identifier: MIT */
/* Apply: makes the slots of all modules hold what the live hooks want. */
#ifndef CAIRN_EMBED_APPLY_H
#define CAIRN_EMBED_APPLY_H

#include <stdint.h>

#include "embed/embed.h"
#include "embed/where.h"
#include "rt/array.h"

struct cairn_embed_name {
    struct cairn_embed_name *next;
    const char *text;
    struct cairn_embed_chain chain;
    struct cairn_embed_slots *slots; /* all that hooks of the name are or were for */
    struct cairn_array records;      /* of struct cairn_embed_record: slots that we have changed */
};

struct cairn_embed_counts {
    unsigned n_modules, n_meant; /* loaded, and meant by the hook */
    unsigned n_slots;            /* that lead to the hook */
    unsigned n_other;            /* meant, but they lead elsewhere */
    unsigned n_failed;           /* could not be written */
    unsigned n_broken;           /* modules whose dynamic section is damaged */
    uint64_t other_va, failed_va;
    char other_path[64]; /* cut off in front */
};

struct cairn_embed_name *cairn_embed_names(void);

/* `hook`: what is counted; NULL: nothing. */
void cairn_embed_apply(const struct cairn_hook *hook, struct cairn_embed_counts *ret_counts);

/* Before a hook is made: notes the modules that are loaded, decides where originals lead in the
 * end, and refuses slots that a live hook covers in part. `found`: what the loader binds the name
 * to; 0: nothing. */
int cairn_embed_survey(struct cairn_embed_slots *slots, uintptr_t found, struct cairn_err *err);

#endif /* CAIRN_EMBED_APPLY_H */
