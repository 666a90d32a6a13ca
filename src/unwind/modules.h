/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE, but for cairn_modules_refresh */
/*
 * Modules: which module of this process an address is in, and where its unwind information lies.
 *
 * The loader is asked where it answers without a lock (_dl_find_object, glibc 2.35, looked up
 * by loader.h: a libc without it is no error). Elsewhere a list that was taken before is asked: an
 * address that is in none of its modules leaves the wish for a new list, which is taken outside of
 * any capture.
 */
#ifndef CAIRN_UNWIND_MODULES_H
#define CAIRN_UNWIND_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cairn_local_module {
    uintptr_t from, to; /* vas of all that it maps */
    uintptr_t frames;   /* va of .eh_frame_hdr, on arm of .ARM.exidx; 0: it has none */
    size_t n_exidx;     /* on arm: entries */
};

/* False: in no module that is known. */
bool cairn_modules_find(uintptr_t va, struct cairn_local_module *ret_module);

/* Takes the list anew where one is needed. It asks the loader, and may wait for it. */
void cairn_modules_refresh(void);

/* An address was met that the list does not have. */
bool cairn_modules_wanted(void);

/* The list knows the module at `va` no longer. */
void cairn_modules_drop(uintptr_t va);

/* For tests and measurements: the list instead of the loader, also where that could be asked. */
void cairn_modules_use_list(bool use);

#endif /* CAIRN_UNWIND_MODULES_H */
