/* SPDX-License-Identifier: MIT */
/*
 * Frames: names for stacks while they are recorded. The recording stays raw; a second profile has
 * its frames with names and nothing else.
 */
#ifndef CAIRN_TRACE_NAMES_H
#define CAIRN_TRACE_NAMES_H

#include <cairn/resolve.h>

#include "base/table.h"
#include "profile/profile.h"

struct cairn_trace_names {
    struct cairn_profile *named;
    struct cairn_resolver *resolver;
    const struct cairn_symbolizer_opts *symbols; /* borrowed */
    int pid;                                     /* whose root has the files; 0: of several */
    size_t n_files;                              /* that the resolver knows */
    struct cairn_table by_frame;                 /* frame of the recording -> frame of `named` */
    size_t n_named;                              /* frames of `named` that were resolved */
};

void cairn_trace_names_done(struct cairn_trace_names *frames);

/* Copies the frames of a stack of `raw` that are not there yet. CAIRN_OK or CAIRN_E_NOMEM. */
int cairn_trace_names_add(struct cairn_trace_names *frames, const struct cairn_profile *raw,
                          uint32_t stack);

/* Names what was added since; `fds` as of cairn_sampler_files(). */
int cairn_trace_names_name(struct cairn_trace_names *frames, const int *fds, size_t n_fds,
                           struct cairn_err *err);

/* A resolver for the whole recording, for the caller to free. */
int cairn_trace_names_open_resolver(const struct cairn_trace_names *frames, const int *fds,
                                    size_t n_fds, struct cairn_resolver **ret_resolver,
                                    struct cairn_err *err);

#endif /* CAIRN_TRACE_NAMES_H */
