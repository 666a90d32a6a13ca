/* SPDX-License-Identifier: MIT */
/*
 * Import: a profile of what another tool recorded. The same as cairn_profile_read(), but it also
 * opens files: a recording with copies of stacks (perf record --call-graph dwarf) needs the modules
 * that were mapped.
 *
 * Threads: calls are independent.
 */
#ifndef CAIRN_IMPORT_H
#define CAIRN_IMPORT_H

#include <cairn/profile.h>
#include <cairn/unwind.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is kept of each sample that samples are usually summed without: bits. */
enum cairn_import_keep {
    CAIRN_IMPORT_TIMES = 1,     /* the label "cairn.time_ns" */
    CAIRN_IMPORT_CPUS = 2,      /* the label "cpu" */
    CAIRN_IMPORT_PROCESSES = 4, /* the labels "pid" and "process" */
    CAIRN_IMPORT_BIRTHS = 8     /* of heap files: blocks that live have times, of their birth */
};

/* All-zero but for the size, and NULL, is fine. */
struct cairn_import_opts {
    size_t size;                           /* of this struct */
    enum cairn_format format;              /* CAIRN_FORMAT_AUTO: by the bytes */
    const struct cairn_unwind_opts *files; /* where modules are looked for; NULL: on this machine */
    /* Bytes of the input from `off` on: how many came, fewer than `size` at its end alone; negative
     * for failure. NULL: a recording that is no pipe's is held in memory as a whole. */
    long (*read_at)(void *ctx, uint64_t off, void *buf, size_t size);
    const char *folder; /* of perf record --threads, whose file "data" is the input: "data.0", ...
                           beside it are read, too. NULL: none */
    unsigned keeps;     /* of enum cairn_import_keep: times and CPUs of perf.data and text of perf
                           script, processes and births of heap files. A sample with a time is a
                           row of its own, so that memory follows their number */
};

/* CAIRN_E_FORMAT, CAIRN_E_LIMIT, CAIRN_E_IO, CAIRN_E_NOMEM as of cairn_profile_read(). `ctx` is
 * that of `read` and of `read_at`. A module whose file is missing, or of another build, costs the
 * callers behind it: their stacks say so. */
CAIRN_API int cairn_import_profile(cairn_read_fn read, void *ctx,
                                   const struct cairn_import_opts *opts,
                                   struct cairn_profile **ret_profile, struct cairn_err *err);

#ifdef __cplusplus
}
#endif
#endif /* CAIRN_IMPORT_H */
