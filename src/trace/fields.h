/* SPDX-License-Identifier: MIT */
/*
 * Fields: what a tracepoint's record holds, by its `format` in tracefs
 * (Documentation/trace/events.rst, "Event formats").
 *
 *     field:char prev_comm[16];  offset:8;  size:16;  signed:0;
 */
#ifndef CAIRN_TRACE_FIELDS_H
#define CAIRN_TRACE_FIELDS_H

#include "base/span.h"
#include "bpf/trace.h"
#include "trace/calls.h"

enum { CAIRN_RECORD_BYTES_MAX = CAIRN_TRACE_TEXTS * CAIRN_TRACE_TEXT_BYTES };

struct cairn_fields {
    uint8_t n;
    uint16_t record_bytes; /* that hold all fields, and what dynamic ones may add */
    struct cairn_field {
        uint16_t off, size;
        bool is_signed;
        bool is_dynamic; /* its place is in the record: offset, and size above it */
    } fields[CAIRN_CALL_ARGS];
};

/* Of the text of a format; what is wrong in it, or does not fit, is left out. The names and kinds
 * of the fields are written to `ret_call`, without those that all tracepoints have. False: there is
 * no such line. */
bool cairn_fields_read(struct cairn_span text, struct cairn_fields *ret_fields,
                       struct cairn_syscall *ret_call);

/* A number; of a text 0. */
uint64_t cairn_field_number(const struct cairn_field *field, struct cairn_span record);

/* The bytes of a text up to its NUL; empty where they lie out of the record. */
struct cairn_span cairn_field_text(const struct cairn_field *field, struct cairn_span record);

#endif /* CAIRN_TRACE_FIELDS_H */
