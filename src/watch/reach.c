/* SPDX-License-Identifier: MIT */
/* Programs that a preloaded library does not reach: told beforehand, so that no report is empty
 * without a word. */
#include <elf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/heap.h>

#include "base/file.h"
#include "elf/symbol_table.h"
#include "rt/program.h"
#include "watch/heap.h"

bool cairn_heap_find_function(const struct cairn_elf *elf, enum cairn_elf_symtab_kind kind,
                              const char *name, struct cairn_elf_symbol *ret_symbol)
{
    struct cairn_elf_symbol_table table;
    bool found = false;
    if (cairn_elf_symbol_table_open(elf, kind, elf, &table, NULL) < 0)
        return false;
    for (uint32_t i = 1; !found && i < table.n; i++)
        found = cairn_elf_symbol_table_get(&table, i, ret_symbol) &&
                strcmp(ret_symbol->name, name) == 0;
    ret_symbol->name = name; /* the other one is the table's */
    cairn_elf_symbol_table_done(&table);
    return found;
}

/* Symbols of a program come before those of any library. */
static bool has_malloc(const struct cairn_elf *elf)
{
    struct cairn_elf_symbol symbol;
    return cairn_heap_find_function(elf, CAIRN_ELF_DYNSYM, "malloc", &symbol) &&
           symbol.bind != STB_LOCAL;
}

static const char own_malloc[] = "it has a malloc of its own, which comes before the tracker's";

static const char *reason_of(const char *path)
{
    struct cairn_file file;
    struct cairn_elf elf;
    enum cairn_program_kind kind = cairn_program_judge(path, NULL);
    const char *reason = cairn_program_reason(kind);
    if (kind != CAIRN_PROGRAM_SERVED || cairn_file_open(path, &file, NULL) < 0)
        return reason;
    if (cairn_elf_open(file.bytes, &elf, NULL) == CAIRN_OK && has_malloc(&elf))
        reason = own_malloc;
    cairn_file_close(&file);
    return reason;
}

bool cairn_heap_find_program(const char *name, char *ret_path, size_t size)
{
    const char *found = cairn_program_find(name, getenv("PATH"), ret_path, size);
    if (found == name)
        return snprintf(ret_path, size, "%s", name) < (int)size;
    return found != NULL;
}

const char *cairn_heap_unreachable(const char *program)
{
    char path[PATH_MAX];
    return cairn_heap_find_program(program, path, sizeof path) ? reason_of(path) : "";
}
