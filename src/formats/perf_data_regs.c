/* SPDX-License-Identifier: MIT */
/*
 * The kernel numbers registers in its own way: Linux, arch/CPU/include/uapi/asm/perf_regs.h. The
 * numbers of DWARF: System V ABI for x86-64, 3.6.2; for aarch64 and arm both agree.
 */
#include "formats/perf_data_regs.h"

#include <elf.h>

enum { NONE = 255, ABI_32 = 1 };

/* A CPU's registers by the kernel's number. */
struct cpu {
    uint16_t machine;
    uint8_t n, ip, sp;    /* the kernel's numbers */
    const uint8_t *dwarf; /* NULL: the same */
};

/* ax bx cx dx si di bp sp ip, flags and segments, r8 ... r15 */
static const uint8_t x86_64[] = {0,    3,    2,    1,    4, 5, 6,  7,  NONE, NONE, NONE, NONE,
                                 NONE, NONE, NONE, NONE, 8, 9, 10, 11, 12,   13,   14,   15};
static const uint8_t i386[] = {0, 3, 1, 2, 6, 7, 5, 4, NONE};

static const struct cpu cpus[] = {
    {EM_X86_64, sizeof x86_64, 8, 7, x86_64},
    {EM_386, sizeof i386, 8, 7, i386},
    {EM_AARCH64, 32, 32, 31, NULL},
    {EM_ARM, 16, 15, 13, NULL},
};

/* A 32-bit program on a CPU of 64 bits has the registers of its own kind. */
static uint16_t machine_of(uint16_t machine, uint64_t abi)
{
    if (abi != ABI_32)
        return machine;
    return machine == EM_X86_64 ? EM_386 : machine == EM_AARCH64 ? EM_ARM : machine;
}

static const struct cpu *find_cpu(uint16_t machine)
{
    for (size_t i = 0; i < sizeof cpus / sizeof *cpus; i++)
        if (cpus[i].machine == machine)
            return &cpus[i];
    return NULL;
}

bool cairn_perf_data_cursor_regs(const struct cairn_perf_data_regs *regs, uint16_t machine,
                                 bool swap, struct cairn_cursor_regs *ret_regs, uint64_t *ret_sp)
{
    const struct cpu *cpu = find_cpu(machine_of(machine, regs->abi));
    struct cairn_cursor_regs to = {.machine = cpu ? cpu->machine : EM_NONE};
    uint64_t value, sp;
    if (!cpu || !cairn_perf_data_reg(regs, cpu->ip, swap, &to.ip) ||
        !cairn_perf_data_reg(regs, cpu->sp, swap, &sp))
        return false;
    for (unsigned i = 0; i < cpu->n; i++) {
        unsigned number = cpu->dwarf ? cpu->dwarf[i] : i;
        /* All ones: before Linux 5.11 that is what it has not kept of a thread in a system call. */
        if (number == NONE || !cairn_perf_data_reg(regs, i, swap, &value) ||
            (value == UINT64_MAX && i != cpu->sp))
            continue;
        to.reg[number] = value;
        to.known |= UINT64_C(1) << number;
    }
    *ret_regs = to;
    *ret_sp = sp;
    return true;
}
