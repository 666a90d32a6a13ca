/* SPDX-License-Identifier: MIT */
/*
 * Plans for the functions of a file or of a running process: how each can be diverted (hook.h).
 * Nothing is changed, and a process is not stopped. Thread-safe.
 */
#ifndef CAIRN_PLANS_H
#define CAIRN_PLANS_H

#include <stddef.h>
#include <stdint.h>

#include <cairn/api.h>
#include <cairn/error.h>
#include <cairn/hook.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One function. All is borrowed for the call that reports it; names may hold anything: escape them
 * for a terminal. */
struct cairn_planned {
    size_t size;        /* sizeof this struct; later versions add fields at the end */
    const char *module; /* path of the file */
    const char *name;
    uint64_t load_base; /* what the loader added: the plan's addresses minus it are the file's */
    uint64_t n_bytes;   /* of the function; 0: its symbol does not say */
    bool is_resolver;   /* an IFUNC: callers run what this function returns */
    const struct cairn_hook_plan *plan;
    uint8_t before[8], after[8]; /* the changed bytes, plan->patch_bytes of them */
    uint8_t known[8];            /* of `after`: 0, the byte depends on where an island is mapped */
};

/* Anything but 0 stops the run, which then fails with CAIRN_E_STOPPED. */
typedef int cairn_planned_fn(void *context, const struct cairn_planned *planned);

struct cairn_plans_opts {
    size_t size;              /* sizeof this struct */
    const char *const *names; /* functions that are wanted; without: all that a module exports, or
                                 has symbols for, once for each address, and no resolvers */
    size_t n_names;
};

/* Of a file, as if it were loaded somewhere. CAIRN_E_MISSING: a name that no function has (the
 * others were reported). CAIRN_E_SUPPORT: a CPU whose instructions are not known. */
CAIRN_API int cairn_plans_of_file(const char *path, const struct cairn_plans_opts *opts,
                                  cairn_planned_fn *fn, void *context, struct cairn_err *err);

/* Of all modules of a process, by its memory as it is now. CAIRN_E_ACCESS: a hint says what to do.
 * Modules that cannot be read are left out, and the log says so. */
CAIRN_API int cairn_plans_of_pid(int pid, const struct cairn_plans_opts *opts, cairn_planned_fn *fn,
                                 void *context, struct cairn_err *err);

#ifdef __cplusplus
}
#endif
#endif /* CAIRN_PLANS_H */
