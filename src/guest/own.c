/* SPDX-License-Identifier: MIT */
#include "guest/own.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/table.h"
#include "code/flow.h"
#include "guest/image.h"

/* Names of the standard library: a table with so many of them is one of its own. */
static const char *const standard[] = {
    "assert",     "collectgarbage", "error",  "getmetatable", "ipairs",   "load",
    "loadstring", "next",           "pairs",  "pcall",        "rawequal", "rawget",
    "rawset",     "select",         "type",   "setmetatable", "xpcall",   "byte",
    "gmatch",     "gsub",           "rep",    "upper",        "concat",   "insert",
    "remove",     "sort",           "create", "resume",       "wrap",     "yield",
    "floor",      "sqrt",           "random", "traceback",    "sethook",  "getinfo"};
enum { NAMES_OF_A_TABLE = 4, N_STUBS = 3 };

struct finding {
    const struct cairn_elf *elf;
    struct cairn_guest_image image;
    struct cairn_own *own; /* in the order they were found; also what is to be done */
    struct cairn_table known;
    cairn_code_step_fn *step;
    struct cairn_own_range stubs[N_STUBS]; /* of procedure linkage tables; empty: none */
};

/* The function that holds the vaddr is the interpreter's. */
static int add(struct finding *f, uint64_t vaddr)
{
    struct cairn_own_range range;
    uint32_t number;
    if (f->own->n == CAIRN_OWN_MAX ||
        !cairn_guest_image_function(&f->image, vaddr, &range.from, &range.to) ||
        !cairn_elf_is_code(f->elf, range.from) || cairn_table_find(&f->known, range.from, &number))
        return CAIRN_OK;
    if (cairn_grow((void **)&f->own->ranges, &f->own->cap, f->own->n + 1, sizeof *f->own->ranges) <
            0 ||
        cairn_table_set(&f->known, range.from, (uint32_t)f->own->n) < 0)
        return CAIRN_E_NOMEM;
    f->own->ranges[f->own->n++] = range;
    return CAIRN_OK;
}

/* Stubs of a procedure linkage table lead out of the file. */
static void find_stubs(struct finding *f)
{
    static const char *const sections[N_STUBS] = {".plt", ".plt.sec", ".plt.got"};
    struct cairn_elf_section section;
    for (size_t i = 0; i < N_STUBS; i++)
        if (cairn_elf_find_section(f->elf, sections[i], &section))
            f->stubs[i] = (struct cairn_own_range){section.vaddr, section.vaddr + section.size};
}

static bool is_stub(const struct finding *f, uint64_t vaddr)
{
    for (size_t i = 0; i < N_STUBS; i++)
        if (vaddr - f->stubs[i].from < f->stubs[i].to - f->stubs[i].from)
            return true;
    return false;
}

/* All that the function's instructions lead to, read one after the other. */
static int follow(struct finding *f, struct cairn_own_range range)
{
    struct cairn_span code;
    int result = CAIRN_OK;
    if (!cairn_elf_bytes_at(f->elf, range.from, &code))
        return CAIRN_OK;
    if (code.size > range.to - range.from)
        code.size = (size_t)(range.to - range.from);
    for (uint64_t at = range.from; code.size && result == CAIRN_OK;) {
        struct cairn_code_step step;
        f->step(code, at, &step);
        if (!step.size)
            break;
        if (step.knows_to && step.to - range.from >= range.to - range.from && !is_stub(f, step.to))
            result = add(f, step.to);
        code.data += step.size;
        code.size -= step.size;
        at += step.size;
    }
    return result;
}

static int by_from(const void *a, const void *b)
{
    const struct cairn_own_range *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

static bool is_standard(const char *name)
{
    for (size_t i = 0; i < sizeof standard / sizeof *standard; i++)
        if (strcmp(name, standard[i]) == 0)
            return true;
    return false;
}

/* Has each table enough names? By its number; NULL: memory is gone. */
static uint32_t *count_names(const struct cairn_registry *registry)
{
    uint32_t *counts = cairn_alloc(registry->n + 2, sizeof *counts);
    for (size_t i = 0; counts && i < registry->n; i++)
        counts[registry->entries[i].table] += is_standard(registry->entries[i].name);
    return counts;
}

static int add_seeds(struct finding *f, uint64_t loop, const struct cairn_registry *registry)
{
    uint32_t *counts = count_names(registry);
    int code = counts ? add(f, loop) : CAIRN_E_NOMEM;
    for (size_t i = 0; code == CAIRN_OK && i < registry->n; i++)
        if (counts[registry->entries[i].table] >= NAMES_OF_A_TABLE)
            code = add(f, registry->entries[i].function);
    cairn_free(counts);
    return code;
}

int cairn_own_find(const struct cairn_elf *elf, uint64_t loop,
                   const struct cairn_registry *registry, struct cairn_own *ret_own)
{
    struct finding f = {.elf = elf, .own = ret_own, .step = cairn_code_stepper(elf->machine)};
    *ret_own = (struct cairn_own){0};
    if (!f.step || !cairn_guest_image_open(elf, &f.image))
        return CAIRN_OK;
    find_stubs(&f);
    int code = add_seeds(&f, loop, registry);
    for (size_t i = 0; i < ret_own->n && code == CAIRN_OK; i++)
        code = follow(&f, ret_own->ranges[i]);
    cairn_table_done(&f.known);
    if (ret_own->n)
        qsort(ret_own->ranges, ret_own->n, sizeof *ret_own->ranges, by_from);
    return code;
}

void cairn_own_done(struct cairn_own *own)
{
    cairn_free(own->ranges);
    *own = (struct cairn_own){0};
}

bool cairn_own_has(const struct cairn_own *own, uint64_t vaddr)
{
    size_t low = 0, high = own->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (own->ranges[middle].to <= vaddr)
            low = middle + 1;
        else
            high = middle;
    }
    return low < own->n && vaddr >= own->ranges[low].from;
}
