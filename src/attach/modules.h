/* SPDX-License-Identifier: MIT */
/*
 * Modules of a process in the order in which its loader looks names up, and where functions of
 * certain names are. Read from outside, without the loader's lock: the list is believed no further
 * than the mappings bear it out.
 */
#ifndef CAIRN_ATTACH_MODULES_H
#define CAIRN_ATTACH_MODULES_H

#include "attach/target.h"
#include "base/file.h"
#include "elf/image.h"

enum { CAIRN_LOADED_MAX = 4096 };

struct cairn_loaded_module {
    char *path;         /* as the process knows it */
    uint64_t bias;      /* va of vaddr 0 */
    uint64_t low, high; /* of its mappings */
    struct cairn_file file;
    struct cairn_elf elf; /* of the file that is mapped, whatever its path leads to now */
    bool has_file;
};

struct cairn_loaded_modules {
    struct cairn_loaded_module *items; /* the program first */
    size_t n, cap;
};

/* One that cannot be opened is there without a file. CAIRN_E_MISSING: not even the program can. */
int cairn_loaded_read(const struct cairn_target_process *target,
                      struct cairn_loaded_modules *ret_modules, struct cairn_err *err);
void cairn_loaded_done(struct cairn_loaded_modules *modules);

/* A function that is looked for, and the module that has it. */
struct cairn_wanted_function {
    const char *name;
    size_t module; /* number in the list; SIZE_MAX: none has it */
    uint64_t va, bytes;
};

/* For each the first module that exports it; a program that exports nothing, as a static one, may
 * have it in its full table of symbols. Sorts the functions by their names. */
int cairn_loaded_find(const struct cairn_loaded_modules *modules,
                      struct cairn_wanted_function *functions, size_t n, struct cairn_err *err);
/* Of what was looked for; NULL: no module has it. */
const struct cairn_wanted_function *
cairn_loaded_found(const struct cairn_wanted_function *functions, size_t n, const char *name);

/* No module exports the function yet, and the program has a loader, which may bring one. */
bool cairn_loaded_may_come(const struct cairn_loaded_modules *modules, const char *name);

/* The va of an object that the first module exports under this name; 0: none does. */
uint64_t cairn_loaded_object(const struct cairn_loaded_modules *modules, const char *name);

#endif /* CAIRN_ATTACH_MODULES_H */
