/* SPDX-License-Identifier: MIT */
/*
 * Jit: which perf map speaks of an address in anonymous memory. Maps that the caller named come
 * first; those of live processes are looked for where their compilers leave them. Each is read
 * once, when the first address asks for it.
 */
#ifndef CAIRN_RESOLVE_JIT_H
#define CAIRN_RESOLVE_JIT_H

#include "resolve/address_space.h"

/* The map of one process. */
struct cairn_jit_map {
    struct cairn_known_module *known; /* NULL: it has none */
};

struct cairn_jit {
    struct cairn_known_module **files; /* named by the caller: they speak of every process */
    size_t n_files;
    char **folders; /* with perf-PID.map */
    size_t n_folders;
    bool live, warned_many;
    struct cairn_jit_map *maps;
    size_t n, cap;
    struct cairn_table by_pid; /* index of its map */
};

/* Reads the files that `opts` names; CAIRN_E_MISSING and its like where one cannot be. */
int cairn_jit_init(struct cairn_jit *jit, struct cairn_modules *modules,
                   const struct cairn_resolve_opts *opts, struct cairn_err *err);
void cairn_jit_done(struct cairn_jit *jit); /* all-zero is fine */

/* Maps of processes are read again when they are asked for. */
void cairn_jit_renew(struct cairn_jit *jit);

/* Is there any map to ask? */
bool cairn_jit_knows_any(const struct cairn_jit *jit);

/* Sets `ret_place` and `*ret_found` where a map has a name for `va` of process `pid`; 0: whichever
 * it is. Only lack of memory fails. */
int cairn_jit_find(struct cairn_jit *jit, struct cairn_modules *modules, int pid, uint64_t va,
                   struct cairn_resolve_place *ret_place, bool *ret_found, struct cairn_err *err);

#endif /* CAIRN_RESOLVE_JIT_H */
