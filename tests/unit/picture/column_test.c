/* SPDX-License-Identifier: MIT */
#include "picture/column.h"

#include <zlib.h>

#include "base/alloc.h"
#include "support/test.h"

static int append(void *ctx, const void *bytes, size_t size)
{
    cairn_buffer_add(ctx, bytes, size);
    return 0;
}

/* What the column is written as; the caller frees. */
static struct cairn_buffer written(struct cairn_column *column)
{
    struct cairn_buffer text = {0};
    struct cairn_out out = {.write = append, .ctx = &text};
    struct cairn_err err;
    assert_ok(cairn_column_write(column, &out, "it", &err), err);
    assert_ok(cairn_out_finish(&out, &err), err);
    return text;
}

static size_t count_points(const struct cairn_buffer *text)
{
    size_t n = 0;
    for (const char *at = cairn_buffer_text(text); (at = strchr(at, '.')); at++)
        n++;
    return n;
}

static void a_column_has_as_many_planes_as_its_largest_number_has_bytes(void **state)
{
    (void)state;
    static const struct {
        uint64_t largest;
        size_t n_planes;
    } rows[] = {{0, 1}, {255, 1}, {256, 2}, {0xffff, 2}, {0x10000, 3}, {UINT64_MAX, 8}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cairn_column column = {0};
        cairn_column_add(&column, 3);
        cairn_column_add(&column, rows[i].largest);
        cairn_column_add(&column, 1);
        assert_int_equal(column.n_planes, rows[i].n_planes);
        for (size_t k = 0; k < column.n_planes; k++) {
            assert_int_equal(column.planes[k][0], k == 0 ? 3 : 0);
            assert_int_equal(column.planes[k][1], rows[i].largest >> (8 * k) & 255);
            assert_int_equal(column.planes[k][2], k == 0 ? 1 : 0);
        }
        struct cairn_buffer text = written(&column);
        assert_int_equal(count_points(&text), rows[i].n_planes - 1);
        assert_int_equal(column.n, 0);
        cairn_buffer_done(&text);
    }
}

static void a_column_without_numbers_is_an_empty_element(void **state)
{
    (void)state;
    struct cairn_column column = {0};
    struct cairn_buffer text = written(&column);
    assert_string_equal(cairn_buffer_text(&text),
                        "<script type=\"text/plain\" id=\"data-it\"></script>\n");
    cairn_buffer_done(&text);
}

static void signs_are_zigzag(void **state)
{
    (void)state;
    static const struct {
        int64_t value;
        uint64_t wanted;
    } rows[] = {
        {0, 0}, {-1, 1}, {1, 2}, {-64, 127}, {INT64_MAX, UINT64_MAX - 1}, {INT64_MIN, UINT64_MAX}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cairn_column column = {0};
        uint64_t got = 0;
        cairn_column_add_signed(&column, rows[i].value);
        for (size_t k = 0; k < column.n_planes; k++)
            got |= (uint64_t)column.planes[k][0] << (8 * k);
        assert_true(got == rows[i].wanted);
        cairn_column_done(&column);
    }
}

/* Long enough that the way of each plane is tried first: noise, runs, and a pattern. */
static void long_columns_come_back_whole(void **state)
{
    (void)state;
    enum { N = 400000 };
    struct cairn_column column = {0};
    uint32_t noise = 1;
    for (uint32_t i = 0; i < N; i++) {
        noise = noise * 1664525 + 1013904223;
        cairn_column_add(&column, noise >> 24 | (i / 50000) << 8 | (i % 7) << 16);
    }
    uint8_t *planes = malloc(3 * N), *back = malloc(N);
    assert_non_null(planes);
    assert_non_null(back);
    for (size_t k = 0; k < 3; k++)
        memcpy(planes + k * N, column.planes[k], N);
    struct cairn_buffer text = written(&column);
    const char *at = strchr(cairn_buffer_text(&text), '>') + 1;
    for (size_t k = 0; k < 3; k++) {
        size_t size = strcspn(at, ".<");
        struct cairn_buffer packed = {0};
        for (size_t i = 0; i + 3 < size; i += 4) {
            static const char digits[] =
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
            uint32_t group = 0, n = 3;
            for (size_t d = 0; d < 4; d++) {
                n -= at[i + d] == '=';
                group = group << 6 |
                        (at[i + d] == '=' ? 0 : (uint32_t)(strchr(digits, at[i + d]) - digits));
            }
            const uint8_t bytes[] = {(uint8_t)(group >> 16), (uint8_t)(group >> 8), (uint8_t)group};
            cairn_buffer_add(&packed, bytes, n);
        }
        z_stream z = {.next_in = packed.data,
                      .avail_in = (uInt)packed.size,
                      .next_out = back,
                      .avail_out = N};
        assert_int_equal(inflateInit2(&z, -15), Z_OK);
        assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
        assert_int_equal(z.total_out, N);
        inflateEnd(&z);
        assert_memory_equal(back, planes + k * N, N);
        cairn_buffer_done(&packed);
        at += size + 1;
    }
    cairn_buffer_done(&text);
    free(planes);
    free(back);
}

static void without_memory_writing_fails_and_nothing_is_left(void **state)
{
    (void)state;
    for (long n = 0;; n++) {
        struct cairn_column column = {0};
        struct cairn_buffer text = {0};
        struct cairn_out out = {.write = append, .ctx = &text};
        struct cairn_err err;
        cairn_alloc_fail_after(n);
        for (uint64_t i = 0; i < 200; i++)
            cairn_column_add(&column, i * i);
        int rc = cairn_column_write(&column, &out, "it", &err);
        int finished = cairn_out_finish(&out, &err);
        cairn_alloc_fail_after(-1);
        bool done = rc == CAIRN_OK && finished == CAIRN_OK && !text.failed;
        assert_true(done || rc == CAIRN_E_NOMEM || finished == CAIRN_E_NOMEM || text.failed);
        assert_int_equal(column.n, 0);
        cairn_buffer_done(&text);
        if (done)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_column_has_as_many_planes_as_its_largest_number_has_bytes),
        cmocka_unit_test(a_column_without_numbers_is_an_empty_element),
        cmocka_unit_test(signs_are_zigzag),
        cmocka_unit_test(long_columns_come_back_whole),
        cmocka_unit_test(without_memory_writing_fails_and_nothing_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
