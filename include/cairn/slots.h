/* SPDX-License-Identifier: MIT */
/*
 * Slots: the words of a module that the loader fills with the addresses of functions of other
 * modules, listed by the function's name: of a file, or of all modules of a running process with
 * what they hold. Nothing is changed, and a process is not stopped. Thread-safe.
 */
#ifndef CAIRN_SLOTS_H
#define CAIRN_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/api.h>
#include <cairn/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One slot. All is borrowed for the call that reports it; names may hold anything: escape them for
 * a terminal. */
struct cairn_slot_found {
    size_t size;            /* sizeof this struct; later versions add fields at the end */
    const char *module;     /* path of the file */
    const char *name;       /* of the function */
    const char *version;    /* "GLIBC_2.14", NULL: the module asks for none */
    const char *relocation; /* "R_X86_64_JUMP_SLOT" */
    uint64_t va;            /* of the slot; of a file: as the file counts */
    bool is_pointer;        /* in data, not what calls go through */
    /* Of a process. */
    bool has_value;
    uint64_t value;
    const char *leads_into; /* path of what is mapped there; NULL: nothing that has a name */
    bool is_bound;          /* not still an address of the module's own stubs */
};

/* Anything but 0 stops the run, which then fails with CAIRN_E_STOPPED. */
typedef int cairn_slot_found_fn(void *context, const struct cairn_slot_found *slot);

/* Names are "malloc", for all versions, or "memcpy@GLIBC_2.14". CAIRN_E_MISSING: a name that no
 * slot has (the others were reported). CAIRN_E_SUPPORT: a CPU whose relocations are not known.
 * CAIRN_E_FORMAT: the dynamic section or a table it names is damaged. */
CAIRN_API int cairn_slots_of_file(const char *path, const char *const *names, size_t n_names,
                                  cairn_slot_found_fn *fn, void *context, struct cairn_err *err);

/* The same of all modules of a process. Those that cannot be read are left out, and the log says
 * so. CAIRN_E_ACCESS: a hint says what to do. */
CAIRN_API int cairn_slots_of_pid(int pid, const char *const *names, size_t n_names,
                                 cairn_slot_found_fn *fn, void *context, struct cairn_err *err);

#ifdef __cplusplus
}
#endif
#endif /* CAIRN_SLOTS_H */
