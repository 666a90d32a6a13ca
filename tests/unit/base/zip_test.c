/* SPDX-License-Identifier: MIT */
#include "base/zip.h"

#include <zlib.h>
#include <zstd.h>

#include "base/alloc.h"
#include "support/test.h"

enum { SIZE = 300000, NO_LIMIT = 1 << 30 };

/* Text that neither repeats nor is random: it packs to about a third. */
static uint8_t *sample(size_t size)
{
    uint8_t *bytes = malloc(size);
    assert_non_null(bytes);
    uint32_t seed = 1;
    for (size_t i = 0; i < size; i++) {
        seed = seed * 1664525 + 1013904223;
        bytes[i] = (uint8_t)("etaoin shrdlu;01"[seed >> 28]);
    }
    return bytes;
}

static struct cairn_span span(const void *bytes, size_t size)
{
    return (struct cairn_span){bytes, size};
}

static struct cairn_buffer packed(struct cairn_span bytes)
{
    struct cairn_buffer b = {0};
    struct cairn_err err;
    assert_ok(cairn_zip_gzip(bytes, 6, &b, &err), err);
    return b;
}

static void zstd_frames_come_back(void **state)
{
    (void)state;
    uint8_t *bytes = sample(SIZE);
    size_t room = ZSTD_compressBound(SIZE);
    uint8_t *zipped = malloc(2 * room);
    assert_non_null(zipped);
    size_t n = ZSTD_compress(zipped, room, bytes, SIZE, 3);
    assert_false(ZSTD_isError(n));
    memcpy(zipped + n, zipped, n);
    struct cairn_buffer back = {0};
    struct cairn_err err;
    assert_true(cairn_zip_is_zstd(span(zipped, n)));
    assert_false(cairn_zip_is_zstd(span(zipped, 3)) || cairn_zip_is_zstd(span(bytes, SIZE)));
    assert_ok(cairn_zip_unzstd(span(zipped, 2 * n), 2 * SIZE, &back, &err), err);
    assert_int_equal(back.size, 2 * SIZE);
    assert_memory_equal(back.data, bytes, SIZE);
    assert_memory_equal(back.data + SIZE, bytes, SIZE);
    assert_fails(cairn_zip_unzstd(span(zipped, n), SIZE - 1, &back, &err), CAIRN_E_LIMIT, err,
                 "more than");
    for (size_t size = 0; size < n; size += 1 + n / 100)
        assert_fails(cairn_zip_unzstd(span(zipped, size), NO_LIMIT, &back, &err), CAIRN_E_FORMAT,
                     err, "ends early");
    zipped[n / 2] ^= 0xff;
    zipped[n / 3] ^= 0xff;
    int code = cairn_zip_unzstd(span(zipped, n), SIZE, &back, &err);
    assert_true(code == CAIRN_OK || code == CAIRN_E_FORMAT || code == CAIRN_E_LIMIT);
    cairn_buffer_done(&back);
    free(zipped);
    free(bytes);
}

static void what_was_packed_comes_back(void **state)
{
    (void)state;
    uint8_t *bytes = sample(SIZE);
    struct cairn_err err;
    for (size_t size = 0; size <= SIZE; size = size * 3 + 1) {
        struct cairn_buffer zipped = packed(span(bytes, size)), back = {0};
        assert_true(cairn_zip_is_gzip(cairn_buffer_span(&zipped)));
        cairn_buffer_str(&back, "before");
        assert_ok(cairn_zip_gunzip(cairn_buffer_span(&zipped), size, &back, &err), err);
        assert_int_equal(back.size, size + 6);
        assert_memory_equal(back.data, "before", 6);
        if (size)
            assert_memory_equal(back.data + 6, bytes, size);
        assert_int_equal(back.data[back.size], 0);
        cairn_buffer_done(&back);
        cairn_buffer_done(&zipped);
    }
    free(bytes);
}

static void equal_input_gives_equal_bytes_without_a_time(void **state)
{
    (void)state;
    struct cairn_buffer a = packed(span("abc", 3)), b = packed(span("abc", 3));
    assert_true(cairn_span_equal(cairn_buffer_span(&a), cairn_buffer_span(&b)));
    assert_memory_equal(a.data + 4, "\0\0\0\0", 4); /* RFC 1952, MTIME */
    cairn_buffer_done(&a);
    cairn_buffer_done(&b);
}

static void all_members_are_read_and_zero_padding_is_fine(void **state)
{
    (void)state;
    struct cairn_buffer zipped = {0}, back = {0};
    struct cairn_err err;
    assert_ok(cairn_zip_gzip(span("one ", 4), 9, &zipped, &err), err);
    assert_ok(cairn_zip_gzip(span("", 0), 1, &zipped, &err), err);
    assert_ok(cairn_zip_gzip(span("two", 3), 1, &zipped, &err), err);
    cairn_buffer_add(&zipped, "\0\0\0\0", 4);
    assert_ok(cairn_zip_gunzip(cairn_buffer_span(&zipped), 7, &back, &err), err);
    assert_string_equal(cairn_buffer_text(&back), "one two");
    cairn_buffer_char(&zipped, 'x');
    assert_fails(cairn_zip_gunzip(cairn_buffer_span(&zipped), 7, &back, &err), CAIRN_E_FORMAT, err,
                 "expected another member");
    assert_string_equal(cairn_buffer_text(&back), "one two");
    cairn_buffer_done(&zipped);
    cairn_buffer_done(&back);
}

static void a_bomb_stops_at_the_limit(void **state)
{
    (void)state;
    enum { BOMB = 64 << 20, LIMIT = 1 << 20 };
    uint8_t *zeros = calloc(BOMB, 1);
    assert_non_null(zeros);
    struct cairn_buffer zipped = packed(span(zeros, BOMB)), back = {0};
    free(zeros);
    struct cairn_err err;
    assert_fails(cairn_zip_gunzip(cairn_buffer_span(&zipped), LIMIT, &back, &err), CAIRN_E_LIMIT,
                 err, "more than 1048576 bytes");
    assert_int_equal(back.size, 0);
    assert_in_range(back.cap, 0, 4 * LIMIT);
    cairn_buffer_done(&back);
    cairn_buffer_done(&zipped);
}

static void every_truncation_and_every_flipped_byte_is_refused(void **state)
{
    (void)state;
    struct cairn_buffer zipped = packed(span("some text, some text, some more text", 36));
    struct cairn_err err;
    for (size_t size = 0; size < zipped.size; size++) {
        uint8_t *cut = test_copy(zipped.data, size);
        struct cairn_buffer back = {0};
        assert_fails(cairn_zip_gunzip(span(cut, size), NO_LIMIT, &back, &err), CAIRN_E_FORMAT, err,
                     size < 2 ? "" : "ends early");
        assert_int_equal(back.size, 0);
        cairn_buffer_done(&back);
        free(cut);
    }
    for (size_t i = 10; i < zipped.size; i++) { /* the header's time and system are free */
        struct cairn_buffer back = {0};
        zipped.data[i] ^= 0x41;
        assert_int_equal(cairn_zip_gunzip(cairn_buffer_span(&zipped), NO_LIMIT, &back, &err),
                         CAIRN_E_FORMAT);
        zipped.data[i] ^= 0x41;
        cairn_buffer_done(&back);
    }
    cairn_buffer_done(&zipped);
}

static void raw_deflate_is_what_zlib_inflates(void **state)
{
    (void)state;
    uint8_t *bytes = sample(SIZE), *back = malloc(SIZE);
    assert_non_null(back);
    for (enum cairn_zip_way way = 0; way < CAIRN_ZIP_WAYS; way++) {
        struct cairn_buffer b = {0};
        struct cairn_err err;
        memset(back, 0, SIZE);
        assert_ok(cairn_zip_deflate(span(bytes, SIZE), way, &b, &err), err);
        z_stream z = {
            .next_in = b.data, .avail_in = (uInt)b.size, .next_out = back, .avail_out = SIZE};
        assert_int_equal(inflateInit2(&z, -15), Z_OK);
        assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
        inflateEnd(&z);
        assert_memory_equal(back, bytes, SIZE);
        cairn_buffer_done(&b);
    }
    free(bytes);
    free(back);
}

static void a_level_that_is_none_is_refused(void **state)
{
    (void)state;
    struct cairn_buffer b = {0};
    struct cairn_err err;
    assert_fails(cairn_zip_gzip(span("x", 1), 10, &b, &err), CAIRN_E_ARG, err, "level 10");
    cairn_buffer_done(&b);
}

/* A zlib stream of `size` bytes of `bytes`, at `out`; returns its length. */
static size_t zlib_stream(const uint8_t *bytes, size_t size, uint8_t *out, size_t cap)
{
    uLongf out_size = cap;
    assert_int_equal(compress(out, &out_size, bytes, size), Z_OK);
    return out_size;
}

static void exactly_the_claimed_size_comes_out(void **state)
{
    (void)state;
    enum { CAP = SIZE * 2 };
    uint8_t *bytes = sample(SIZE), *zipped = malloc(CAP);
    assert_non_null(zipped);
    size_t size = zlib_stream(bytes, SIZE, zipped, CAP);
    struct cairn_err err;
    uint8_t *out = malloc(SIZE);
    assert_ok(cairn_zip_inflate_exact(span(zipped, size), out, SIZE, &err), err);
    assert_memory_equal(out, bytes, SIZE);
    free(out);
    out = malloc(SIZE - 1);
    assert_fails(cairn_zip_inflate_exact(span(zipped, size), out, SIZE - 1, &err), CAIRN_E_FORMAT,
                 err, "more bytes than expected");
    free(out);
    out = malloc(SIZE + 1);
    assert_fails(cairn_zip_inflate_exact(span(zipped, size), out, SIZE + 1, &err), CAIRN_E_FORMAT,
                 err, "unpacks to 300000 bytes, expected 300001");
    free(out);
    size_t empty = zlib_stream(bytes, 0, zipped, CAP);
    uint8_t nothing;
    assert_ok(cairn_zip_inflate_exact(span(zipped, empty), &nothing, 0, &err), err);
    free(zipped);
    free(bytes);
}

static void streams_that_a_linker_joined_are_one(void **state)
{
    (void)state;
    uint8_t zipped[256], out[10];
    size_t size = zlib_stream((const uint8_t *)"first", 5, zipped, sizeof zipped);
    size += zlib_stream((const uint8_t *)"later", 5, zipped + size, sizeof zipped - size);
    struct cairn_err err;
    assert_ok(cairn_zip_inflate_exact(span(zipped, size), out, sizeof out, &err), err);
    assert_memory_equal(out, "firstlater", 10);
}

static void damaged_sections_are_refused(void **state)
{
    (void)state;
    static const uint8_t text[] = "line line line line program";
    uint8_t zlibbed[256], zstded[256], out[sizeof text];
    size_t zlib_size = zlib_stream(text, sizeof text, zlibbed, sizeof zlibbed);
    size_t zstd_size = ZSTD_compress(zstded, sizeof zstded, text, sizeof text, 3);
    struct cairn_err err;
    assert_ok(cairn_zip_zstd_exact(span(zstded, zstd_size), out, sizeof out, &err), err);
    assert_memory_equal(out, text, sizeof text);
    for (size_t size = 0; size < zlib_size; size++) {
        uint8_t *cut = test_copy(zlibbed, size);
        assert_fails(cairn_zip_inflate_exact(span(cut, size), out, sizeof out, &err),
                     CAIRN_E_FORMAT, err, "");
        free(cut);
    }
    for (size_t size = 0; size < zstd_size; size++) {
        uint8_t *cut = test_copy(zstded, size);
        assert_fails(cairn_zip_zstd_exact(span(cut, size), out, sizeof out, &err), CAIRN_E_FORMAT,
                     err, "");
        free(cut);
    }
    for (size_t i = 0; i < zlib_size; i++) { /* the checksum finds all that the code does not */
        zlibbed[i] ^= 0x10;
        int code = cairn_zip_inflate_exact(span(zlibbed, zlib_size), out, sizeof out, &err);
        if (code == CAIRN_OK) /* a larger window than needed is no damage */
            assert_memory_equal(out, text, sizeof text);
        zlibbed[i] ^= 0x10;
    }
    assert_fails(cairn_zip_zstd_exact(span(zstded, zstd_size), out, sizeof out - 1, &err),
                 CAIRN_E_FORMAT, err, "damaged");
    uint8_t roomy[sizeof text + 1];
    assert_fails(cairn_zip_zstd_exact(span(zstded, zstd_size), roomy, sizeof roomy, &err),
                 CAIRN_E_FORMAT, err, "expected 29");
}

static void lack_of_memory_at_any_place_leaves_the_output_as_it_was(void **state)
{
    (void)state;
    uint8_t *bytes = sample(SIZE);
    struct cairn_buffer zipped = packed(span(bytes, SIZE));
    struct cairn_err err;
    bool failed = true;
    for (long n = 0; failed && n < 100; n++) {
        struct cairn_buffer out = {0};
        cairn_buffer_str(&out, "kept");
        cairn_alloc_fail_after(n);
        int gunzipped = cairn_zip_gunzip(cairn_buffer_span(&zipped), NO_LIMIT, &out, &err);
        cairn_alloc_fail_after(-1);
        failed = gunzipped < 0;
        if (failed) {
            assert_int_equal(err.code, CAIRN_E_NOMEM);
            assert_string_equal(cairn_buffer_text(&out), "kept");
        }
        cairn_buffer_done(&out);
        cairn_buffer_str(&out, "kept");
        cairn_alloc_fail_after(n);
        int gzipped = cairn_zip_gzip(span(bytes, SIZE), 6, &out, &err);
        cairn_alloc_fail_after(-1);
        if (gzipped < 0) {
            assert_int_equal(err.code, CAIRN_E_NOMEM);
            assert_string_equal(cairn_buffer_text(&out), "kept");
        }
        failed |= gzipped < 0;
        cairn_buffer_done(&out);
    }
    assert_false(failed);
    uint8_t small[64], out[3];
    size_t size = zlib_stream((const uint8_t *)"abc", 3, small, sizeof small);
    cairn_alloc_fail_after(0);
    assert_int_equal(cairn_zip_inflate_exact(span(small, size), out, 3, &err), CAIRN_E_NOMEM);
    cairn_alloc_fail_after(-1);
    cairn_buffer_done(&zipped);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zstd_frames_come_back),
        cmocka_unit_test(what_was_packed_comes_back),
        cmocka_unit_test(equal_input_gives_equal_bytes_without_a_time),
        cmocka_unit_test(all_members_are_read_and_zero_padding_is_fine),
        cmocka_unit_test(a_bomb_stops_at_the_limit),
        cmocka_unit_test(every_truncation_and_every_flipped_byte_is_refused),
        cmocka_unit_test(raw_deflate_is_what_zlib_inflates),
        cmocka_unit_test(a_level_that_is_none_is_refused),
        cmocka_unit_test(exactly_the_claimed_size_comes_out),
        cmocka_unit_test(streams_that_a_linker_joined_are_one),
        cmocka_unit_test(damaged_sections_are_refused),
        cmocka_unit_test(lack_of_memory_at_any_place_leaves_the_output_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
