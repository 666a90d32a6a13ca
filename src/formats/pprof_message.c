/* SPDX-License-Identifier: MIT */
/* The fields of one pprof message: what they must be, where they stand, what text they mean. */
#include "formats/pprof_read.h"

static int damaged(struct cairn_pprof_reading *r, const char *what, size_t pos)
{
    return CAIRN_PPROF_FAIL(r, CAIRN_E_FORMAT, "%s is damaged or cut off at byte 0x%zx", what, pos);
}

/* Offset in the (unzipped) file of a span that was taken out of it. */
static size_t pos_of(const struct cairn_pprof_reading *r, struct cairn_span bytes)
{
    return bytes.data ? (size_t)(bytes.data - r->bytes.data) : 0;
}

bool cairn_pprof_fits(const struct cairn_pb_field *field, const struct cairn_pprof_shape *shape)
{
    enum { MASK_BITS = 32 };
    uint32_t bit = field->number < MASK_BITS ? CAIRN_PPROF_BIT(field->number) : 0;
    if (!(shape->known & bit))
        return true;
    if (field->wire == CAIRN_PB_BYTES)
        return (shape->bytes | shape->numbers) & bit;
    return field->wire == CAIRN_PB_VARINT && !(shape->bytes & bit);
}

static int check_wire(struct cairn_pprof_reading *r, const struct cairn_pb_field *field,
                      const struct cairn_pprof_shape *shape)
{
    if (cairn_pprof_fits(field, shape))
        return CAIRN_OK;
    return CAIRN_PPROF_FAIL(r, CAIRN_E_FORMAT, "field %u of %s has wire type %d, expected %d",
                            field->number, shape->what, field->wire,
                            field->wire == CAIRN_PB_BYTES ? CAIRN_PB_VARINT : CAIRN_PB_BYTES);
}

int cairn_pprof_each_field(struct cairn_pprof_reading *r, struct cairn_span message,
                           const struct cairn_pprof_shape *shape, cairn_pprof_field_fn fn,
                           void *ctx)
{
    bool is_profile = message.data == r->bytes.data && message.size == r->bytes.size;
    struct cairn_reader reader = cairn_reader_of(message, false);
    struct cairn_pb_field field;
    while (cairn_pb_next(&reader, &field)) {
        if (is_profile)
            r->at = field.pos;
        int result = check_wire(r, &field, shape);
        if (result == CAIRN_OK)
            result = fn(r, &field, ctx);
        if (result < 0)
            return result;
    }
    return reader.failed ? damaged(r, shape->what, pos_of(r, message) + reader.pos) : CAIRN_OK;
}

int cairn_pprof_each_number(struct cairn_pprof_reading *r, const struct cairn_pb_field *field,
                            const char *what, cairn_pprof_number_fn fn, void *ctx)
{
    struct cairn_reader packed;
    bool started = false, failed = false;
    uint64_t number;
    while (cairn_pb_number(field, &packed, &started, &failed, &number)) {
        int result = fn(r, number, ctx);
        if (result < 0)
            return result;
    }
    return failed ? damaged(r, what, pos_of(r, field->bytes)) : CAIRN_OK;
}

int cairn_pprof_text(struct cairn_pprof_reading *r, uint64_t index, uint32_t *ret_number)
{
    if (index >= r->n_strings)
        return CAIRN_PPROF_FAIL(r, CAIRN_E_FORMAT, "text %llu is asked for, the table has %zu",
                                (unsigned long long)index, r->n_strings);
    if (r->texts[index] == UINT32_MAX) {
        struct cairn_span bytes = r->strings[index];
        r->texts[index] = cairn_profile_text(r->p, (const char *)bytes.data, bytes.size);
        if (r->texts[index] == UINT32_MAX)
            return cairn_fail_memory(r->err);
    }
    *ret_number = r->texts[index];
    return CAIRN_OK;
}
