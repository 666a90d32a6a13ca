/* SPDX-License-Identifier: MIT */
#include "base/gzip_stream.h"

#include <stdint.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/error.h"

enum { OUT_BYTES = 1 << 16, PIECE_MAX = 1 << 30, GZIP_WINDOW = 15 + 16, MEMORY_LEVEL = 8 };

struct cairn_gzip_stream {
    z_stream z;
    int (*write)(void *ctx, const void *bytes, size_t size);
    void *ctx;
    Bytef out[OUT_BYTES];
};

static void *zlib_alloc(void *ctx, unsigned n, unsigned size)
{
    (void)ctx;
    return cairn_alloc(n, size);
}

static void zlib_free(void *ctx, void *block)
{
    (void)ctx;
    cairn_free(block);
}

int cairn_gzip_stream_open(int level, int (*write)(void *ctx, const void *bytes, size_t size),
                           void *ctx, struct cairn_gzip_stream **ret_stream, struct cairn_err *err)
{
    struct cairn_gzip_stream *stream = cairn_alloc(1, sizeof *stream);
    if (!stream)
        return cairn_fail_memory(err);
    *stream = (struct cairn_gzip_stream){
        .z = {.zalloc = zlib_alloc, .zfree = zlib_free}, .write = write, .ctx = ctx};
    int code =
        deflateInit2(&stream->z, level, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL, Z_DEFAULT_STRATEGY);
    if (code == Z_OK) {
        *ret_stream = stream;
        return CAIRN_OK;
    }
    cairn_free(stream);
    return code == Z_MEM_ERROR
               ? cairn_fail_memory(err)
               : cairn_fail(err, CAIRN_E_ARG, "compression level %d, expected 1 to 9", level);
}

/* Packs the input that the stream has; with Z_FINISH to the end of the member. */
static int pack(struct cairn_gzip_stream *stream, int flush, struct cairn_err *err)
{
    z_stream *z = &stream->z;
    do {
        z->next_out = stream->out;
        z->avail_out = OUT_BYTES;
        int code = deflate(z, flush);
        if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
            return cairn_fail(err, CAIRN_E_ARG, "cannot compress: zlib says %d", code);
        size_t size = OUT_BYTES - z->avail_out;
        if (size && stream->write(stream->ctx, stream->out, size) != 0)
            return cairn_fail(err, CAIRN_E_IO, "the output could not be written");
    } while (z->avail_out == 0);
    return CAIRN_OK;
}

int cairn_gzip_stream_add(struct cairn_gzip_stream *stream, const void *bytes, size_t size,
                          struct cairn_err *err)
{
    const Bytef *from = bytes;
    int result = CAIRN_OK;
    while (size && result == CAIRN_OK) {
        uInt piece = size < PIECE_MAX ? (uInt)size : PIECE_MAX;
        stream->z.next_in = (Bytef *)(uintptr_t)from;
        stream->z.avail_in = piece;
        result = pack(stream, Z_NO_FLUSH, err);
        from += piece;
        size -= piece;
    }
    return result;
}

int cairn_gzip_stream_close(struct cairn_gzip_stream *stream, int code, struct cairn_err *err)
{
    stream->z.avail_in = 0;
    if (code == CAIRN_OK)
        code = pack(stream, Z_FINISH, err);
    deflateEnd(&stream->z);
    cairn_free(stream);
    return code;
}
