/* SPDX-License-Identifier: MIT */
#include "symbol/kernel_module.h"

#include <elf.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/below.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "elf/symbol_names.h"
#include "symbol/module.h"
#include "symlist/line.h"

enum {
    NUMBER_BYTES = 256, /* of a file that holds an address */
    NAMESAKES_MAX = 16, /* symbols of one name that are compared */
};

void cairn_kernel_sections_done(struct cairn_kernel_sections *sections)
{
    cairn_free(sections->sections);
    *sections = (struct cairn_kernel_sections){0};
}

static int compare_vaddrs(const void *left, const void *right)
{
    const struct cairn_kernel_section *a = left, *b = right;
    return (a->vaddr > b->vaddr) - (a->vaddr < b->vaddr);
}

static bool is_code(const struct cairn_elf_section *section)
{
    return (section->flags & SHF_ALLOC) && (section->flags & SHF_EXECINSTR) && section->size;
}

/* The sections of code in the order of their vaddrs; where they start is not known yet. */
static int list_sections(const struct cairn_module *file,
                         struct cairn_kernel_sections *ret_sections, struct cairn_err *err)
{
    struct cairn_elf_section section;
    struct cairn_kernel_sections all = {0};
    all.sections = cairn_alloc(file->image.n_sections + 1, sizeof *all.sections);
    if (!all.sections)
        return cairn_fail_memory(err);
    for (uint32_t i = 1; cairn_elf_section(&file->image, i, &section); i++)
        if (is_code(&section))
            all.sections[all.n++] =
                (struct cairn_kernel_section){.size = section.size, .vaddr = section.vaddr};
    qsort(all.sections, all.n, sizeof *all.sections, compare_vaddrs);
    *ret_sections = all;
    return CAIRN_OK;
}

/* Those whose start was found. */
static void keep_found(struct cairn_kernel_sections *sections)
{
    size_t n = 0;
    for (size_t i = 0; i < sections->n; i++)
        if (sections->sections[i].start)
            sections->sections[n++] = sections->sections[i];
    sections->n = n;
}

/* "0xffffffffc0a01000"; 0 where it is not told. */
static int read_start(const char *path, uint64_t *ret_start, struct cairn_err *err)
{
    struct cairn_buffer text = {0};
    struct cairn_err why;
    int code = cairn_file_slurp(path, NUMBER_BYTES, &text, &why);
    struct cairn_span rest = cairn_buffer_span(&text), line;
    uint64_t start;
    *ret_start = 0;
    if (code == CAIRN_OK && cairn_list_line_next(&rest, &line) &&
        cairn_list_hex(cairn_list_word(&line), &start))
        *ret_start = start;
    cairn_buffer_done(&text);
    return code == CAIRN_E_NOMEM ? cairn_fail_memory(err) : CAIRN_OK;
}

int cairn_kernel_sections_read(const struct cairn_module *file, const char *folder,
                               struct cairn_kernel_sections *ret_sections, struct cairn_err *err)
{
    struct cairn_elf_section section;
    struct cairn_kernel_sections all;
    struct cairn_buffer path = {0};
    int code = list_sections(file, &all, err);
    for (uint32_t i = 1; code == CAIRN_OK && cairn_elf_section(&file->image, i, &section); i++) {
        const struct cairn_kernel_section key = {.vaddr = section.vaddr};
        struct cairn_kernel_section *at =
            is_code(&section) ? bsearch(&key, all.sections, all.n, sizeof key, compare_vaddrs)
                              : NULL;
        if (!at || strchr(section.name, '/') || !*section.name)
            continue;
        cairn_buffer_clear(&path);
        cairn_buffer_printf(&path, "%s/%s", folder, section.name);
        code = path.failed ? cairn_fail_memory(err)
                           : read_start(cairn_buffer_text(&path), &at->start, err);
    }
    cairn_buffer_done(&path);
    if (code < 0) {
        cairn_kernel_sections_done(&all);
        return code;
    }
    keep_found(&all);
    *ret_sections = all;
    return CAIRN_OK;
}

/* A symbol of the kernel's list, and what the symbols of the file say of one section. */
struct listed {
    const char *name;
    uint64_t va;
};

struct vote {
    size_t section;
    uint64_t start;
};

struct reckoning {
    struct cairn_kernel_sections sections;
    struct listed *listed; /* of the module, by name */
    size_t n_listed, cap_listed;
    struct vote *votes;
    size_t n_votes, cap_votes;
    struct cairn_err *err;
};

static int compare_listed(const void *left, const void *right)
{
    const struct listed *a = left, *b = right;
    return strcmp(a->name, b->name);
}

static int compare_votes(const void *left, const void *right)
{
    const struct vote *a = left, *b = right;
    if (a->section != b->section)
        return a->section < b->section ? -1 : 1;
    return (a->start > b->start) - (a->start < b->start);
}

static int list_symbols(struct reckoning *r, const struct cairn_symbol_list *list, const char *name)
{
    uint32_t number = 0;
    for (size_t i = 0; i < list->n; i++) {
        const struct cairn_listed_symbol *row = &list->symbols[i];
        if (!row->module || (number && row->module != number) ||
            (!number && strcmp(cairn_strings_get(&list->modules, row->module), name) != 0))
            continue;
        number = row->module;
        if (cairn_grow((void **)&r->listed, &r->cap_listed, r->n_listed + 1, sizeof *r->listed) < 0)
            return cairn_fail_memory(r->err);
        r->listed[r->n_listed++] = (struct listed){cairn_symbol_list_name(list, row), row->start};
    }
    if (r->n_listed)
        qsort(r->listed, r->n_listed, sizeof *r->listed, compare_listed);
    return CAIRN_OK;
}

/* The section that holds a vaddr; `n` where none does. */
static size_t section_of(const struct cairn_kernel_sections *sections, uint64_t vaddr)
{
    size_t n = CAIRN_COUNT_BELOW(sections->sections, sections->n, vaddr, vaddr);
    bool held = n && vaddr - sections->sections[n - 1].vaddr < sections->sections[n - 1].size;
    return held ? n - 1 : sections->n;
}

/* Each symbol of the file that the list has too says where its section would start. */
static int cast_votes(void *ctx, const char *name, uint64_t vaddr)
{
    struct reckoning *r = ctx;
    const struct listed key = {.name = name};
    size_t section = section_of(&r->sections, vaddr);
    const struct listed *at =
        section < r->sections.n && r->n_listed
            ? bsearch(&key, r->listed, r->n_listed, sizeof key, compare_listed)
            : NULL;
    if (!at)
        return 0;
    while (at > r->listed && strcmp(at[-1].name, name) == 0)
        at--;
    const struct listed *end = r->listed + r->n_listed;
    for (int n = 0; at < end && n < NAMESAKES_MAX && strcmp(at->name, name) == 0; at++, n++) {
        uint64_t place = vaddr - r->sections.sections[section].vaddr;
        if (cairn_grow((void **)&r->votes, &r->cap_votes, r->n_votes + 1, sizeof *r->votes) < 0)
            return cairn_fail_memory(r->err);
        r->votes[r->n_votes++] = (struct vote){section, at->va - place};
    }
    return 0;
}

/* What more than half of the votes for a section say is so. */
static void count_votes(struct reckoning *r)
{
    if (r->n_votes)
        qsort(r->votes, r->n_votes, sizeof *r->votes, compare_votes);
    for (size_t i = 0, next; i < r->n_votes; i = next) {
        size_t best = 0, run = 0;
        for (next = i; next < r->n_votes && r->votes[next].section == r->votes[i].section; next++) {
            run = next > i && r->votes[next].start == r->votes[next - 1].start ? run + 1 : 1;
            if (run > best) {
                best = run;
                r->sections.sections[r->votes[i].section].start = r->votes[next].start;
            }
        }
        if (best * 2 <= next - i)
            r->sections.sections[r->votes[i].section].start = 0;
    }
}

int cairn_kernel_sections_reckon(const struct cairn_module *file, const struct cairn_module *list,
                                 const char *name, struct cairn_kernel_sections *ret_sections,
                                 struct cairn_err *err)
{
    struct reckoning r = {.err = err};
    struct cairn_err why = {0};
    int code = list_sections(file, &r.sections, err);
    if (code == CAIRN_OK)
        code = list_symbols(&r, &list->list, name);
    if (code == CAIRN_OK) {
        code = cairn_elf_symbols_each(&file->debug, CAIRN_ELF_SYMTAB, cast_votes, &r, &why);
        if (code == CAIRN_OK && !r.n_votes && file->debug.bytes.data != file->image.bytes.data)
            code = cairn_elf_symbols_each(&file->image, CAIRN_ELF_SYMTAB, cast_votes, &r, &why);
        code = cairn_bear(file->path, code, &why, err);
    }
    if (code == CAIRN_OK) {
        count_votes(&r);
        keep_found(&r.sections);
        *ret_sections = r.sections;
    } else {
        cairn_kernel_sections_done(&r.sections);
    }
    cairn_free(r.listed);
    cairn_free(r.votes);
    return code;
}

bool cairn_kernel_sections_find(const struct cairn_kernel_sections *sections, uint64_t va,
                                uint64_t *ret_vaddr)
{
    for (size_t i = 0; i < sections->n; i++) {
        const struct cairn_kernel_section *section = &sections->sections[i];
        if (va - section->start >= section->size)
            continue;
        *ret_vaddr = section->vaddr + (va - section->start);
        return true;
    }
    return false;
}

int cairn_kernel_module_agrees(struct cairn_module *file, uint64_t vaddr,
                               const struct cairn_module *list, uint64_t va, bool *ret_agrees,
                               struct cairn_err *err)
{
    const struct cairn_listed_symbol *listed = cairn_symbol_list_find(&list->list, va);
    const struct cairn_elf_symbol *symbol;
    enum cairn_symbol_source source;
    int code = cairn_module_find_symbol(file, vaddr, &symbol, &source, err);
    if (code < 0)
        return code;
    *ret_agrees =
        listed && symbol && va - listed->start == vaddr - symbol->vaddr &&
        (listed->shared || strcmp(symbol->name, cairn_symbol_list_name(&list->list, listed)) == 0);
    return CAIRN_OK;
}
