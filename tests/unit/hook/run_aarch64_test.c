/* SPDX-License-Identifier: MIT */
/* Moved code of aarch64, run: small functions from equal states, the original and a copy of its
 * first instructions, for each number of them, near and out of reach of b. */
#include <sys/mman.h>

#include "hook/move.h"
#include "support/test.h"

enum { PAGES = 0x10000, CODE = 0x1000, DATA = 0x3000, CALLEE = 0x4000, NEAR = 0x6000 };
enum { WORDS_MAX = 8, RET = 0xd65f03c0, N_ROUNDS = 16 };

/* x0 to x11, x19, x20 and the flags are loaded and stored. */
struct state {
    uint64_t x[31];
    uint64_t nzcv;
};

void cairn_test_run(struct state *state, const void *code);
__asm__(".text\n"
        ".globl cairn_test_run\n.hidden cairn_test_run\n.type cairn_test_run, %function\n"
        "cairn_test_run:\n"
        "stp x29, x30, [sp, #-112]!\n stp x19, x20, [sp, #16]\n str x0, [sp, #32]\n"
        "mov x12, x1\n mov x13, x0\n ldr x1, [x13, #248]\n msr nzcv, x1\n"
        "ldp x0, x1, [x13]\n ldp x2, x3, [x13, #16]\n ldp x4, x5, [x13, #32]\n"
        "ldp x6, x7, [x13, #48]\n ldp x8, x9, [x13, #64]\n ldp x10, x11, [x13, #80]\n"
        "ldp x19, x20, [x13, #152]\n"
        "blr x12\n"
        "ldr x13, [sp, #32]\n"
        "stp x0, x1, [x13]\n stp x2, x3, [x13, #16]\n stp x4, x5, [x13, #32]\n"
        "stp x6, x7, [x13, #48]\n stp x8, x9, [x13, #64]\n stp x10, x11, [x13, #80]\n"
        "stp x19, x20, [x13, #152]\n mrs x1, nzcv\n str x1, [x13, #248]\n"
        "ldp x19, x20, [sp, #16]\n ldp x29, x30, [sp], #112\n ret\n"
        ".size cairn_test_run, . - cairn_test_run\n");

struct zoo {
    const char *what;
    unsigned n, refused_from; /* words; moves of more than so many are refused; 0: none */
    uint32_t words[WORDS_MAX];
};

static const struct zoo zoo[] = {
    {"add", 2, 0, {0x8b010000, RET}},
    {"b.eq", 4, 0, {0x54000060, 0x91000400, RET, 0xd1000400, RET}},
    {"cbz", 4, 0, {0xb4000060, 0x91000400, RET, 0x91000800, RET}},
    {"cbnz", 4, 0, {0x35000060, 0x91000400, RET, 0x91000800, RET}},
    {"tbz", 4, 0, {0x36080060, 0x91000400, RET, 0x91000800, RET}},
    {"tbnz", 4, 0, {0x37000060, 0x91000400, RET, 0x91000800, RET}},
    {"a loop", 5, 0, {0xd2800082, 0x91000c00, 0xf1000442, 0x54ffffc1, RET}},
    {"adr", 2, 0, {0x10000103, RET}},
    {"adrp", 2, 0, {0xb0000003, RET}},
    {"ldr x", 2, 0, {0x58010003, RET}},
    {"ldrsw", 2, 0, {0x98010003, RET}},
    {"ldr w", 2, 0, {0x18010003, RET}},
    {"ldr d, fmov", 3, 0, {0x5c010003, 0x9e660064, RET}},
    {"prfm", 2, 0, {0xd8010000, RET}},
    {"bl", 5, 2, {0xaa1e03f3, 0x94000000 | (CALLEE - CODE - 4) / 4, 0xaa0303e5, 0xaa1303fe, RET}},
    {"blr", 4, 2, {0xaa1e03f3, 0xd63f0140, 0xaa1303fe, RET}},
};

/* Its return address to x3; counts up. */
static const uint32_t callee[] = {0xaa1e03e3, 0x91000400, RET};

static void flush(uint8_t *code)
{
    __builtin___clear_cache((char *)code, (char *)code + CAIRN_HOOK_COPY_MAX);
}

static void compare(const struct zoo *z, uint8_t *pages, const uint8_t *copy, size_t least)
{
    for (uint64_t round = 0; round < N_ROUNDS; round++) {
        struct state one = {.x = {round % 3, 5, 3}, .nzcv = round << 28};
        one.x[10] = (uint64_t)(uintptr_t)(pages + CALLEE);
        struct state other = one;
        cairn_test_run(&one, pages + CODE);
        cairn_test_run(&other, copy);
        if (memcmp(&one, &other, sizeof one) != 0)
            fail_msg("%s: %zu bytes moved, flags %u: other registers", z->what, least,
                     (unsigned)round);
    }
}

static void move_to(const struct zoo *z, uint8_t *pages, uint8_t *to, size_t least)
{
    struct cairn_hook_copy copy;
    const struct cairn_hook_piece piece = {.size = sizeof piece,
                                           .cpu = CAIRN_HOOK_AARCH64,
                                           .code = pages + CODE,
                                           .n_code = sizeof z->words,
                                           .from_va = (uint64_t)(uintptr_t)(pages + CODE),
                                           .to_va = (uint64_t)(uintptr_t)to,
                                           .least = least};
    const bool must_refuse = z->refused_from && least > 4 * z->refused_from;
    if (cairn_hook_move(&piece, &copy) == must_refuse)
        fail_msg("%s: %zu bytes: %s", z->what, least, cairn_hook_reason_text(copy.reason));
    if (must_refuse)
        return;
    memcpy(to, copy.code, copy.n_code);
    flush(to);
    compare(z, pages, to, least);
}

static uint8_t *map_near(uintptr_t hint)
{
    uint8_t *pages = mmap((void *)hint, PAGES, PROT_READ | PROT_WRITE | PROT_EXEC,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    return pages;
}

static void the_zoo_does_the_same_at_another_place(void **state)
{
    uint8_t *pages = map_near(0);
    uint8_t *far = map_near((uintptr_t)pages - ((uintptr_t)1 << 34));
    (void)state;
    assert_true(pages - far > INT32_MAX || far - pages > INT32_MAX);
    memset(pages + DATA, 0x81, CALLEE - DATA);
    memcpy(pages + CALLEE, callee, sizeof callee);
    flush(pages + CALLEE);
    for (size_t i = 0; i < sizeof zoo / sizeof *zoo; i++) {
        memcpy(pages + CODE, zoo[i].words, sizeof zoo[i].words);
        flush(pages + CODE);
        for (size_t least = 4; least <= 4 * (size_t)zoo[i].n; least += 4) {
            move_to(&zoo[i], pages, pages + NEAR, least);
            move_to(&zoo[i], pages, far, least);
        }
    }
    munmap(pages, PAGES);
    munmap(far, PAGES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_zoo_does_the_same_at_another_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
