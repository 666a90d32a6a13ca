/* SPDX-License-Identifier: MIT */
/*
 * Builds a .eh_frame or .debug_frame in memory:
 *
 *     struct test_cfi t = test_cfi_of(false, 8);
 *     test_cfi_cie(&t, &(struct test_cie){.version = 1, .letters = "zR", .encoding = 0x1b});
 *     test_cfi_put(&t, "\x0c\x07\x08\x90\x01", 5);  def_cfa rsp+8; offset ra at cfa-8
 *     test_cfi_end(&t);
 *     size_t fde = test_cfi_fde(&t, 0x1000, 0x40);  of the CIE written last
 *     test_cfi_put(&t, "\x44\x0e\x10", 3);          advance_loc 4; def_cfa_offset 16
 *     test_cfi_end(&t);
 *     struct cairn_cfi cfi = test_cfi_section(&t);
 */
#ifndef CAIRN_TESTS_CFIWRITER_H
#define CAIRN_TESTS_CFIWRITER_H

#include "dwarf/cfi.h"
#include "support/dwarfwriter.h"

enum {
    TEST_CFI_VADDR = 0x8000,
    TEST_CFI_HDR_VADDR = 0x7000,
    TEST_CFI_TEXT_VADDR = 0x800,
    TEST_CFI_DATA_VADDR = 0x9000,
};

struct test_cfi {
    struct test_dwarf w; /* for its byte order */
    struct test_bytes section, hdr;
    bool debug_frame, dwarf64;
    uint16_t machine;
    size_t cie, entry; /* where the last ones begin */
    const struct test_cie *of;
};

struct test_cie {
    uint8_t version;
    const char *letters;
    uint8_t encoding; /* of R; only written where `letters` has one */
    const char *data; /* instead of the augmentation's data that belong to R */
    size_t n_data;
    int code_align, data_align; /* 0: 1 and -8 */
    unsigned ra;                /* 0: 16 */
    uint8_t segment_size;       /* version 4 */
};

struct test_cfi test_cfi_of(bool big, unsigned address_size);
size_t test_cfi_cie(struct test_cfi *t,
                    const struct test_cie *cie); /* its offset; kept by address */
size_t test_cfi_fde(struct test_cfi *t, uint64_t from, uint64_t size);
void test_cfi_put(struct test_cfi *t, const void *program, size_t size);
void test_cfi_end(struct test_cfi *t); /* pads, and sets the length */

/* .eh_frame_hdr with its rows as {function, FDE's offset}, n of them, in that order. */
void test_cfi_hdr(struct test_cfi *t, const uint64_t (*rows)[2], size_t n);

/* Borrows from `t`. */
struct cairn_cfi test_cfi_section(const struct test_cfi *t);

#endif /* CAIRN_TESTS_CFIWRITER_H */
