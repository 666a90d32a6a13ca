/* SPDX-License-Identifier: MIT */
/* `cairn resolve` of a kernel log: what is asked for, and the forms of the answer. */
#ifndef CAIRN_CLI_KLOG_H
#define CAIRN_CLI_KLOG_H

#include <stdbool.h>

#include <cairn/klog.h>
#include <cairn/resolve.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/table.h"
#include "cli/args.h"
#include "cli/source.h"
#include "cli/term.h"

/* What the options say. */
struct cli_klog_opts {
    struct cli_list maps; /* FILE, PID=FILE, or a folder */
    int pid;              /* 0: all */
    const char *tag;      /* NULL: all */
    const char *since, *until;
    bool live, annotate, follow;
    bool user_only; /* the command line of the script before us: user stacks alone */
    bool json;
    bool force;
    const char *out; /* NULL: stdout */
};

/* A piece of text that was made before. */
struct cli_klog_text {
    const char *text;
    uint32_t size;
    bool is_garbage;
};

/* The maps of one process, or of all where its pid is 0. */
struct cli_klog_maps {
    int pid;
    int space;
};

struct cli_klog_folder {
    const char *path;
};

/* One run. */
struct cli_klog {
    const struct cli_klog_opts *opts;
    struct cairn_resolver *resolver;
    const char *name; /* of the log, for messages */
    struct cli_output *output;
    struct cairn_buffer out;
    struct cairn_profile *profile; /* NULL: text */
    struct cli_klog_maps *maps;
    size_t n_maps, cap_maps;
    struct cli_klog_folder *folders;
    size_t n_folders, cap_folders;
    struct cairn_table spaces; /* pid -> number of its maps + 1; 0: it has none */
    struct cairn_table texts;  /* hash of a frame -> index in `known` */
    struct cli_klog_text *known;
    size_t n_known, cap_known;
    struct cairn_arena arena;
    uint64_t since_us, until_us; /* 0 and UINT64_MAX: no bound */
    bool is_date;
    uint64_t n_shown, n_user, n_user_mapped; /* dumps; those with user frames; those with maps */
    struct cairn_err *err;
    int code;
};

/* Reads a log to its end and writes what the options ask for. CAIRN_E_MISSING: it has no such
 * dump, or no mapping serves. */
int cli_klog_run(const struct cli_klog_opts *opts, struct cairn_resolver *resolver,
                 struct cli_source *source, struct cairn_err *err);

/* klog_maps.c: sorts the arguments of --maps; then the number of a dump's maps, or
 * CAIRN_NO_SPACE. */
int cli_klog_maps_open(struct cli_klog *klog, struct cairn_err *err);
int cli_klog_maps_of(struct cli_klog *klog, const struct cairn_klog_dump *dump, int *ret_space,
                     struct cairn_err *err);

/* klog_text.c, klog_json.c: appends one dump to `klog->out`. */
int cli_klog_put_text(struct cli_klog *klog, const struct cairn_klog_dump *dump, int space,
                      struct cairn_err *err);
int cli_klog_put_json(struct cli_klog *klog, const struct cairn_klog_dump *dump, int space,
                      struct cairn_err *err);

/* klog_frame.c: the line of one frame as text, with line breaks and inline frames; made once. */
int cli_klog_frame(struct cli_klog *klog, const struct cairn_klog_dump *dump, size_t index,
                   int space, struct cli_klog_text *ret_text, struct cairn_err *err);

/* How many of the dump's frames count: a value in no executable mapping ends its user part.
 * `*ret_left` are those behind it. */
int cli_klog_usable(struct cli_klog *klog, const struct cairn_klog_dump *dump, int space,
                    size_t *ret_n, size_t *ret_left, struct cairn_err *err);

/* klog_annotate.c: the log itself, with symbols changed. */
int cli_klog_annotate(struct cli_klog *klog, struct cli_source *source, struct cairn_err *err);

/* Hands the buffer on; with `all` also a small one. */
int cli_klog_drain(struct cli_klog *klog, bool all, struct cairn_err *err);

/* The same, and lets it be seen at once. */
int cli_klog_show(struct cli_klog *klog, struct cairn_err *err);

/* The next bytes; with --follow it waits for them, and calls `idle` when none came for a while.
 * Negative: failed. */
long cli_klog_read(struct cli_klog *klog, struct cli_source *source, void *buf, size_t size,
                   int (*idle)(struct cli_klog *klog, void *ctx, struct cairn_err *err), void *ctx,
                   struct cairn_err *err);

#endif /* CAIRN_CLI_KLOG_H */
