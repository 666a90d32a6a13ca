/* SPDX-License-Identifier: MIT */
/*
 * Registers and a copy of the stack, as a sample has them: walked by the tables of this very
 * program, whose code the input may point into:
 *
 *     a byte: 0 no registers | 1 of a 32-bit program | 2 of a 64-bit one
 *     a byte for each register: 0 zero | 1 stack + 8 * next | 2 code + next | 3 eight bytes
 *     how long the kernel's chain is, then that and the stack, in words of the same kind
 */
#include <elf.h>
#include <stdlib.h>
#include <unistd.h>

#include "proc/perf_regs.h"
#include "sample/copy_walk.h"
#include "target/regs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WORDS_MAX = 4096, CHAIN_MAX = 16 };
static const uint64_t STACK = 0x7ffe00000000;

struct input {
    const uint8_t *at, *end;
};

static uint64_t next_bytes(struct input *in, size_t size)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size && in->at < in->end; i++)
        value = value << 8 | *in->at++;
    return value;
}

static uint64_t next_word(struct input *in)
{
    switch (next_bytes(in, 1) % 4) {
    case 0:
        return 0;
    case 1:
        return STACK + 8 * next_bytes(in, 2);
    case 2:
        return (uint64_t)(uintptr_t)LLVMFuzzerTestOneInput + (next_bytes(in, 3) & 0xfffff) -
               0x80000;
    default:
        return next_bytes(in, 8);
    }
}

static struct cairn_space *own_space(struct cairn_spaces *spaces)
{
    struct cairn_profile *profile;
    if (!spaces->profile && cairn_profile_new(&profile, NULL) < 0)
        abort();
    if (!spaces->profile)
        cairn_spaces_init(spaces, profile);
    struct cairn_space *space = cairn_spaces_get(spaces, getpid());
    if (!space || (space->code.n == 0 && cairn_space_read(spaces, space, NULL) < 0))
        abort();
    return space;
}

/* As the kernel writes them. */
static void next_regs(struct input *in, struct cairn_cursor_regs *ret_regs)
{
    uint64_t kind = next_bytes(in, 1) % 3, words[64];
    for (int i = 0; i < __builtin_popcountll(cairn_perf_regs_mask); i++)
        words[i] = next_word(in);
    struct cairn_reader r =
        cairn_reader_of((struct cairn_span){(const uint8_t *)words, sizeof words}, false);
    if (kind)
        cairn_perf_regs_read(&r, kind == 1, ret_regs);
}

static bool is_code(void *ctx, uint64_t va)
{
    return cairn_stream_space_find(&((struct cairn_space *)ctx)->code, va);
}

static bool is_return(void *ctx, uint64_t va)
{
    (void)ctx;
    return va % 2; /* as good as any */
}

static bool is_start(void *ctx, uint64_t va)
{
    (void)ctx;
    return va % 16 == 15;
}

/* On aarch64 the signature of a pointer is taken off. */
static bool is_same(uint64_t address, const struct cairn_cursor_regs *regs)
{
    uint64_t signature = regs->machine == EM_AARCH64 ? ~0ull << 48 : 0;
    return ((address ^ regs->ip) & ~signature) == 0;
}

static void check(const struct cairn_user_walk *walk, const struct cairn_copy *copy)
{
    if (walk->n > CAIRN_WALK_FRAMES_MAX || walk->end >= CAIRN_ENDS)
        abort();
    if (walk->n && (!is_same(walk->frames[0].va, &copy->regs) || !walk->frames[0].exact))
        abort();
    if (!walk->n && walk->end != CAIRN_END_NO_USER)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct cairn_spaces spaces;
    static struct cairn_copy_walker walker;
    struct cairn_copy copy = {0};
    uint64_t chain[CHAIN_MAX];
    struct input in = {data, data + size};
    struct cairn_space *space = own_space(&spaces);
    const struct cairn_walk_code code = {
        .ctx = space, .is_code = is_code, .is_return = is_return, .is_start = is_start};
    if (!walker.copied.unwind && cairn_copy_walker_init(&walker, NULL) < 0)
        abort();
    next_regs(&in, &copy.regs);
    copy.stack.va = cairn_target_sp(&copy.regs);
    copy.chain = chain;
    copy.n_chain = next_bytes(&in, 1) % CHAIN_MAX;
    for (size_t i = 0; i < copy.n_chain; i++)
        chain[i] = next_word(&in);
    uint64_t *words = malloc((size + 1) * sizeof *words);
    size_t n = 0;
    for (; words && in.at < in.end && n < WORDS_MAX; n++)
        words[n] = next_word(&in);
    copy.stack.bytes = (struct cairn_span){(const uint8_t *)words, n * sizeof *words};
    copy.goes_on = size & 1;
    cairn_copy_walk(&walker, &spaces, space, &code, &copy);
    check(&walker.walk, &copy);
    free(words);
    return 0;
}
