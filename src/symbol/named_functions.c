/* SPDX-License-Identifier: MIT */
#include "symbol/named_functions.h"

#include <elf.h>
#include <fnmatch.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "elf/symbol_names.h"
#include "symbol/demangle.h"
#include "symbol/module.h"

struct search {
    const char *name;
    bool is_pattern;
    struct cairn_demangler *demangler; /* NULL: as the table has it */
    struct cairn_named_functions found;
    struct cairn_err *err;
};

void cairn_named_functions_done(struct cairn_named_functions *functions)
{
    for (size_t i = 0; i < functions->n; i++)
        cairn_free(functions->items[i].name);
    cairn_free(functions->items);
    *functions = (struct cairn_named_functions){0};
}

static bool is_split_off(const char *name)
{
    const size_t size = strlen(name);
    return size > 5 && strcmp(name + size - 5, ".cold") == 0;
}

static bool is_it(const struct search *search, const struct cairn_elf_named *named,
                  const char *name)
{
    if (named->type == STT_OBJECT || named->type == STT_TLS)
        return false;
    if (!search->is_pattern)
        return strcmp(name, search->name) == 0;
    return named->type != STT_NOTYPE && !is_split_off(name) && fnmatch(search->name, name, 0) == 0;
}

static int take(void *ctx, const struct cairn_elf_named *named)
{
    struct search *search = ctx;
    struct cairn_named_functions *to = &search->found;
    const char *name = named->name;
    if (search->demangler)
        name = cairn_demangle(search->demangler, name, strlen(name));
    if (!is_it(search, named, name))
        return 0;
    if (named->type == STT_GNU_IFUNC) {
        to->n_resolvers++;
        return 0;
    }
    if (to->n == CAIRN_NAMED_FUNCTIONS_MAX)
        return cairn_fail(search->err, CAIRN_E_LIMIT, "\"%s\": more than %d symbols", search->name,
                          CAIRN_NAMED_FUNCTIONS_MAX);
    if (cairn_grow((void **)&to->items, &to->cap, to->n + 1, sizeof *to->items) < 0)
        return cairn_fail_memory(search->err);
    struct cairn_named_function *function = &to->items[to->n];
    *function = (struct cairn_named_function){cairn_strdup(name), named->vaddr};
    if (!function->name)
        return cairn_fail_memory(search->err);
    to->n++;
    return 0;
}

static int search_tables(const struct cairn_module *m, struct search *search)
{
    int code = cairn_elf_named_each(&m->debug, CAIRN_ELF_SYMTAB, take, search, search->err);
    if (code == CAIRN_OK && m->debug.bytes.data != m->image.bytes.data)
        code = cairn_elf_named_each(&m->image, CAIRN_ELF_SYMTAB, take, search, search->err);
    if (code == CAIRN_OK)
        code = cairn_elf_named_each(&m->image, CAIRN_ELF_DYNSYM, take, search, search->err);
    return code;
}

/* Of one place the shortest name first. */
static int by_vaddr(const void *left, const void *right)
{
    const struct cairn_named_function *a = left, *b = right;
    const size_t size = strlen(a->name), other = strlen(b->name);
    if (a->vaddr != b->vaddr)
        return a->vaddr < b->vaddr ? -1 : 1;
    return size != other ? (size > other) - (size < other) : strcmp(a->name, b->name);
}

static int by_name(const void *left, const void *right)
{
    const struct cairn_named_function *a = left, *b = right;
    const int order = strcmp(a->name, b->name);
    return order ? order : (a->vaddr > b->vaddr) - (a->vaddr < b->vaddr);
}

static void sort(struct cairn_named_functions *f)
{
    size_t n = 0;
    if (!f->n)
        return;
    qsort(f->items, f->n, sizeof *f->items, by_vaddr);
    for (size_t i = 0; i < f->n; i++)
        if (n && f->items[n - 1].vaddr == f->items[i].vaddr)
            cairn_free(f->items[i].name);
        else
            f->items[n++] = f->items[i];
    f->n = n;
    qsort(f->items, f->n, sizeof *f->items, by_name);
}

int cairn_module_find_functions(const struct cairn_module *module, const char *name,
                                bool is_pattern, struct cairn_named_functions *ret_functions,
                                struct cairn_err *err)
{
    struct search search = {.name = name, .is_pattern = is_pattern, .err = err};
    struct cairn_demangler demangler = {.names = CAIRN_NAMES_FULL};
    int code = search_tables(module, &search);
    if (code == CAIRN_OK && !search.found.n && strpbrk(name, ":(<")) { /* else none demangles so */
        search.demangler = &demangler;
        code = search_tables(module, &search);
        cairn_demangler_done(&demangler);
    }
    if (code < 0) {
        cairn_named_functions_done(&search.found);
        return code;
    }
    sort(&search.found);
    *ret_functions = search.found;
    return CAIRN_OK;
}
