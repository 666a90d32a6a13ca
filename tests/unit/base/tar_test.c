/* SPDX-License-Identifier: MIT */
#include "base/tar.h"

#include <stdio.h>

#include "base/buffer.h"
#include "base/zip.h"
#include "base/zstd_writer.h"
#include "support/test.h"

enum { BLOCK = 512 };

static struct cairn_err err;

static int keep(void *ctx, const void *bytes, size_t size)
{
    struct cairn_buffer *out = ctx;
    cairn_buffer_add(out, bytes, size);
    return out->failed ? -1 : 0;
}

static int refuse(void *ctx, const void *bytes, size_t size)
{
    (void)ctx;
    (void)bytes;
    (void)size;
    return -1;
}

static void a_file_is_a_header_and_whole_blocks(void **state)
{
    (void)state;
    struct cairn_buffer out = {0};
    const struct cairn_tar tar = {keep, &out};
    assert_ok(cairn_tar_file(&tar, "a/b", cairn_span_of("hello"), &err), err);
    assert_ok(cairn_tar_end(&tar, &err), err);
    assert_int_equal(out.size, 4 * BLOCK);
    const char *header = (const char *)out.data;
    assert_string_equal(header, "a/b");
    assert_string_equal(header + 124, "00000000005");
    assert_memory_equal(header + 257, "ustar\00000", 8);
    assert_int_equal(header[156], '0');
    unsigned sum = 0, said;
    for (size_t i = 0; i < BLOCK; i++)
        sum += i >= 148 && i < 156 ? ' ' : out.data[i];
    assert_int_equal(sscanf(header + 148, "%o", &said), 1);
    assert_int_equal(said, sum);
    assert_memory_equal(out.data + BLOCK, "hello\0", 6);
    cairn_buffer_done(&out);
}

static void long_names_stand_in_a_pax_header(void **state)
{
    (void)state;
    struct cairn_buffer out = {0};
    const struct cairn_tar tar = {keep, &out};
    char name[151] = "", record[200];
    memset(name, 'n', 150);
    assert_ok(cairn_tar_link(&tar, name, name, &err), err);
    assert_int_equal(out.size, 3 * BLOCK);
    assert_int_equal(out.data[156], 'x');
    snprintf(record, sizeof record, "160 path=%s\n", name);
    assert_int_equal(strlen(record), 160);
    assert_memory_equal(out.data + BLOCK, record, 160);
    snprintf(record, sizeof record, "164 linkpath=%s\n", name);
    assert_int_equal(strlen(record), 164);
    assert_memory_equal(out.data + BLOCK + 160, record, 164);
    assert_int_equal(out.data[2 * BLOCK + 156], '2');
    cairn_buffer_done(&out);
}

static void a_writer_that_fails_ends_it(void **state)
{
    (void)state;
    const struct cairn_tar tar = {refuse, NULL};
    assert_fails(cairn_tar_file(&tar, "a", cairn_span_of("x"), &err), CAIRN_E_IO, err, "archive");
    struct cairn_zstd_writer zstd = {.write = refuse};
    (void)cairn_zstd_writer_add(&zstd, "x", 1);
    assert_fails(cairn_zstd_writer_end(&zstd, true, &err), CAIRN_E_IO, err, "written");
}

static void what_is_packed_unpacks_again(void **state)
{
    (void)state;
    struct cairn_buffer packed = {0}, plain = {0}, wanted = {0};
    struct cairn_zstd_writer zstd = {.write = keep, .ctx = &packed};
    for (unsigned i = 0; i < 100000; i++)
        cairn_buffer_printf(&wanted, "%u ", i * i);
    for (size_t at = 0; at < wanted.size; at += 1000)
        assert_int_equal(cairn_zstd_writer_add(&zstd, wanted.data + at,
                                               wanted.size - at < 1000 ? wanted.size - at : 1000),
                         0);
    assert_ok(cairn_zstd_writer_end(&zstd, true, &err), err);
    assert_true(packed.size < wanted.size);
    assert_ok(cairn_zip_unzstd(cairn_buffer_span(&packed), wanted.size, &plain, &err), err);
    assert_int_equal(plain.size, wanted.size);
    assert_memory_equal(plain.data, wanted.data, wanted.size);
    cairn_buffer_done(&packed);
    cairn_buffer_done(&plain);
    cairn_buffer_done(&wanted);
}

static void raw_deflate_gives_exactly_what_is_claimed(void **state)
{
    (void)state;
    struct cairn_buffer packed = {0};
    uint8_t plain[12];
    assert_ok(cairn_zip_deflate(cairn_span_of("hello hello"), CAIRN_ZIP_SMALL, &packed, &err), err);
    const struct cairn_span bytes = cairn_buffer_span(&packed);
    assert_ok(cairn_zip_inflate_raw(bytes, plain, 11, &err), err);
    assert_memory_equal(plain, "hello hello", 11);
    assert_fails(cairn_zip_inflate_raw(bytes, plain, 10, &err), CAIRN_E_FORMAT, err, "more bytes");
    assert_fails(cairn_zip_inflate_raw(bytes, plain, 12, &err), CAIRN_E_FORMAT, err, "expected 12");
    const struct cairn_span cut = {packed.data, packed.size - 2};
    assert_true(cairn_zip_inflate_raw(cut, plain, 11, &err) < 0);
    cairn_buffer_done(&packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_a_header_and_whole_blocks),
        cmocka_unit_test(long_names_stand_in_a_pax_header),
        cmocka_unit_test(a_writer_that_fails_ends_it),
        cmocka_unit_test(what_is_packed_unpacks_again),
        cmocka_unit_test(raw_deflate_gives_exactly_what_is_claimed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
