/* SPDX-License-Identifier: MIT */
/*
 * Protobuf's wire format (protobuf.dev, "Encoding"): a message is a row of fields.
 *
 *     key = number << 3 | wire    wire 0: varint   1: 8 bytes   2: length, bytes   5: 4 bytes
 */
#ifndef CAIRN_FORMATS_PROTOBUF_H
#define CAIRN_FORMATS_PROTOBUF_H

#include "base/buffer.h"
#include "base/reader.h"

enum cairn_pb_wire {
    CAIRN_PB_VARINT = 0,
    CAIRN_PB_FIXED64 = 1,
    CAIRN_PB_BYTES = 2,
    CAIRN_PB_FIXED32 = 5
};

struct cairn_pb_field {
    uint32_t number;
    enum cairn_pb_wire wire;
    uint64_t value;          /* varint and fixed */
    struct cairn_span bytes; /* CAIRN_PB_BYTES */
    size_t pos;              /* of its key */
};

/* The next field; false at the end of the message or where it is damaged (then r->failed). */
bool cairn_pb_next(struct cairn_reader *r, struct cairn_pb_field *ret_field);

/* Takes the numbers of a repeated field, packed or not, one at a time: `io_packed` is empty before
 * the first call for a field. False when it has no more, or is damaged (*io_failed). */
bool cairn_pb_number(const struct cairn_pb_field *field, struct cairn_reader *io_packed,
                     bool *io_started, bool *io_failed, uint64_t *ret_value);

void cairn_pb_uint(struct cairn_buffer *b, uint32_t number, uint64_t value); /* 0 is left out */
void cairn_pb_bytes(struct cairn_buffer *b, uint32_t number, struct cairn_span bytes);

#endif /* CAIRN_FORMATS_PROTOBUF_H */
