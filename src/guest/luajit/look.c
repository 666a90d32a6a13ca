/* SPDX-License-Identifier: MIT */
/*
 * Is LuaJIT in a file, and where is its assembler? It has one FDE for all of it, with one row: the
 * CFA is 80 bytes above the stack pointer from its first byte to its last.
 */
#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "guest/image.h"
#include "guest/luajit/luajit.h"

enum { C_FRAME_SIZE = 80, ASSEMBLER_MIN = 8192 };

/* "LuaJIT 2.1.0-beta3", "LuaJIT 2.1.1700008891" */
static bool find_version(const struct cairn_elf *elf, struct cairn_guest_file *file)
{
    struct cairn_span bytes;
    size_t n = 0;
    if (!cairn_guest_find_text(elf, "LuaJIT 2.", &bytes))
        return false;
    while (n < bytes.size && n < sizeof file->version - 1 && bytes.data[n] >= ' ' &&
           bytes.data[n] < 0x7f)
        n++;
    memcpy(file->version, bytes.data, n);
    file->version[n] = 0;
    char *rest = strstr(file->version, " --"); /* the copyright */
    if (rest)
        *rest = 0;
    return true;
}

static bool is_assembler(const struct cairn_cfi *cfi, const struct cairn_fde *fde)
{
    struct cairn_cfi_row row;
    return fde->to - fde->from >= ASSEMBLER_MIN && cairn_cfi_row_at(cfi, fde, fde->from, &row) &&
           row.from <= fde->from && row.to >= fde->to && row.cfa.where == CAIRN_CFI_IN_REG &&
           row.cfa.reg == CAIRN_LJ_RSP && row.cfa.value == C_FRAME_SIZE;
}

/* Each entry stores the state in its C frame: with 64-bit references in a word at sp + 16, with
 * 32-bit ones in a half word at sp + 24 (SAVED_L of vm_x64.dasc, vm_x86.dasc). */
static bool has_narrow_references(const struct cairn_elf *elf, uint64_t loop, uint64_t loop_end)
{
    static const uint8_t wide[] = {0x48, 0x89, 0x7c, 0x24, 0x10}; /* mov %rdi, 16(%rsp) */
    static const uint8_t narrow[] = {0x89, 0x7c, 0x24, 0x18};     /* mov %edi, 24(%rsp) */
    struct cairn_span code;
    size_t size = (size_t)(loop_end - loop);
    return cairn_elf_bytes_at(elf, loop, &code) && code.size >= size &&
           !memmem(code.data, size, wide, sizeof wide) &&
           memmem(code.data, size, narrow, sizeof narrow);
}

bool cairn_lj_look(const struct cairn_elf *elf, struct cairn_guest_file *ret_file)
{
    struct cairn_guest_image image;
    struct cairn_fde fde;
    if (!elf->is64 || elf->swap || elf->machine != EM_X86_64 || !find_version(elf, ret_file))
        return false;
    if (!cairn_guest_image_open(elf, &image))
        return true;
    struct cairn_cfi_iter iter = {.cfi = &image.cfi};
    while (cairn_cfi_next(&iter, &fde)) {
        if (!is_assembler(&image.cfi, &fde))
            continue;
        ret_file->loop = fde.from;
        ret_file->loop_end = fde.to;
        break;
    }
    if (has_narrow_references(elf, ret_file->loop, ret_file->loop_end)) {
        ret_file->unread = "its references have 32 bits (it was built without GC64)";
        ret_file->loop_end = ret_file->loop;
    }
    return true;
}
