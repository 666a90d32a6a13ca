/* SPDX-License-Identifier: MIT */
#include "unwind/space.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"

enum { PAGE = 4096, LARGEST_PAGE = 65536 };

static bool read_memory(void *ctx, uint64_t va, void *to, size_t size)
{
    const struct cairn_unwind_space *space = ctx;
    if (size > UINT64_MAX - va)
        return false;
    return space->accessors.read(space->accessors.ctx, va, to, size) == 0;
}

int cairn_space_make(const struct cairn_unwind_accessors *accessors,
                     const struct cairn_space_kind *kind, struct cairn_unwind_space **ret_space,
                     struct cairn_err *err)
{
    if (!accessors || accessors->size < sizeof *accessors || !accessors->read || !accessors->find)
        return cairn_fail(err, CAIRN_E_ARG, "accessors of a stack need read, find and their size");
    struct cairn_unwind_space *space = cairn_alloc(1, sizeof *space);
    if (!space)
        return cairn_fail_memory(err);
    space->accessors = *accessors;
    space->memory = (struct cairn_memory){.read = read_memory, .ctx = space};
    space->kind = kind;
    *ret_space = space;
    return CAIRN_OK;
}

int cairn_unwind_space_new(const struct cairn_unwind_accessors *accessors,
                           struct cairn_unwind_space **ret_space, struct cairn_err *err)
{
    static const struct cairn_space_kind plain;
    return cairn_space_make(accessors, &plain, ret_space, err);
}

void cairn_space_move(struct cairn_unwind_space *space)
{
    for (size_t i = 0; i < space->n_places; i++)
        cairn_free(space->places[i]);
    space->n_places = 0;
    space->generation++;
}

static void forget(struct cairn_unwind_space *space)
{
    cairn_space_move(space);
    for (size_t i = 0; i < space->n_modules; i++)
        cairn_space_module_free(space->modules[i]);
    space->n_modules = 0;
}

void cairn_unwind_space_refresh(struct cairn_unwind_space *space)
{
    forget(space);
    if (space->kind->refresh)
        space->kind->refresh(space->accessors.ctx);
}

void cairn_unwind_space_free(struct cairn_unwind_space *space)
{
    if (!space)
        return;
    forget(space);
    if (space->kind->done)
        space->kind->done(space->accessors.ctx);
    cairn_free(space->places);
    cairn_free(space->modules);
    cairn_free(space);
}

bool cairn_space_bytes(struct cairn_unwind_space *space, uint64_t va, void *to, size_t size)
{
    return read_memory(space, va, to, size);
}

bool cairn_space_word(struct cairn_unwind_space *space, uint64_t va, unsigned width, bool swap,
                      uint64_t *ret_word)
{
    uint8_t raw[8];
    if (!read_memory(space, va, raw, width))
        return false;
    struct cairn_reader r = cairn_reader_of((struct cairn_span){raw, width}, swap);
    *ret_word = cairn_reader_word(&r, width);
    return true;
}

/* The number of places that begin at or before `va`. */
static size_t upper_bound(const struct cairn_unwind_space *space, uint64_t va)
{
    size_t low = 0, high = space->n_places;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (space->places[middle]->region.start <= va)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* NULL where memory is gone. */
static struct cairn_space_module *module_of(struct cairn_unwind_space *space,
                                            const struct cairn_unwind_region *region)
{
    for (size_t i = 0; i < space->n_modules; i++)
        if (space->modules[i]->file == region->file)
            return space->modules[i];
    struct cairn_space_module *module;
    if (cairn_grow((void **)&space->modules, &space->cap_modules, space->n_modules + 1,
                   sizeof(void *)) < 0 ||
        cairn_space_module_new((struct cairn_span){region->file, region->file_size},
                               (struct cairn_span){region->debug_file, region->debug_file_size},
                               &module, NULL) < 0)
        return NULL;
    space->modules[space->n_modules++] = module;
    return module;
}

/* Which vaddr of the file is `va`? */
static bool find_bias(const struct cairn_elf *elf, const struct cairn_unwind_region *region,
                      uint64_t va, uint64_t *ret_bias)
{
    bool is_code = region->flags & CAIRN_MAP_EXEC;
    uint64_t vaddr, off = region->off + (va - region->start);
    if (!cairn_elf_vaddr_of_mapping(elf, off, PAGE, is_code, &vaddr) &&
        !cairn_elf_vaddr_of_mapping(elf, off, LARGEST_PAGE, is_code, &vaddr))
        return false;
    *ret_bias = va - vaddr;
    return true;
}

/* Asks the accessors. What they say may not be true: a place holds the address that was asked for,
 * and none that another place holds. */
static struct cairn_space_place *ask(struct cairn_unwind_space *space, uint64_t va, size_t at)
{
    struct cairn_unwind_region region = {0};
    if (space->n_places >= CAIRN_SPACE_PLACES_MAX ||
        space->accessors.find(space->accessors.ctx, va, &region) != 0 || va < region.start ||
        va >= region.end)
        return NULL;
    struct cairn_space_place *place = cairn_alloc(1, sizeof *place);
    if (!place || cairn_grow((void **)&space->places, &space->cap_places, space->n_places + 1,
                             sizeof(void *)) < 0) {
        cairn_free(place);
        return NULL;
    }
    place->region = region;
    if (at && space->places[at - 1]->region.end > region.start) {
        place->region.off += space->places[at - 1]->region.end - region.start;
        place->region.start = space->places[at - 1]->region.end;
    }
    if (at < space->n_places && space->places[at]->region.start < region.end)
        place->region.end = space->places[at]->region.start;
    if (region.file)
        place->module = module_of(space, &region);
    if (place->module &&
        (!place->module->usable || !find_bias(&place->module->elf, &region, va, &place->bias)))
        place->module = NULL;
    memmove(space->places + at + 1, space->places + at, (space->n_places - at) * sizeof(void *));
    space->places[at] = place;
    space->n_places++;
    return place;
}

const struct cairn_space_place *cairn_space_at(struct cairn_unwind_space *space, uint64_t va)
{
    size_t at = upper_bound(space, va);
    if (at && va < space->places[at - 1]->region.end)
        return space->places[at - 1];
    return ask(space, va, at);
}

static void meet_all(struct cairn_unwind_space *space)
{
    uint64_t va = 0;
    while (space->kind->next_code && space->kind->next_code(space->accessors.ctx, va, &va)) {
        const struct cairn_space_place *place = cairn_space_at(space, va);
        if (!place || place->region.end <= va)
            return;
        va = place->region.end;
    }
}

int cairn_unwind_space_load(struct cairn_unwind_space *space, struct cairn_err *err)
{
    meet_all(space);
    for (size_t i = 0; i < space->n_modules; i++) {
        struct cairn_space_module *m = space->modules[i];
        if (!m->usable)
            continue;
        (void)cairn_space_module_table(m, m->sections.arch, CAIRN_TABLE_NOW);
        if (m->table_end == CAIRN_TABLE_NO_ROOM)
            return cairn_fail_memory(err);
    }
    return CAIRN_OK;
}

int cairn_unwind_threads(struct cairn_unwind_space *space, int *ret_tids, size_t cap, size_t *ret_n,
                         struct cairn_err *err)
{
    if (!space->kind->threads)
        return cairn_fail(err, CAIRN_E_SUPPORT, "memory alone does not say what threads there are");
    return space->kind->threads(space->accessors.ctx, ret_tids, cap, ret_n, err);
}

int cairn_unwind_hold(struct cairn_unwind_space *space, int tid, int timeout_ms,
                      struct cairn_err *err)
{
    if (!space->kind->hold)
        return CAIRN_OK;
    return space->kind->hold(space->accessors.ctx, tid, timeout_ms, err);
}

void cairn_unwind_release(struct cairn_unwind_space *space, int tid)
{
    if (space->kind->release)
        space->kind->release(space->accessors.ctx, tid);
}

int cairn_unwind_thread_regs(struct cairn_unwind_space *space, int tid,
                             struct cairn_cursor_regs *ret_regs, struct cairn_err *err)
{
    if (!space->kind->regs)
        return cairn_fail(err, CAIRN_E_SUPPORT, "memory alone does not hold a thread's registers");
    return space->kind->regs(space->accessors.ctx, tid, ret_regs, err);
}
