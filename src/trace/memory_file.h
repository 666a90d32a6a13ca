/* SPDX-License-Identifier: MIT */
/* Memory file: where a variable is, by the symbol tables of a file and the mappings of a process.
 */
#ifndef CAIRN_TRACE_MEMORY_FILE_H
#define CAIRN_TRACE_MEMORY_FILE_H

#include "trace/memory.h"

struct cairn_memory_found {
    uint64_t va;          /* 0: the program does not run yet */
    uint64_t rel;         /* from the address of its file's first mapping; of a plain address 0 */
    uint64_t bytes;       /* as asked, or the symbol's */
    uint64_t stack_start; /* of the process's program */
    int pid;              /* 0: of the command, which does not run yet */
    bool is_of_library;   /* of the command */
    const char *mapping;  /* its name, "" without one; borrowed until cairn_memory_found_done() */
    struct cairn_maps *maps;
};

/* Of a process that runs. `ret_found` may be freed whatever comes back. CAIRN_E_MISSING: no such
 * process, file, variable or mapping. CAIRN_E_ARG: nothing can write there. */
int cairn_memory_find(const char *event, int pid, const struct cairn_memory_spec *spec,
                      struct cairn_memory_found *ret_found, struct cairn_err *err);
void cairn_memory_found_done(struct cairn_memory_found *found);

/* Of the command that will be started: a variable of its program or of a library. Nothing to free.
 */
int cairn_memory_find_ahead(const struct cairn_probes *probes, const char *event,
                            const struct cairn_memory_spec *spec,
                            struct cairn_memory_found *ret_found, struct cairn_err *err);

/* Of its process, which has called execve(2): `rel` bytes behind the program's first mapping. */
int cairn_memory_find_late(const char *event, int pid, uint64_t rel, uint32_t type,
                           uint64_t *ret_va, struct cairn_err *err);

#endif /* CAIRN_TRACE_MEMORY_FILE_H */
