/* SPDX-License-Identifier: MIT */
/* Notes of static probes, and their arguments on both CPUs. The first byte says of what kind of
 * file they are: bit 0, 64 bits; bit 1, the other byte order; bit 2, prelinked. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "elf/usdt.h"
#include "trace/usdt_args.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_args(const char *text, uint16_t machine)
{
    struct cairn_usdt_arg arg;
    const char *at = text, *end = text + strlen(text);
    while (cairn_usdt_arg_next(&at, machine, &arg)) {
        const uint8_t bytes = arg.at.bytes;
        if (at > end || !arg.text.size || arg.text.data + arg.text.size != (const uint8_t *)at)
            abort();
        if (arg.at.operand == CAIRN_TRACE_OPERAND_NONE)
            continue;
        if (!bytes || bytes > 8 || bytes & (bytes - 1) || arg.at.reg >= CAIRN_TRACE_REG_WORDS ||
            arg.at.index >= CAIRN_TRACE_REG_WORDS || arg.at.shift > 8)
            abort();
    }
    if (at != end)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cairn_elf_usdt_note note;
    if (!size)
        return 0;
    struct cairn_elf_usdt_notes notes = {
        .reader = cairn_reader_of((struct cairn_span){data + 1, size - 1}, data[0] & 2),
        .width = data[0] & 1 ? 8 : 4,
        .base = data[0] & 4 ? 0x1000 : 0};
    while (cairn_elf_usdt_next(&notes, &note, NULL) > 0) {
        if (!*note.provider || !*note.name || strlen(note.name) > CAIRN_ELF_USDT_NAME_MAX ||
            strpbrk(note.name, ":\033 "))
            abort();
        read_args(note.args, EM_X86_64);
        read_args(note.args, EM_AARCH64);
        read_args(note.args, EM_ARM);
    }
    return 0;
}
