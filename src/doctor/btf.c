/* SPDX-License-Identifier: MIT */
#include "doctor/btf.h"

#include <string.h>

#include "base/reader.h"

enum { MAGIC = 0xeb9f, HEAD_BYTES = 24, N_KINDS = 20, KIND_FUNCTION = 12 };

/* Behind the 12 bytes of a type: so many more, and so many for each of its members. */
static const struct {
    uint8_t own, each;
} kinds[N_KINDS] = {
    [1] = {4, 0},   /* integer */
    [3] = {12, 0},  /* array */
    [4] = {0, 12},  /* struct */
    [5] = {0, 12},  /* union */
    [6] = {0, 8},   /* enum */
    [13] = {0, 8},  /* prototype */
    [14] = {4, 0},  /* variable */
    [15] = {0, 12}, /* section */
    [17] = {4, 0},  /* tag of a declaration */
    [19] = {0, 12}, /* enum of 64 bits */
};

static bool is_name(struct cairn_span texts, uint32_t off, const char *name)
{
    size_t size = strlen(name) + 1;
    return off <= texts.size && texts.size - off >= size &&
           memcmp(texts.data + off, name, size) == 0;
}

bool cairn_btf_find_function(struct cairn_span btf, const char *name, uint32_t *ret_number)
{
    struct cairn_reader r = cairn_reader_of(btf, false);
    struct cairn_span types, texts;
    uint16_t magic = cairn_reader_u16(&r);
    cairn_reader_skip(&r, 2);
    uint64_t head = cairn_reader_u32(&r);
    uint64_t types_off = cairn_reader_u32(&r), types_size = cairn_reader_u32(&r);
    uint64_t texts_off = cairn_reader_u32(&r), texts_size = cairn_reader_u32(&r);
    if (r.failed || magic != MAGIC || head < HEAD_BYTES ||
        !cairn_span_slice(btf, head + types_off, types_size, &types) ||
        !cairn_span_slice(btf, head + texts_off, texts_size, &texts))
        return false;
    r = cairn_reader_of(types, false);
    for (uint32_t number = 1; cairn_reader_more(&r); number++) {
        uint32_t text = cairn_reader_u32(&r), info = cairn_reader_u32(&r);
        uint32_t kind = info >> 24 & 0x1f, n = info & 0xffff;
        cairn_reader_skip(&r, 4);
        if (r.failed || kind >= N_KINDS)
            return false;
        if (kind == KIND_FUNCTION && is_name(texts, text, name)) {
            *ret_number = number;
            return true;
        }
        cairn_reader_skip(&r, kinds[kind].own + (size_t)kinds[kind].each * n);
    }
    return false;
}
