/* SPDX-License-Identifier: MIT */
/*
 * Reading pprof, what its parts share:
 *
 *     pprof.c           the order of things; string table, value types, what stands once in a file
 *     pprof_message.c   the fields of one message, held against what they must be
 *     pprof_tables.c    functions, mappings, locations, by the ids of the file
 *     pprof_samples.c   samples, their stacks and labels
 */
#ifndef CAIRN_FORMATS_PPROF_READ_H
#define CAIRN_FORMATS_PPROF_READ_H

#include "base/error.h"
#include "formats/pprof.h"
#include "formats/protobuf.h"
#include "profile/profile.h"

/* What a location of the file is until a sample says how it was found. */
struct cairn_pprof_found {
    struct cairn_profile_frame frame;
    uint32_t first_line, n_lines; /* in `lines` */
};

struct cairn_pprof_reading {
    struct cairn_profile *p;
    struct cairn_span bytes;
    struct cairn_err *err;
    size_t at;                  /* where the message of the profile begins that is being read */
    struct cairn_span *strings; /* the file's table */
    size_t n_strings, cap_strings;
    uint32_t *texts; /* numbers in the profile; UINT32_MAX: not asked for yet */
    struct cairn_table functions, modules, locations; /* by id of the file */
    struct cairn_pprof_found *found;                  /* what `locations` has the numbers of */
    size_t n_found, cap_found;
    struct cairn_profile_line *lines;
    size_t n_lines, cap_lines;
    struct cairn_table frames; /* number in `found` << 8 | kind -> frame */
    uint64_t *ids;             /* of one sample, leaf first */
    size_t cap_ids;
    struct cairn_profile_label labels[CAIRN_PROFILE_LABELS_MAX]; /* of one sample */
};

/* Every failure names the message of the profile that it is in, by its place in the unzipped file.
 */
#define CAIRN_PPROF_FAIL(r, code, format, ...)                                                     \
    cairn_fail((r)->err, (code), "pprof: byte 0x%zx: " format, (r)->at, ##__VA_ARGS__)

/* What the fields of one message must be: numbers, but for those in the masks. */
struct cairn_pprof_shape {
    const char *what;
    uint32_t known, bytes, numbers; /* bit n: field n; `numbers` may be packed into bytes */
};

#define CAIRN_PPROF_BIT(field) (1u << (field))

/* Has the field the wire type that it must have? Those of later versions may have any. */
bool cairn_pprof_fits(const struct cairn_pb_field *field, const struct cairn_pprof_shape *shape);

/* What is done with each field of one message; a negative code ends it and comes back. */
typedef int (*cairn_pprof_field_fn)(struct cairn_pprof_reading *r,
                                    const struct cairn_pb_field *field, void *ctx);
int cairn_pprof_each_field(struct cairn_pprof_reading *r, struct cairn_span message,
                           const struct cairn_pprof_shape *shape, cairn_pprof_field_fn fn,
                           void *ctx);

/* The same for the numbers of a field that may be packed; `what` has the field. */
typedef int (*cairn_pprof_number_fn)(struct cairn_pprof_reading *r, uint64_t number, void *ctx);
int cairn_pprof_each_number(struct cairn_pprof_reading *r, const struct cairn_pb_field *field,
                            const char *what, cairn_pprof_number_fn fn, void *ctx);

/* The profile's number for text `index` of the file. */
int cairn_pprof_text(struct cairn_pprof_reading *r, uint64_t index, uint32_t *ret_number);

/* Each takes the fields of the profile that it is for and passes over all others: functions and
 * mappings come before the locations that name them, those before the samples. */
int cairn_pprof_add_table(struct cairn_pprof_reading *r, const struct cairn_pb_field *field,
                          void *ctx);
int cairn_pprof_add_location(struct cairn_pprof_reading *r, const struct cairn_pb_field *field,
                             void *ctx);
int cairn_pprof_add_sample(struct cairn_pprof_reading *r, const struct cairn_pb_field *field,
                           void *ctx);

#endif /* CAIRN_FORMATS_PPROF_READ_H */
