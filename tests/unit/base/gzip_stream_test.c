/* SPDX-License-Identifier: MIT */
#include "base/gzip_stream.h"

#include "base/alloc.h"
#include "base/zip.h"
#include "support/test.h"

enum { SIZE = 1 << 20 };

static int keep(void *ctx, const void *bytes, size_t size)
{
    struct cairn_buffer *out = ctx;
    cairn_buffer_add(out, bytes, size);
    return out->failed;
}

/* Numbers without a pattern: what is packed is longer than the stream's own buffer. */
static uint8_t *noise(void)
{
    uint8_t *bytes = test_malloc(SIZE);
    uint32_t seed = 1;
    for (size_t i = 0; i < SIZE; i++) {
        seed = seed * 1664525 + 1013904223;
        bytes[i] = (uint8_t)(seed >> 24);
    }
    return bytes;
}

static int pack_pieces(const uint8_t *bytes, size_t size, size_t piece, struct cairn_buffer *out,
                       struct cairn_err *err)
{
    struct cairn_gzip_stream *stream;
    int code = cairn_gzip_stream_open(1, keep, out, &stream, err);
    if (code < 0)
        return code;
    for (size_t at = 0; at < size && code == CAIRN_OK; at += piece)
        code =
            cairn_gzip_stream_add(stream, bytes + at, size - at < piece ? size - at : piece, err);
    return cairn_gzip_stream_close(stream, code, err);
}

static void pieces_of_any_size_come_back(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 1000, SIZE}, pieces[] = {1, 999, SIZE};
    uint8_t *bytes = noise();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t k = sizes[i] == SIZE; k < sizeof pieces / sizeof *pieces; k++) {
            struct cairn_buffer out = {0}, back = {0};
            struct cairn_err err;
            assert_ok(pack_pieces(bytes, sizes[i], pieces[k], &out, &err), err);
            assert_ok(cairn_zip_gunzip(cairn_buffer_span(&out), SIZE, &back, &err), err);
            assert_int_equal(back.size, sizes[i]);
            if (back.size)
                assert_memory_equal(back.data, bytes, back.size);
            cairn_buffer_done(&out);
            cairn_buffer_done(&back);
        }
    test_free(bytes);
}

static int refuse(void *ctx, const void *bytes, size_t size)
{
    (void)ctx;
    (void)bytes;
    return size != 0;
}

static void an_output_that_refuses_is_reported(void **state)
{
    (void)state;
    struct cairn_gzip_stream *stream;
    struct cairn_err err;
    assert_ok(cairn_gzip_stream_open(1, refuse, NULL, &stream, &err), err);
    int code = cairn_gzip_stream_add(stream, "a", 1, &err);
    assert_fails(cairn_gzip_stream_close(stream, code, &err), CAIRN_E_IO, err,
                 "could not be written");
    assert_fails(cairn_gzip_stream_open(10, refuse, NULL, &stream, &err), CAIRN_E_ARG, err,
                 "level 10");
}

static void lack_of_memory_is_reported_wherever_it_happens(void **state)
{
    (void)state;
    int code = CAIRN_E_NOMEM;
    for (long n = 0; code != CAIRN_OK && n < 100; n++) {
        struct cairn_buffer out = {0};
        struct cairn_err err;
        cairn_alloc_fail_after(n);
        code = pack_pieces((const uint8_t *)"text", 4, 4, &out, &err);
        cairn_alloc_fail_after(-1);
        assert_true(code == CAIRN_OK || code == CAIRN_E_NOMEM || code == CAIRN_E_IO);
        cairn_buffer_done(&out);
    }
    assert_int_equal(code, CAIRN_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_of_any_size_come_back),
        cmocka_unit_test(an_output_that_refuses_is_reported),
        cmocka_unit_test(lack_of_memory_is_reported_wherever_it_happens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
