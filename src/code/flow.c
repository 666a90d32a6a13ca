/* SPDX-License-Identifier: MIT */
#include "code/flow.h"

#include <elf.h>

cairn_code_step_fn *cairn_code_stepper(uint16_t machine)
{
    return machine == EM_X86_64    ? cairn_code_step_x86_64
           : machine == EM_AARCH64 ? cairn_code_step_aarch64
                                   : NULL;
}
