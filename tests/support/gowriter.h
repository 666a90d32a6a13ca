/* SPDX-License-Identifier: MIT */
/* A program of Go, of any version, that holds nothing but its table of functions (elf/go_table.h).
 */
#ifndef CAIRN_TESTS_SUPPORT_GOWRITER_H
#define CAIRN_TESTS_SUPPORT_GOWRITER_H

#include <stddef.h>
#include <stdint.h>

enum test_go { TEST_GO_1_2, TEST_GO_1_16, TEST_GO_1_18, TEST_GO_1_20, TEST_GO_VERSIONS };

/* The first one's vaddr; bytes of each. */
enum { TEST_GO_TEXT = 0x401000, TEST_GO_BYTES = 0x40, TEST_GO_FUNCTIONS = 9 };

extern const char *const test_go_names[TEST_GO_FUNCTIONS];

/* An ELF file; the caller frees it. */
uint8_t *test_go_file(enum test_go version, uint16_t machine, size_t *ret_size);

#endif /* CAIRN_TESTS_SUPPORT_GOWRITER_H */
