/* SPDX-License-Identifier: MIT */
/* .gopclntab of four versions of Go, and damaged. */
#include "elf/go_table.h"

#include <elf.h>
#include <stdlib.h>

#include "support/gowriter.h"
#include "support/test.h"

enum { N = TEST_GO_FUNCTIONS, END = TEST_GO_TEXT + N * TEST_GO_BYTES };

static uint8_t *open_table(enum test_go version, struct cairn_go_table *ret_table)
{
    struct cairn_elf elf;
    struct cairn_err err = {0};
    size_t size;
    uint8_t *file = test_go_file(version, EM_X86_64, &size);
    assert_ok(cairn_elf_open((struct cairn_span){file, size}, &elf, &err), err);
    assert_true(cairn_go_table_open(&elf, ret_table));
    assert_int_equal(ret_table->n, N);
    return file;
}

static void each_address_leads_to_its_function(void **state)
{
    (void)state;
    for (enum test_go version = 0; version < TEST_GO_VERSIONS; version++) {
        struct cairn_go_table table;
        uint8_t *file = open_table(version, &table);
        uint64_t from, to;
        for (uint64_t at = TEST_GO_TEXT; at < END; at++) {
            assert_true(cairn_go_table_find(&table, at, &from, &to));
            assert_int_equal(from, at - (at - TEST_GO_TEXT) % TEST_GO_BYTES);
            assert_int_equal(to, from + TEST_GO_BYTES);
        }
        assert_false(cairn_go_table_find(&table, TEST_GO_TEXT - 1, &from, &to));
        assert_false(cairn_go_table_find(&table, END, &from, &to));
        free(file);
    }
}

static void functions_have_names(void **state)
{
    (void)state;
    for (enum test_go version = 0; version < TEST_GO_VERSIONS; version++) {
        struct cairn_go_table table;
        struct cairn_span name;
        uint64_t vaddr;
        uint8_t *file = open_table(version, &table);
        for (uint64_t i = 0; i < N; i++) {
            assert_true(cairn_go_table_name(&table, i, &name));
            assert_true(name.size > strlen(test_go_names[i]));
            assert_string_equal((const char *)name.data, test_go_names[i]);
        }
        assert_false(cairn_go_table_name(&table, N, &name));
        assert_true(cairn_go_table_start(&table, N, &vaddr));
        assert_int_equal(vaddr, END);
        assert_false(cairn_go_table_start(&table, N + 1, &vaddr));
        free(file);
    }
}

/* A copy of its own, so that ASan sees a read behind its end. */
static void ask_damaged(const uint8_t *file, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    struct cairn_elf elf;
    struct cairn_go_table table;
    struct cairn_span name;
    uint64_t from, to;
    memcpy(copy, file, size);
    if (cairn_elf_open((struct cairn_span){copy, size}, &elf, NULL) == CAIRN_OK &&
        cairn_go_table_open(&elf, &table)) {
        for (uint64_t at = TEST_GO_TEXT; at <= END; at += TEST_GO_BYTES / 2)
            if (cairn_go_table_find(&table, at, &from, &to))
                assert_true(from <= at && at < to);
        for (uint64_t i = 0; i <= N; i++)
            if (cairn_go_table_name(&table, i, &name))
                assert_true(name.size > 0 && name.data + name.size <= copy + size);
    }
    free(copy);
}

static void a_damaged_table_is_read_to_its_end_at_most(void **state)
{
    (void)state;
    for (enum test_go version = 0; version < TEST_GO_VERSIONS; version++) {
        size_t size;
        uint8_t *file = test_go_file(version, EM_X86_64, &size);
        for (size_t cut = 0; cut < size; cut++)
            ask_damaged(file, cut);
        for (size_t bit = 0; bit < size * 8; bit++) {
            file[bit / 8] ^= (uint8_t)(1u << bit % 8);
            ask_damaged(file, size);
            file[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        free(file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_address_leads_to_its_function),
        cmocka_unit_test(functions_have_names),
        cmocka_unit_test(a_damaged_table_is_read_to_its_end_at_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
