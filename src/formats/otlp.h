/* SPDX-License-Identifier: MIT */
/*
 * OTLP profiles (github.com/open-telemetry/opentelemetry-proto, profiles/v1development, as of
 * release 1.11), by field numbers.
 *
 *     request ─┬ resource_profiles ─┬ resource: the host and the process
 *              │                    └ scope_profiles ─ profile*: one for each type of values
 *              └ dictionary: tables; entry 0 of each is empty, and means "none"
 */
#ifndef CAIRN_FORMATS_OTLP_H
#define CAIRN_FORMATS_OTLP_H

enum cairn_otlp_request { OTLP_RESOURCE_PROFILES = 1, OTLP_DICTIONARY = 2 };
enum cairn_otlp_resource_profiles { OTLP_RESOURCE = 1, OTLP_SCOPE_PROFILES = 2 };
enum cairn_otlp_resource { OTLP_RESOURCE_ATTRIBUTE = 1 };
enum cairn_otlp_scope_profiles { OTLP_SCOPE = 1, OTLP_PROFILE = 2 };
enum cairn_otlp_scope { OTLP_SCOPE_NAME = 1, OTLP_SCOPE_VERSION = 2 };

enum cairn_otlp_profile {
    OTLP_PROFILE_TYPE = 1,
    OTLP_PROFILE_SAMPLE = 2,
    OTLP_PROFILE_TIME_NS = 3, /* fixed64 */
    OTLP_PROFILE_DURATION_NS = 4,
    OTLP_PROFILE_PERIOD_TYPE = 5,
    OTLP_PROFILE_PERIOD = 6,
    OTLP_PROFILE_ATTRIBUTES = 11
};
enum cairn_otlp_value_type { OTLP_TYPE_TYPE = 1, OTLP_TYPE_UNIT = 2 };
enum cairn_otlp_sample {
    OTLP_SAMPLE_STACK = 1,
    OTLP_SAMPLE_ATTRIBUTES = 2,
    OTLP_SAMPLE_VALUES = 4,
    OTLP_SAMPLE_TIMES = 5 /* fixed64 */
};

enum cairn_otlp_dictionary {
    OTLP_MAPPING = 1,
    OTLP_LOCATION = 2,
    OTLP_FUNCTION = 3,
    OTLP_LINK = 4,
    OTLP_STRING = 5,
    OTLP_ATTRIBUTE = 6,
    OTLP_STACK = 7
};
enum cairn_otlp_mapping {
    OTLP_MAPPING_START = 1,
    OTLP_MAPPING_LIMIT = 2,
    OTLP_MAPPING_OFFSET = 3,
    OTLP_MAPPING_FILE = 4,
    OTLP_MAPPING_ATTRIBUTES = 5
};
enum cairn_otlp_location {
    OTLP_LOCATION_MAPPING = 1,
    OTLP_LOCATION_ADDRESS = 2,
    OTLP_LOCATION_LINE = 3,
    OTLP_LOCATION_ATTRIBUTES = 4
};
enum cairn_otlp_line { OTLP_LINE_FUNCTION = 1, OTLP_LINE_LINE = 2 };
enum cairn_otlp_function {
    OTLP_FUNCTION_NAME = 1,
    OTLP_FUNCTION_SYSTEM_NAME = 2,
    OTLP_FUNCTION_FILE = 3,
    OTLP_FUNCTION_START_LINE = 4
};
enum cairn_otlp_link { OTLP_LINK_TRACE_ID = 1, OTLP_LINK_SPAN_ID = 2 };
enum cairn_otlp_stack { OTLP_STACK_LOCATIONS = 1 }; /* leaf first */

/* KeyValueAndUnit: key and unit are numbers of strings. */
enum cairn_otlp_attribute {
    OTLP_ATTRIBUTE_KEY = 1,
    OTLP_ATTRIBUTE_VALUE = 2,
    OTLP_ATTRIBUTE_UNIT = 3
};
enum cairn_otlp_key_value { OTLP_KEY_VALUE_KEY = 1, OTLP_KEY_VALUE_VALUE = 2 };
enum cairn_otlp_any_value { OTLP_ANY_STRING = 1, OTLP_ANY_INT = 3, OTLP_ANY_ARRAY = 5 };
enum cairn_otlp_array { OTLP_ARRAY_VALUE = 1 };

#endif /* CAIRN_FORMATS_OTLP_H */
