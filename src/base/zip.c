/* SPDX-License-Identifier: MIT */
#include "base/zip.h"

#include <limits.h>
#include <zlib.h>
#include <zstd.h>

#include "base/alloc.h"
#include "base/error.h"

/* zlib counts in 32 bits and may be asked to grow a buffer piece by piece. */
enum { PIECE_MAX = 1 << 30, GZIP_FLAG = 16, GZIP_WINDOW = 15 + GZIP_FLAG };

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

static z_stream stream_over(struct cairn_span bytes)
{
    return (z_stream){
        .zalloc = zlib_alloc, .zfree = zlib_free, .next_in = (Bytef *)(uintptr_t)bytes.data};
}

/* Bytes of the input that the stream has not eaten, and the next piece of them as its input. */
static size_t refill(z_stream *z, struct cairn_span bytes)
{
    size_t left = bytes.size ? (size_t)(bytes.data + bytes.size - z->next_in) : 0;
    z->avail_in = left < PIECE_MAX ? (uInt)left : PIECE_MAX;
    return left;
}

bool cairn_zip_is_gzip(struct cairn_span bytes)
{
    return bytes.size >= 2 && bytes.data[0] == 0x1f && bytes.data[1] == 0x8b;
}

static int fail_stream(struct cairn_err *err, const z_stream *z, struct cairn_span bytes, int code)
{
    size_t at = (size_t)(z->next_in - bytes.data);
    switch (code) {
    case Z_MEM_ERROR:
        return cairn_fail_memory(err);
    case Z_OK:
    case Z_BUF_ERROR:
        return cairn_fail(err, CAIRN_E_FORMAT, "compressed data ends early, after %zu bytes",
                          bytes.size);
    case Z_NEED_DICT:
        return cairn_fail(err, CAIRN_E_FORMAT, "compressed data at 0x%zx wants a dictionary", at);
    default:
        return cairn_fail(err, CAIRN_E_FORMAT, "compressed data is damaged at 0x%zx: %s", at,
                          z->msg ? z->msg : "no zlib stream");
    }
}

/* Behind a member: another one, the zero padding of tapes and disks, or the end. */
static int next_member(z_stream *z, struct cairn_span bytes, bool *ret_more, struct cairn_err *err)
{
    size_t at = (size_t)(z->next_in - bytes.data);
    struct cairn_span rest = {z->next_in, bytes.size - at};
    *ret_more = cairn_zip_is_gzip(rest);
    if (*ret_more)
        return inflateReset(z) == Z_OK ? CAIRN_OK : cairn_fail_memory(err);
    for (size_t i = 0; i < rest.size; i++)
        if (rest.data[i])
            return cairn_fail(err, CAIRN_E_FORMAT,
                              "byte 0x%02x behind the gzip data at 0x%zx, expected another member",
                              rest.data[i], at + i);
    return CAIRN_OK;
}

/* How much room to make at least for what comes out of so many bytes. */
static size_t piece_for(struct cairn_span bytes)
{
    enum { SMALLEST = 1 << 10, LARGEST = 1 << 16, RATIO = 8 };
    size_t piece = bytes.size < LARGEST / RATIO ? bytes.size * RATIO : LARGEST;
    return piece < SMALLEST ? SMALLEST : piece;
}

static int gunzip_members(z_stream *z, struct cairn_span bytes, size_t limit,
                          struct cairn_buffer *out, struct cairn_err *err)
{
    size_t start = out->size;
    for (bool more = true; more;) {
        refill(z, bytes);
        if (!cairn_buffer_reserve(out, piece_for(bytes)))
            return cairn_fail_memory(err);
        size_t room = out->cap - 1 - out->size;
        z->next_out = out->data + out->size;
        z->avail_out = room < PIECE_MAX ? (uInt)room : PIECE_MAX;
        int code = inflate(z, Z_NO_FLUSH);
        out->size = (size_t)(z->next_out - out->data);
        if (out->size - start > limit)
            return cairn_fail(err, CAIRN_E_LIMIT, "unpacks to more than %zu bytes", limit);
        /* Input that ends early shows as Z_BUF_ERROR: a call that could do nothing. */
        if (code != Z_OK && code != Z_STREAM_END)
            return fail_stream(err, z, bytes, code);
        int result = code == Z_STREAM_END ? next_member(z, bytes, &more, err) : CAIRN_OK;
        if (result < 0)
            return result;
    }
    return CAIRN_OK;
}

int cairn_zip_gunzip(struct cairn_span bytes, size_t limit, struct cairn_buffer *ret_bytes,
                     struct cairn_err *err)
{
    z_stream z = stream_over(bytes);
    size_t start = ret_bytes->size;
    int result = inflateInit2(&z, GZIP_WINDOW) == Z_OK
                     ? gunzip_members(&z, bytes, limit, ret_bytes, err)
                     : cairn_fail_memory(err);
    inflateEnd(&z);
    if (result < 0)
        ret_bytes->size = start;
    if (ret_bytes->data)
        ret_bytes->data[ret_bytes->size] = 0;
    return result;
}

static int deflate_into(z_stream *z, struct cairn_span bytes, struct cairn_buffer *out,
                        struct cairn_err *err)
{
    int code = Z_OK;
    while (code != Z_STREAM_END) {
        size_t left = refill(z, bytes);
        if (!cairn_buffer_reserve(out, piece_for(bytes)))
            return cairn_fail_memory(err);
        size_t room = out->cap - 1 - out->size;
        z->next_out = out->data + out->size;
        z->avail_out = room < PIECE_MAX ? (uInt)room : PIECE_MAX;
        code = deflate(z, left <= PIECE_MAX ? Z_FINISH : Z_NO_FLUSH);
        out->size = (size_t)(z->next_out - out->data);
        if (code != Z_OK && code != Z_BUF_ERROR && code != Z_STREAM_END)
            return cairn_fail(err, CAIRN_E_ARG, "cannot compress: zlib says %d", code);
    }
    out->data[out->size] = 0;
    return CAIRN_OK;
}

/* zlib's window and memory level for so many bytes. What is small needs no tables for 32 KiB: they
 * take longer to clear than the bytes to compress. A match reaches 262 bytes less than the window
 * (MIN_LOOKAHEAD of zlib's deflate.h), and a block holds 2^(level + 6) symbols. */
static void size_tables(size_t size, int *ret_window, int *ret_memory)
{
    enum { WINDOW_MIN = 9, MEMORY_MIN = 1, MEMORY_MAX = 8, LOOKAHEAD = 262, BLOCK_BITS = 6 };
    int window = WINDOW_MIN, memory = MEMORY_MIN;
    while (window < MAX_WBITS && ((size_t)1 << window) < size + LOOKAHEAD)
        window++;
    while (memory < MEMORY_MAX && ((size_t)1 << (memory + BLOCK_BITS)) <= size)
        memory++;
    *ret_window = window;
    *ret_memory = memory;
}

/* `gzip`: with its header and checksum (zlib then writes time 0), else raw deflate. */
static int compress_with(bool gzip, struct cairn_span bytes, int level, int strategy,
                         struct cairn_buffer *out, struct cairn_err *err)
{
    int window, memory;
    size_tables(bytes.size, &window, &memory);
    z_stream z = stream_over(bytes);
    int code =
        deflateInit2(&z, level, Z_DEFLATED, gzip ? window + GZIP_FLAG : -window, memory, strategy);
    if (code == Z_MEM_ERROR)
        return cairn_fail_memory(err);
    if (code != Z_OK)
        return cairn_fail(err, CAIRN_E_ARG, "compression level %d, expected 1 to 9", level);
    size_t start = out->size;
    int result = deflate_into(&z, bytes, out, err);
    deflateEnd(&z);
    if (result < 0) {
        out->size = start;
        if (out->data)
            out->data[start] = 0;
    }
    return result;
}

int cairn_zip_gzip(struct cairn_span bytes, int level, struct cairn_buffer *ret_bytes,
                   struct cairn_err *err)
{
    return compress_with(true, bytes, level, Z_DEFAULT_STRATEGY, ret_bytes, err);
}

int cairn_zip_deflate(struct cairn_span bytes, enum cairn_zip_way way,
                      struct cairn_buffer *ret_bytes, struct cairn_err *err)
{
    static const struct {
        int level, strategy;
    } ways[CAIRN_ZIP_WAYS] = {
        [CAIRN_ZIP_SMALL] = {9, Z_DEFAULT_STRATEGY},
        [CAIRN_ZIP_FAST] = {1, Z_DEFAULT_STRATEGY},
        [CAIRN_ZIP_RUNS] = {1, Z_RLE},
        [CAIRN_ZIP_SYMBOLS] = {1, Z_HUFFMAN_ONLY},
    };
    return compress_with(false, bytes, ways[way].level, ways[way].strategy, ret_bytes, err);
}

/* One stream to its end mark, into what is left of `out`. A byte more than fits is caught by
 * `over`: zlib checks the end mark only where it may write on. */
static int inflate_stream(z_stream *z, struct cairn_span bytes, const uint8_t *out_end,
                          struct cairn_err *err)
{
    uint8_t over;
    int code = Z_OK;
    while (code == Z_OK) {
        refill(z, bytes);
        size_t room = (size_t)(out_end - z->next_out);
        bool full = room == 0;
        z->avail_out = full ? 1 : room < PIECE_MAX ? (uInt)room : PIECE_MAX;
        Bytef *kept = z->next_out;
        if (full)
            z->next_out = &over;
        code = inflate(z, Z_NO_FLUSH);
        if (!full)
            continue;
        z->next_out = kept;
        if (z->avail_out == 0)
            return cairn_fail(err, CAIRN_E_FORMAT, "unpacks to more bytes than expected");
    }
    return code == Z_STREAM_END ? CAIRN_OK : fail_stream(err, z, bytes, code);
}

/* Ends the stream, which was to give so many bytes. */
static int end_exact(z_stream *z, size_t done, size_t expected, int result, struct cairn_err *err)
{
    inflateEnd(z);
    if (result == CAIRN_OK && done != expected)
        return cairn_fail(err, CAIRN_E_FORMAT, "unpacks to %zu bytes, expected %zu", done,
                          expected);
    return result;
}

int cairn_zip_inflate_raw(struct cairn_span bytes, uint8_t *out, size_t out_size,
                          struct cairn_err *err)
{
    z_stream z = stream_over(bytes);
    if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
        return cairn_fail_memory(err);
    z.next_out = out;
    int result = inflate_stream(&z, bytes, out + out_size, err);
    return end_exact(&z, (size_t)(z.next_out - out), out_size, result, err);
}

/* Old linkers joined the compressed sections of several objects as they were: one stream behind the
 * other, until the size that the header claims is there. */
int cairn_zip_inflate_exact(struct cairn_span bytes, uint8_t *out, size_t out_size,
                            struct cairn_err *err)
{
    z_stream z = stream_over(bytes);
    if (inflateInit(&z) != Z_OK)
        return cairn_fail_memory(err);
    z.next_out = out;
    const uint8_t *out_end = out + out_size;
    int result;
    do
        result = inflate_stream(&z, bytes, out_end, err);
    while (result == CAIRN_OK && z.next_out < out_end && refill(&z, bytes) > 0 &&
           inflateReset(&z) == Z_OK);
    return end_exact(&z, (size_t)(z.next_out - out), out_size, result, err);
}

int cairn_zip_zstd_exact(struct cairn_span bytes, uint8_t *out, size_t out_size,
                         struct cairn_err *err)
{
    size_t done = ZSTD_decompress(out, out_size, bytes.data, bytes.size);
    if (ZSTD_isError(done))
        return cairn_fail(err, CAIRN_E_FORMAT, "zstd data (%zu bytes) is damaged: %s", bytes.size,
                          ZSTD_getErrorName(done));
    if (done != out_size)
        return cairn_fail(err, CAIRN_E_FORMAT, "unpacks to %zu bytes, expected %zu", done,
                          out_size);
    return CAIRN_OK;
}

const char *cairn_zip_program(struct cairn_span head)
{
    static const struct {
        const char *magic, *program;
    } rows[] = {
        {"\x1f\x8b\x08", "gzip"},
        {"\x28\xb5\x2f\xfd", "zstd"},
        {"\xfd"
         "7zXZ",
         "xz"},
        {"BZh", "bzip2"},
        {"\x04\x22\x4d\x18", "lz4"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t size = strlen(rows[i].magic);
        if (head.size >= size && memcmp(head.data, rows[i].magic, size) == 0)
            return rows[i].program;
    }
    return NULL;
}

bool cairn_zip_is_zstd(struct cairn_span bytes)
{
    static const uint8_t magic[] = {0x28, 0xb5, 0x2f, 0xfd};
    return bytes.size >= sizeof magic && memcmp(bytes.data, magic, sizeof magic) == 0;
}

static int unzstd_frames(ZSTD_DCtx *zstd, struct cairn_span bytes, size_t limit,
                         struct cairn_buffer *out, struct cairn_err *err)
{
    ZSTD_inBuffer in = {bytes.data, bytes.size, 0};
    size_t start = out->size, left = 1;
    while (in.pos < in.size || left) {
        size_t room = piece_for(bytes);
        if (!cairn_buffer_reserve(out, room))
            return cairn_fail_memory(err);
        ZSTD_outBuffer piece = {out->data + out->size, room, 0};
        size_t before = in.pos;
        left = ZSTD_decompressStream(zstd, &piece, &in);
        if (ZSTD_isError(left))
            return cairn_fail(err, CAIRN_E_FORMAT, "compressed data is damaged at 0x%zx: %s",
                              in.pos, ZSTD_getErrorName(left));
        out->size += piece.pos;
        if (out->size - start > limit)
            return cairn_fail(err, CAIRN_E_LIMIT, "unpacks to more than %zu bytes", limit);
        if (left && !piece.pos && in.pos == before)
            return cairn_fail(err, CAIRN_E_FORMAT, "compressed data ends early, after %zu bytes",
                              bytes.size);
    }
    return CAIRN_OK;
}

int cairn_zip_unzstd(struct cairn_span bytes, size_t limit, struct cairn_buffer *ret_bytes,
                     struct cairn_err *err)
{
    size_t start = ret_bytes->size;
    ZSTD_DCtx *zstd = ZSTD_createDCtx();
    if (!zstd)
        return cairn_fail_memory(err);
    int result = unzstd_frames(zstd, bytes, limit, ret_bytes, err);
    ZSTD_freeDCtx(zstd);
    if (result < 0)
        ret_bytes->size = start;
    if (ret_bytes->data)
        ret_bytes->data[ret_bytes->size] = 0;
    return result;
}
