/* SPDX-License-Identifier: MIT */
/*
 * States of interpreters in a memory whose every byte is the input's, on a thread with a frame in
 * each one's loop; and the same bytes as a module's file.
 *
 *     u8 version of Lua 5 | 7 bytes | 16 words: registers of both frames | memory from BASE on
 */
#include <elf.h>
#include <string.h>

#include "base/span.h"
#include "guest/weave.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WORDS = 16, HEAD = 8 + 8 * WORDS, READS_MAX = 4000000 };
static const uint64_t BASE = 0x100000;

struct world {
    struct cairn_span bytes;
    unsigned long n_reads;
};

static bool read_memory(void *ctx, uint64_t va, void *to, size_t size)
{
    struct world *world = ctx;
    struct cairn_span from;
    if (++world->n_reads > READS_MAX)
        __builtin_trap(); /* bounded time */
    if (va < BASE || !cairn_span_slice(world->bytes, va - BASE, size, &from))
        return false;
    memcpy(to, from.data, size);
    return true;
}

static uint64_t sink; /* what is read must be used, or the compiler reads nothing */

static void weave(const struct cairn_guest_thread *thread, const struct cairn_guest_result *result)
{
    struct cairn_guest_weave at = {0};
    struct cairn_guest_item item;
    size_t n = 0;
    while (cairn_guest_weave_next(&at, thread->n_natives, result, &item))
        n++;
    if (n != thread->n_natives + result->n_frames)
        __builtin_trap();
    for (size_t i = 0; i < result->n_frames; i++)
        sink += strlen(cairn_strings_get(&result->strings, result->frames[i].chunk)) +
                result->frames[i].line;
}

/* The first places of the memory that may be a coroutine at rest. */
static void read_resting(struct world *world, const struct cairn_guest_module *modules)
{
    enum { RESTING_MAX = 2 };
    const struct cairn_guest_thread thread = {
        .memory = {read_memory, world},
        .constant = {.memory = {read_memory, world}},
        .modules = modules,
        .n_modules = 2,
    };
    struct cairn_guest_result result = {0};
    struct cairn_guest_heap_walk walks[2] = {0};
    struct cairn_span bytes;
    unsigned n = 0;
    for (size_t at = 0; n < RESTING_MAX; at += 8) {
        if (!cairn_span_slice(world->bytes, at, CAIRN_GUEST_RESTING_BYTES, &bytes))
            break;
        for (uint32_t i = 0; i < 2; i++) {
            const struct cairn_guest *guest = modules[i].file->guest;
            if (bytes.data[guest->type_at] != guest->type ||
                !guest->may_rest(modules[i].file, bytes.data, BASE + at))
                continue;
            world->n_reads = 0;
            n++;
            if (cairn_guest_read_resting(&thread, i, BASE + at, &result) == CAIRN_OK)
                weave(&thread, &result);
            if (result.n_states > 1)
                __builtin_trap();
            if (guest->life)
                sink += guest->life(thread.memory, BASE + at, &walks[i]);
        }
    }
    cairn_guest_result_done(&result);
}

static void read_states(struct world *world, const uint8_t *data)
{
    const struct cairn_guest_file files[] = {
        {.guest = &cairn_guest_lua,
         .loop = 0x1000,
         .loop_end = 0x2000,
         .state_reg = 3,
         .variant = data[0] < 6 ? (uint32_t)data[0] << 8 | data[1] : 0},
        {.guest = &cairn_guest_luajit, .loop = 0x1000, .loop_end = 0x2000},
    };
    const struct cairn_guest_module modules[] = {{&files[0], 0x10000}, {&files[1], 0x20000}};
    struct cairn_guest_regs regs[3] = {0};
    uint64_t words[WORDS];
    memcpy(words, data + 8, sizeof words);
    for (unsigned i = 0; i < WORDS; i++)
        for (unsigned k = 0; k < 3; k++) {
            regs[k].known |= UINT64_C(1) << i;
            regs[k].value[i] = words[i];
        }
    const struct cairn_guest_native natives[] = {
        {.ip = 0x11100, .sp = words[0], .module = 0, .regs = 0},
        {.ip = 0x500000, .sp = words[7], .module = CAIRN_GUEST_NONE, .regs = 2},
        {.ip = 0x21100, .sp = words[7], .module = 1, .regs = 1},
    };
    const struct cairn_guest_thread thread = {
        .memory = {read_memory, world},
        .constant = {.memory = {read_memory, world}},
        .machine = EM_X86_64,
        .modules = modules,
        .n_modules = 2,
        .natives = natives,
        .n_natives = 3,
        .regs = regs,
        .n_regs = 3,
    };
    struct cairn_guest_result result = {0};
    struct cairn_guest_regs caller;
    if (cairn_guest_read(&thread, &result) == CAIRN_OK)
        weave(&thread, &result);
    regs[1].ip = 0x21100;
    if (cairn_guest_luajit.step(&thread, &modules[1], &regs[1], &caller))
        sink += caller.ip;
    cairn_guest_result_done(&result);
    read_resting(world, modules);
}

static void look(struct cairn_span bytes)
{
    struct cairn_elf elf;
    struct cairn_guest_file files[CAIRN_GUEST_OF_FILE_MAX];
    if (cairn_elf_open(bytes, &elf, NULL) < 0)
        return;
    struct cairn_registry registry;
    size_t n = cairn_guest_look(&elf, files);
    int code = cairn_registry_make(&elf, &registry);
    for (size_t i = 0; i < n; i++) {
        if (code == CAIRN_OK)
            (void)cairn_own_find(&elf, files[i].loop, &registry, &files[i].own);
        sink += files[i].loop + files[i].own.n;
        cairn_guest_file_done(&files[i]);
    }
    cairn_registry_done(&registry);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    look((struct cairn_span){data, size});
    if (size < HEAD)
        return 0;
    struct world world = {.bytes = {data + HEAD, size - HEAD}};
    read_states(&world, data);
    return 0;
}
