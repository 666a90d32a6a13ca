/* SPDX-License-Identifier: MIT */
/*
 * Core memory: what a core file holds of a process's memory, for a reader that goes through all of
 * it.
 *
 *     maps    | program | its data | [heap] | ...          as /proc/PID/maps had them
 *     parts             | bytes    | bytes  |              what the file has of them
 */
#ifndef CAIRN_TARGET_CORE_MEMORY_H
#define CAIRN_TARGET_CORE_MEMORY_H

#include <limits.h>

#include <cairn/maps.h>

#include "base/file.h"
#include "target/core.h"
#include "target/core_notes.h"
#include "target/target.h"

/* Memory that is in the file. */
struct cairn_core_part {
    uint64_t va;
    struct cairn_span bytes;
};

struct cairn_core_target {
    struct cairn_target target; /* first: the accessors cast */
    struct cairn_file file;
    struct cairn_elf elf;
    struct cairn_core_notes notes;
    struct cairn_core_part *parts; /* sorted by va */
    size_t n_parts, cap_parts;
    char program[PATH_MAX]; /* as the caller says; "" where he does not */
};

/* NULL: the space is of something else. */
const struct cairn_core_target *cairn_core_target_of(const struct cairn_unwind_space *space);

/* The part that has `va`, or NULL. */
const struct cairn_core_part *cairn_core_memory_part(const struct cairn_core_target *core,
                                                     uint64_t va);

/* Bytes from `va` on, up to the first that the file does not have; returns how many. */
size_t cairn_core_memory_read(const struct cairn_core_target *core, uint64_t va, void *to,
                              size_t size);

/* The first run in [va, end) that the file has: `size_max` bytes at most. */
bool cairn_core_memory_next(const struct cairn_core_target *core, uint64_t va, uint64_t end,
                            size_t size_max, uint64_t *ret_from, uint64_t *ret_to);

/* The mappings. The main thread's stack is "[stack]". A file that the process could write to is
 * shared if the core has none of its bytes. */
int cairn_core_memory_maps(const struct cairn_core_target *core, struct cairn_maps **ret_maps,
                           struct cairn_err *err);

#endif /* CAIRN_TARGET_CORE_MEMORY_H */
