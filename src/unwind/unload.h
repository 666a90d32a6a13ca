/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE, but for what says otherwise */
/*
 * Unload: what happens to rules when modules go away. Another module may be loaded at the same
 * place later, so that all that was remembered of addresses is void: rules, and the threads' last
 * walks.
 *
 * The dlclose of this library comes before libc's one. dlopen(3) is not interposed here: what is
 * loaded makes nothing void. (The heap tracker does so for another reason, heap/interpose_dl.c, and
 * keeps the caller's return address, which the loader needs for its RUNPATH.) What libc
 * unloads by itself (converters of iconv, name services), or who calls libc's dlclose past this
 * one, is noticed when the module's last destructor calls __cxa_finalize, as all do that a compiler
 * links. Not seen are modules without that which are unloaded so: cairn_unwind_refresh() is for who
 * has such.
 */
#ifndef CAIRN_UNWIND_UNLOAD_H
#define CAIRN_UNWIND_UNLOAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Changes whenever modules may have been unloaded; never 0. */
extern _Atomic(uint64_t) cairn_unload_generation;

/* Between these two modules may go. The first waits until nobody reads unwind information in place,
 * but not for ever: a walk that was left by longjmp(3) never says that it is done. Not signal-safe.
 */
void cairn_unload_begin(void);
void cairn_unload_end(void);

/* The module at `va` goes away behind this: no frame of it is on any stack. Signal-safe. */
void cairn_unload_of(uintptr_t va);

/* May unwind information be read in place until cairn_unload_leave()? False: modules go away just
 * now; then it is read by way of the kernel, and nothing of it may be remembered. Either way leave
 * is to be called. */
bool cairn_unload_enter(void);
void cairn_unload_leave(void);

#endif /* CAIRN_UNWIND_UNLOAD_H */
