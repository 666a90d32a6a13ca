/* SPDX-License-Identifier: MIT */
/*
 * pprof's profile.proto (github.com/google/pprof, proto/profile.proto), by field numbers.
 *
 *     Profile ─┬ sample_type* ─ ValueType{type, unit}
 *              ├ sample* ────── Sample{location_id* leaf first, value*, label*}
 *              ├ mapping* ───── Mapping{id, start, limit, offset, filename, build_id, has_*}
 *              ├ location* ──── Location{id, mapping_id, address, line* innermost first}
 *              ├ function* ──── Function{id, name, system_name, filename, start_line}
 *              └ string_table*  every text is an index into it; [0] is ""
 *
 * What pprof has no field for stands in labels of a sample: `cairn.frames`, and what
 * CAIRN_PROFILE_CUT_LABEL and CAIRN_PROFILE_TIME_LABEL name. A marker is a sample whose values are
 * all 0, with `cairn.marker` and perhaps `cairn.duration_ns` (docs/formats/pprof.md).
 */
#ifndef CAIRN_FORMATS_PPROF_H
#define CAIRN_FORMATS_PPROF_H

#define CAIRN_PPROF_FRAMES_LABEL   "cairn.frames"
#define CAIRN_PPROF_MARKER_LABEL   "cairn.marker"
#define CAIRN_PPROF_DURATION_LABEL "cairn.duration_ns"

enum cairn_pprof_profile {
    PPROF_SAMPLE_TYPE = 1,
    PPROF_SAMPLE = 2,
    PPROF_MAPPING = 3,
    PPROF_LOCATION = 4,
    PPROF_FUNCTION = 5,
    PPROF_STRING = 6,
    PPROF_DROP_FRAMES = 7,
    PPROF_KEEP_FRAMES = 8,
    PPROF_TIME_NS = 9,
    PPROF_DURATION_NS = 10,
    PPROF_PERIOD_TYPE = 11,
    PPROF_PERIOD = 12,
    PPROF_COMMENT = 13,
    PPROF_DEFAULT_TYPE = 14,
};

enum cairn_pprof_value_type { PPROF_TYPE_TYPE = 1, PPROF_TYPE_UNIT = 2 };
enum cairn_pprof_sample {
    PPROF_SAMPLE_LOCATION = 1,
    PPROF_SAMPLE_VALUE = 2,
    PPROF_SAMPLE_LABEL = 3
};
enum cairn_pprof_label {
    PPROF_LABEL_KEY = 1,
    PPROF_LABEL_STR = 2,
    PPROF_LABEL_NUM = 3,
    PPROF_LABEL_UNIT = 4
};

enum cairn_pprof_mapping {
    PPROF_MAPPING_ID = 1,
    PPROF_MAPPING_START = 2,
    PPROF_MAPPING_LIMIT = 3,
    PPROF_MAPPING_OFFSET = 4,
    PPROF_MAPPING_FILE = 5,
    PPROF_MAPPING_BUILD_ID = 6,
    PPROF_MAPPING_HAS_FUNCTIONS = 7,
    PPROF_MAPPING_HAS_FILES = 8,
    PPROF_MAPPING_HAS_LINES = 9,
    PPROF_MAPPING_HAS_INLINES = 10,
};

enum cairn_pprof_location {
    PPROF_LOCATION_ID = 1,
    PPROF_LOCATION_MAPPING = 2,
    PPROF_LOCATION_ADDRESS = 3,
    PPROF_LOCATION_LINE = 4,
    PPROF_LOCATION_FOLDED = 5,
};

enum cairn_pprof_line { PPROF_LINE_FUNCTION = 1, PPROF_LINE_LINE = 2 };

enum cairn_pprof_function {
    PPROF_FUNCTION_ID = 1,
    PPROF_FUNCTION_NAME = 2,
    PPROF_FUNCTION_SYSTEM_NAME = 3,
    PPROF_FUNCTION_FILE = 4,
    PPROF_FUNCTION_START_LINE = 5,
};

#endif /* CAIRN_FORMATS_PPROF_H */
