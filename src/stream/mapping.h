/* SPDX-License-Identifier: MIT */
/* Stream mapping: what an event says of a mapping, and what is kept of that. */
#ifndef CAIRN_STREAM_MAPPING_H
#define CAIRN_STREAM_MAPPING_H

#include "stream/space.h"

/* As the kernel, /proc or a recording describes it. */
struct cairn_stream_mapping {
    int pid; /* of the kernel's it does not matter */
    uint64_t start, size, off;
    uint64_t dev, inode;        /* 0: unknown */
    struct cairn_span build_id; /* raw bytes; empty or zeros: unknown */
    const char *path;           /* "[vdso]", "//anon", "/bin/x (deleted)" */
    bool is_kernel;
};

/* The text of a build ID in a profile; 0: it is unknown. UINT32_MAX: memory is gone. */
uint32_t cairn_stream_build_id_text(struct cairn_profile *profile, struct cairn_span build_id);

/* An impossible range ends where it starts, or before. CAIRN_OK or CAIRN_E_NOMEM. */
int cairn_stream_mapping_take(struct cairn_profile *profile,
                              const struct cairn_stream_mapping *mapping,
                              struct cairn_stream_map *ret_map);

/* Lays it over what a process has; 1, 0 or CAIRN_E_NOMEM as of cairn_stream_space_lay(). */
int cairn_stream_space_map(struct cairn_stream_space *space, struct cairn_profile *profile,
                           const struct cairn_stream_mapping *mapping,
                           struct cairn_stream_load *load);

#endif /* CAIRN_STREAM_MAPPING_H */
