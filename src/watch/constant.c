/* SPDX-License-Identifier: MIT */
#include "watch/constant.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include <cairn/heap.h>

#include "base/file.h"
#include "base/log.h"
#include "elf/symbol_table.h"
#include "watch/heap.h"

enum { CODE_MAX = 64, HEAD = 3 };

/* True: `code` starts with these bytes, and is behind them now. */
static bool pass(struct cairn_span *code, const char *bytes, size_t size)
{
    if (code->size < size || memcmp(code->data, bytes, size) != 0)
        return false;
    code->data += size;
    code->size -= size;
    return true;
}

static uint32_t word_at(struct cairn_span code, size_t at)
{
    return (uint32_t)code.data[at] | (uint32_t)code.data[at + 1] << 8 |
           (uint32_t)code.data[at + 2] << 16 | (uint32_t)code.data[at + 3] << 24;
}

static bool returns_x86_64(struct cairn_span code, uint64_t vaddr, uint64_t *ret_value)
{
    const uint8_t *start = code.data;
    (void)pass(&code, "\xf3\x0f\x1e\xfa", 4);
    bool has_frame = pass(&code, "\x55", 1);
    if (has_frame && !pass(&code, "\x48\x89\xe5", HEAD))
        return false;
    bool is_relative = pass(&code, "\x48\x8d\x05", HEAD);
    bool is_zero = !is_relative && pass(&code, "\x31\xc0", 2);
    if ((!is_relative && !is_zero && !pass(&code, "\xb8", 1)) || (!is_zero && code.size < 4))
        return false;
    uint32_t operand = is_zero ? 0 : word_at(code, 0);
    code.data += is_zero ? 0 : 4;
    code.size -= is_zero ? 0 : 4;
    *ret_value = is_relative
                     ? vaddr + (uint64_t)(code.data - start) + (uint64_t)(int64_t)(int32_t)operand
                     : operand;
    if (has_frame && !pass(&code, "\x5d", 1))
        return false;
    return pass(&code, "\xc3", 1);
}

/* bti c; adrp x0, page; add x0, x0, #low; ret. The text may be at the start of its page: no add. */
static bool returns_aarch64(struct cairn_span code, uint64_t vaddr, uint64_t *ret_value)
{
    size_t at = code.size >= 4 && word_at(code, 0) == 0xd503245f ? 4 : 0;
    if (code.size < at + 8 || (word_at(code, at) & 0x9f00001f) != 0x90000000)
        return false;
    uint32_t adrp = word_at(code, at);
    uint64_t pages = (uint64_t)(adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3);
    pages = (pages ^ 1 << 20) - (1 << 20); /* 21 bits with a sign */
    *ret_value = ((vaddr + at) & ~UINT64_C(0xfff)) + (pages << 12);
    at += 4;
    if ((word_at(code, at) & 0xffc003ff) == 0x91000000) {
        *ret_value += word_at(code, at) >> 10 & 0xfff;
        at += 4;
    }
    return code.size >= at + 4 && word_at(code, at) == 0xd65f03c0;
}

/* movz w0, #imm; ret */
static bool returns_number_aarch64(struct cairn_span code, uint64_t *ret_value)
{
    size_t at = code.size >= 4 && word_at(code, 0) == 0xd503245f ? 4 : 0;
    if (code.size < at + 8 || (word_at(code, at) & 0xffe0001f) != 0x52800000)
        return false;
    *ret_value = word_at(code, at) >> 5 & 0xffff;
    return word_at(code, at + 4) == 0xd65f03c0;
}

bool cairn_heap_constant_of_code(uint16_t machine, struct cairn_span code, uint64_t vaddr,
                                 enum cairn_heap_constant kind, uint64_t *ret_value)
{
    code.size = code.size < CODE_MAX ? code.size : CODE_MAX;
    if (machine == EM_X86_64)
        return returns_x86_64(code, vaddr, ret_value);
    if (machine != EM_AARCH64)
        return false;
    return kind == CAIRN_HEAP_CONSTANT_NUMBER ? returns_number_aarch64(code, ret_value)
                                              : returns_aarch64(code, vaddr, ret_value);
}

bool cairn_heap_constant_at(const struct cairn_elf *elf, uint64_t vaddr,
                            enum cairn_heap_constant kind, uint64_t *ret_value)
{
    struct cairn_span code;
    return cairn_elf_bytes_at(elf, vaddr, &code) &&
           cairn_heap_constant_of_code(elf->machine, code, vaddr, kind, ret_value);
}

int cairn_heap_is_turned_off(int pid)
{
    static const char name[] = "__lsan_is_turned_off";
    char path[64];
    struct cairn_file file;
    struct cairn_elf elf;
    struct cairn_elf_symbol function;
    uint64_t value = 0;
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    if (cairn_file_open(path, &file, NULL) < 0)
        return 0;
    if (cairn_elf_open(file.bytes, &elf, NULL) == CAIRN_OK &&
        (cairn_heap_find_function(&elf, CAIRN_ELF_SYMTAB, name, &function) ||
         cairn_heap_find_function(&elf, CAIRN_ELF_DYNSYM, name, &function)) &&
        !cairn_heap_constant_at(&elf, function.vaddr, CAIRN_HEAP_CONSTANT_NUMBER, &value)) {
        value = 0;
        cairn_log(CAIRN_LOG_WARNING,
                  "process %d: %s() does more than return a constant, and is not run: leak checks "
                  "are on",
                  pid, name);
    }
    cairn_file_close(&file);
    return value != 0;
}
