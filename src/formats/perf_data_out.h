/* SPDX-License-Identifier: MIT */
/*
 * Perf data out: records of a perf.data on their way to a file, little-endian.
 *
 * A header says how long the data is, and a file that is written front to back has it first: the
 * same records are made twice, and only counted in the first pass.
 */
#ifndef CAIRN_FORMATS_PERF_DATA_OUT_H
#define CAIRN_FORMATS_PERF_DATA_OUT_H

#include <cairn/profile.h>

#include "base/buffer.h"

enum { CAIRN_PERF_DATA_OUT_RECORD_MAX = 65528 }; /* bytes: a header has 16 bits for them */

struct cairn_perf_data_out {
    struct cairn_buffer bytes; /* not yet handed over */
    size_t record;             /* where the record that is made begins in `bytes` */
    uint64_t n_bytes;          /* handed over, or counted */
    cairn_write_fn write;
    void *ctx;
    bool only_counts;
    bool refused; /* `write` failed: nothing more is written */
};

/* A text with its NUL, up to the next multiple of `align` bytes. */
void cairn_perf_data_put_text(struct cairn_buffer *b, const char *text, size_t align);

/* The header of a record, whose fields go to `bytes`; its end sets the size. */
void cairn_perf_data_out_begin(struct cairn_perf_data_out *out, uint32_t type, uint16_t misc);
void cairn_perf_data_out_end(struct cairn_perf_data_out *out);

/* Hands over what there is. */
void cairn_perf_data_out_flush(struct cairn_perf_data_out *out);

#endif /* CAIRN_FORMATS_PERF_DATA_OUT_H */
