/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE, but for what says otherwise */
/*
 * Late slots: which libraries' blocks are recorded where libcairn-track was loaded by dlopen(3),
 * and the slots (hook/slots.h) that make it so:
 *
 *     function             in a hooked library    in every other module
 *     malloc, new, strdup  replaced               as the loader filled it
 *     free, delete         replaced               replaced: any module may free a block
 *     realloc              replaced               replaced by one that notes deaths alone
 *     dlsym                looks for libraries that were loaded since, then jumps to libc's
 *     dlclose, __cxa_finalize   note that modules go away
 *
 * Modules are listed by dl_iterate_phdr(3), whose lock is held for the list alone and not while
 * constructors run; no module is unmapped meanwhile. A slot is written only if it holds what the
 * loader puts there, or one of ours: what another tool has put there stays.
 */
#ifndef CAIRN_HEAP_LATE_SLOTS_H
#define CAIRN_HEAP_LATE_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CAIRN_LATE_PATTERN_BYTES = 4096, /* a path, with the zero */
    CAIRN_LATE_PATTERNS = 4096
};

struct cairn_late_slots_count {
    uint32_t n_modules; /* hooked */
    uint32_t n_slots;   /* of them, that lead to us */
    uint32_t n_foreign; /* of all modules, that another tool has */
    uint32_t n_failed;  /* that could not be written */
    uint32_t n_broken;  /* modules whose dynamic section cannot be read */
};

/* Fills what originals are missing (heap/late.h). False: there is no malloc. Takes the loader's
 * lock. */
bool cairn_late_slots_find(uint32_t *ret_granule_bits);

/* Names, paths or globs (hook/slots.h: cairn_slots_match) that are hooked from now on, or not.
 * The caller applies. A negative code of <memory_tracker.h>: nothing is changed. */
int cairn_late_slots_add(const char *const *patterns, size_t n);
int cairn_late_slots_remove(const char *const *patterns, size_t n);
int cairn_late_slots_remove_all(void);

/* Makes every module's slots as they are to be. Takes the loader's lock. */
void cairn_late_slots_apply(struct cairn_late_slots_count *ret_count);

/* The same, if modules came or went since, and no other thread is at it. */
void cairn_late_slots_look(void);

#endif /* CAIRN_HEAP_LATE_SLOTS_H */
