/* SPDX-License-Identifier: MIT */
/*
 * Space: somebody's memory, and the modules in it, as a cursor asks for them. What lies where is
 * asked of the accessors once and kept; files are opened once, wherever they are mapped.
 *
 *     va ──► place (a mapping) ──► module (a file) ──► vaddr = va - bias
 */
#ifndef CAIRN_UNWIND_SPACE_H
#define CAIRN_UNWIND_SPACE_H

#include <cairn/unwind.h>

#include "base/memory.h"
#include "unwind/follow.h"
#include "unwind/space_module.h"

enum { CAIRN_SPACE_PLACES_MAX = 1 << 16, CAIRN_SPACE_DATA_MAX = 1 << 20 };

/* Where a mapping lies, and what is in it. Its address does not change until a refresh. */
struct cairn_space_place {
    struct cairn_unwind_region region;
    struct cairn_space_module *module; /* NULL: no file, or none at hand */
    uint64_t bias;                     /* va - vaddr of what the module has there */
};

/* What the kinds of spaces (src/target) add to the accessors; each may be NULL. */
struct cairn_space_kind {
    bool is_dead; /* memory is what was kept of it, which code need not be in: a core file */
    void (*done)(void *ctx);
    void (*refresh)(void *ctx);
    /* Where the first mapping with code begins that ends behind `va`; false: there is none. */
    bool (*next_code)(void *ctx, uint64_t va, uint64_t *ret_va);
    /* The first piece of data at or behind `va` that is worth a search: memory that the process may
     * write and has written, at most CAIRN_SPACE_DATA_MAX bytes. False: there is no more. */
    bool (*next_data)(void *ctx, uint64_t va, uint64_t *ret_from, uint64_t *ret_to);
    /* Memory may have changed since it was last read: a cursor starts. */
    void (*begin)(void *ctx);
    int (*threads)(void *ctx, int *ret_tids, size_t cap, size_t *ret_n, struct cairn_err *err);
    int (*hold)(void *ctx, int tid, int timeout_ms, struct cairn_err *err);
    void (*release)(void *ctx, int tid);
    int (*regs)(void *ctx, int tid, struct cairn_cursor_regs *ret_regs, struct cairn_err *err);
};

struct cairn_unwind_space {
    struct cairn_unwind_accessors accessors;
    struct cairn_memory memory; /* the same, for who reads words */
    const struct cairn_space_kind *kind;
    uint32_t generation;               /* one more at each refresh */
    struct cairn_space_place **places; /* sorted by start; none overlaps another */
    size_t n_places, cap_places;
    struct cairn_space_module **modules;
    size_t n_modules, cap_modules;
    struct cairn_follow follow; /* of the step that is made, for cairn_fp_space.scratch */
};

/* As cairn_unwind_space_new(), for a kind; `ctx` of the accessors is its own. On failure
 * kind->done() was not called. */
int cairn_space_make(const struct cairn_unwind_accessors *accessors,
                     const struct cairn_space_kind *kind, struct cairn_unwind_space **ret_space,
                     struct cairn_err *err);

/* What lies at `va`; NULL where nothing does, or memory is gone. */
const struct cairn_space_place *cairn_space_at(struct cairn_unwind_space *space, uint64_t va);

/* Forgets what lies where, but not what is known of the files, which stay as they were: for who
 * walks stacks of many processes. Cursors of the space end. */
void cairn_space_move(struct cairn_unwind_space *space);

bool cairn_space_bytes(struct cairn_unwind_space *space, uint64_t va, void *to, size_t size);

/* A word of 4 or 8 bytes. */
bool cairn_space_word(struct cairn_unwind_space *space, uint64_t va, unsigned width, bool swap,
                      uint64_t *ret_word);

#endif /* CAIRN_UNWIND_SPACE_H */
