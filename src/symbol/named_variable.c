/* SPDX-License-Identifier: MIT */
#include "symbol/named_variable.h"

#include <elf.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/escape.h"
#include "elf/symbol_names.h"
#include "symbol/demangle.h"
#include "symbol/module.h"

enum { FOUND = 1, NEAR_MAX = 3, NAME_BYTES = 64 };

/* A name that resembles the one that is looked for. */
struct near {
    char name[NAME_BYTES];
    unsigned far;
};

struct search {
    const char *name;
    struct cairn_demangler *demangler; /* NULL: as the table has it */
    struct cairn_named_variable found;
    struct near near[NEAR_MAX]; /* the nearest first */
    size_t n_near;
};

/* Levenshtein's distance; names are shorter than NAME_BYTES. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[NAME_BYTES + 1];
    const size_t size = strlen(b);
    for (size_t k = 0; k <= size; k++)
        row[k] = (unsigned)k;
    for (size_t i = 0; a[i]; i++) {
        unsigned before = row[0];
        row[0] = (unsigned)i + 1;
        for (size_t k = 1; k <= size; k++) {
            unsigned best = before + (a[i] != b[k - 1]);
            before = row[k];
            best = row[k] + 1 < best ? row[k] + 1 : best;
            row[k] = row[k - 1] + 1 < best ? row[k - 1] + 1 : best;
        }
    }
    return row[size];
}

/* UINT32_MAX: it resembles nothing. */
static unsigned how_far(const char *name, const char *wanted)
{
    const size_t size = strlen(name), other = strlen(wanted), bound = other / 3 + 1;
    if (size >= NAME_BYTES || other >= NAME_BYTES)
        return UINT32_MAX;
    if (other > 3 && strstr(name, wanted)) /* "server.lock" of "server" */
        return (unsigned)bound;
    if ((size > other ? size - other : other - size) > bound)
        return UINT32_MAX;
    const unsigned far = distance(name, wanted);
    return far <= bound ? far : UINT32_MAX;
}

static void note_near(struct search *search, const char *name)
{
    const unsigned far = how_far(name, search->name);
    size_t at = search->n_near;
    if (far == UINT32_MAX)
        return;
    for (size_t i = 0; i < search->n_near; i++)
        if (strcmp(search->near[i].name, name) == 0)
            return;
    while (at && search->near[at - 1].far > far)
        at--;
    if (at == NEAR_MAX)
        return;
    if (search->n_near < NEAR_MAX)
        search->n_near++;
    for (size_t i = search->n_near - 1; i > at; i--)
        search->near[i] = search->near[i - 1];
    search->near[at].far = far;
    memcpy(search->near[at].name, name, strlen(name) + 1);
}

static bool is_function(const struct cairn_elf_named *named)
{
    return named->type == STT_FUNC || named->type == STT_GNU_IFUNC;
}

/* A demangled function may be named without its arguments. */
static bool is_it(const struct search *search, const struct cairn_elf_named *named,
                  const char *name)
{
    const size_t size = strlen(search->name);
    if (strncmp(name, search->name, size) != 0)
        return false;
    return !name[size] || (search->demangler && is_function(named) && name[size] == '(');
}

static int compare(void *ctx, const struct cairn_elf_named *named)
{
    struct search *search = ctx;
    const char *name = named->name;
    if (search->demangler)
        name = cairn_demangle(search->demangler, name, strlen(name));
    if (!is_it(search, named, name)) {
        if (named->type == STT_OBJECT)
            note_near(search, name);
        return 0;
    }
    search->found = (struct cairn_named_variable){.vaddr = named->vaddr,
                                                  .size = named->size,
                                                  .is_thread_local = named->type == STT_TLS,
                                                  .is_function = is_function(named)};
    return FOUND;
}

static int search_tables(const struct cairn_module *m, struct search *search, struct cairn_err *err)
{
    int code = cairn_elf_named_each(&m->debug, CAIRN_ELF_SYMTAB, compare, search, err);
    if (code == CAIRN_OK && m->debug.bytes.data != m->image.bytes.data)
        code = cairn_elf_named_each(&m->image, CAIRN_ELF_SYMTAB, compare, search, err);
    if (code == CAIRN_OK)
        code = cairn_elf_named_each(&m->image, CAIRN_ELF_DYNSYM, compare, search, err);
    return code;
}

static int fail_missing(const struct cairn_module *m, const struct search *search,
                        struct cairn_err *err)
{
    struct cairn_buffer names = {0};
    cairn_fail(err, CAIRN_E_MISSING, "%s: no variable is named \"%s\"", m->path, search->name);
    for (size_t i = 0; i < search->n_near; i++) {
        cairn_buffer_str(&names, i ? ", " : "");
        cairn_escape_terminal(&names, search->near[i].name, strlen(search->near[i].name));
    }
    if (names.size && !names.failed)
        cairn_hint(err, "the nearest names are: %s", cairn_buffer_text(&names));
    else
        cairn_hint(err, "nm -C lists the variables of a file (B, b, D, d); a stripped file needs "
                        "its debug file; 0xADDRESS works, too");
    cairn_buffer_done(&names);
    return CAIRN_E_MISSING;
}

int cairn_module_find_variable(const struct cairn_module *module, const char *name,
                               struct cairn_named_variable *ret_variable, struct cairn_err *err)
{
    struct search search = {.name = name};
    struct cairn_demangler demangler = {.names = CAIRN_NAMES_FULL};
    int code = search_tables(module, &search, err);
    if (code == CAIRN_OK) { /* "counter" may be _ZL7counter */
        search.demangler = &demangler;
        search.n_near = 0;
        code = search_tables(module, &search, err);
        cairn_demangler_done(&demangler);
    }
    if (code == CAIRN_OK)
        return fail_missing(module, &search, err);
    if (code != FOUND)
        return code;
    *ret_variable = search.found;
    return CAIRN_OK;
}
