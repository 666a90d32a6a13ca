/* SPDX-License-Identifier: MIT */
/*
 * Suppressions that a program brings along: the text that __lsan_default_suppressions() returns, as
 * LeakSanitizer asks for it. The program's code is not run, for its file is not trusted: the
 * function must do nothing but return the address of a text, which is read from the file.
 *
 *     endbr64; push rbp; mov rbp, rsp     any of them, or none
 *     lea rax, [rip + x]  or  mov eax, x  ──► vaddr of the text
 *     pop rbp; ret
 */
#include <elf.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "elf/symbol_table.h"
#include "profile/profile.h"
#include "watch/heap.h"

enum { TEXT_MAX = 1 << 16, CODE_MAX = 64, HEAD = 3 };

static const char function_name[] = "__lsan_default_suppressions";

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

static bool returns_x86_64(struct cairn_span code, uint64_t vaddr, uint64_t *ret_text)
{
    const uint8_t *start = code.data;
    (void)pass(&code, "\xf3\x0f\x1e\xfa", 4);
    bool has_frame = pass(&code, "\x55", 1);
    if (has_frame && !pass(&code, "\x48\x89\xe5", HEAD))
        return false;
    bool is_relative = pass(&code, "\x48\x8d\x05", HEAD);
    if ((!is_relative && !pass(&code, "\xb8", 1)) || code.size < 4)
        return false;
    uint32_t operand = word_at(code, 0);
    code.data += 4;
    code.size -= 4;
    *ret_text = is_relative
                    ? vaddr + (uint64_t)(code.data - start) + (uint64_t)(int64_t)(int32_t)operand
                    : operand;
    if (has_frame && !pass(&code, "\x5d", 1))
        return false;
    return pass(&code, "\xc3", 1);
}

/* bti c; adrp x0, page; add x0, x0, #low; ret. The text may be at the start of its page: no add. */
static bool returns_aarch64(struct cairn_span code, uint64_t vaddr, uint64_t *ret_text)
{
    size_t at = code.size >= 4 && word_at(code, 0) == 0xd503245f ? 4 : 0;
    if (code.size < at + 8 || (word_at(code, at) & 0x9f00001f) != 0x90000000)
        return false;
    uint32_t adrp = word_at(code, at);
    uint64_t pages = (uint64_t)(adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3);
    pages = (pages ^ 1 << 20) - (1 << 20); /* 21 bits with a sign */
    *ret_text = ((vaddr + at) & ~UINT64_C(0xfff)) + (pages << 12);
    at += 4;
    if ((word_at(code, at) & 0xffc003ff) == 0x91000000) {
        *ret_text += word_at(code, at) >> 10 & 0xfff;
        at += 4;
    }
    return code.size >= at + 4 && word_at(code, at) == 0xd65f03c0;
}

static bool find_text(const struct cairn_elf *elf, uint64_t vaddr, struct cairn_span *ret_text)
{
    struct cairn_span code, text;
    uint64_t at = 0;
    if (!cairn_elf_bytes_at(elf, vaddr, &code))
        return false;
    code.size = code.size < CODE_MAX ? code.size : CODE_MAX;
    bool is_known = elf->machine == EM_X86_64    ? returns_x86_64(code, vaddr, &at)
                    : elf->machine == EM_AARCH64 ? returns_aarch64(code, vaddr, &at)
                                                 : false;
    if (!is_known || !cairn_elf_bytes_at(elf, at, &text))
        return false;
    const uint8_t *end = memchr(text.data, 0, text.size < TEXT_MAX ? text.size : TEXT_MAX);
    if (!end)
        return false;
    *ret_text = (struct cairn_span){text.data, (size_t)(end - text.data)};
    return true;
}

static int add_of(struct cairn_heap_suppressions *s, const struct cairn_elf *elf, const char *path,
                  struct cairn_err *err)
{
    struct cairn_elf_symbol function;
    struct cairn_span text;
    struct cairn_err wrong = {0};
    if (!cairn_heap_find_function(elf, CAIRN_ELF_SYMTAB, function_name, &function) &&
        !cairn_heap_find_function(elf, CAIRN_ELF_DYNSYM, function_name, &function))
        return CAIRN_OK;
    if (!find_text(elf, function.vaddr, &text)) {
        cairn_log(CAIRN_LOG_WARNING,
                  "%s: %s() does more than return a text, and is not run: its suppressions do not "
                  "hold (write them to a file for --suppressions)",
                  path, function_name);
        return CAIRN_OK;
    }
    int result = cairn_heap_suppressions_add(s, text, &wrong);
    if (result == CAIRN_E_NOMEM)
        return cairn_fail_memory(err);
    if (result < 0)
        cairn_log(CAIRN_LOG_WARNING, "%s: %s(): %s", path, function_name, wrong.msg);
    return CAIRN_OK;
}

int cairn_heap_suppressions_add_programs(struct cairn_heap_suppressions *s,
                                         const struct cairn_profile *profile, struct cairn_err *err)
{
    int result = CAIRN_OK;
    for (size_t i = 0; i < profile->n_modules && result == CAIRN_OK; i++) {
        const char *path = cairn_strings_get(&profile->strings, profile->modules[i].path);
        const char *build_id = cairn_strings_get(&profile->strings, profile->modules[i].build_id);
        struct cairn_file file;
        struct cairn_elf elf;
        if (path[0] != '/' || !*build_id || cairn_file_open(path, &file, NULL) < 0)
            continue;
        if (cairn_elf_open(file.bytes, &elf, NULL) == CAIRN_OK &&
            cairn_heap_is_of_build(&elf, build_id))
            result = add_of(s, &elf, path, err);
        cairn_file_close(&file);
    }
    return result;
}
