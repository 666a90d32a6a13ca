/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/arch.h"

#include <elf.h>

const struct cairn_unwind_arch *cairn_unwind_arch_of(uint16_t machine)
{
    switch (machine) {
    case EM_X86_64:
        return &cairn_unwind_x86_64;
    case EM_AARCH64:
        return &cairn_unwind_aarch64;
    case EM_ARM:
        return &cairn_unwind_arm;
    default:
        return NULL;
    }
}
