/* SPDX-License-Identifier: MIT */
/*
 * Suppressions that a program brings along: the text that __lsan_default_suppressions() returns, as
 * LeakSanitizer asks for it. The program's code is not run, for its file is not trusted: the
 * function must do nothing but return the address of a text, which is read from the file.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "elf/symbol_table.h"
#include "profile/profile.h"
#include "watch/constant.h"
#include "watch/heap.h"

enum { TEXT_MAX = 1 << 16 };

static const char function_name[] = "__lsan_default_suppressions";

static bool find_text(const struct cairn_elf *elf, uint64_t vaddr, struct cairn_span *ret_text)
{
    struct cairn_span text;
    uint64_t at;
    if (!cairn_heap_constant_at(elf, vaddr, CAIRN_HEAP_CONSTANT_ADDRESS, &at) ||
        !cairn_elf_bytes_at(elf, at, &text))
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
