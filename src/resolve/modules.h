/* SPDX-License-Identifier: MIT */
/*
 * The modules that addresses were looked up in, each found once and counted. A module is known by
 * its path and its build ID; memory that is no file ("[vdso]", "") is a module without files.
 */
#ifndef CAIRN_RESOLVE_MODULES_H
#define CAIRN_RESOLVE_MODULES_H

#include <cairn/resolve.h>

#include "base/module_kind.h"
#include "base/strings.h"
#include "base/table.h"
#include "resolve/kernel.h"

enum {
    CAIRN_MODULES_MAX = 16384, /* what a text can make up; the rest is not looked for */
    CAIRN_KERNELS_MAX = 16,    /* of one profile */
};

/* How an address in memory becomes one to look up. */
enum cairn_known_kind {
    CAIRN_KNOWN_FILE,  /* by program headers */
    CAIRN_KNOWN_LIST,  /* it is one already */
    CAIRN_KNOWN_KERNEL /* it is one already, of `kernel` */
};

struct cairn_known_module {
    const char *path, *build_id; /* borrowed from `strings`; "" where there is none */
    struct cairn_module *module; /* NULL: `missing` says why */
    enum cairn_known_kind kind;
    enum cairn_module_kind module_kind;
    struct cairn_kernel kernel;
    enum cairn_cause missing; /* CAIRN_CAUSE_NONE once it was found */
    bool deleted;             /* the maps say that the file was removed or replaced */
    bool is_by_path;          /* its file was found by its path, or by its build ID */
    bool warned;              /* of the causes, once the input has ended */
    bool told_stripped;       /* and that it is stripped */
    uint64_t weight;          /* of samples whose innermost frame without a name is in it */
    uint64_t n_unique, n_unique_named, unique_by_cause[CAIRN_N_CAUSES];
};

struct cairn_known_kernel {
    uint32_t path, build_id; /* strings */
    uint64_t text;
    struct cairn_known_module *known;
};

struct cairn_build_id {
    uint32_t path, id; /* strings */
};

struct cairn_modules {
    struct cairn_symbolizer *symbolizer;
    struct cairn_kernel_sources kernel;
    struct cairn_known_kernel kernels[CAIRN_KERNELS_MAX];
    size_t n_kernels;
    const char *kernel_release; /* as the profile says; NULL: unknown. Borrowed */
    bool is_of_here;            /* the profile says that it is of this host; */
    bool is_elsewhere; /* the profile says that it is of another host: a path alone is no proof */
    struct cairn_module *vdso; /* of this machine; NULL: not asked for, or there is none */
    bool asked_vdso;
    struct cairn_strings strings;
    struct cairn_arena arena; /* the modules */
    struct cairn_known_module **list;
    size_t n, cap;
    struct cairn_table by_key;       /* path and build ID, as numbers of strings */
    struct cairn_table by_file;      /* held open: hash of device, inode and path -> in `list` */
    struct cairn_known_module *rest; /* stands for all beyond the limit; NULL: not reached */
    struct cairn_build_id *build_ids;
    size_t n_build_ids, cap_build_ids;
    size_t n_warned;
    const char *root; /* below which files were looked for; NULL: none. In `strings` */
    int pid;          /* whose files may be read though they are gone; 0: nobody's */
    bool is_live;     /* of processes that run, or did a moment ago */
};

/* All-zero with `symbolizer` set is an empty list. Frees the symbolizer too. */
void cairn_modules_done(struct cairn_modules *m);

/* Lines "BUILD-ID PATH"; empty ones and those that begin with '#' say nothing. CAIRN_E_FORMAT with
 * the number of the line that is none of these. */
int cairn_modules_read_build_ids(struct cairn_modules *m, const char *text, struct cairn_err *err);

/* The module of that path; looks for its files the first time. `build_id` is a string, 0: what the
 * list of build IDs says. Only lack of memory fails. */
int cairn_modules_get(struct cairn_modules *m, uint32_t path, uint32_t build_id,
                      struct cairn_known_module **ret_module, struct cairn_err *err);

/* Where its file was not found, but the process has it mapped at [start, end) still: takes it from
 * there, unless it is of another build. Only lack of memory fails. */
int cairn_modules_open_mapped(struct cairn_modules *m, struct cairn_known_module *known,
                              uint64_t start, uint64_t end, struct cairn_err *err);

/* The module of that path, of which `fd` is a file that was held open: it is what is meant where
 * the path leads to another one, unless it is of another build. Only lack of memory fails. */
int cairn_modules_get_held(struct cairn_modules *m, uint32_t path, uint32_t build_id, int fd,
                           struct cairn_known_module **ret_module, struct cairn_err *err);

/* A module without files yet, in the list; NULL: memory is gone. */
struct cairn_known_module *cairn_modules_add(struct cairn_modules *m, const char *path,
                                             const char *build_id, struct cairn_err *err);

/* The module of a kernel, known by its path, its build ID and where _text was (0: unknown). */
int cairn_modules_get_kernel(struct cairn_modules *m, uint32_t path, uint32_t build_id,
                             uint64_t text, struct cairn_known_module **ret_module,
                             struct cairn_err *err);

/* Adds a module whose names come from a list, as a perf map. `path` is copied. */
int cairn_modules_add_list(struct cairn_modules *m, const char *path, struct cairn_module *module,
                           struct cairn_known_module **ret_module, struct cairn_err *err);

/* Counts one address; `cause` is CAIRN_CAUSE_NONE where it got a name. */
void cairn_modules_count(struct cairn_known_module *module, enum cairn_cause cause);

/* The input has ended: a warning a module and cause, and with INFO how each module fared. */
void cairn_modules_report(struct cairn_modules *m);

/* Is `weight` of use: is there more than one stripped module that is about to be reported? */
bool cairn_modules_want_weights(const struct cairn_modules *m);

/* After all other messages: where the debug files of stripped modules can be had, the heaviest
 * module first, each once: five lines, and one for all others. */
void cairn_modules_report_stripped(struct cairn_modules *m);

#endif /* CAIRN_RESOLVE_MODULES_H */
