/* SPDX-License-Identifier: MIT */
/* DWARF's registers by name, as the psABI of each CPU gives them. */
#include <elf.h>
#include <stddef.h>

#include "cli/stack.h"

static const char *const x86_64[] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
                                     "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
static const char *const i386[] = {"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi"};
static const char *const aarch64[] = {"x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",
                                      "x8",  "x9",  "x10", "x11", "x12", "x13", "x14", "x15",
                                      "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23",
                                      "x24", "x25", "x26", "x27", "x28", "x29", "x30", "sp"};
static const char *const arm[] = {"r0", "r1", "r2",  "r3",  "r4",  "r5", "r6", "r7",
                                  "r8", "r9", "r10", "r11", "r12", "sp", "lr", "pc"};

const char *cli_stack_reg_name(uint32_t machine, unsigned reg)
{
    static const struct {
        uint32_t machine, n;
        const char *const *names;
    } machines[] = {
        {EM_X86_64, sizeof x86_64 / sizeof *x86_64, x86_64},
        {EM_386, sizeof i386 / sizeof *i386, i386},
        {EM_AARCH64, sizeof aarch64 / sizeof *aarch64, aarch64},
        {EM_ARM, sizeof arm / sizeof *arm, arm},
    };
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        if (machines[i].machine == machine)
            return reg < machines[i].n ? machines[i].names[reg] : NULL;
    return NULL;
}
