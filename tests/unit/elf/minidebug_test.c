/* SPDX-License-Identifier: MIT */
#include "elf/minidebug.h"

#include <elf.h>
#include <lzma.h>

#include "base/budget.h"
#include "support/elfwriter.h"
#include "support/test.h"

enum { PLAIN_BYTES = 1000000, PACKED_MAX = 100000 };

/* Where a file is damaged: a block's header (The .xz File Format, 3.1) has a CRC of its own, its
 * data one that comes behind them. */
enum { NOWHERE = 0, BLOCK_HEADER = 14, BLOCK_DATA = 30 };

/* A file whose .gnu_debugdata unpacks to a megabyte of zeros. */
static uint8_t *make(size_t damaged_at, size_t *ret_size)
{
    static struct test_elf w; /* large */
    static uint8_t packed[PACKED_MAX];
    uint8_t *plain = calloc(PLAIN_BYTES, 1);
    size_t n = 0;
    assert_non_null(plain);
    assert_int_equal(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, NULL, plain, PLAIN_BYTES, packed,
                                             &n, sizeof packed),
                     LZMA_OK);
    free(plain);
    if (damaged_at)
        packed[damaged_at] ^= 0x55;
    w = test_elf_of(true, false, ET_DYN, EM_X86_64);
    test_elf_bytes(&w, ".gnu_debugdata", SHT_PROGBITS, 0, packed, n);
    return test_elf_finish(&w, ret_size);
}

/* Reads it with so many bytes left in the budget, which is what is left in the end. */
static int read_with(size_t damaged_at, bool is_vouched, size_t *left, struct cairn_err *err)
{
    struct cairn_elf elf;
    struct cairn_elf_data data = {0};
    size_t size;
    uint8_t *file = make(damaged_at, &size);
    assert_ok(cairn_elf_open((struct cairn_span){file, size}, &elf, err), *err);
    elf.is_vouched = is_vouched;
    cairn_budget_renew();
    cairn_budget_spend(CAIRN_BUDGET_BYTES - *left);
    int code = cairn_elf_read_minidebug(&elf, &data, err);
    assert_int_equal(data.bytes.size, code == CAIRN_OK ? PLAIN_BYTES : 0);
    cairn_elf_data_done(&data);
    free(file);
    *left = cairn_budget_left();
    cairn_budget_renew();
    return code;
}

static void what_is_unpacked_is_spent(void **state)
{
    (void)state;
    struct cairn_err err;
    size_t left = 3 * PLAIN_BYTES;
    assert_ok(read_with(NOWHERE, false, &left, &err), err);
    assert_int_equal(left, 2 * PLAIN_BYTES);
}

static void too_much_spends_all_that_is_left(void **state)
{
    (void)state;
    struct cairn_err err;
    size_t left = PLAIN_BYTES / 2;
    assert_fails(read_with(NOWHERE, false, &left, &err), CAIRN_E_LIMIT, err,
                 "unpacks to more than");
    assert_int_equal(left, 0);
    assert_fails(read_with(NOWHERE, false, &left, &err), CAIRN_E_LIMIT, err, "budget");
}

static void damage_spends_what_was_unpacked_before_it(void **state)
{
    (void)state;
    struct cairn_err err;
    size_t left = CAIRN_BUDGET_BYTES;
    assert_fails(read_with(BLOCK_HEADER, false, &left, &err), CAIRN_E_FORMAT, err,
                 ".gnu_debugdata");
    assert_true(left > CAIRN_BUDGET_BYTES - PLAIN_BYTES);
    assert_fails(read_with(BLOCK_DATA, false, &left, &err), CAIRN_E_FORMAT, err, ".gnu_debugdata");
    assert_true(left > CAIRN_BUDGET_BYTES - 5 * PLAIN_BYTES);
}

static void a_file_that_no_target_chose_spends_nothing(void **state)
{
    (void)state;
    struct cairn_err err;
    size_t left = 0;
    assert_ok(read_with(NOWHERE, true, &left, &err), err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_unpacked_is_spent),
        cmocka_unit_test(too_much_spends_all_that_is_left),
        cmocka_unit_test(damage_spends_what_was_unpacked_before_it),
        cmocka_unit_test(a_file_that_no_target_chose_spends_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
