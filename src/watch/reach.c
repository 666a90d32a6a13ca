/* SPDX-License-Identifier: MIT */
/* Programs that a preloaded library does not reach: told beforehand, so that no report is empty
 * without a word. */
#include <elf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cairn/heap.h>

#include "base/file.h"
#include "elf/symbol_table.h"
#include "watch/heap.h"

static bool is_static(const struct cairn_elf *elf)
{
    struct cairn_elf_segment segment;
    for (uint32_t i = 0; i < elf->n_segments; i++)
        if (cairn_elf_segment(elf, i, &segment) && segment.type == PT_INTERP)
            return false;
    return true;
}

/* Symbols of a program come before those of any library. */
static bool has_malloc(const struct cairn_elf *elf)
{
    struct cairn_elf_symbol_table table;
    struct cairn_elf_symbol symbol;
    bool found = false;
    if (cairn_elf_symbol_table_open(elf, CAIRN_ELF_DYNSYM, elf, &table, NULL) < 0)
        return false;
    for (uint32_t i = 1; !found && i < table.n; i++)
        found = cairn_elf_symbol_table_get(&table, i, &symbol) && symbol.bind != STB_LOCAL &&
                strcmp(symbol.name, "malloc") == 0;
    cairn_elf_symbol_table_done(&table);
    return found;
}

static const char own_malloc[] = "it has a malloc of its own, which comes before the tracker's";

static const char *reason_of(const char *path)
{
    struct cairn_file file;
    struct cairn_elf elf;
    struct stat st;
    const char *reason = "";
    if (stat(path, &st) == 0 && st.st_mode & (S_ISUID | S_ISGID) && geteuid() != st.st_uid)
        return "it is a setuid program, for which the loader preloads nothing of others";
    if (cairn_file_open(path, &file, NULL) < 0)
        return reason;
    if (cairn_elf_open(file.bytes, &elf, NULL) == CAIRN_OK) {
        if (is_static(&elf))
            reason = "it is linked statically: there is no loader that would preload the tracker";
        else if (has_malloc(&elf))
            reason = own_malloc;
    }
    cairn_file_close(&file);
    return reason;
}

bool cairn_heap_find_program(const char *name, char *ret_path, size_t size)
{
    const char *folder = getenv("PATH");
    if (strchr(name, '/'))
        return snprintf(ret_path, size, "%s", name) < (int)size;
    for (; folder && *folder; folder += strcspn(folder, ":"), folder += *folder == ':') {
        int n = snprintf(ret_path, size, "%.*s/%s", (int)strcspn(folder, ":"), folder, name);
        if (n > 0 && (size_t)n < size && access(ret_path, X_OK) == 0)
            return true;
    }
    return false;
}

const char *cairn_heap_unreachable(const char *program)
{
    char path[PATH_MAX];
    return cairn_heap_find_program(program, path, sizeof path) ? reason_of(path) : "";
}

/* With a malloc of its own there is a tracker in it, which says so itself. */
const char *cairn_heap_unloadable(const char *path)
{
    const char *reason = reason_of(path);
    return reason == own_malloc ? "" : reason;
}
