/* SPDX-License-Identifier: MIT */
/* Fields: what a tracepoint's record holds, by its `format` in tracefs (base/field.h). */
#ifndef CAIRN_TRACE_FIELDS_H
#define CAIRN_TRACE_FIELDS_H

#include "base/field.h"
#include "bpf/trace.h"
#include "trace/calls.h"

enum { CAIRN_RECORD_BYTES_MAX = CAIRN_TRACE_TEXTS * CAIRN_TRACE_TEXT_BYTES };

struct cairn_fields {
    uint8_t n;
    uint16_t record_bytes; /* that hold all fields, and what dynamic ones may add */
    struct cairn_field fields[CAIRN_CALL_ARGS];
};

/* Of the text of a format; what is wrong in it, or does not fit, is left out. The names and kinds
 * of the fields are written to `ret_call`, without those that all tracepoints have. False: there is
 * no such line. */
bool cairn_fields_read(struct cairn_span text, struct cairn_fields *ret_fields,
                       struct cairn_syscall *ret_call);

#endif /* CAIRN_TRACE_FIELDS_H */
