/* SPDX-License-Identifier: MIT */
/* OTLP write: what the parts of the writer of OTLP profiles share. */
#ifndef CAIRN_FORMATS_OTLP_WRITE_H
#define CAIRN_FORMATS_OTLP_WRITE_H

#include "formats/otlp.h"
#include "formats/otlp_request.h"
#include "formats/protobuf.h"
#include "profile/profile.h"

struct cairn_otlp_writing {
    const struct cairn_profile *p;
    struct cairn_otlp_resource_rows resource;
    struct cairn_profile_reach reach;
    struct cairn_strings texts;                 /* the dictionary's */
    uint32_t *mappings, *locations, *functions; /* numbers in the dictionary by those in `p` */
    struct cairn_table stacks, attributes; /* by stack of `p`; by hash: numbers in these tables */
    struct cairn_buffer stack_table, attribute_table; /* fields of the dictionary, from entry 1 */
    uint32_t n_stacks, n_attributes;
    /* Samples that differ in their times and values alone are one. */
    uint32_t *groups; /* the first sample of each */
    size_t n_groups;
    uint32_t *next; /* by sample: the next one of its group, plus 1; 0: the last */
    bool has_times; /* since 1970 */
    bool failed;    /* memory is gone */
};

/* The number of a text in the dictionary. Bytes that are not UTF-8 become U+FFFD. */
uint32_t cairn_otlp_text(struct cairn_otlp_writing *writing, const char *text);
/* The same of a string of the profile. */
uint32_t cairn_otlp_own_text(struct cairn_otlp_writing *writing, uint32_t number);

/* The number of an attribute in the dictionary. Its value is `text`, or `number` where that is
 * NULL. */
uint32_t cairn_otlp_attribute(struct cairn_otlp_writing *writing, const char *key, const char *text,
                              int64_t number, const char *unit);

/* The same, with an encoded AnyValue, which is freed. */
uint32_t cairn_otlp_attribute_of(struct cairn_otlp_writing *writing, const char *key,
                                 struct cairn_buffer *value, const char *unit);

/* The stack's number in the dictionary. */
uint32_t cairn_otlp_stack(struct cairn_otlp_writing *writing, uint32_t stack);

/* Appends a field with a text. Bytes that are not UTF-8 become U+FFFD. */
void cairn_otlp_put_text(struct cairn_buffer *to, uint32_t field, const char *text);

/* Appends the dictionary. All that refers to it is written before. */
void cairn_otlp_put_dictionary(struct cairn_otlp_writing *writing, struct cairn_buffer *to);

/* Appends an encoded message as a field of `to`, and frees it. */
void cairn_otlp_put_message(struct cairn_otlp_writing *writing, struct cairn_buffer *to,
                            uint32_t field, struct cairn_buffer *message);

#endif /* CAIRN_FORMATS_OTLP_WRITE_H */
