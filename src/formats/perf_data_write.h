/* SPDX-License-Identifier: MIT */
/*
 * Perf data write: what the parts of the writer of perf.data share.
 *
 *     profile ─► events, places, order of samples ─► records, twice ─► header, data, features
 *
 * Each type of values is an event. A sample with such a value is as many records of the event as
 * its value "samples" says; they share the value. A process gets its mappings before the first
 * sample that needs them.
 */
#ifndef CAIRN_FORMATS_PERF_DATA_WRITE_H
#define CAIRN_FORMATS_PERF_DATA_WRITE_H

#include "formats/perf_data_out.h"
#include "formats/perf_data_place.h"

enum {
    CAIRN_PERF_DATA_WRITE_ATTR = 128,       /* bytes of an attribute */
    CAIRN_PERF_DATA_WRITE_EVENTS = 63,      /* as many as a stream takes */
    CAIRN_PERF_DATA_WRITE_FRAMES = 8000,    /* of a chain: a record has 64 KiB */
    CAIRN_PERF_DATA_WRITE_TURNS = 128,      /* between the kernel's and the user's side, likewise */
    CAIRN_PERF_DATA_WRITE_TEXT = 4096,      /* bytes of a name or path in a record, with its NUL */
    CAIRN_PERF_DATA_WRITE_RECORDS = 1 << 22 /* of samples; beyond it a row is one record */
};

struct cairn_perf_data_event_out {
    size_t values; /* the type of values */
    bool has_unit; /* one that attributes cannot say */
    uint32_t type; /* as in struct perf_event_attr */
    uint64_t config;
};

/* What a perf.data has no place for. */
struct cairn_perf_data_left {
    uint64_t n_interpreted, n_no_address, n_inlined; /* frames, inlined calls */
    uint64_t n_cut, n_deep, n_negative;              /* samples */
    size_t n_types;                                  /* of values, beyond the limit */
};

struct cairn_perf_data_writing {
    const struct cairn_profile *p;
    struct cairn_perf_data_out out;
    struct cairn_perf_data_event_out events[CAIRN_PERF_DATA_WRITE_EVENTS];
    size_t n_events;
    size_t samples_type;                  /* of the value "samples"; n_types: there is none */
    bool sums_rows;                       /* there would be too many records */
    bool has_cpus;                        /* a sample says on which CPU it was */
    struct cairn_perf_data_place *places; /* by module */
    uint32_t *order;                      /* of samples, by time */
    uint64_t clock_shift;                 /* times since 1970 less the recorder's */
    uint64_t first_ns, last_ns;           /* of the records, by the recorder's clock */
    uint64_t step_ns;                     /* between records, where no sample has a time */
    struct cairn_perf_data_left left;
    /* Of a pass over the records. */
    struct cairn_table names;  /* tid -> text of the profile */
    struct cairn_table mapped; /* pid and module */
    uint64_t n_records;        /* samples so far */
    uint64_t at_ns;
};

/* The first event's number; the others follow. */
enum { CAIRN_PERF_DATA_WRITE_ID = 1 };

/* As cairn_profile_write(). CAIRN_E_ARG: no frame has an address. */
int cairn_perf_data_write(const struct cairn_profile *profile, cairn_write_fn write, void *ctx,
                          struct cairn_err *err);

/* Is it an address of code? 0 without a name is one, too: what a broken chain ends with. */
bool cairn_perf_data_write_holds(const struct cairn_profile_frame *frame);

/* How many records of an event a sample is. */
uint64_t cairn_perf_data_write_count(const struct cairn_perf_data_writing *writing, size_t row,
                                     size_t event);

/* All records, to `out`; CAIRN_OK or CAIRN_E_NOMEM. */
int cairn_perf_data_write_records(struct cairn_perf_data_writing *writing);

/* Attribute of event `i`. */
void cairn_perf_data_write_attr(const struct cairn_perf_data_writing *writing, size_t i,
                                struct cairn_buffer *to);

/* The table of features, which begins at `off` of the file, and the features. */
void cairn_perf_data_write_features(const struct cairn_perf_data_writing *writing, uint64_t off,
                                    uint64_t ret_bits[4], struct cairn_buffer *to);

/* An event's name. Borrowed. */
const char *cairn_perf_data_write_name(const struct cairn_perf_data_writing *writing, size_t i);

/* The bytes of a build ID in hex, at most `size` of them; how many there are. */
size_t cairn_perf_data_write_build_id(const char *hex, uint8_t *bytes, size_t size);

#endif /* CAIRN_FORMATS_PERF_DATA_WRITE_H */
