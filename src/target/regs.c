/* SPDX-License-Identifier: MIT */
#include "target/regs.h"

#include <elf.h>

#include "base/reader.h"
#include "unwind/cursor_row.h"

enum { IP = 100, SKIP = 101, CPSR = 102, WORDS_MAX = 34, ARM_PC = 15, CPSR_THUMB = 5 };

struct layout {
    uint16_t machine;
    uint8_t width, n_words; /* of all, named below or not */
    uint8_t n;
    uint8_t regs[WORDS_MAX]; /* DWARF's number of each word */
};

static const struct layout layouts[] = {
    {EM_X86_64, 8, 27, 20, {15, 14, 13, 12, 6, 3,    11, 10,   9,    8,
                            0,  2,  1,  4,  5, SKIP, IP, SKIP, SKIP, 7}},
    {EM_386, 4, 17, 16, {3, 1, 2, 6, 7, 5, 0, SKIP, SKIP, SKIP, SKIP, SKIP, IP, SKIP, SKIP, 4}},
    {EM_AARCH64, 8, 34, 33, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                             17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, IP}},
    {EM_ARM, 4, 18, 17, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, IP, CPSR}},
};

enum { N_LAYOUTS = sizeof layouts / sizeof *layouts };

size_t cairn_target_regs_bytes(uint16_t machine)
{
    for (size_t i = 0; i < N_LAYOUTS; i++)
        if (layouts[i].machine == machine)
            return (size_t)layouts[i].width * layouts[i].n_words;
    return 0;
}

bool cairn_target_regs(struct cairn_span raw, bool swap, struct cairn_cursor_regs *ret_regs)
{
    const struct layout *layout = NULL;
    for (size_t i = 0; i < N_LAYOUTS; i++)
        if ((size_t)layouts[i].width * layouts[i].n_words == raw.size)
            layout = &layouts[i];
    if (!layout)
        return false;
    struct cairn_cursor_regs regs = {.machine = layout->machine};
    struct cairn_reader r = cairn_reader_of(raw, swap);
    for (size_t i = 0; i < layout->n; i++) {
        uint64_t value = cairn_reader_word(&r, layout->width);
        if (layout->regs[i] == IP) {
            regs.ip = value;
        } else if (layout->regs[i] == CPSR) { /* pc as arm's code stores it, with Thumb's bit */
            regs.reg[ARM_PC] = regs.ip | (value >> CPSR_THUMB & 1);
            regs.known |= UINT64_C(1) << ARM_PC;
        } else if (layout->regs[i] != SKIP) {
            regs.reg[layout->regs[i]] = value;
            regs.known |= UINT64_C(1) << layout->regs[i];
        }
    }
    *ret_regs = regs;
    return true;
}

uint64_t cairn_target_sp(const struct cairn_cursor_regs *regs)
{
    const struct cairn_unwind_arch *arch = cairn_row_arch_of((uint16_t)regs->machine);
    return arch && regs->known >> arch->sp & 1 ? regs->reg[arch->sp] : 0;
}
