/* SPDX-License-Identifier: MIT */
#include "embed/where.h"

#include <string.h>

#include "base/error.h"
#include "embed/embed.h"
#include "embed/slots.h"
#include "hook/slots.h"

enum { MAX_PATTERNS = 256, MAX_TEXT = 4096, FIRST_BASES = 64 };

static int check_text(const char *what, const char *text, struct cairn_err *err)
{
    if (!text || !text[0])
        return cairn_fail(err, CAIRN_E_ARG, "hook: an empty %s", what);
    if (strnlen(text, MAX_TEXT) == MAX_TEXT)
        return cairn_fail(err, CAIRN_E_LIMIT, "hook: a %s of %d bytes or more", what, MAX_TEXT);
    return CAIRN_OK;
}

static int check_list(const char *const *list, size_t n, struct cairn_err *err)
{
    int code = CAIRN_OK;
    if (n > MAX_PATTERNS)
        return cairn_fail(err, CAIRN_E_LIMIT, "hook: %zu libraries, at most %d", n, MAX_PATTERNS);
    if (n && !list)
        return cairn_fail(err, CAIRN_E_ARG, "hook: %zu libraries, but no list", n);
    for (size_t i = 0; i < n && code == CAIRN_OK; i++)
        code = check_text("name of a library", list[i], err);
    return code;
}

int cairn_embed_where_check(const char *name, const struct cairn_hook_where *where,
                            struct cairn_err *err)
{
    int code = check_text("name of a function", name, err);
    if (code != CAIRN_OK || !where)
        return code;
    if (where->size < sizeof *where)
        return cairn_fail(err, CAIRN_E_ARG, "hook: where.size is %zu, expected %zu", where->size,
                          sizeof *where);
    code = check_list(where->modules, where->n_modules, err);
    if (code == CAIRN_OK)
        code = check_list(where->except, where->n_except, err);
    if (code == CAIRN_OK && where->version)
        code = check_text("symbol version", where->version, err);
    return code;
}

static const char *copy_text(const char *text)
{
    const size_t n = strlen(text) + 1;
    char *copy = cairn_embed_alloc(n);
    return copy ? memcpy(copy, text, n) : NULL;
}

static const char **copy_list(const char *const *list, size_t n)
{
    const char **copy = cairn_embed_alloc((n + 1) * sizeof *copy);
    for (size_t i = 0; copy && i < n; i++) {
        copy[i] = copy_text(list[i]);
        if (!copy[i])
            return NULL;
    }
    return copy;
}

struct cairn_embed_slots *cairn_embed_where_copy(const struct cairn_hook_where *where)
{
    static const struct cairn_hook_where all = {.size = sizeof all};
    struct cairn_embed_slots *slots = cairn_embed_alloc(sizeof *slots);
    if (!slots)
        return NULL;
    where = where ? where : &all;
    *slots = (struct cairn_embed_slots){
        .modules = copy_list(where->modules, where->n_modules),
        .except = copy_list(where->except, where->n_except),
        .n_modules = where->n_modules,
        .n_except = where->n_except,
        .version = where->version ? copy_text(where->version) : NULL,
        .later = where->later,
    };
    const bool done = slots->modules && slots->except && (!where->version || slots->version);
    return done ? slots : NULL;
}

static bool is_same_list(const char **a, size_t n_a, const char **b, size_t n_b)
{
    if (n_a != n_b)
        return false;
    for (size_t i = 0; i < n_a; i++)
        if (strcmp(a[i], b[i]) != 0)
            return false;
    return true;
}

static bool is_same_version(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

bool cairn_embed_where_is_same(const struct cairn_embed_slots *a, const struct cairn_embed_slots *b)
{
    return a->later == b->later && is_same_version(a->version, b->version) &&
           is_same_list(a->modules, a->n_modules, b->modules, b->n_modules) &&
           is_same_list(a->except, a->n_except, b->except, b->n_except);
}

bool cairn_embed_slots_cover(const struct cairn_embed_slots *older,
                             const struct cairn_embed_slots *newer)
{
    if (older == newer)
        return true;
    if (newer->later && !older->later)
        return false;
    if (older->version && !is_same_version(older->version, newer->version))
        return false;
    if (!is_same_list(older->except, older->n_except, newer->except, newer->n_except) &&
        older->n_except)
        return false;
    return !older->n_modules ||
           is_same_list(older->modules, older->n_modules, newer->modules, newer->n_modules);
}

bool cairn_embed_slots_are_all(const struct cairn_embed_slots *slots)
{
    return !slots->n_modules && !slots->n_except && !slots->version && slots->later;
}

bool cairn_embed_where_note(struct cairn_embed_slots *slots, uintptr_t base)
{
    for (size_t i = 0; i < slots->n_bases; i++)
        if (slots->bases[i] == base)
            return true;
    if ((slots->n_bases & (slots->n_bases - 1)) == 0 &&
        (slots->n_bases == 0 || slots->n_bases >= FIRST_BASES)) {
        const size_t n = slots->n_bases ? slots->n_bases * 2 : FIRST_BASES;
        uintptr_t *bases = cairn_embed_alloc(n * sizeof *bases);
        if (!bases)
            return false;
        if (slots->n_bases)
            memcpy(bases, slots->bases, slots->n_bases * sizeof *bases);
        slots->bases = bases;
    }
    slots->bases[slots->n_bases++] = base;
    return true;
}

static bool matches_one(const char **list, size_t n, const char *path)
{
    for (size_t i = 0; i < n; i++)
        if (cairn_slots_match(list[i], path))
            return true;
    return false;
}

bool cairn_embed_where_has(const struct cairn_embed_slots *slots, const char *path, uintptr_t base)
{
    bool is_known = slots->later;
    for (size_t i = 0; i < slots->n_bases && !is_known; i++)
        is_known = slots->bases[i] == base;
    return is_known && (!slots->n_modules || matches_one(slots->modules, slots->n_modules, path)) &&
           !matches_one(slots->except, slots->n_except, path);
}
