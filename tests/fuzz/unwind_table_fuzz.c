/* SPDX-License-Identifier: MIT */
/*
 * Tables of unwind rules: made of any sections, and any image.
 *
 *     | what: 0, 1, 2 = sections for x86-64, aarch64, arm; 3 = an image; 4 = the other byte order |
 *     | sizes of .eh_frame and .debug_frame, 2 bytes each | both, then .ARM.exidx with .ARM.extab |
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/exidx.h"
#include "unwind/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT_FROM = 0x1000, TEXT_TO = 0x40000, SECTION = 0x8000 };

/* Memory that says something different everywhere, and nothing on some pages. */
static bool read_any(void *ctx, uint64_t va, void *to, size_t size)
{
    (void)ctx;
    if ((va >> 12) % 5 == 3)
        return false;
    for (size_t i = 0; i < size; i++)
        ((uint8_t *)to)[i] = (uint8_t)((va + i) * 0x9e3779b1 >> 13);
    return true;
}

/* A step by any rule ends, and leaves the registers alone where it fails. */
static void step(const struct cairn_unwind_arch *arch, uint32_t rule)
{
    const struct cairn_memory memory = {read_any, NULL};
    for (uint64_t sp = 0x7ff0; sp < 0x8ff0; sp += 0x7f8) {
        struct cairn_unwind_regs regs = {.ip = 0x1234, .known = UINT64_MAX}, before;
        for (unsigned i = 0; i < CAIRN_CFI_REGS; i++)
            regs.regs[i] = sp + 8 * i;
        before = regs;
        if (cairn_unwind_step(arch, rule, sp & 1, &memory, false, &regs) != CAIRN_STEP_OK &&
            memcmp(&regs, &before, sizeof regs) != 0)
            __builtin_trap();
    }
}

static void ask(const struct cairn_unwind_table *t, const struct cairn_unwind_arch *arch)
{
    struct cairn_unwind_table_side side;
    for (uint64_t vaddr = t->base - 64; vaddr != t->base + 0x4000; vaddr += 16) {
        uint32_t rule = cairn_unwind_table_find(t, vaddr + vaddr % 7);
        cairn_unwind_table_side(t, rule, &side);
        if (vaddr % 256 == 0)
            step(arch, rule);
    }
}

static void ask_image(const uint8_t *data, size_t size)
{
    struct cairn_unwind_table t;
    void *copy = malloc(size ? size : 1); /* which is aligned */
    if (!copy)
        return;
    memcpy(copy, data, size);
    if (cairn_unwind_table_open((struct cairn_span){copy, size}, &t)) {
        const struct cairn_unwind_arch *arch = cairn_unwind_arch_of(t.machine);
        ask(&t, arch ? arch : &cairn_unwind_x86_64);
        for (uint32_t i = 0; i < 100; i++) {
            uint64_t vaddr;
            uint32_t rule;
            cairn_unwind_table_row(&t, i, &vaddr, &rule);
        }
    }
    free(copy);
}

/* Rows rise, differ from the one before, are found where they begin, and stay inside the text. */
static void check_rows(const struct cairn_unwind_table *t)
{
    uint64_t vaddr, last_vaddr = 0;
    uint32_t rule, last_rule = UINT32_MAX;
    for (uint32_t i = 0; i < t->n_rows; i++) {
        struct cairn_unwind_table_side side;
        if (!cairn_unwind_table_row(t, i, &vaddr, &rule) || (i && vaddr <= last_vaddr) ||
            rule == last_rule || cairn_unwind_table_find(t, vaddr) != rule ||
            (rule != CAIRN_RULE_NONE && (vaddr < TEXT_FROM || vaddr >= TEXT_TO)) ||
            (cairn_rule_kind(rule) == CAIRN_RULE_SIDE && !cairn_unwind_table_side(t, rule, &side)))
            __builtin_trap();
        last_vaddr = vaddr;
        last_rule = rule;
    }
    if (cairn_unwind_table_find(t, TEXT_FROM - 1) != CAIRN_RULE_NONE ||
        cairn_unwind_table_find(t, TEXT_TO) != CAIRN_RULE_NONE)
        __builtin_trap();
}

/* Without what a CPU has to be faster, the image is the same. */
static void build_by_rows(const struct cairn_unwind_table_input *input, struct cairn_span image,
                          uint64_t work_bytes)
{
    struct cairn_unwind_arch by_rows = *input->arch;
    struct cairn_unwind_table_input again = *input;
    struct cairn_unwind_table_built built;
    void *work = malloc((size_t)work_bytes);
    if (!work)
        return;
    by_rows.run = NULL;
    again.arch = &by_rows;
    if (cairn_unwind_table_build(&again, work, work_bytes, &built) != CAIRN_TABLE_OK ||
        built.image.size != image.size || memcmp(built.image.data, image.data, image.size) != 0)
        __builtin_trap();
    free(work);
}

static void build(const struct cairn_unwind_table_input *input)
{
    struct cairn_unwind_table_built built;
    struct cairn_unwind_table t;
    uint64_t work_bytes;
    if (cairn_unwind_table_measure(input, &work_bytes) != CAIRN_TABLE_OK)
        return;
    void *work = malloc((size_t)work_bytes);
    if (!work)
        return;
    enum cairn_unwind_table_end end = cairn_unwind_table_build(input, work, work_bytes, &built);
    if (end == CAIRN_TABLE_OK) {
        if (!cairn_unwind_table_open(built.image, &t))
            __builtin_trap();
        check_rows(&t);
        ask(&t, input->arch);
        if (input->arch->run)
            build_by_rows(input, built.image, work_bytes);
    } else if (end != CAIRN_TABLE_NOTHING) {
        __builtin_trap(); /* what was measured is always enough */
    }
    free(work);
}

static struct cairn_span take(struct cairn_span *left, size_t size)
{
    struct cairn_span taken = {left->data, size < left->size ? size : left->size};
    left->data += taken.size;
    left->size -= taken.size;
    return taken;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint16_t machines[] = {EM_X86_64, EM_AARCH64, EM_ARM};
    if (size < 5)
        return 0;
    if ((data[0] & 3) == 3) {
        ask_image(data + 1, size - 1);
        return 0;
    }
    const struct cairn_unwind_arch *arch = cairn_unwind_arch_of(machines[data[0] & 3]);
    struct cairn_span left = {data + 5, size - 5};
    struct cairn_cfi eh = {.vaddr = SECTION,
                           .text_vaddr = TEXT_FROM,
                           .data_vaddr = SECTION,
                           .machine = arch->machine,
                           .address_size = arch->word,
                           .swap = data[0] & 4};
    struct cairn_cfi debug = eh;
    debug.debug_frame = true;
    eh.bytes = take(&left, data[1] | (size_t)data[2] << 8);
    debug.bytes = take(&left, data[3] | (size_t)data[4] << 8);
    const struct cairn_exidx exidx = {.index = take(&left, left.size / 2 & ~(size_t)7),
                                      .index_vaddr = SECTION,
                                      .extab = left,
                                      .extab_vaddr = SECTION + 0x100,
                                      .swap = eh.swap};
    const struct cairn_unwind_table_input input = {.arch = arch,
                                                   .eh_frame = &eh,
                                                   .debug_frame = &debug,
                                                   .exidx = arch->word == 4 ? &exidx : NULL,
                                                   .text_from = TEXT_FROM,
                                                   .text_to = TEXT_TO};
    build(&input);
    return 0;
}
