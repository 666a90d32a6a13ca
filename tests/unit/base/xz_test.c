/* SPDX-License-Identifier: MIT */
#include "base/xz.h"

#include <lzma.h>

#include "base/alloc.h"
#include "support/test.h"

enum { SIZE = 200000, NO_LIMIT = 1 << 30 };

static struct cairn_span span(const struct cairn_buffer *b)
{
    return cairn_buffer_span(b);
}

/* Appends one stream of `size` bytes that repeat a little. */
static void pack(struct cairn_buffer *out, size_t size, lzma_check check, uint32_t preset)
{
    uint8_t *bytes = malloc(size + 1);
    assert_non_null(bytes);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)((i * i >> 7) & 63);
    assert_true(cairn_buffer_reserve(out, size + 4096));
    assert_int_equal(
        lzma_easy_buffer_encode(preset, check, NULL, bytes, size, out->data, &out->size, out->cap),
        LZMA_OK);
    free(bytes);
}

static void what_was_packed_comes_back(void **state)
{
    (void)state;
    struct cairn_err err;
    const lzma_check checks[] = {LZMA_CHECK_NONE, LZMA_CHECK_CRC32, LZMA_CHECK_CRC64,
                                 LZMA_CHECK_SHA256};
    for (size_t i = 0; i < 4; i++) {
        struct cairn_buffer packed = {0}, back = {0};
        pack(&packed, SIZE, checks[i], 1);
        cairn_buffer_str(&back, "before");
        assert_ok(cairn_xz_unpack(span(&packed), SIZE, &back, &err), err);
        assert_int_equal(back.size, SIZE + 6);
        assert_memory_equal(back.data, "before", 6);
        assert_int_equal(back.data[6 + 1000], (1000 * 1000 >> 7) & 63);
        cairn_buffer_done(&packed);
        cairn_buffer_done(&back);
    }
}

static void streams_follow_each_other_and_a_foreign_tail_is_left_alone(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_buffer packed = {0}, back = {0};
    pack(&packed, 100, LZMA_CHECK_CRC32, 6);
    cairn_buffer_add(&packed, "\0\0\0\0", 4);
    pack(&packed, 50, LZMA_CHECK_CRC32, 6);
    cairn_buffer_add(&packed, "\0\0\0\0what is this", 16);
    assert_ok(cairn_xz_unpack(span(&packed), 150, &back, &err), err);
    assert_int_equal(back.size, 150);
    cairn_buffer_done(&packed);
    cairn_buffer_done(&back);
}

static void more_than_the_limit_is_a_bomb(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_buffer packed = {0}, back = {0};
    pack(&packed, SIZE, LZMA_CHECK_CRC32, 6);
    assert_fails(cairn_xz_unpack(span(&packed), SIZE - 1, &back, &err), CAIRN_E_LIMIT, err,
                 "unpacks to more than 199999");
    assert_int_equal(back.size, 0);
    cairn_buffer_done(&packed);
    cairn_buffer_done(&back);
}

/* The dictionary's size stands in the block header, a byte that xz would never write so high. */
static void a_dictionary_of_a_gigabyte_is_refused(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_buffer packed = {0}, back = {0};
    lzma_options_lzma options;
    assert_false(lzma_lzma_preset(&options, 1));
    options.dict_size = 1u << 30;
    lzma_filter filters[] = {{.id = LZMA_FILTER_LZMA2, .options = &options},
                             {.id = LZMA_VLI_UNKNOWN}};
    const uint8_t header_of_stream[] = {0xfd, '7', 'z', 'X', 'Z', 0, 0, 1, 0x69, 0x22, 0xde, 0x36};
    uint8_t header[64];
    lzma_block block = {.check = LZMA_CHECK_CRC32,
                        .filters = filters,
                        .compressed_size = LZMA_VLI_UNKNOWN,
                        .uncompressed_size = LZMA_VLI_UNKNOWN};
    assert_int_equal(lzma_block_header_size(&block), LZMA_OK);
    assert_int_equal(lzma_block_header_encode(&block, header), LZMA_OK);
    cairn_buffer_add(&packed, header_of_stream, sizeof header_of_stream);
    cairn_buffer_add(&packed, header, block.header_size);
    assert_fails(cairn_xz_unpack(span(&packed), NO_LIMIT, &back, &err), CAIRN_E_LIMIT, err,
                 "wants more than 134217728 bytes of memory");
    cairn_buffer_done(&packed);
    cairn_buffer_done(&back);
}

static void every_cut_and_every_changed_byte_is_noticed(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_buffer packed = {0}, back = {0};
    pack(&packed, 300, LZMA_CHECK_CRC32, 6);
    for (size_t size = 0; size < packed.size; size++) {
        struct cairn_span cut = {packed.data, size};
        assert_int_equal(cairn_xz_unpack(cut, NO_LIMIT, &back, &err), CAIRN_E_FORMAT);
        assert_int_equal(back.size, 0);
    }
    for (size_t i = 0; i < packed.size; i++) {
        packed.data[i] ^= 0x40;
        int code = cairn_xz_unpack(span(&packed), NO_LIMIT, &back, &err);
        assert_true(code == CAIRN_E_FORMAT || code == CAIRN_E_SUPPORT || code == CAIRN_E_LIMIT);
        packed.data[i] ^= 0x40;
    }
    assert_fails(cairn_xz_unpack((struct cairn_span){(const uint8_t *)"PK\3\4 is a zip", 13},
                                 NO_LIMIT, &back, &err),
                 CAIRN_E_FORMAT, err, "no xz data");
    cairn_buffer_done(&packed);
    cairn_buffer_done(&back);
}

static void memory_that_is_gone_is_an_error(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_buffer packed = {0};
    pack(&packed, 300, LZMA_CHECK_CRC32, 6);
    int code = CAIRN_E_NOMEM;
    for (int n = 0; code == CAIRN_E_NOMEM; n++) {
        struct cairn_buffer back = {0};
        cairn_alloc_fail_after(n);
        code = cairn_xz_unpack(span(&packed), NO_LIMIT, &back, &err);
        cairn_alloc_fail_after(-1);
        cairn_buffer_done(&back);
        assert_true(n || code == CAIRN_E_NOMEM);
        assert_true(n < 100);
    }
    assert_int_equal(code, CAIRN_OK);
    cairn_buffer_done(&packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_packed_comes_back),
        cmocka_unit_test(streams_follow_each_other_and_a_foreign_tail_is_left_alone),
        cmocka_unit_test(more_than_the_limit_is_a_bomb),
        cmocka_unit_test(a_dictionary_of_a_gigabyte_is_refused),
        cmocka_unit_test(every_cut_and_every_changed_byte_is_noticed),
        cmocka_unit_test(memory_that_is_gone_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
