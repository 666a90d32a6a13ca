/* SPDX-License-Identifier: MIT */
#include "formats/perf_data_place.h"

#include <stdlib.h>

#include "base/alloc.h"

enum { PAGE = 4096 };

static const uint64_t upper_half = UINT64_C(1) << 63;
static const uint64_t user_end = UINT64_C(1) << 47; /* of the CPUs that have least of it */
static const uint64_t free_start = UINT64_C(1) << 32;
static const uint64_t image_bytes = UINT64_C(32) << 20; /* a kernel has as much at least */
static const char image_path[] = "[kernel.kallsyms]";

struct range {
    uint64_t start, end;
    uint32_t module;
};

static int compare(const void *a, const void *b)
{
    const struct range *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->module < y->module ? -1 : x->module > y->module;
}

static struct cairn_perf_data_place place_of(const struct cairn_profile *p, uint32_t number)
{
    const struct cairn_profile_module *m = &p->modules[number];
    struct cairn_perf_data_place place = {.start = m->start, .end = m->end, .off = m->off};
    bool is_image = strcmp(cairn_strings_get(&p->strings, m->path), image_path) == 0;
    if (!number || m->start >= m->end)
        return place;
    if (m->start >= upper_half) {
        place.kind =
            is_image ? CAIRN_PERF_DATA_PLACE_KERNEL_IMAGE : CAIRN_PERF_DATA_PLACE_KERNEL_MODULE;
        place.start = UINT64_MAX;
        place.end = 0;
    } else if (m->end <= user_end) {
        place.kind = CAIRN_PERF_DATA_PLACE_USER;
    }
    return place;
}

/* The kernel's modules are known by their names alone: they reach as far as frames do. */
static void reach_frames(const struct cairn_profile *p, struct cairn_perf_data_place *places)
{
    for (size_t i = 1; i < p->n_frames; i++) {
        struct cairn_perf_data_place *place = &places[p->frames[i].module];
        const uint64_t page = p->frames[i].address & ~(uint64_t)(PAGE - 1);
        if (place->kind < CAIRN_PERF_DATA_PLACE_KERNEL_IMAGE ||
            !cairn_perf_data_is_kernel_va(page) || page >= UINT64_MAX - 2 * PAGE)
            continue;
        place->start = page < place->start ? page : place->start;
        place->end = page + PAGE > place->end ? page + PAGE : place->end;
    }
    for (size_t i = 0; i < p->n_modules; i++) {
        struct cairn_perf_data_place *place = &places[i];
        if (place->kind == CAIRN_PERF_DATA_PLACE_KERNEL_IMAGE &&
            cairn_perf_data_is_kernel_va(place->off)) { /* perf's offset of it is its address */
            place->start = place->off;
            if (place->off < UINT64_MAX - image_bytes && place->end < place->off + image_bytes)
                place->end = place->off + image_bytes;
        }
        if (place->kind >= CAIRN_PERF_DATA_PLACE_KERNEL_IMAGE && place->start >= place->end)
            place->kind = CAIRN_PERF_DATA_PLACE_NONE;
    }
}

/* `moved` are to lie where none of `fixed`, which are sorted, does. */
static void move(struct cairn_perf_data_place *places, const struct range *fixed, size_t n_fixed,
                 const struct range *moved, size_t n_moved)
{
    uint64_t at = free_start;
    size_t next = 0;
    for (size_t i = 0; i < n_moved; i++) {
        struct cairn_perf_data_place *place = &places[moved[i].module];
        const uint64_t size = place->end - place->start, in_page = place->start % PAGE;
        for (; next < n_fixed && fixed[next].start < at + in_page + size; next++)
            if (fixed[next].end > at)
                at = (fixed[next].end + PAGE - 1) & ~(uint64_t)(PAGE - 1);
        if (at + in_page > user_end || size > user_end - at - in_page) {
            place->kind = CAIRN_PERF_DATA_PLACE_NONE;
            continue;
        }
        place->start = at + in_page;
        place->end = place->start + size;
        at = (place->end + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    }
}

static void part(struct cairn_perf_data_place *places, struct range *ranges, size_t n,
                 struct range *moved)
{
    size_t n_fixed = 0, n_moved = 0;
    if (n)
        qsort(ranges, n, sizeof *ranges, compare);
    for (size_t i = 0; i < n; i++) {
        if (n_fixed && ranges[i].start < ranges[n_fixed - 1].end)
            moved[n_moved++] = ranges[i];
        else
            ranges[n_fixed++] = ranges[i];
    }
    move(places, ranges, n_fixed, moved, n_moved);
}

struct cairn_perf_data_place *cairn_perf_data_places(const struct cairn_profile *p)
{
    struct cairn_perf_data_place *places = cairn_alloc(p->n_modules + 1, sizeof *places);
    struct range *ranges = cairn_alloc(2 * p->n_modules + 1, sizeof *ranges);
    size_t n = 0;
    for (size_t i = 0; places && ranges && i < p->n_modules; i++) {
        places[i] = place_of(p, (uint32_t)i);
        if (places[i].kind == CAIRN_PERF_DATA_PLACE_USER)
            ranges[n++] = (struct range){places[i].start, places[i].end, (uint32_t)i};
    }
    if (places && ranges) {
        part(places, ranges, n, ranges + p->n_modules);
        reach_frames(p, places);
    } else {
        cairn_free(places);
        places = NULL;
    }
    cairn_free(ranges);
    return places;
}

uint64_t cairn_perf_data_placed(const struct cairn_profile *p,
                                const struct cairn_perf_data_place *places, uint32_t frame)
{
    const uint64_t va = p->frames[frame].address;
    const struct cairn_profile_module *m = &p->modules[p->frames[frame].module];
    const struct cairn_perf_data_place *place = &places[p->frames[frame].module];
    if (place->kind != CAIRN_PERF_DATA_PLACE_USER || va < m->start || va >= m->end)
        return va;
    return va - m->start + place->start;
}
