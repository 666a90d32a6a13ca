/* SPDX-License-Identifier: MIT */
/*
 * Field: one value in a tracepoint's record, as a line of its format says
 * (Linux, Documentation/trace/events.rst, "Event formats").
 *
 *     field:char prev_comm[16];  offset:8;  size:16;  signed:0;
 */
#ifndef CAIRN_BASE_FIELD_H
#define CAIRN_BASE_FIELD_H

#include "base/span.h"

enum { CAIRN_FIELD_NAME_BYTES = 32, CAIRN_FIELD_LINE_BYTES = 512 };

struct cairn_field {
    uint16_t off, size;
    bool is_signed;
    bool is_dynamic; /* its place is in the record: offset, and size above it */
};

/* How a person wants to see it. */
enum cairn_field_kind {
    CAIRN_FIELD_TEXT,
    CAIRN_FIELD_POINTER, /* or bytes */
    CAIRN_FIELD_INT,
    CAIRN_FIELD_LONG,
    CAIRN_FIELD_SIZE,
    CAIRN_FIELD_HEX
};

struct cairn_field_line {
    struct cairn_field field;
    enum cairn_field_kind kind;
    char name[CAIRN_FIELD_NAME_BYTES];
};

/* False: the line is no field, or one that all tracepoints have. */
bool cairn_field_read(const char *line, struct cairn_field_line *ret_field);

/* The next line of a text at `*io_at`, with a NUL; longer ones are left out. False: no more. */
bool cairn_field_next_line(struct cairn_span text, size_t *io_at,
                           char line[CAIRN_FIELD_LINE_BYTES]);

/* Does the format print the number as an address or in hex: "ip=0x%lx", "ip=%pS"? */
bool cairn_field_is_hex(struct cairn_span format, const char *name);

/* A number; of a text 0. `swap`: the record is of the other byte order. */
uint64_t cairn_field_number(const struct cairn_field *field, struct cairn_span record, bool swap);

/* The bytes of a text or an array, as many as there are in the record. */
struct cairn_span cairn_field_bytes(const struct cairn_field *field, struct cairn_span record,
                                    bool swap);

/* A text up to its NUL; empty where it lies out of the record. */
struct cairn_span cairn_field_text(const struct cairn_field *field, struct cairn_span record,
                                   bool swap);

#endif /* CAIRN_BASE_FIELD_H */
