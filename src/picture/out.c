/* SPDX-License-Identifier: MIT */
#include "picture/out.h"

#include "base/error.h"

enum { PIECE_BYTES = 64 * 1024 };

static void hand_on(struct cairn_out *out)
{
    if (!out->refused && !out->text.failed && out->text.size)
        out->refused = out->write(out->ctx, out->text.data, out->text.size) != 0;
    if (!out->text.failed)
        cairn_buffer_clear(&out->text);
}

void cairn_out_pass(struct cairn_out *out)
{
    if (out->text.size >= PIECE_BYTES)
        hand_on(out);
}

/* RFC 4648, 4. `n` is 1 to 3. */
static void encode_group(const uint8_t *bytes, size_t n, char *ret_text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t group = (uint32_t)bytes[0] << 16;
    group |= n > 1 ? (uint32_t)bytes[1] << 8 : 0;
    group |= n > 2 ? bytes[2] : 0;
    ret_text[0] = digits[group >> 18];
    ret_text[1] = digits[group >> 12 & 63];
    ret_text[2] = n > 1 ? digits[group >> 6 & 63] : '=';
    ret_text[3] = n > 2 ? digits[group & 63] : '=';
}

void cairn_out_base64(struct cairn_out *out, struct cairn_span bytes)
{
    enum { GROUPS = 8 * 1024 };
    for (size_t at = 0; at < bytes.size;) {
        if (!cairn_buffer_reserve(&out->text, 4 * GROUPS))
            return;
        char *text = (char *)out->text.data + out->text.size;
        size_t groups = 0;
        for (; groups < GROUPS && at < bytes.size; groups++, at += 3)
            encode_group(bytes.data + at, bytes.size - at < 3 ? bytes.size - at : 3,
                         text + 4 * groups);
        out->text.size += 4 * groups;
        cairn_out_pass(out);
    }
}

int cairn_out_finish(struct cairn_out *out, struct cairn_err *err)
{
    hand_on(out);
    bool failed = out->text.failed;
    cairn_buffer_done(&out->text);
    if (failed)
        return cairn_fail_memory(err);
    if (out->refused)
        return cairn_fail(err, CAIRN_E_IO, "picture: the output took no more");
    return CAIRN_OK;
}
