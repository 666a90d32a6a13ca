/* SPDX-License-Identifier: MIT */
/*
 * Packed run: rows of a profile as bytes, in the order of their paths (frames from the root on, a
 * path before those that go on from it), each path told by what it has not in common with the one
 * before it. All numbers are ULEB128, values zigzagged before (as protobuf's sint64).
 *
 *     path: n_same n_new frame... n_rows row...        row: label set, values
 *
 * A value but the first is told by how far it is from the first one times the period: of samples by
 * CPU time it is 0.
 */
#ifndef CAIRN_PROFILE_PACKED_RUN_H
#define CAIRN_PROFILE_PACKED_RUN_H

#include "base/buffer.h"
#include "profile/profile.h"

/* What the values in a run are. */
struct cairn_packed_kind {
    size_t n_types;
    int64_t period;
};

struct cairn_packed_run {
    struct cairn_buffer bytes;
    size_t n_rows;
    size_t n_nodes; /* of the tree that the paths make; without its root */
};

/* A path with its rows, in the order of their label sets, each once. Owned; all-zero is empty. */
struct cairn_packed_path {
    uint32_t *frames; /* numbers of the profile */
    size_t n, cap;
    size_t n_same; /* of them: as in the path before */
    uint32_t *labels;
    int64_t *values; /* n_rows times n_types */
    size_t n_rows, cap_labels, cap_values;
};

void cairn_packed_path_done(struct cairn_packed_path *path);

/* Adds a row, wherever; CAIRN_OK or CAIRN_E_NOMEM. */
int cairn_packed_path_add(struct cairn_packed_path *path, const struct cairn_packed_kind *kind,
                          uint32_t labels, const int64_t *values);

/* Brings the rows into their order, and equal ones together. */
void cairn_packed_path_sort(struct cairn_packed_path *path, const struct cairn_packed_kind *kind);

/* Appends a path behind all that are there; what is in `n_same` is not asked for. False where
 * memory is gone: the run is of no use then. */
struct cairn_packed_writer {
    struct cairn_packed_kind kind;
    struct cairn_packed_run run;
    uint32_t *frames; /* of the path before */
    size_t n, cap;
};
bool cairn_packed_write(struct cairn_packed_writer *writer, const struct cairn_packed_path *path);

/* Hands the run out, in no more memory than it needs; `writer` is done. */
void cairn_packed_writer_end(struct cairn_packed_writer *writer, struct cairn_packed_run *ret_run);
void cairn_packed_writer_done(struct cairn_packed_writer *writer); /* all-zero is fine */

struct cairn_packed_reader {
    struct cairn_packed_kind kind;
    struct cairn_span bytes;
    size_t pos;
    struct cairn_packed_path path; /* the one that was read last */
};

static inline struct cairn_packed_reader
cairn_packed_reader_of(const struct cairn_packed_kind *kind, const struct cairn_packed_run *run)
{
    return (struct cairn_packed_reader){.kind = *kind, .bytes = cairn_buffer_span(&run->bytes)};
}

/* 1: there is one more; 0: the end; CAIRN_E_NOMEM. */
int cairn_packed_read(struct cairn_packed_reader *reader);
void cairn_packed_reader_done(struct cairn_packed_reader *reader); /* all-zero is fine */

void cairn_packed_run_done(struct cairn_packed_run *run);

/* All of both. CAIRN_OK or CAIRN_E_NOMEM. */
int cairn_packed_merge(const struct cairn_packed_kind *kind, const struct cairn_packed_run *a,
                       const struct cairn_packed_run *b, struct cairn_packed_run *ret_run);

/* The same rows with other label sets, by the number of before. CAIRN_OK or CAIRN_E_NOMEM. */
int cairn_packed_relabel_run(const struct cairn_packed_kind *kind,
                             const struct cairn_packed_run *run, const uint32_t *new_of,
                             struct cairn_packed_run *ret_run);

#endif /* CAIRN_PROFILE_PACKED_RUN_H */
