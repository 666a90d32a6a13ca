/* SPDX-License-Identifier: MIT */
#include "elf/symbol_files.h"

#include <elf.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/below.h"
#include "base/error.h"

static int compare_locals(const void *left, const void *right)
{
    const struct cairn_elf_local *a = left, *b = right;
    int order = (a->vaddr > b->vaddr) - (a->vaddr < b->vaddr);
    return order ? order : (a->number > b->number) - (a->number < b->number);
}

static int list_locals(const struct cairn_elf_symbol_table *table,
                       struct cairn_elf_symbol_files *files, struct cairn_err *err)
{
    const char *file = NULL;
    for (uint32_t i = 1; i < table->n; i++) {
        struct cairn_elf_symbol symbol;
        const char *next = cairn_elf_symbol_table_file(table, i);
        if (next)
            file = *next ? next : NULL; /* what the linker made follows a file without a name */
        else if (file && cairn_elf_symbol_table_get(table, i, &symbol) &&
                 symbol.bind == STB_LOCAL) {
            if (cairn_grow((void **)&files->locals, &files->cap, files->n + 1,
                           sizeof *files->locals) < 0)
                return cairn_fail_memory(err);
            files->locals[files->n++] =
                (struct cairn_elf_local){symbol.vaddr, i, symbol.name, file};
        }
    }
    if (files->n)
        qsort(files->locals, files->n, sizeof *files->locals, compare_locals);
    return CAIRN_OK;
}

int cairn_elf_symbol_files_read(const struct cairn_elf *elf,
                                struct cairn_elf_symbol_files *ret_files, struct cairn_err *err)
{
    struct cairn_elf_symbol_table table;
    struct cairn_elf_symbol_files files = {0};
    int code = cairn_elf_symbol_table_open(elf, CAIRN_ELF_SYMTAB, elf, &table, err);
    if (code < 0)
        return code;
    code = list_locals(&table, &files, err);
    files.names = table.names;
    table.names = (struct cairn_elf_data){0};
    cairn_elf_symbol_table_done(&table);
    if (code < 0)
        cairn_elf_symbol_files_done(&files);
    else
        *ret_files = files;
    return code;
}

void cairn_elf_symbol_files_done(struct cairn_elf_symbol_files *files)
{
    cairn_elf_data_done(&files->names);
    cairn_free(files->locals);
    *files = (struct cairn_elf_symbol_files){0};
}

const char *cairn_elf_symbol_files_find(const struct cairn_elf_symbol_files *files, uint64_t vaddr,
                                        const char *name)
{
    size_t n = CAIRN_COUNT_BELOW(files->locals, files->n, vaddr, vaddr);
    for (size_t i = n; i && files->locals[i - 1].vaddr == files->locals[n - 1].vaddr; i--)
        if (strncmp(files->locals[i - 1].name, name, strlen(name)) == 0)
            return files->locals[i - 1].file;
    return NULL;
}
