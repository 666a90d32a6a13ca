/* SPDX-License-Identifier: MIT */
/*
 * Perf data: what the parts of the reader of perf.data share.
 *
 *     header ─► attributes, names, build IDs
 *     data ─► records ─► order of time ─► struct cairn_stream
 *
 * What is damaged or unknown is left out and counted, as far as what follows can still be found.
 */
#ifndef CAIRN_FORMATS_PERF_DATA_H
#define CAIRN_FORMATS_PERF_DATA_H

#include "base/zstd_stream.h"
#include "formats/perf_data_deferred.h"
#include "formats/perf_data_group.h"
#include "formats/perf_data_joined.h"
#include "formats/perf_data_order.h"
#include "formats/perf_data_sample.h"
#include "formats/perf_data_symbols.h"
#include "formats/perf_data_tracepoint.h"
#include "formats/perf_data_waits.h"
#include "stream/stream.h"

/* What was left out, for the comments of the profile. */
struct cairn_perf_data_counts {
    uint64_t n_unknown;  /* records of types that we do not know */
    uint64_t n_damaged;  /* records that end inside their fields */
    uint64_t n_no_event; /* samples of no event of the file */
    uint64_t n_guest;    /* samples of guests and hypervisors */
    uint64_t n_broken;   /* bytes behind a record whose size is impossible */
    uint64_t broken_at;  /* where that is */
    uint64_t n_missing;  /* bytes of data that the file has not: it was cut off */
};

/* What belongs to one file of several. */
struct cairn_perf_data_part {
    uint64_t skip;                 /* bytes that follow the last record and are none */
    struct cairn_zstd_stream zstd; /* of compressed records, one for all */
    struct cairn_buffer unzipped;  /* their records, as far as they are not done with */
    uint64_t newest;               /* time of its records so far */
    bool is_broken;                /* no record can be found any more */
    bool is_tracing;               /* the bytes to skip are formats of tracepoints */
    struct cairn_buffer tracing;   /* those of them that came so far */
};

void cairn_perf_data_part_done(struct cairn_perf_data_part *part);

struct cairn_perf_data {
    struct cairn_stream stream;
    struct cairn_perf_data_order order;
    struct cairn_perf_data_deferred deferred;
    struct cairn_perf_data_group group;
    struct cairn_perf_data_waits waits;
    struct cairn_perf_data_counts counts;
    struct cairn_perf_data_attr *attrs;
    size_t n_attrs, cap_attrs;
    uint64_t n_ids;           /* numbers of events so far, also equal ones */
    struct cairn_table by_id; /* number of an event -> attribute */
    struct cairn_perf_data_tracepoints tracepoints;
    struct cairn_perf_data_symbols symbols; /* that simpleperf stores */
    struct cairn_perf_data_joined joined;
    bool is_simpleperf;
    bool is_in_init_map;
    struct cairn_perf_data_part part; /* the file that is read */
    uint64_t n_zipped, n_unzipped;    /* bytes so far */
    bool has_no_rounds;               /* a round's end says nothing of other files */
    bool is_unzipping;
    uint16_t machine;                   /* as ELF numbers them: of the recording CPU; 0: unknown */
    bool swap;                          /* written on a CPU of the other byte order */
    uint64_t wall_ns, clock_ns;         /* one moment by two clocks; 0: unknown */
    struct cairn_perf_data_chain chain; /* too large for a stack */
};

/* An attribute with the numbers of its events. CAIRN_E_FORMAT where it is too short. */
int cairn_perf_data_add_attr(struct cairn_perf_data *d, struct cairn_span attr,
                             struct cairn_span ids, struct cairn_err *err);

/* What the records of a pipe say of events, behind their header. Of damaged ones nothing. */
int cairn_perf_data_take_attr(struct cairn_perf_data *d, struct cairn_span body,
                              struct cairn_err *err);
int cairn_perf_data_take_update(struct cairn_perf_data *d, struct cairn_span body,
                                struct cairn_err *err);

/* The attribute of an event's number; NULL: there is none. */
struct cairn_perf_data_attr *cairn_perf_data_attr_of(struct cairn_perf_data *d, uint64_t id);

/* One feature of the header; what of it is damaged is left out. */
int cairn_perf_data_feature(struct cairn_perf_data *d, unsigned feature, struct cairn_span bytes,
                            struct cairn_err *err);

/* The feature META_INFO of simpleperf. */
int cairn_perf_data_meta(struct cairn_perf_data *d, struct cairn_span bytes, struct cairn_err *err);

/* One entry of a build ID, behind the record's header. */
int cairn_perf_data_add_build_id(struct cairn_perf_data *d, uint16_t misc, struct cairn_span body,
                                 struct cairn_err *err);

/* Records of the data, as many as are whole; `off` is where in the file they begin. `*ret_used`
 * bytes of them are done with. */
int cairn_perf_data_records(struct cairn_perf_data *d, struct cairn_span bytes, uint64_t off,
                            size_t *ret_used, struct cairn_err *err);

/* A record whose turn has come. */
int cairn_perf_data_event(struct cairn_perf_data *d, struct cairn_span record,
                          struct cairn_err *err);

/* What waits for its user side gets none. */
int cairn_perf_data_end_deferred(struct cairn_perf_data *d, struct cairn_err *err);

/* All that waits goes out, and the profile is complete. */
int cairn_perf_data_finish(struct cairn_perf_data *d, struct cairn_err *err);

void cairn_perf_data_done(struct cairn_perf_data *d);

#endif /* CAIRN_FORMATS_PERF_DATA_H */
