/* SPDX-License-Identifier: MIT */
#include "elf/compressed.h"

#include <elf.h>
#include <zlib.h>
#include <zstd.h>

#include "base/alloc.h"
#include "support/elfwriter.h"
#include "support/test.h"

enum { PLAIN_SIZE = 5000, ZLIB = 1, ZSTD = 2 };

static uint8_t plain[PLAIN_SIZE];

static int fill_plain(void **state)
{
    (void)state;
    for (size_t i = 0; i < PLAIN_SIZE; i++)
        plain[i] = (uint8_t)(i * i >> 5);
    return 0;
}

/* A compression header with a claim, and `plain` behind it. */
static size_t compress_plain(const struct test_elf *w, uint32_t method, uint64_t claim,
                             uint8_t *out, size_t room)
{
    size_t n = test_elf_put(w, out, 0, method, 4);
    if (w->is64)
        n = test_elf_put(w, out, n, 0, 4);
    n = test_elf_put(w, out, n, claim, w->is64 ? 8 : 4);
    n = test_elf_put(w, out, n, 1, w->is64 ? 8 : 4);
    if (method == ZSTD) {
        size_t made = ZSTD_compress(out + n, room - n, plain, PLAIN_SIZE, 3);
        assert_false(ZSTD_isError(made));
        return n + made;
    }
    uLongf made = room - n;
    assert_int_equal(compress(out + n, &made, plain, PLAIN_SIZE), Z_OK);
    return n + made;
}

static uint8_t *file_with(struct test_elf *w, const char *name, uint64_t flags, const void *bytes,
                          size_t n, size_t *ret_size, struct cairn_elf *ret_elf)
{
    test_elf_bytes(w, name, SHT_PROGBITS, flags, bytes, n);
    uint8_t *file = test_elf_finish(w, ret_size);
    struct cairn_err err;
    assert_ok(cairn_elf_open((struct cairn_span){file, *ret_size}, ret_elf, &err), err);
    return file;
}

static int read_one(bool is64, bool big, uint32_t method, uint64_t claim, size_t cut,
                    struct cairn_err *err)
{
    struct test_elf w = test_elf_of(is64, big, ET_DYN, EM_X86_64);
    uint8_t packed[PLAIN_SIZE + 1000];
    size_t n = compress_plain(&w, method, claim, packed, sizeof packed), size;
    struct cairn_elf elf;
    uint8_t *file = file_with(&w, ".debug_info", SHF_COMPRESSED, packed, n - cut, &size, &elf);
    struct cairn_elf_data data = {0};
    int code = cairn_elf_read_section(&elf, ".debug_info", &data, err);
    if (code == CAIRN_OK) {
        assert_int_equal(data.bytes.size, PLAIN_SIZE);
        assert_memory_equal(data.bytes.data, plain, PLAIN_SIZE);
    } else {
        assert_null(data.bytes.data);
        assert_null(data.owned);
    }
    cairn_elf_data_done(&data);
    free(file);
    return code;
}

static void reads_zlib_and_zstd_in_every_form(void **state)
{
    (void)state;
    for (int form = 0; form < 8; form++) {
        struct cairn_err err;
        uint32_t method = form & 4 ? ZSTD : ZLIB;
        assert_ok(read_one(form & 1, form & 2, method, PLAIN_SIZE, 0, &err), err);
    }
}

static void a_section_as_it_stands_is_borrowed(void **state)
{
    (void)state;
    struct test_elf w = test_elf_of(true, false, ET_DYN, EM_X86_64);
    size_t size;
    struct cairn_elf elf;
    uint8_t *file = file_with(&w, ".debug_line", 0, "abcd", 4, &size, &elf);
    struct cairn_elf_data data;
    struct cairn_err err;
    assert_ok(cairn_elf_read_section(&elf, ".debug_line", &data, &err), err);
    assert_null(data.owned);
    assert_memory_equal(data.bytes.data, "abcd", 4);
    assert_in_range((uintptr_t)data.bytes.data, (uintptr_t)file, (uintptr_t)file + size - 4);
    assert_ok(cairn_elf_read_section(&elf, ".debug_str", &data, &err), err);
    assert_int_equal(data.bytes.size, 0);
    free(file);
}

static void reads_what_old_toolchains_called_zdebug(void **state)
{
    (void)state;
    struct test_elf big = test_elf_of(true, true, ET_DYN, EM_X86_64);
    for (int form = 0; form < 2; form++) { /* its size is big-endian in either order */
        struct test_elf w = test_elf_of(true, form, ET_DYN, EM_X86_64);
        uint8_t packed[PLAIN_SIZE + 1000];
        memcpy(packed, "ZLIB", 4);
        size_t n = test_elf_put(&big, packed, 4, PLAIN_SIZE, 8), size;
        uLongf made = sizeof packed - n;
        assert_int_equal(compress(packed + n, &made, plain, PLAIN_SIZE), Z_OK);
        struct cairn_elf elf;
        uint8_t *file = file_with(&w, ".zdebug_info", 0, packed, n + made, &size, &elf);
        struct cairn_elf_data data;
        struct cairn_err err;
        assert_ok(cairn_elf_read_section(&elf, ".debug_info", &data, &err), err);
        assert_int_equal(data.bytes.size, PLAIN_SIZE);
        assert_memory_equal(data.bytes.data, plain, PLAIN_SIZE);
        cairn_elf_data_done(&data);
        free(file);
    }
}

static void bombs_are_refused_before_any_memory_is_taken(void **state)
{
    (void)state;
    struct cairn_err err;
    assert_fails(read_one(true, false, ZLIB, 1ull << 40, 0, &err), CAIRN_E_LIMIT, err, "claims");
    assert_fails(read_one(true, false, ZLIB, UINT64_MAX, 0, &err), CAIRN_E_LIMIT, err, "claims");
    assert_fails(read_one(true, false, ZSTD, 65ull << 20, 0, &err), CAIRN_E_LIMIT, err,
                 ".debug_info");
    assert_fails(read_one(false, false, ZLIB, UINT32_MAX, 0, &err), CAIRN_E_LIMIT, err, "claims");
}

static void a_claim_must_be_exactly_true(void **state)
{
    (void)state;
    static const uint64_t lies[] = {0, 1, PLAIN_SIZE - 1, PLAIN_SIZE + 1, 1 << 20};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        struct cairn_err err;
        assert_int_equal(read_one(true, false, ZLIB, lies[i], 0, &err), CAIRN_E_FORMAT);
        assert_int_equal(read_one(true, false, ZSTD, lies[i], 0, &err), CAIRN_E_FORMAT);
        assert_contains(err.msg, ".debug_info");
    }
}

static void a_stream_that_is_cut_is_refused(void **state)
{
    (void)state;
    struct cairn_err err;
    for (size_t cut = 1; cut < 40; cut++) {
        assert_int_equal(read_one(true, false, ZSTD, PLAIN_SIZE, cut, &err), CAIRN_E_FORMAT);
        assert_int_equal(read_one(true, false, ZLIB, PLAIN_SIZE, cut + 4, &err), CAIRN_E_FORMAT);
    }
    struct test_elf w = test_elf_of(true, false, ET_DYN, EM_X86_64);
    size_t size;
    struct cairn_elf elf;
    uint8_t *file = file_with(&w, ".debug_info", SHF_COMPRESSED, "\1\0\0\0\0", 5, &size, &elf);
    struct cairn_elf_data data;
    assert_fails(cairn_elf_read_section(&elf, ".debug_info", &data, &err), CAIRN_E_FORMAT, err,
                 "no compression header");
    free(file);
}

static void an_unknown_method_is_named(void **state)
{
    (void)state;
    struct cairn_err err;
    assert_fails(read_one(true, false, 7, PLAIN_SIZE, 0, &err), CAIRN_E_SUPPORT, err,
                 "compressed by method 7");
}

static void a_section_past_the_end_is_refused(void **state)
{
    (void)state;
    struct test_elf w = test_elf_of(true, false, ET_DYN, EM_X86_64);
    uint32_t index = test_elf_bytes(&w, ".debug_info", SHT_PROGBITS, 0, "abcd", 4);
    w.sections[index].size = 1 << 20;
    size_t size;
    uint8_t *file = test_elf_finish(&w, &size);
    struct cairn_elf elf;
    struct cairn_err err;
    assert_ok(cairn_elf_open((struct cairn_span){file, size}, &elf, &err), err);
    struct cairn_elf_data data;
    assert_fails(cairn_elf_read_section(&elf, ".debug_info", &data, &err), CAIRN_E_FORMAT, err,
                 "runs past the file");
    free(file);
}

static void memory_that_is_gone_is_an_error(void **state)
{
    (void)state;
    struct cairn_err err;
    cairn_alloc_fail_after(0);
    int code = read_one(true, false, ZLIB, PLAIN_SIZE, 0, &err);
    cairn_alloc_fail_after(-1);
    assert_int_equal(code, CAIRN_E_NOMEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_zlib_and_zstd_in_every_form),
        cmocka_unit_test(a_section_as_it_stands_is_borrowed),
        cmocka_unit_test(reads_what_old_toolchains_called_zdebug),
        cmocka_unit_test(bombs_are_refused_before_any_memory_is_taken),
        cmocka_unit_test(a_claim_must_be_exactly_true),
        cmocka_unit_test(a_stream_that_is_cut_is_refused),
        cmocka_unit_test(an_unknown_method_is_named),
        cmocka_unit_test(a_section_past_the_end_is_refused),
        cmocka_unit_test(memory_that_is_gone_is_an_error),
    };
    return cmocka_run_group_tests(tests, fill_plain, NULL);
}
