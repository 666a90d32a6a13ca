/* SPDX-License-Identifier: MIT */
/*
 * Resolve: names for addresses that were caught elsewhere: collapsed stacks, or a raw profile.
 * Threads: one resolver may be used by one thread at a time.
 */
#ifndef CAIRN_RESOLVE_H
#define CAIRN_RESOLVE_H

#include <stddef.h>
#include <stdint.h>

#include <cairn/api.h>
#include <cairn/error.h>
#include <cairn/klog.h>
#include <cairn/maps.h>
#include <cairn/profile.h>
#include <cairn/symbolizer.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cairn_resolver;

enum cairn_leaf {
    CAIRN_LEAF_IP, /* the last frame of a collapsed stack is where the CPU was */
    CAIRN_LEAF_RET /* it is a return address too, as in stacks of an allocation */
};

enum cairn_offsets {
    CAIRN_OFFSETS_REL, /* module+0xoff counts from the load base, as dladdr() does */
    CAIRN_OFFSETS_FILE /* it is an offset in the file */
};

/* Set .size to sizeof(struct cairn_resolve_opts); zero means the default. */
struct cairn_resolve_opts {
    size_t size;
    struct cairn_symbolizer_opts symbols; /* half of memory_bytes, but never less than
                                             16 MiB, is for finished texts */
    const struct cairn_maps *maps; /* for bare addresses; NULL: they stay as they are. Borrowed */
    const char *build_ids;         /* text of lines "BUILD-ID PATH"; NULL: none. Copied */
    enum cairn_leaf leaf;
    enum cairn_offsets offsets;
    int lines; /* nonzero: names in a text carry " (file:line)" */
    /* The kernel. Where nothing is given, profiles of the kernel that runs here are named by
     * /proc/kallsyms, and a vmlinux is looked for by build ID. */
    const char *kallsyms;       /* file: a copy of /proc/kallsyms, or a System.map */
    const char *kernel_modules; /* file: a copy of /proc/modules, with kallsyms */
    const char *vmlinux;        /* file: names with lines; a profile's build ID must be its */
    uint64_t kernel_slide;      /* what KASLR added to the addresses of these files, */
    int has_kernel_slide;       /* nonzero: if known. Else it is found by the addresses of _text */
    const char *const *perf_maps; /* maps of JIT compilers: files, or folders with perf-PID.map */
    size_t n_perf_maps;
    int live; /* nonzero: addresses were caught just now on this machine: the running kernel names
                 its own, and processes are asked for their perf maps */
    const char
        *kernel_sections; /* folder: a copy of /sys/module, or of NAME/sections and NAME/notes
                             in it, which only root can read. Where there is none, where kernel
                             modules lie is reckoned from kallsyms. Their files are looked for
                             in symbol_dirs and, for this release, in /lib/modules */
    int pid; /* nonzero: addresses are of this process, which runs: a file of its that was removed
                or replaced is read all the same, through /proc/PID/map_files (which needs
                CAP_CHECKPOINT_RESTORE or root) or, where it is the program, /proc/PID/exe */
    const int *module_files; /* open files by number of a profile's modules, -1: none, as
                                cairn_sampler_files() has them: taken where the path leads to
                                another file, or nowhere. Borrowed until the resolver is freed */
    size_t n_module_files;
};

/* For one resolver that names profile after profile of a sampling that goes on: the files of the
 * next one, in place of opts->module_files, and the maps of JIT compilers as they will be then. */
CAIRN_API void cairn_resolver_next(struct cairn_resolver *resolver, const int *module_files,
                                   size_t n_module_files);

/* Why a frame kept its text, in the order of the path that a look-up takes. */
enum cairn_cause {
    CAIRN_CAUSE_NO_MAPPING,     /* no line of the maps holds the address, or there are no maps */
    CAIRN_CAUSE_NOT_A_FILE,     /* [vdso] of another kernel, [heap] */
    CAIRN_CAUSE_ANONYMOUS,      /* anonymous memory, and no perf map says what is there */
    CAIRN_CAUSE_NO_KERNEL,      /* the kernel's, and nothing was found that has its names */
    CAIRN_CAUSE_KERNEL_HIDDEN,  /* the kernel's, and it hides its names from this user */
    CAIRN_CAUSE_BEFORE_SEGMENT, /* in the module's mappings, in none of its segments */
    CAIRN_CAUSE_NO_BINARY,      /* the module's file was not found, or could not be read */
    CAIRN_CAUSE_MISMATCH,       /* only files of another build were found */
    CAIRN_CAUSE_NO_SYMBOL,      /* found and sound, but nothing covers the address */
    CAIRN_N_CAUSES,
    CAIRN_CAUSE_NONE = CAIRN_N_CAUSES /* it has a name */
};
CAIRN_API const char *cairn_cause_text(enum cairn_cause cause); /* "no mapping"; static */

/* Counts of one resolver so far. Addresses are different where one is a leaf's and the other a
 * return address, for they are looked up at different places. In a profile, which holds each frame
 * once, a frame counts once however many stacks it is on. */
struct cairn_resolve_summary {
    size_t size;
    uint64_t n_lines, n_malformed; /* text: all lines, and those that passed through as no stack */
    uint64_t n_samples;            /* profile: as cairn_profile_stats() counts them */
    uint64_t n_frames;             /* every frame read, names included */
    uint64_t n_named;              /* frames that got a name */
    uint64_t n_unique;             /* different addresses looked up */
    uint64_t n_unique_named;
    uint64_t n_modules_found, n_modules_missing, n_modules_unverified;
    uint64_t frames_by_cause[CAIRN_N_CAUSES]; /* frames that kept their text */
    uint64_t unique_by_cause[CAIRN_N_CAUSES];
};

/* `opts` may be NULL. CAIRN_E_FORMAT: `build_ids` has a line that is none (with its number). */
CAIRN_API int cairn_resolver_new(const struct cairn_resolve_opts *opts,
                                 struct cairn_resolver **ret_resolver, struct cairn_err *err);
CAIRN_API void cairn_resolver_free(struct cairn_resolver *resolver); /* accepts NULL */

/*
 * Collapsed stacks in, the same lines in the same order out; only frames that got a name differ.
 * Lines that are no stack pass through untouched. One pass; memory grows with unique addresses and
 * names. A line longer than 16 MiB is CAIRN_E_LIMIT. Warns once per cause and module through
 * cairn_log_set().
 */
CAIRN_API int cairn_resolve_text(struct cairn_resolver *resolver, cairn_read_fn read,
                                 void *read_ctx, cairn_write_fn write, void *write_ctx,
                                 struct cairn_err *err);

/* Names the frames of a profile that have none, by the profile's own modules and, for frames that
 * lie in none, by `maps`. Addresses of a profile are looked up as they are. */
CAIRN_API int cairn_resolve_profile(struct cairn_resolver *resolver, struct cairn_profile *profile,
                                    struct cairn_err *err);

/* Asked first by every cairn_resolve_profile() of this program from now on: names what it can, and
 * the resolver names the rest. Negative: that call fails. NULL: the resolver alone names. Set it
 * while no other thread resolves. */
typedef int (*cairn_names_fn)(void *ctx, struct cairn_profile *profile, struct cairn_err *err);
CAIRN_API void cairn_resolve_ask_first(cairn_names_fn ask, void *ctx);

/* Where the file that was found for a frame's module has its address: 1 and `*ret_vaddr`; 0 where
 * none was found, or none of its segments holds it. `frame` is of any profile. CAIRN_E_NOMEM. */
CAIRN_API int cairn_resolver_frame_vaddr(struct cairn_resolver *resolver,
                                         const struct cairn_frame_info *frame, uint64_t *ret_vaddr,
                                         struct cairn_err *err);

CAIRN_API void cairn_resolver_summary(const struct cairn_resolver *resolver,
                                      struct cairn_resolve_summary *summary);

/* What became of one module; texts are borrowed until cairn_resolver_free(). */
struct cairn_resolved_module {
    size_t size;
    const char *path;         /* as the maps, the text or the profile call it */
    const char *build_id;     /* that was asked for; "" where it is unknown */
    const char *file;         /* that its addresses were looked up in; NULL: none was found */
    const char *debug_file;   /* that its names come from; NULL: the same, or none */
    enum cairn_cause missing; /* why there is no file; CAIRN_CAUSE_NONE: there is one */
    int verified;             /* 1: the file has the build ID that was asked for */
    int mismatch;             /* 1: it has another, and was taken all the same */
    uint64_t n_unique, n_unique_named;
    uint64_t unique_by_cause[CAIRN_N_CAUSES];
};

/* Modules in the order in which they were met; returns 0 where there is no module `index`. Memory
 * that is no file of its own, as [vdso], counts as one. */
CAIRN_API int cairn_resolver_module(const struct cairn_resolver *resolver, size_t index,
                                    struct cairn_resolved_module *module);

/*
 * Kernel logs. The maps of each process are added once; what is said by address is then looked up
 * in those of the dump's process.
 */
enum { CAIRN_NO_SPACE = -1 };

/* The number of these maps, from 0. They may be freed afterwards. */
CAIRN_API int cairn_resolver_add_maps(struct cairn_resolver *resolver,
                                      const struct cairn_maps *maps, int *ret_space,
                                      struct cairn_err *err);

/* One frame of a dump with its names. Borrowed until the next call on the same resolver. */
struct cairn_resolved_frame {
    size_t size;
    uint64_t va;            /* without the bits that sign or tag it; 0: unknown */
    const char *path;       /* of the mapping or the file; "": none, or memory without a file */
    uint64_t off;           /* in that file, of the address itself, not of what was looked up */
    int has_place;          /* nonzero: `path` and `off` are known */
    int is_garbage;         /* nonzero: there are maps, and no executable mapping holds it */
    enum cairn_cause cause; /* CAIRN_CAUSE_NONE: it has names */
    uint32_t n_lines;       /* all but the last are inlined into the next */
    const struct cairn_symbol_frame *lines;
};

/* Names frame `index` of a dump. User frames are looked up in the maps of number `space`;
 * CAIRN_NO_SPACE: by the file and offset that the log gives. Kernel frames get lines and inline
 * frames by `vmlinux` and the files of kernel modules in the symbol folders; bare addresses are
 * named by `kallsyms`. CAIRN_E_NOMEM. */
CAIRN_API int cairn_resolver_klog_frame(struct cairn_resolver *resolver,
                                        const struct cairn_klog_dump *dump, size_t index, int space,
                                        struct cairn_resolved_frame *ret_frame,
                                        struct cairn_err *err);

/* Is this number the one of maps with executable mappings? */
CAIRN_API int cairn_resolver_has_code(const struct cairn_resolver *resolver, int space);

/* Adds a dump to a profile as one sample of the type "samples": its first `n_frames` frames, named,
 * and the labels pid, tid, comm, tag, time and what else the log says. */
CAIRN_API int cairn_resolver_klog_sample(struct cairn_resolver *resolver,
                                         const struct cairn_klog_dump *dump, size_t n_frames,
                                         int space, struct cairn_profile *profile,
                                         struct cairn_err *err);

#ifdef __cplusplus
}
#endif
#endif /* CAIRN_RESOLVE_H */
