/* SPDX-License-Identifier: MIT */
/* Perf data file: bytes of a perf.data, and of the files beside it, where they are wanted. */
#ifndef CAIRN_FORMATS_PERF_DATA_FILE_H
#define CAIRN_FORMATS_PERF_DATA_FILE_H

#include "formats/format.h"
#include "formats/perf_data.h"

struct cairn_perf_data_section {
    uint64_t off, size;
};

/* As a whole in memory, or read where it is wanted. */
struct cairn_perf_data_file {
    struct cairn_format_input input;
    struct cairn_span whole;   /* without input.read_at */
    struct cairn_buffer piece; /* what was read last */
};

struct cairn_perf_data_section cairn_perf_data_section_of(struct cairn_reader *r);

/* As many as there are of the `size` bytes at `off`, borrowed until the next call. */
int cairn_perf_data_read_piece(struct cairn_perf_data_file *file, uint64_t off, size_t size,
                               struct cairn_span *ret_bytes, struct cairn_err *err);

/* A copy of a section in `ret_bytes`: 1. One that is longer than the file, or than a limit, is not
 * read: 0. Else a failure. */
int cairn_perf_data_read_section(struct cairn_perf_data_file *file,
                                 struct cairn_perf_data_section section,
                                 struct cairn_buffer *ret_bytes, struct cairn_err *err);

/* All records: of the data, and of the files beside it (perf record --threads), whose records are
 * read side by side. */
int cairn_perf_data_read_data(struct cairn_perf_data *d, struct cairn_perf_data_file *file,
                              struct cairn_perf_data_section data, struct cairn_err *err);

#endif /* CAIRN_FORMATS_PERF_DATA_FILE_H */
