/* SPDX-License-Identifier: MIT */
/* The input is an ELF file, in which code is looked for that nothing describes: what is said of it
 * is sound. */
#include <elf.h>

#include "dwarf/cfi.h"
#include "unwind/crt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Each row is of rsp, and lies where the stack may. */
static bool check(void *ctx, const struct cairn_cfi_row *row)
{
    (void)ctx;
    if (row->cfa.where != CAIRN_CFI_IN_REG || row->cfa.reg != 7 ||
        (row->cfa.value != 8 && row->cfa.value != 16))
        __builtin_trap();
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cairn_elf elf;
    struct cairn_fde fde;
    uint8_t bytes[CAIRN_CRT_BYTES];
    if (cairn_elf_open((struct cairn_span){data, size}, &elf, NULL) < 0)
        return 0;
    const struct cairn_cfi cfi = {.bytes = {bytes, cairn_crt_frames(&elf, elf.entry, bytes)},
                                  .machine = EM_X86_64,
                                  .address_size = 8,
                                  .debug_frame = true};
    struct cairn_cfi_iter iter = {.cfi = &cfi};
    while (cairn_cfi_next(&iter, &fde))
        if (!cairn_cfi_run(&cfi, &fde, check, NULL))
            __builtin_trap();
    return 0;
}
