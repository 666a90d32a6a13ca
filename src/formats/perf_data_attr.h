/* SPDX-License-Identifier: MIT */
/*
 * Perf data attributes: struct perf_event_attr as a file has it, which says what its records hold.
 *
 * Source: Linux, include/uapi/linux/perf_event.h, 2.6.34 (64 bytes) to 6.19 (144 bytes). Files are
 * of either byte order: the bits of the flags are numbered here in the order of their declarations.
 */
#ifndef CAIRN_FORMATS_PERF_DATA_ATTR_H
#define CAIRN_FORMATS_PERF_DATA_ATTR_H

#include "base/reader.h"

enum {
    CAIRN_PERF_DATA_ATTR_MIN = 64,   /* bytes of the first version */
    CAIRN_PERF_DATA_ATTR_MAX = 4096, /* more is no attribute */
    CAIRN_PERF_DATA_NAME_BYTES = 128,
    CAIRN_PERF_DATA_AT_MAX_STACK = 108 /* where max_stack is */
};

enum cairn_perf_data_flag {
    CAIRN_PERF_DATA_INHERIT = 1,
    CAIRN_PERF_DATA_MMAP = 8,
    CAIRN_PERF_DATA_COMM = 9,
    CAIRN_PERF_DATA_FREQ = 10,
    CAIRN_PERF_DATA_TASK = 13,
    CAIRN_PERF_DATA_SAMPLE_ID_ALL = 18,
    CAIRN_PERF_DATA_MMAP2 = 23,
    CAIRN_PERF_DATA_USE_CLOCK_ID = 25,
    CAIRN_PERF_DATA_SWITCHES = 26,
};

enum cairn_perf_data_type {
    CAIRN_PERF_DATA_TYPE_HARDWARE,
    CAIRN_PERF_DATA_TYPE_SOFTWARE,
    CAIRN_PERF_DATA_TYPE_TRACEPOINT,
    CAIRN_PERF_DATA_TYPE_CACHE,
    CAIRN_PERF_DATA_TYPE_RAW,
    CAIRN_PERF_DATA_TYPE_BREAKPOINT
};

enum {
    CAIRN_PERF_DATA_N_HARDWARE = 10, /* events that have a name */
    CAIRN_PERF_DATA_N_SOFTWARE = 12,
    CAIRN_PERF_DATA_CONTEXT_SWITCHES = 3, /* of the software */
    CAIRN_PERF_DATA_DUMMY = 9,            /* it counts nothing */
    CAIRN_PERF_DATA_CGROUP_SWITCHES = 11
};

/* Bits of sample_type, by number. */
enum cairn_perf_data_field {
    CAIRN_PERF_DATA_IP,
    CAIRN_PERF_DATA_TID,
    CAIRN_PERF_DATA_TIME,
    CAIRN_PERF_DATA_ADDR,
    CAIRN_PERF_DATA_READ,
    CAIRN_PERF_DATA_CALLCHAIN,
    CAIRN_PERF_DATA_ID,
    CAIRN_PERF_DATA_CPU,
    CAIRN_PERF_DATA_PERIOD,
    CAIRN_PERF_DATA_STREAM_ID,
    CAIRN_PERF_DATA_RAW,
    CAIRN_PERF_DATA_BRANCH_STACK,
    CAIRN_PERF_DATA_REGS_USER,
    CAIRN_PERF_DATA_STACK_USER,
    CAIRN_PERF_DATA_WEIGHT,
    CAIRN_PERF_DATA_DATA_SRC,
    CAIRN_PERF_DATA_IDENTIFIER,
    CAIRN_PERF_DATA_TRANSACTION,
    CAIRN_PERF_DATA_REGS_INTR,
    CAIRN_PERF_DATA_PHYS_ADDR,
    CAIRN_PERF_DATA_AUX,
    CAIRN_PERF_DATA_CGROUP,
    CAIRN_PERF_DATA_DATA_PAGE_SIZE,
    CAIRN_PERF_DATA_CODE_PAGE_SIZE,
    CAIRN_PERF_DATA_WEIGHT_STRUCT,
    CAIRN_PERF_DATA_N_FIELDS
};

struct cairn_perf_data_attr {
    uint32_t type;
    uint64_t config, sample_period, sample_type, read_format, flags, branch_type;
    uint64_t regs_user, regs_intr; /* masks */
    uint16_t max_stack;            /* frames of a chain; 0: what the kernel's setting says */
    uint32_t name, unit;           /* texts of the profile; 0: the file does not say */
    bool is_scaled;                /* values are to be multiplied to be of the unit */
    bool is_switch;                /* its samples are of threads that leave their CPU */
    uint32_t event;                /* of the stream; UINT32_MAX: no sample of it was met yet */
};

static inline bool cairn_perf_data_has(const struct cairn_perf_data_attr *attr,
                                       enum cairn_perf_data_field field)
{
    return attr->sample_type >> field & 1;
}

static inline bool cairn_perf_data_flag(const struct cairn_perf_data_attr *attr,
                                        enum cairn_perf_data_flag flag)
{
    return attr->flags >> flag & 1;
}

/* Is it a clock, whose periods are nanoseconds? */
bool cairn_perf_data_is_clock(const struct cairn_perf_data_attr *attr);

/* What of an attribute is there; fields that it is too short for are 0. False: shorter than the
 * first version. */
bool cairn_perf_data_attr_parse(struct cairn_span bytes, bool swap,
                                struct cairn_perf_data_attr *ret_attr);

/* The name that perf has for the event, where the file says none. */
void cairn_perf_data_attr_name(const struct cairn_perf_data_attr *attr,
                               char name[CAIRN_PERF_DATA_NAME_BYTES]);

/* Where a sample has its event's number, from the end of its header; -1: it has none. */
int cairn_perf_data_id_in_sample(const struct cairn_perf_data_attr *attr);

/* What ends each record that is no sample. */
struct cairn_perf_data_trailer {
    uint64_t time, id;
    int tid;
    bool has_time, has_id, has_tid;
    size_t size; /* bytes; 0: there is none */
};
struct cairn_perf_data_trailer cairn_perf_data_trailer_of(const struct cairn_perf_data_attr *attr,
                                                          struct cairn_span body, bool swap);

#endif /* CAIRN_FORMATS_PERF_DATA_ATTR_H */
