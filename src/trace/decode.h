/* SPDX-License-Identifier: MIT */
/* Decode: an event of the kernel's side as texts. */
#ifndef CAIRN_TRACE_DECODE_H
#define CAIRN_TRACE_DECODE_H

#include <cairn/trace.h>

#include "base/buffer.h"
#include "bpf/trace.h"
#include "trace/spec.h"

/* Holds the texts of one event. All-zero before the first use, but `spec`. */
struct cairn_decoder {
    const struct cairn_spec *spec; /* borrowed */
    struct cairn_buffer texts;     /* NUL behind each */
    struct cairn_syscall call;     /* of `row`, the last one that was asked for */
    uint32_t row;
    const struct cairn_fields *fields; /* of a tracepoint; NULL: it is none */
    uint64_t args[CAIRN_CALL_ARGS];
    char words[CAIRN_CALL_ARGS][CAIRN_TRACE_TEXT_BYTES]; /* texts among the fields */
    char comm[17];
    char text[CAIRN_TRACE_TEXTS][CAIRN_TRACE_TEXT_BYTES + 1];
};

void cairn_decoder_done(struct cairn_decoder *decoder);

/* What a filter asks of it. Borrowed from the decoder until the next call. */
void cairn_decode_subject(struct cairn_decoder *decoder, const struct cairn_bpf_event *event,
                          struct cairn_trace_filter_subject *ret_subject);

/* All but time, stack and cut, after cairn_decode_subject(). False: memory is gone. */
bool cairn_decode(struct cairn_decoder *decoder, const struct cairn_bpf_event *event,
                  struct cairn_trace_event *ret_event);

#endif /* CAIRN_TRACE_DECODE_H */
