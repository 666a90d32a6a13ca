/* SPDX-License-Identifier: MIT */
/*
 * Embed: hooks in the own process (<cairn/hook.h>): what all files of the room share.
 *
 *     function ──jump──► island: head ──► replacement of the newest hook
 *                                             │ calls its original
 *                                             ▼
 *                                         its gate ──► replacement of the next older hook
 *                                                          │ calls its original
 *                                                          ▼
 *                                                      moved code ──► function
 *
 * Head and gates are single jumps: through the word behind them, or straight where that reaches. A
 * chain is changed by single stores of aligned words, so every thread sees one chain or the other.
 * Islands and gates are never unmapped: a thread may be in them. A gate is used again only for a
 * hook that calls on to the same place. A hook behind which none can come has no gate.
 *
 * Code pages are readable and executable; /proc/self/mem writes them.
 */
#ifndef CAIRN_EMBED_EMBED_H
#define CAIRN_EMBED_EMBED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/hook.h>

struct cairn_embed_site;
struct cairn_embed_slots;

/* The hooks of one function, or of the slots of one name. */
struct cairn_embed_chain {
    struct cairn_hook *all; /* newest first, removed ones too, linked by `older` */
    uint64_t end_va;        /* what the oldest hook calls */
    uint64_t head_va;       /* the cell that leads to the newest hook; 0: there is none, */
    uint64_t head_word_va;  /* but a word */
};

struct cairn_hook {
    struct cairn_hook *older;
    struct cairn_embed_chain *chain;
    struct cairn_embed_site *site;   /* NULL: a hook of slots, */
    struct cairn_embed_slots *slots; /* whose name and libraries are here */
    void *replacement;
    uint64_t entry_va;    /* what leads to it: the replacement, or a guard in front of it */
    uint64_t original_va; /* what its replacement calls: the gate, or the end of the chain */
    uint64_t gate_va;     /* a cell; 0: it has none */
    uint64_t thunk_va;    /* of a guard; 0: none was made yet */
    unsigned flags;
    unsigned generation; /* of the handle: a removed hook is used again for another one */
    bool is_live;        /* false: removed; a thread may still be in its replacement */
};

/* Enters the room: one thread at a time; a fork(2) of another thread waits. Not while dlsym(3) is
 * called: the loader's lock may be held by a thread that waits here. False: the calling thread is
 * in the room already: it is called by a replacement, or by a signal handler. */
bool cairn_embed_enter(void);
void cairn_embed_leave(void);
/* The same with an error. */
int cairn_embed_enter_or_fail(struct cairn_err *err);

/* What the caller gets for a hook, with its generation in the bits that no address has: 4 below, 16
 * above. A hook whose generations are used up is not used again. */
enum { CAIRN_EMBED_LAST_GENERATION = (1 << 20) - 1 };
struct cairn_hook *cairn_embed_handle(const struct cairn_hook *hook);
/* NULL: the handle's hook was removed. */
struct cairn_hook *cairn_embed_hook_of(struct cairn_hook *handle);

/* Memory of the room, zeroed, never freed; NULL: there is none. */
void *cairn_embed_alloc(size_t bytes);

#endif /* CAIRN_EMBED_EMBED_H */
