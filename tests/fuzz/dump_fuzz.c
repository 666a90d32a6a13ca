/* SPDX-License-Identifier: MIT */
/*
 * A sample with registers and a copy of the stack, as it stands in a ring: walked by the tables of
 * this very program, whose code the input may point into:
 *
 *     a byte for each register: 0 zero | 1 stack + 8 * next | 2 code + next | 3 eight bytes
 *     then the stack, in words of the same kind
 */
#include <stdlib.h>
#include <unistd.h>

#include "proc/perf_regs.h"
#include "sample/dump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WORDS_MAX = 4096 };
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
    if (!spaces->profile && cairn_profile_new(&spaces->profile, NULL) < 0)
        abort();
    struct cairn_space *space = cairn_spaces_get(spaces, getpid());
    if (!space || (space->n == 0 && cairn_space_read(spaces, space, NULL) < 0))
        abort();
    return space;
}

/* As the kernel writes them. */
static void next_regs(struct input *in, struct cairn_cursor_regs *ret_regs)
{
    uint64_t abi = next_bytes(in, 1) % 3, words[64];
    for (int i = 0; i < __builtin_popcountll(cairn_perf_regs_mask); i++)
        words[i] = next_word(in);
    struct cairn_reader r =
        cairn_reader_of((struct cairn_span){(const uint8_t *)words, sizeof words}, false);
    if (abi)
        cairn_perf_regs_read(&r, abi == PERF_SAMPLE_REGS_ABI_32, ret_regs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct cairn_spaces spaces;
    static struct cairn_dump dump;
    static struct cairn_perf_chain chain;
    struct cairn_user_sample user;
    struct cairn_perf_record record = {0};
    struct input in = {data, data + size};
    struct cairn_space *space = own_space(&spaces);
    if (!dump.space && cairn_dump_init(&dump, 0, NULL) < 0)
        abort();
    next_regs(&in, &record.regs);
    chain.n_user = next_bytes(&in, 1) % 16;
    for (size_t i = 0; i < chain.n_user; i++)
        chain.user[i] = next_word(&in);
    uint64_t *words = malloc((size + 1) * sizeof *words);
    size_t n = 0;
    for (; words && in.at < in.end && n < WORDS_MAX; n++)
        words[n] = next_word(&in);
    record.stack = (struct cairn_span){(const uint8_t *)words, n * sizeof *words};
    dump.stack_bytes = (uint32_t)(data && size & 1 ? record.stack.size : UINT32_MAX);
    cairn_dump_walk(&dump, &spaces, space, &record, &chain, &user);
    if (user.n_walked > CAIRN_WALK_FRAMES_MAX || user.n_checked > user.n_walked)
        abort();
    free(words);
    return 0;
}
