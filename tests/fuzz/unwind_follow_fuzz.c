/* SPDX-License-Identifier: MIT */
/* Code that is followed to its return: the input lies in memory twice, as code, and as the stack
 * that its registers point to. */
#include <string.h>

#include "unwind/follow.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CODE = 0x400ff0, STACK = 0x7ffff000 }; /* the code soon comes to a page's end */

struct input {
    const uint8_t *data;
    size_t size;
    unsigned n_reads;
};

static bool read_input(void *ctx, uint64_t va, void *to, size_t size)
{
    struct input *in = ctx;
    uint64_t off = va >= STACK ? va - STACK : va - CODE;
    in->n_reads++;
    if (off > in->size || size > in->size - off)
        return false;
    memcpy(to, in->data + off, size);
    return true;
}

static bool is_code(void *ctx, uint64_t va)
{
    (void)ctx;
    return va < STACK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct cairn_unwind_arch *const archs[] = {
        &cairn_unwind_x86_64, &cairn_unwind_aarch64, &cairn_unwind_arm};
    static uint64_t sink;
    for (size_t a = 0; a < sizeof archs / sizeof *archs; a++) {
        struct input in = {data, size, 0};
        const struct cairn_memory memory = {read_input, &in};
        struct cairn_unwind_regs regs = {.ip = CODE};
        const struct cairn_fp_space space = {.memory = &memory, .is_code = is_code};
        for (unsigned i = 0; i < archs[a]->n_regs; i++)
            cairn_unwind_set(&regs, i, i % 3 ? STACK + 8 * i : CODE + 4 * i);
        cairn_unwind_set(&regs, archs[a]->sp, STACK);
        if (cairn_follow(archs[a], &space, &regs) != CAIRN_FP_NONE) {
            if (!cairn_unwind_known(&regs, archs[a]->sp))
                __builtin_trap();
            sink += regs.regs[archs[a]->sp];
        }
        if (in.n_reads > 16384)
            __builtin_trap();
    }
    return sink == 1;
}
