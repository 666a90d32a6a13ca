/* SPDX-License-Identifier: MIT */
#include "trace/usdt.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

enum {
    COMPARED_MAX = 4096,   /* probes that a misspelled name is compared with */
    SYMBOLS_MAX = 1 << 26, /* for all operands of a file: half a second */
};

static int by_names(const struct cairn_elf_usdt_note *a, const struct cairn_elf_usdt_note *b)
{
    const int order = strcmp(a->provider, b->provider);
    return order ? order : strcmp(a->name, b->name);
}

static int by_place(const void *left, const void *right)
{
    const struct cairn_elf_usdt_note *a = left, *b = right;
    const int order = by_names(a, b);
    return order ? order : (a->vaddr > b->vaddr) - (a->vaddr < b->vaddr);
}

static int read_notes(struct cairn_usdt_file *file, struct cairn_err *err)
{
    struct cairn_elf_usdt_notes notes;
    struct cairn_elf_usdt_note note;
    int code = cairn_elf_usdt_open(&file->elf, &notes, err);
    while (code >= 0 && (code = cairn_elf_usdt_next(&notes, &note, err)) > 0) {
        if (cairn_grow((void **)&file->notes, &file->cap, file->n + 1, sizeof *file->notes) < 0)
            return cairn_fail_memory(err);
        file->notes[file->n++] = note;
    }
    if (code == CAIRN_OK && !file->n)
        return cairn_fail(err, CAIRN_E_MISSING, "has no static probes: .note.stapsdt has none");
    if (code == CAIRN_OK)
        qsort(file->notes, file->n, sizeof *file->notes, by_place);
    return code;
}

int cairn_usdt_open(const char *path, struct cairn_usdt_file *ret_file, struct cairn_err *err)
{
    struct cairn_usdt_file file = {.symbols_left = SYMBOLS_MAX};
    int code = cairn_file_open(path, &file.file, err);
    if (code < 0)
        return code;
    code = cairn_elf_open(file.file.bytes, &file.elf, err);
    if (code == CAIRN_OK)
        code = read_notes(&file, err);
    if (code < 0) {
        cairn_usdt_close(&file);
        return cairn_fail_in(err, code, path);
    }
    *ret_file = file;
    return CAIRN_OK;
}

void cairn_usdt_close(struct cairn_usdt_file *file)
{
    cairn_free(file->notes);
    cairn_file_close(&file->file);
    *file = (struct cairn_usdt_file){0};
}

bool cairn_usdt_next(const struct cairn_usdt_file *file, const char *provider, const char *name,
                     size_t *at, struct cairn_usdt_probe *ret_probe)
{
    while (*at < file->n) {
        const struct cairn_elf_usdt_note *first = &file->notes[*at];
        size_t n = 1;
        while (*at + n < file->n && by_names(first, first + n) == 0)
            n++;
        *at += n;
        if (fnmatch(provider, first->provider, 0) == 0 && fnmatch(name, first->name, 0) == 0) {
            *ret_probe = (struct cairn_usdt_probe){first, n};
            return true;
        }
    }
    return false;
}

/* Levenshtein's: how many letters have to be changed, added or taken out. */
static size_t distance(const char *a, const char *b)
{
    size_t row[CAIRN_ELF_USDT_NAME_MAX + 1];
    const size_t n = strnlen(b, CAIRN_ELF_USDT_NAME_MAX);
    for (size_t k = 0; k <= n; k++)
        row[k] = k;
    for (size_t i = 0; a[i] && i < CAIRN_ELF_USDT_NAME_MAX; i++) {
        size_t corner = row[0];
        row[0] = i + 1;
        for (size_t k = 0; k < n; k++) {
            size_t least = corner + (a[i] != b[k]);
            corner = row[k + 1];
            if (row[k] + 1 < least)
                least = row[k] + 1;
            if (row[k + 1] + 1 < least)
                least = row[k + 1] + 1;
            row[k + 1] = least;
        }
    }
    return row[n];
}

const struct cairn_elf_usdt_note *cairn_usdt_nearest(const struct cairn_usdt_file *file,
                                                     const char *provider, const char *name)
{
    const struct cairn_elf_usdt_note *nearest = NULL;
    struct cairn_usdt_probe probe;
    size_t least = SIZE_MAX, at = 0;
    for (size_t i = 0; i < COMPARED_MAX && cairn_usdt_next(file, "*", "*", &at, &probe); i++) {
        const size_t far =
            distance(provider, probe.notes->provider) + distance(name, probe.notes->name);
        if (far < least) {
            least = far;
            nearest = probe.notes;
        }
    }
    return nearest;
}
