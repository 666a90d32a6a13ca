/* SPDX-License-Identifier: MIT */
#include "base/xz.h"

#include <lzma.h>

#include "base/alloc.h"
#include "base/error.h"

enum { OUT_PIECE = 1 << 16 };

static const uint64_t decoder_bytes_max = 128ull << 20;

static void *xz_alloc(void *ctx, size_t n, size_t size)
{
    (void)ctx;
    return cairn_alloc(n, size);
}

static void xz_free(void *ctx, void *block)
{
    (void)ctx;
    cairn_free(block);
}

static const lzma_allocator allocator = {.alloc = xz_alloc, .free = xz_free};

static int fail_stream(struct cairn_err *err, lzma_ret code, size_t at)
{
    switch (code) {
    case LZMA_MEM_ERROR:
        return cairn_fail_memory(err);
    case LZMA_MEMLIMIT_ERROR:
        return cairn_fail(err, CAIRN_E_LIMIT,
                          "xz data wants more than %llu bytes of memory to be unpacked",
                          (unsigned long long)decoder_bytes_max);
    case LZMA_FORMAT_ERROR:
        return cairn_fail(err, CAIRN_E_FORMAT, "no xz data: it does not begin with fd 37 7a 58 5a");
    case LZMA_OPTIONS_ERROR:
    case LZMA_UNSUPPORTED_CHECK:
        return cairn_fail(err, CAIRN_E_SUPPORT,
                          "xz data with a filter or a checksum that liblzma %s does not know",
                          lzma_version_string());
    case LZMA_OK:
    case LZMA_BUF_ERROR:
        return cairn_fail(err, CAIRN_E_FORMAT, "xz data ends early, after %zu bytes", at);
    default:
        return cairn_fail(err, CAIRN_E_FORMAT, "xz data is damaged at 0x%zx", at);
    }
}

/* One stream; `bytes` is all there is, and `z` says where in it. */
static int unpack_stream(lzma_stream *z, struct cairn_span bytes, size_t end_max,
                         struct cairn_buffer *out, struct cairn_err *err)
{
    lzma_ret code = lzma_stream_decoder(z, decoder_bytes_max, LZMA_TELL_UNSUPPORTED_CHECK);
    while (code == LZMA_OK) {
        if (!cairn_buffer_reserve(out, OUT_PIECE))
            return cairn_fail_memory(err);
        z->next_out = out->data + out->size;
        z->avail_out = out->cap - 1 - out->size;
        code = lzma_code(z, LZMA_FINISH);
        out->size = (size_t)(z->next_out - out->data);
        if (out->size > end_max)
            return cairn_fail(err, CAIRN_E_LIMIT, "xz data of %zu bytes unpacks to more than %zu",
                              bytes.size, end_max);
    }
    return code == LZMA_STREAM_END ? CAIRN_OK : fail_stream(err, code, bytes.size - z->avail_in);
}

/* Behind a stream: is there another one? Streams are multiples of four bytes, and so is padding. */
static bool next_stream(lzma_stream *z)
{
    static const uint8_t magic[] = {0xfd, '7', 'z', 'X', 'Z', 0};
    while (z->avail_in && *z->next_in == 0) {
        z->next_in++;
        z->avail_in--;
    }
    return z->avail_in >= sizeof magic && memcmp(z->next_in, magic, sizeof magic) == 0;
}

int cairn_xz_unpack(struct cairn_span bytes, size_t limit, struct cairn_buffer *ret_bytes,
                    struct cairn_err *err)
{
    lzma_stream z = LZMA_STREAM_INIT;
    z.allocator = &allocator;
    z.next_in = bytes.data;
    z.avail_in = bytes.size;
    size_t start = ret_bytes->size;
    size_t end_max = limit < SIZE_MAX - start ? start + limit : SIZE_MAX;
    int code;
    do
        code = unpack_stream(&z, bytes, end_max, ret_bytes, err);
    while (code == CAIRN_OK && next_stream(&z));
    lzma_end(&z);
    if (code < 0)
        ret_bytes->size = start;
    if (ret_bytes->data)
        ret_bytes->data[ret_bytes->size] = 0;
    return code;
}

bool cairn_xz_is_xz(struct cairn_span bytes)
{
    static const uint8_t magic[] = {0xfd, '7', 'z', 'X', 'Z', 0};
    return bytes.size >= sizeof magic && memcmp(bytes.data, magic, sizeof magic) == 0;
}
