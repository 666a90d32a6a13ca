/* SPDX-License-Identifier: MIT */
/*
 * Perf data tracepoint: the formats of the tracepoints that a recording has (TRACING_DATA), and the
 * fields of their samples by them.
 *
 * Source: Linux, tools/perf/util/trace-event-info.c and trace-event-read.c, version 0.6.
 */
#ifndef CAIRN_FORMATS_PERF_DATA_TRACEPOINT_H
#define CAIRN_FORMATS_PERF_DATA_TRACEPOINT_H

#include "base/field.h"
#include "base/table.h"
#include "formats/perf_data_attr.h"
#include "profile/label_list.h"

enum { CAIRN_PERF_DATA_TRACEPOINT_FIELDS = 24 };

struct cairn_perf_data_tracepoint {
    uint32_t name; /* "sched:sched_switch", a text of the profile */
    uint32_t first_field, n_fields;
};

struct cairn_perf_data_tracepoints {
    struct cairn_perf_data_tracepoint *rows;
    size_t n, cap;
    struct cairn_field_line *fields;
    size_t n_fields, cap_fields;
    struct cairn_table by_id; /* number of a tracepoint -> row */
};

void cairn_perf_data_tracepoints_done(struct cairn_perf_data_tracepoints *points);

/* What is damaged, or beyond a limit, is left out. CAIRN_OK or CAIRN_E_NOMEM. */
int cairn_perf_data_tracepoints_read(struct cairn_perf_data_tracepoints *points,
                                     struct cairn_profile *profile, struct cairn_span bytes,
                                     bool swap);

/* The name of a sample's tracepoint, a text, with the fields of its record as labels; what fails is
 * known by the list. 0: it is of no tracepoint whose format is there. */
uint32_t cairn_perf_data_tracepoint_put(const struct cairn_perf_data_tracepoints *points,
                                        const struct cairn_perf_data_attr *attr,
                                        struct cairn_span record, bool swap,
                                        struct cairn_label_list *list);

/* A field of it as a number; false: there is none of that name. */
bool cairn_perf_data_tracepoint_number(const struct cairn_perf_data_tracepoints *points,
                                       const struct cairn_perf_data_attr *attr,
                                       struct cairn_span record, bool swap, const char *name,
                                       uint64_t *ret_value);

#endif /* CAIRN_FORMATS_PERF_DATA_TRACEPOINT_H */
