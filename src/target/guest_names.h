/* SPDX-License-Identifier: MIT */
/*
 * Names for guests of a space: lines of source files, read below the process's root, and names of C
 * functions, by the tables that their modules have for the interpreter, else by symbols.
 */
#ifndef CAIRN_TARGET_GUEST_NAMES_H
#define CAIRN_TARGET_GUEST_NAMES_H

#include "base/file.h"
#include "base/strings.h"
#include "base/table.h"
#include "guest/guest.h"
#include "guest/registry.h"
#include "unwind/space.h"

/* Of all source files together. */
enum { CAIRN_SOURCES_BYTES_MAX = 64 << 20, CAIRN_SOURCES_MAX = 4096 };

struct cairn_source_file {
    struct cairn_file file;
    uint32_t *lines; /* where each begins; none: it could not be read */
    size_t n_lines, cap_lines;
};

struct cairn_known_registry {
    const struct cairn_space_module *module;
    struct cairn_registry registry;
};

struct cairn_target_guest_names {
    struct cairn_unwind_space *space;
    int pid; /* whose root and folder serve; 0: nobody's, and no file is read */
    struct cairn_guest_names names;
    struct cairn_strings paths;
    struct cairn_source_file *sources; /* by number of the path */
    size_t n_sources, cap_sources;
    uint64_t n_bytes;
    struct cairn_known_registry *registries;
    size_t n_registries, cap_registries;
};

/* `names` is then for struct cairn_guest_thread. */
void cairn_target_guest_names_init(struct cairn_target_guest_names *names,
                                   struct cairn_unwind_space *space, int pid);

/* The tables of a module, made when they are first asked for. NULL: memory is gone. */
const struct cairn_registry *
cairn_target_guest_names_registry(struct cairn_target_guest_names *names,
                                  const struct cairn_space_module *module);

/* The space's modules are others from now on. */
void cairn_target_guest_names_forget(struct cairn_target_guest_names *names);
void cairn_target_guest_names_done(struct cairn_target_guest_names *names);

#endif /* CAIRN_TARGET_GUEST_NAMES_H */
