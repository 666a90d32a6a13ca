/* SPDX-License-Identifier: MIT */
/*
 * Import walk: the copied stacks of a recording, walked by the unwind information of the files that
 * were mapped when they were copied.
 *
 *     registers ─► cursor over ┬─ the copy                    ─► frames
 *                              └─ the files that are mapped
 */
#ifndef CAIRN_IMPORT_WALK_H
#define CAIRN_IMPORT_WALK_H

#include "import/files.h"
#include "profile/profile.h"

enum { CAIRN_IMPORT_CUT_BYTES = 320 };

struct cairn_import_walker {
    struct cairn_import_files files;
    struct cairn_copied copied;
    /* Of the walk that runs. */
    const struct cairn_stream *stream;
    const struct cairn_stream_copy *copy;
    /* What came of it. */
    struct cairn_stream_frame frames[CAIRN_MAX_FRAMES];
    size_t n;
    char cut[CAIRN_IMPORT_CUT_BYTES];
};

/* `walker` stays where it is. */
int cairn_import_walker_init(struct cairn_import_walker *walker,
                             const struct cairn_unwind_opts *opts, struct cairn_err *err);
void cairn_import_walker_done(struct cairn_import_walker *walker);

/* A cairn_stream_walk_fn; `ctx` is a walker. */
int cairn_import_walk(void *ctx, const struct cairn_stream *stream,
                      const struct cairn_stream_space *space, const struct cairn_stream_copy *copy,
                      struct cairn_stream_walk *ret_walk);

#endif /* CAIRN_IMPORT_WALK_H */
