/* SPDX-License-Identifier: MIT */
/*
 * Perf data numbers: the types and sizes that the reader and the writer of perf.data share.
 *
 * Source: Linux, include/uapi/linux/perf_event.h, tools/perf/util/header.h and
 * tools/lib/perf/include/perf/event.h; AOSP, system/extras/simpleperf.
 */
#ifndef CAIRN_FORMATS_PERF_DATA_NUMBERS_H
#define CAIRN_FORMATS_PERF_DATA_NUMBERS_H

enum {
    PERF_DATA_HEADER_BYTES = 104, /* of a file */
    PERF_DATA_SECTION_BYTES = 16, /* {u64 off, size} */
    PERF_DATA_HEAD_BYTES = 8,     /* of a record: type, misc, size */
    PERF_DATA_BUILD_ID_BYTES = 20
};

/* Types of records. From 64 on they are perf's own; from 32768 on simpleperf's, whose sizes have 32
 * bits. */
enum cairn_perf_data_record {
    PERF_DATA_MMAP = 1,
    PERF_DATA_LOST = 2,
    PERF_DATA_COMM = 3,
    PERF_DATA_EXIT = 4,
    PERF_DATA_FORK = 7,
    PERF_DATA_SAMPLE = 9,
    PERF_DATA_MMAP2 = 10,
    PERF_DATA_LOST_SAMPLES = 13,
    PERF_DATA_SWITCH = 14,
    PERF_DATA_SWITCH_CPU_WIDE = 15,
    PERF_DATA_KSYMBOL = 17,
    PERF_DATA_CALLCHAIN_DEFERRED = 22,
    PERF_DATA_KERNEL_LAST = 22, /* of Linux 6.19 */
    PERF_DATA_USER_FIRST = 64,
    PERF_DATA_ATTR = 64,
    PERF_DATA_TRACING_DATA = 66,
    PERF_DATA_BUILD_ID = 67,
    PERF_DATA_FINISHED_ROUND = 68,
    PERF_DATA_AUXTRACE = 71,
    PERF_DATA_EVENT_UPDATE = 78,
    PERF_DATA_HEADER_FEATURE = 80,
    PERF_DATA_COMPRESSED = 81,
    PERF_DATA_COMPRESSED2 = 83,
    PERF_DATA_USER_LAST = 86, /* of perf 6.19 */
    PERF_DATA_SIMPLEPERF_FIRST = 32768,
    PERF_DATA_SIMPLEPERF_CALLCHAIN = 32775,
    PERF_DATA_SIMPLEPERF_TRACING = 32777, /* {u32 size; bytes} */
    PERF_DATA_SIMPLEPERF_LAST = 32777
};

/* Where the CPU was: the low bits of a record's `misc`. */
enum cairn_perf_data_mode {
    PERF_DATA_MODE_UNKNOWN,
    PERF_DATA_MODE_KERNEL,
    PERF_DATA_MODE_USER,
    PERF_DATA_MODE_HYPERVISOR,
    PERF_DATA_MODE_GUEST_KERNEL,
    PERF_DATA_MODE_GUEST_USER,
    PERF_DATA_MODE_MASK = 7
};

/* The high bits, which mean something else in each record. */
enum cairn_perf_data_misc {
    PERF_DATA_MISC_EXEC = 1 << 13,
    PERF_DATA_MISC_FORK_BARE = 1 << 13,
    PERF_DATA_MISC_MMAP_DATA = 1 << 13,
    PERF_DATA_MISC_SWITCH_OUT = 1 << 13,
    PERF_DATA_MISC_MMAP_BUILD_ID = 1 << 14,
    PERF_DATA_MISC_BUILD_ID_SIZE = 1 << 15 /* the size of a build ID stands behind it */
};

/* What an EVENT_UPDATE is about. */
enum cairn_perf_data_update {
    PERF_DATA_UPDATE_UNIT,
    PERF_DATA_UPDATE_SCALE,
    PERF_DATA_UPDATE_NAME
};

/* Features of a header, by bit. */
enum cairn_perf_data_feature_number {
    PERF_DATA_FEATURE_TRACING_DATA = 1,
    PERF_DATA_FEATURE_BUILD_ID = 2,
    PERF_DATA_FEATURE_HOSTNAME = 3,
    PERF_DATA_FEATURE_OSRELEASE = 4,
    PERF_DATA_FEATURE_VERSION = 5,
    PERF_DATA_FEATURE_ARCH = 6,
    PERF_DATA_FEATURE_CMDLINE = 11,
    PERF_DATA_FEATURE_EVENT_DESC = 12,
    PERF_DATA_FEATURE_SAMPLE_TIME = 21,
    PERF_DATA_FEATURE_CLOCK_DATA = 29,
    /* simpleperf's own */
    PERF_DATA_FEATURE_FILES = 128,
    PERF_DATA_FEATURE_META_INFO = 129,
    PERF_DATA_FEATURE_FILES2 = 132,
    PERF_DATA_FEATURE_INIT_MAP = 134
};

#endif /* CAIRN_FORMATS_PERF_DATA_NUMBERS_H */
