/* SPDX-License-Identifier: MIT */
/*
 * A cursor over a space whose every byte is the input's: a module, a stack, and the registers:
 *
 *     u8 machine | u8 0 | u16 bytes of stack | 40 words of 8: ip, registers 0.. | stack | module
 *
 * The stack lies at STACK, the module at MODULE, from its byte 0 on; all else cannot be read.
 */
#include <elf.h>
#include <string.h>

#include <cairn/unwind.h>

#include "base/span.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WORDS = 40, HEAD = 4 + 8 * WORDS };
static const uint64_t STACK = 0x7ffe00000000, MODULE = 0x10000;

struct world {
    struct cairn_span stack, module;
    unsigned long n_reads;
};

static int read_memory(void *ctx, uint64_t va, void *to, size_t size)
{
    struct world *world = ctx;
    struct cairn_span from;
    if (++world->n_reads > 200ul * CAIRN_MAX_FRAMES)
        __builtin_trap(); /* bounded time */
    if (!(va >= STACK && cairn_span_slice(world->stack, va - STACK, size, &from)) &&
        !(va >= MODULE && cairn_span_slice(world->module, va - MODULE, size, &from)))
        return 1;
    if (size)
        memcpy(to, from.data, size);
    return 0;
}

static int find(void *ctx, uint64_t va, struct cairn_unwind_region *ret)
{
    const struct world *world = ctx;
    if (va < MODULE || va - MODULE >= world->module.size)
        return 1;
    *ret = (struct cairn_unwind_region){
        .start = MODULE,
        .end = MODULE + world->module.size,
        .flags = CAIRN_MAP_READ | CAIRN_MAP_EXEC,
        .path = "/module",
        .file = world->module.data,
        .file_size = world->module.size,
    };
    return 0;
}

static uint64_t sink; /* what is read must be used, or the compiler reads nothing */

/* `every`: how often all registers are asked for. */
static void walk(struct cairn_unwind_space *space, const struct cairn_cursor_regs *regs,
                 unsigned every)
{
    struct cairn_cursor cursor;
    struct cairn_cursor_frame frame;
    uint64_t offset = 0, value = 0;
    char name[64];
    unsigned n = 1;
    if (cairn_cursor_init(&cursor, space, regs, NULL) < 0)
        return;
    do {
        cairn_cursor_frame(&cursor, &frame);
        if (cairn_cursor_proc_name(&cursor, name, sizeof name, &offset) == CAIRN_OK)
            sink += strlen(name) + offset;
        for (unsigned i = 0; n % every == 0 && i < CAIRN_UNWIND_REGS; i++)
            if (cairn_cursor_get_reg(&cursor, i, &value) == CAIRN_OK)
                sink += value;
        sink += frame.ip;
    } while (cairn_cursor_step(&cursor) && ++n <= CAIRN_MAX_FRAMES);
    if (n > CAIRN_MAX_FRAMES)
        __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint16_t machines[] = {EM_X86_64, EM_AARCH64, EM_ARM, EM_386};
    struct cairn_cursor_regs regs = {.known = UINT64_MAX};
    struct world world = {0};
    struct cairn_unwind_space *space;
    if (size < HEAD)
        return 0;
    size_t n_stack = (size_t)(data[2] | data[3] << 8);
    n_stack = n_stack < size - HEAD ? n_stack : size - HEAD;
    regs.machine = machines[data[0] % 4];
    memcpy(&regs.ip, data + 4, 8);
    memcpy(regs.reg, data + 12, 8 * (WORDS - 1));
    world.stack = (struct cairn_span){data + HEAD, n_stack};
    world.module = (struct cairn_span){data + HEAD + n_stack, size - HEAD - n_stack};
    const struct cairn_unwind_accessors accessors = {
        .size = sizeof accessors, .ctx = &world, .read = read_memory, .find = find};
    if (cairn_unwind_space_new(&accessors, &space, NULL) < 0)
        return 0;
    walk(space, &regs, 1);
    if (cairn_unwind_space_load(space, NULL) == CAIRN_OK) {
        world.n_reads = 0;
        walk(space, &regs, 16);
    }
    cairn_unwind_space_free(space);
    return 0;
}
