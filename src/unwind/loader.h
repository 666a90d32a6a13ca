/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Loader: functions of other modules by their names, found as the loader finds them, in the tables
 * that it has mapped. For names that a reference would tie to the newest version which the build
 * machine knows: this library must load wherever GLIBC_2.17 is (the style test `glibc` holds it),
 * and dlsym(3) itself moved from libdl to libc in 2.34.
 *
 * The modules are those of the list of link_map that the loader keeps for debuggers: glibc's at
 * _r_debug (<link.h>), musl's at _dl_debug_addr (its ldso/dynlink.c), which does not unload and
 * adds behind the last one alone. A static program has neither: there nothing is found.
 */
#ifndef CAIRN_UNWIND_LOADER_H
#define CAIRN_UNWIND_LOADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The va of a function of glibc; 0: it has none, or this is another libc. Looks at no module behind
 * libc, so that none is among them that another thread just now unloads. */
uintptr_t cairn_loader_libc(const char *name);

/* The same of musl. */
uintptr_t cairn_loader_musl(const char *name);

/* The va of the first one of the program, or of a library before this one: who asks for that name
 * gets it and not ours. 0: there is none. */
uintptr_t cairn_loader_before(const char *name);

/* The va of the first one behind this module: what RTLD_NEXT of dlsym(3) means; else the first of
 * another module. 0: there is none. Not beside a dlclose(3) of another thread. */
uintptr_t cairn_loader_next(const char *name);

/* Does a module use a function of another one whose name begins with one of `starts`? What is found
 * by dlsym(3) is not known. Not beside a dlclose(3) of another thread. */
bool cairn_loader_uses(const char *const *starts, size_t n);

#endif /* CAIRN_UNWIND_LOADER_H */
