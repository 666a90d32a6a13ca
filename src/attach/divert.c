/* SPDX-License-Identifier: MIT */
#include "attach/divert.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "heap/late.h"
#include "proc/free_space.h"

enum { PAGE = 4096, NEAR = 1 << 30, AROUND = CAIRN_HOOK_BEFORE + CAIRN_HOOK_BEHIND };

/* Names that tell whose malloc it is. */
static const char glibc_mark[] = "gnu_get_libc_version", start_mark[] = "__libc_start_main",
                  jemalloc_mark[] = "mallctl", tcmalloc_mark[] = "tc_malloc",
                  mimalloc_mark[] = "mi_malloc";

struct search {
    struct cairn_wanted_function *functions;
    size_t n;
};

static int search(const struct cairn_loaded_modules *modules, const struct cairn_late_table *table,
                  struct search *ret, struct cairn_err *err)
{
    const char *const marks[] = {glibc_mark, start_mark, jemalloc_mark, tcmalloc_mark,
                                 mimalloc_mark};
    size_t n_marks = sizeof marks / sizeof *marks, n = table->n + n_marks;
    struct cairn_wanted_function *functions = cairn_alloc(n, sizeof *functions);
    if (!functions)
        return cairn_fail_memory(err);
    for (size_t i = 0; i < table->n; i++)
        functions[i].name = table->wishes[i].name;
    for (size_t i = 0; i < n_marks; i++)
        functions[table->n + i].name = marks[i];
    int result = cairn_loaded_find(modules, functions, n, err);
    if (result < 0)
        cairn_free(functions);
    else
        *ret = (struct search){functions, n};
    return result;
}

/* NULL: no module has it. */
static const struct cairn_wanted_function *found(const struct search *s, const char *name)
{
    return cairn_loaded_found(s->functions, s->n, name);
}

static bool is_of(const struct search *s, const char *name, size_t module)
{
    const struct cairn_wanted_function *function = found(s, name);
    return function && function->module == module;
}

static unsigned granule_of(const struct search *s, size_t allocator)
{
    if (is_of(s, jemalloc_mark, allocator) || is_of(s, tcmalloc_mark, allocator) ||
        is_of(s, mimalloc_mark, allocator) || !is_of(s, start_mark, allocator))
        return CAIRN_LATE_GRANULE_OTHER;
    return is_of(s, glibc_mark, allocator) ? CAIRN_LATE_GRANULE_GLIBC : CAIRN_LATE_GRANULE_MUSL;
}

/* The island that was given out of [low, high); NULL: none was. */
static const struct cairn_diversion *find_island(const struct cairn_diversions *d, uint64_t low,
                                                 uint64_t high)
{
    for (size_t i = 0; i < d->n; i++) {
        uint64_t island = d->items[i].island_va;
        if (island && island + CAIRN_ISLAND_BYTES > low && island < high)
            return &d->items[i];
    }
    return NULL;
}

/* Past what is mapped, and past the islands that were given out. */
static uint64_t find_free(void *context, uint64_t low, uint64_t high, uint64_t n_bytes)
{
    const struct cairn_diversions *d = context;
    low = low < PAGE * 16 ? PAGE * 16 : low; /* vm.mmap_min_addr */
    for (;;) {
        low = cairn_free_space_find(d->target->maps, PAGE, low, high, n_bytes);
        const struct cairn_diversion *other = low ? find_island(d, low, low + n_bytes) : NULL;
        if (!other)
            return low;
        low = other->island_va + CAIRN_ISLAND_BYTES;
    }
}

/* Near the module: moved code reaches its data by 32 bits. Below it first, where no heap grows. */
static uint64_t find_near(struct cairn_diversions *d, const struct cairn_diversion *item,
                          const struct cairn_loaded_module *module)
{
    uint64_t below = module->low > NEAR ? module->low - NEAR : 0;
    uint64_t low = item->plan.target_low > below ? item->plan.target_low : below;
    uint64_t high = item->plan.target_high < module->low ? item->plan.target_high : module->low;
    uint64_t place = low < high ? find_free(d, low, high, CAIRN_ISLAND_BYTES) : 0;
    if (place)
        return place;
    low = item->plan.target_low > module->high ? item->plan.target_low : module->high;
    high =
        item->plan.target_high < module->high + NEAR ? item->plan.target_high : module->high + NEAR;
    return low < high ? find_free(d, low, high, CAIRN_ISLAND_BYTES) : 0;
}

/* Padding is used once: the next function sees code there. */
static void hide_used(const struct cairn_diversions *d, uint8_t *code, uint64_t va, size_t n)
{
    enum { PUSH_RAX = 0x50 };
    for (size_t i = 0; i < d->n; i++) {
        const struct cairn_hook_plan *plan = &d->items[i].plan;
        for (uint64_t at = plan->pad_va; at < plan->pad_va + plan->pad_bytes; at++)
            if (at >= va && at - va < n)
                code[at - va] = PUSH_RAX;
    }
}

/* What is around the function, in memory and in the file. */
static int plan_one(struct cairn_diversions *d, struct cairn_diversion *item,
                    const struct cairn_loaded_module *module, struct cairn_err *err)
{
    uint8_t code[AROUND], unpatched[AROUND];
    const struct cairn_map *map = cairn_maps_find(d->target->maps, item->entry_va);
    if (!map || !(map->flags & CAIRN_MAP_EXEC))
        return cairn_fail(err, CAIRN_E_FORMAT, "%s: its %s lies at 0x%llx, where no code is",
                          module->path, item->wish->name, (unsigned long long)item->entry_va);
    uint64_t low = item->entry_va - map->start > CAIRN_HOOK_BEFORE
                       ? item->entry_va - CAIRN_HOOK_BEFORE
                       : map->start;
    uint64_t high = map->end - item->entry_va > CAIRN_HOOK_BEHIND
                        ? item->entry_va + CAIRN_HOOK_BEHIND
                        : map->end;
    size_t n = (size_t)(high - low);
    struct cairn_span file;
    int result = cairn_target_read(d->target, low, code, n, err);
    if (result < 0)
        return result;
    bool has_file = cairn_elf_bytes_at(&module->elf, low - module->bias, &file) && file.size >= n;
    if (has_file)
        memcpy(unpatched, file.data, n);
    hide_used(d, code, low, n);
    hide_used(d, unpatched, low, has_file ? n : 0);
    const struct cairn_hook_function function = {.size = sizeof function,
                                                 .cpu = cairn_cpu_hook,
                                                 .code = code,
                                                 .n_code = n,
                                                 .code_va = low,
                                                 .entry_va = item->entry_va,
                                                 .entry_bytes = item->bytes,
                                                 .unpatched = has_file ? unpatched : NULL,
                                                 .module_low = module->low,
                                                 .module_high = module->high,
                                                 .find_free = find_free,
                                                 .context = d,
                                                 .island_bytes = CAIRN_ISLAND_BYTES};
    if (!cairn_hook_plan(&function, &item->plan))
        return CAIRN_OK;
    item->island_va = item->plan.island_va ? item->plan.island_va : find_near(d, item, module);
    if (!item->island_va) {
        item->plan.way = CAIRN_HOOK_WAY_NONE;
        item->plan.reason = CAIRN_HOOK_OUT_OF_REACH;
    }
    return CAIRN_OK;
}

static const struct cairn_diversion *find_same(const struct cairn_diversions *d, uint64_t entry_va)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->items[i].entry_va == entry_va && !d->items[i].same)
            return &d->items[i];
    return NULL;
}

/* Functions of libc that allocate for their caller call malloc, as operators new do that are not
 * the allocator's own: their blocks come by that. */
static bool is_wanted(const struct cairn_diversions *d, const struct cairn_late_wish *wish,
                      const struct cairn_wanted_function *function)
{
    return !(wish->roles & (CAIRN_LATE_LIBC | CAIRN_LATE_LOOKS)) &&
           (!(wish->roles & CAIRN_LATE_CPP) || function->module == d->allocator);
}

static int fail_needed(const struct cairn_diversions *d, const struct cairn_loaded_module *module,
                       const char *name, const struct cairn_hook_plan *plan, struct cairn_err *err)
{
    if (!plan) {
        cairn_fail(err, CAIRN_E_SUPPORT,
                   "pid %d: has no %s that can be found: no module exports it", d->target->pid,
                   name);
        cairn_hint(err, "a program with an allocator of its own (Go), or a static one without "
                        "symbols, has nothing to attach to");
        return CAIRN_E_SUPPORT;
    }
    cairn_fail(err, CAIRN_E_SUPPORT, "pid %d: %s of %s cannot be diverted: %s", d->target->pid,
               name, module->path, cairn_hook_reason_text(plan->reason));
    cairn_hint(err, "cairn hook plan %d %s shows it; start the program by cairn heap run",
               d->target->pid, name);
    return CAIRN_E_SUPPORT;
}

static int plan_wish(struct cairn_diversions *d, const struct cairn_loaded_modules *modules,
                     const struct search *s, const struct cairn_late_wish *wish,
                     struct cairn_err *err)
{
    const struct cairn_wanted_function *function = found(s, wish->name);
    bool is_needed = wish->roles & CAIRN_LATE_NEEDED;
    if (!function)
        return is_needed ? fail_needed(d, NULL, wish->name, NULL, err) : CAIRN_OK;
    if (!is_wanted(d, wish, function))
        return CAIRN_OK;
    const struct cairn_loaded_module *module = &modules->items[function->module];
    struct cairn_diversion item = {.wish = wish,
                                   .entry_va = function->va,
                                   .bytes = function->bytes,
                                   .module = function->module,
                                   .same = find_same(d, function->va)};
    int result = item.same ? CAIRN_OK : plan_one(d, &item, module, err);
    if (result == CAIRN_OK && is_needed && !item.same && item.plan.way == CAIRN_HOOK_WAY_NONE)
        result = fail_needed(d, module, wish->name, &item.plan, err);
    if (result == CAIRN_OK)
        d->items[d->n++] = item;
    return result;
}

int cairn_divert_plan(const struct cairn_target_process *target,
                      const struct cairn_loaded_modules *modules,
                      const struct cairn_late_table *table, struct cairn_diversions *ret,
                      struct cairn_err *err)
{
    struct cairn_diversions d = {.target = target};
    struct search s = {NULL, 0};
    int result = search(modules, table, &s, err);
    if (result < 0)
        return result;
    const struct cairn_wanted_function *allocator = found(&s, "malloc");
    d.items = cairn_alloc(table->n + 1, sizeof *d.items);
    if (!d.items)
        result = cairn_fail_memory(err);
    else if (!allocator)
        result = fail_needed(&d, NULL, "malloc", NULL, err);
    else
        d.granule_bits = granule_of(&s, d.allocator = allocator->module);
    for (size_t i = 0; result == CAIRN_OK && i < table->n; i++)
        result = plan_wish(&d, modules, &s, &table->wishes[i], err);
    cairn_free(s.functions);
    if (result < 0)
        cairn_diversions_done(&d);
    else
        *ret = d;
    return result;
}

void cairn_diversions_done(struct cairn_diversions *diversions)
{
    cairn_free(diversions->items);
    *diversions = (struct cairn_diversions){0};
}
