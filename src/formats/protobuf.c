/* SPDX-License-Identifier: MIT */
#include "formats/protobuf.h"

bool cairn_pb_next(struct cairn_reader *r, struct cairn_pb_field *ret_field)
{
    if (!cairn_reader_more(r))
        return false;
    struct cairn_pb_field field = {.pos = r->pos};
    uint64_t key = cairn_reader_uleb(r);
    /* A field number is 29 bits and not 0. */
    if (key >> 3 == 0 || key >> 32)
        r->failed = true;
    field.number = (uint32_t)(key >> 3);
    field.wire = (enum cairn_pb_wire)(key & 7);
    switch (field.wire) {
    case CAIRN_PB_VARINT:
        field.value = cairn_reader_uleb(r);
        break;
    case CAIRN_PB_FIXED64:
        field.value = cairn_reader_u64(r);
        break;
    case CAIRN_PB_BYTES:
        field.bytes = cairn_reader_take(r, cairn_reader_uleb(r));
        break;
    case CAIRN_PB_FIXED32:
        field.value = cairn_reader_u32(r);
        break;
    default:
        r->failed = true;
    }
    if (r->failed)
        return false;
    *ret_field = field;
    return true;
}

bool cairn_pb_number(const struct cairn_pb_field *field, struct cairn_reader *io_packed,
                     bool *io_started, bool *io_failed, uint64_t *ret_value)
{
    bool first = !*io_started;
    *io_started = true;
    if (field->wire != CAIRN_PB_BYTES) {
        *ret_value = field->value;
        return first;
    }
    if (first)
        *io_packed = cairn_reader_of(field->bytes, false);
    if (!cairn_reader_more(io_packed))
        return false;
    *ret_value = cairn_reader_uleb(io_packed);
    *io_failed |= io_packed->failed;
    return !io_packed->failed;
}

void cairn_pb_uint(struct cairn_buffer *b, uint32_t number, uint64_t value)
{
    if (!value)
        return;
    cairn_buffer_uleb(b, (uint64_t)number << 3 | CAIRN_PB_VARINT);
    cairn_buffer_uleb(b, value);
}

void cairn_pb_bytes(struct cairn_buffer *b, uint32_t number, struct cairn_span bytes)
{
    cairn_buffer_uleb(b, (uint64_t)number << 3 | CAIRN_PB_BYTES);
    cairn_buffer_uleb(b, bytes.size);
    cairn_buffer_add(b, bytes.data, bytes.size);
}
