/* SPDX-License-Identifier: MIT */
/*
 * Kernel: names for its addresses, out of two sources that know different things:
 *
 *     va ── less vmlinux_slide ──► vmlinux    functions, lines, inline frames; of no kernel module
 *        └─ less list_slide ─────► kallsyms   functions of all that was loaded
 *                                     └─────► NAME.ko, lines, inline frames: kernel_modules.h
 *
 * KASLR moves the kernel as a whole. How far is the difference between two addresses of _text: the
 * one in memory, which the profile or kallsyms knows, and the one that was linked.
 */
#ifndef CAIRN_RESOLVE_KERNEL_H
#define CAIRN_RESOLVE_KERNEL_H

#include <stdbool.h>

#include <cairn/resolve.h>

#include "resolve/kernel_modules.h"

/* What the caller of the resolver said of the kernel; texts are borrowed only while they are read.
 */
struct cairn_kernel_sources {
    struct cairn_module *list, *vmlinux; /* given by name; NULL: not given */
    uint64_t slide;
    bool has_slide;
    bool live; /* addresses are of the running kernel, whatever a profile says */
    bool allow_mismatch;
    char *module_folder; /* like /sys/module; NULL: none. Owned */
};

/* What is known of the kernel whose addresses are to be named. */
struct cairn_kernel_identity {
    const char *build_id; /* "": unknown */
    const char *release;  /* "": unknown */
    uint64_t text;        /* where _text was in memory; 0: unknown */
    bool is_of_here;      /* it ran on this host */
};

struct cairn_kernel {
    struct cairn_module *list, *vmlinux; /* NULL: none */
    uint64_t list_slide, vmlinux_slide;
    struct cairn_kernel_modules *modules; /* of the list; NULL: none. Owned, see _done */
    enum cairn_cause missing;             /* why neither is there; CAIRN_CAUSE_NONE */
};

/* Opens the files that the caller named; they must be there. */
int cairn_kernel_sources_open(struct cairn_kernel_sources *sources,
                              struct cairn_symbolizer *symbolizer,
                              const struct cairn_resolve_opts *opts, struct cairn_err *err);

/*
 * Chooses the sources for one kernel: those named by the caller; else, where it is the one that
 * runs here, /proc/kallsyms; and a vmlinux of its build in the places where distributions put it.
 * Only lack of memory fails: `ret_kernel->missing` says why there are no names.
 */
int cairn_kernel_open(const struct cairn_kernel_sources *sources,
                      struct cairn_symbolizer *symbolizer,
                      const struct cairn_kernel_identity *identity, struct cairn_kernel *ret_kernel,
                      struct cairn_err *err);

void cairn_kernel_done(struct cairn_kernel *kernel); /* all-zero is fine */

/* As cairn_symbolize() for an address in memory. */
int cairn_kernel_symbolize(const struct cairn_kernel *kernel, struct cairn_symbolizer *symbolizer,
                           uint64_t va, struct cairn_symbol *ret_symbol, struct cairn_err *err);

/* Is this the address of kernel code? All of the upper half is the kernel's on every CPU that we
 * know, but for the page of [vsyscall]. */
bool cairn_kernel_owns(uint64_t va);

/* Where the kernel's half of the address space begins. */
static const uint64_t cairn_upper_half = 0x8000000000000000;

enum { CAIRN_VSYSCALL_BYTES = 4096 };
static const uint64_t cairn_vsyscall_start = 0xffffffffff600000;

/* The module of [vsyscall]: three functions at well-known places (x86-64). */
int cairn_vsyscall_open(struct cairn_symbolizer *symbolizer, struct cairn_module **ret_module,
                        struct cairn_err *err);

#endif /* CAIRN_RESOLVE_KERNEL_H */
