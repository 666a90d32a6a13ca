/* SPDX-License-Identifier: MIT */
#include "support/gowriter.h"

#include <elf.h>
#include <string.h>

#include "support/elfwriter.h"
#include "support/test.h"

enum { BYTES = 1024, N = TEST_GO_FUNCTIONS };

const char *const test_go_names[N] = {
    "main.main",         "runtime.rt0_go",      "runtime.goexit.abi0",
    "runtime.goexit0",   "runtime.systemstack", "runtime.mcall",
    "runtime.morestack", "runtime.asmcgocall",  "runtimes.mcall"};
static const uint32_t magics[] = {0xfffffffb, 0xfffffffa, 0xfffffff0, 0xfffffff1};

struct writer {
    struct test_elf elf;
    uint8_t bytes[BYTES];
    size_t at;
};

static void put(struct writer *w, uint64_t value, unsigned width)
{
    w->at = test_elf_put(&w->elf, w->bytes, w->at, value, width);
}

static size_t put_names(struct writer *w, uint32_t ret_offs[N])
{
    size_t start = w->at;
    for (size_t i = 0; i < N; i++) {
        ret_offs[i] = (uint32_t)(w->at - start);
        memcpy(w->bytes + w->at, test_go_names[i], strlen(test_go_names[i]) + 1);
        w->at += strlen(test_go_names[i]) + 1;
    }
    return start;
}

/* Functions and their structs, from w->at on; offsets count from `base`, names from `names_at`. */
static void put_functions(struct writer *w, unsigned width, uint64_t text, size_t base,
                          const uint32_t name_offs[N])
{
    size_t structs = w->at + (2 * N + 1) * width - base;
    for (size_t i = 0; i < N; i++) {
        put(w, text + i * TEST_GO_BYTES, width);
        put(w, structs + i * (width + 4u), width);
    }
    put(w, text + N * TEST_GO_BYTES, width);
    for (size_t i = 0; i < N; i++) {
        put(w, text + i * TEST_GO_BYTES, width);
        put(w, name_offs[i], 4);
    }
}

static void put_table(struct writer *w, enum test_go version)
{
    uint32_t name_offs[N];
    put(w, magics[version], 4);
    put(w, 0x08010000, 4); /* 0, 0, the unit of code, the word's size */
    put(w, N, 8);
    if (version == TEST_GO_1_2) {
        size_t at = w->at;
        w->at += (2 * N + 1) * 8 + N * 12;
        size_t start = put_names(w, name_offs), end = w->at;
        for (size_t i = 0; i < N; i++)
            name_offs[i] += (uint32_t)start;
        w->at = at;
        put_functions(w, 8, TEST_GO_TEXT, 0, name_offs);
        w->at = end;
        return;
    }
    bool is_narrow = version != TEST_GO_1_16;
    size_t fields = w->at, names_at = w->at + (is_narrow ? 7 : 6) * 8u;
    w->at = names_at;
    (void)put_names(w, name_offs);
    size_t functions = (w->at + 7) & ~(size_t)7;
    w->at = fields;
    put(w, 1, 8); /* files */
    if (is_narrow)
        put(w, TEST_GO_TEXT, 8);
    put(w, names_at, 8);
    for (int i = 0; i < 3; i++) /* units, files, pc tables */
        put(w, BYTES, 8);
    put(w, functions, 8);
    w->at = functions;
    put_functions(w, is_narrow ? 4 : 8, is_narrow ? 0 : TEST_GO_TEXT, functions, name_offs);
}

uint8_t *test_go_file(enum test_go version, uint16_t machine, size_t *ret_size)
{
    static struct writer w;
    w = (struct writer){.elf = test_elf_of(true, false, ET_EXEC, machine)};
    put_table(&w, version);
    assert_true(w.at <= BYTES);
    test_elf_bytes(&w.elf, ".gopclntab", SHT_PROGBITS, SHF_ALLOC, w.bytes, w.at);
    return test_elf_finish(&w.elf, ret_size);
}
