/* SPDX-License-Identifier: MIT */
/* .gopclntab of four versions of Go, and damaged. */
#include "unwind/go_runtime.h"

#include <elf.h>
#include <stdlib.h>

#include "dwarf/cfi.h"
#include "support/gowriter.h"
#include "support/test.h"

enum { N = TEST_GO_FUNCTIONS, OUTERMOST = 1, SWITCH = 2 };

/* What is said of a vaddr; 0: nothing. */
static int row_at(const struct cairn_cfi *cfi, uint64_t vaddr, unsigned ra)
{
    struct cairn_cfi_iter iter = {.cfi = cfi};
    struct cairn_fde fde;
    struct cairn_cfi_row row;
    while (cairn_cfi_next(&iter, &fde)) {
        if (vaddr < fde.from || vaddr >= fde.to)
            continue;
        assert_true(cairn_cfi_row_at(cfi, &fde, vaddr, &row));
        assert_int_equal(fde.cie.ra_reg, ra);
        assert_int_equal(row.regs[ra].where, CAIRN_CFI_UNDEFINED);
        return cairn_cfi_row_is_switch(&row) ? SWITCH : OUTERMOST;
    }
    assert_int_equal(iter.n_damaged, 0);
    return 0;
}

static void each_version_names_where_stacks_end(void **state)
{
    (void)state;
    static const int wanted[N] = {0, OUTERMOST, OUTERMOST, 0, SWITCH, SWITCH, SWITCH, SWITCH, 0};
    for (enum test_go version = 0; version < TEST_GO_VERSIONS; version++)
        for (int is_arm = 0; is_arm < 2; is_arm++) {
            uint16_t machine = is_arm ? EM_AARCH64 : EM_X86_64;
            uint8_t bytes[CAIRN_GO_BYTES];
            struct cairn_elf elf;
            struct cairn_err err = {0};
            size_t size;
            uint8_t *file = test_go_file(version, machine, &size);
            assert_ok(cairn_elf_open((struct cairn_span){file, size}, &elf, &err), err);
            const struct cairn_cfi cfi = {.bytes = {bytes, cairn_go_frames(&elf, bytes)},
                                          .machine = machine,
                                          .address_size = 8,
                                          .debug_frame = true};
            assert_true(cfi.bytes.size > 0);
            for (uint64_t at = 0; at < N * TEST_GO_BYTES; at++)
                assert_int_equal(row_at(&cfi, TEST_GO_TEXT + at, is_arm ? 30 : 16),
                                 wanted[at / TEST_GO_BYTES]);
            free(file);
        }
}

/* A copy of its own, so that ASan sees a read behind its end. */
static void ask_damaged(const uint8_t *file, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1), bytes[CAIRN_GO_BYTES];
    struct cairn_elf elf;
    memcpy(copy, file, size);
    if (cairn_elf_open((struct cairn_span){copy, size}, &elf, NULL) == CAIRN_OK)
        assert_true(cairn_go_frames(&elf, bytes) <= sizeof bytes);
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
        for (size_t i = 0; i < size; i++)
            for (unsigned bit = 0; bit < 8; bit++) {
                file[i] ^= (uint8_t)(1u << bit);
                ask_damaged(file, size);
                file[i] ^= (uint8_t)(1u << bit);
            }
        free(file);
    }
}

static void other_machines_have_none(void **state)
{
    (void)state;
    size_t size;
    uint8_t *file = test_go_file(TEST_GO_1_20, EM_ARM, &size), bytes[CAIRN_GO_BYTES];
    struct cairn_elf elf;
    struct cairn_err err = {0};
    assert_ok(cairn_elf_open((struct cairn_span){file, size}, &elf, &err), err);
    assert_int_equal(cairn_go_frames(&elf, bytes), 0);
    free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_version_names_where_stacks_end),
        cmocka_unit_test(a_damaged_table_is_read_to_its_end_at_most),
        cmocka_unit_test(other_machines_have_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
