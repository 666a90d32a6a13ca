/* SPDX-License-Identifier: MIT */
#include "symbol/unit_finder.h"

#include <string.h>

#include "dwarf/aranges.h"
#include "dwarf/unit_roots.h"

enum {
    CANDIDATES_MAX = 32, /* units asked for one address; honest files have one or two */
    SCANS_MAX = 4,       /* a map costs as much as some ten passes over .debug_aranges */
    WALKS_MAX = 1        /* and hardly more than a whole walk over the root DIEs */
};

/* Units that claim an address, each once, the lowest first. */
struct claims {
    uint64_t vaddr;
    uint64_t units[CANDIDATES_MAX];
    unsigned n;
};

/* Of more than there is room for, the lowest stay. */
static void add_claim(struct claims *c, uint64_t unit)
{
    unsigned i = c->n;
    while (i && c->units[i - 1] > unit)
        i--;
    if (i == CANDIDATES_MAX || (i && c->units[i - 1] == unit))
        return;
    if (c->n == CANDIDATES_MAX)
        c->n--;
    memmove(c->units + i + 1, c->units + i, (c->n++ - i) * sizeof *c->units);
    c->units[i] = unit;
}

static void list_claims(const struct cairn_unit_map *map, uint32_t at, struct claims *claims)
{
    size_t cursor = SIZE_MAX;
    uint32_t unit;
    for (int i = 0; i < 4 * CANDIDATES_MAX && cairn_unit_map_next(map, at, &cursor, &unit); i++)
        add_claim(claims, unit);
}

static int ask_all(const struct claims *claims, cairn_unit_ask_fn ask, void *ctx,
                   struct cairn_err *err)
{
    int code = CAIRN_OK;
    for (unsigned i = 0; code == CAIRN_OK && i < claims->n; i++)
        code = ask(ctx, claims->units[i], err);
    return code;
}

void cairn_unit_finder_init(struct cairn_unit_finder *finder, struct cairn_dwarf_units *units)
{
    *finder = (struct cairn_unit_finder){.units = units};
}

void cairn_unit_finder_done(struct cairn_unit_finder *finder)
{
    cairn_unit_map_done(&finder->aranges);
    cairn_unit_map_done(&finder->roots);
    *finder = (struct cairn_unit_finder){0};
}

static int claim_arange(void *ctx, uint64_t unit_off, struct cairn_dwarf_range range)
{
    struct claims *claims = ctx;
    if (claims->vaddr - range.low < range.high - range.low)
        add_claim(claims, unit_off);
    return 0;
}

/* Can the distances that tables count in hold it? */
static bool place(const struct cairn_dwarf *d, uint64_t vaddr, uint32_t *ret_at)
{
    uint32_t end;
    return cairn_dwarf_place(d, vaddr, vaddr + 1, ret_at, &end);
}

static int need_aranges(struct cairn_unit_finder *f, struct cairn_err *err)
{
    int code =
        f->has_aranges ? CAIRN_OK : cairn_unit_map_read_aranges(f->units->d, &f->aranges, err);
    f->has_aranges = code == CAIRN_OK;
    return code;
}

int cairn_unit_finder_ask_aranges(struct cairn_unit_finder *f, uint64_t vaddr,
                                  cairn_unit_ask_fn ask, void *ctx, struct cairn_err *err)
{
    const struct cairn_dwarf *d = f->units->d;
    struct claims claims;
    uint32_t at;
    claims.vaddr = vaddr;
    claims.n = 0;
    if (!place(d, vaddr, &at))
        return CAIRN_OK;
    if (!f->has_aranges && f->n_scans < SCANS_MAX) {
        f->n_scans++;
        cairn_dwarf_aranges_each(d, claim_arange, &claims);
        return ask_all(&claims, ask, ctx, err);
    }
    int code = need_aranges(f, err);
    if (code < 0)
        return code;
    list_claims(&f->aranges, at, &claims);
    return ask_all(&claims, ask, ctx, err);
}

int cairn_unit_finder_need_roots(struct cairn_unit_finder *f, struct cairn_err *err)
{
    int code = f->has_roots ? CAIRN_OK : cairn_unit_map_read_roots(f->units, &f->roots, err);
    f->has_roots = code == CAIRN_OK;
    return code;
}

int cairn_unit_finder_need_map(struct cairn_unit_finder *f, const struct cairn_unit_map **ret_map,
                               struct cairn_err *err)
{
    int code = need_aranges(f, err);
    if (code == CAIRN_OK && !f->aranges.n)
        code = cairn_unit_finder_need_roots(f, err);
    if (code == CAIRN_OK)
        *ret_map = f->aranges.n ? &f->aranges : &f->roots;
    return code;
}

int cairn_unit_finder_need_maps(struct cairn_unit_finder *f, struct cairn_err *err)
{
    int code = need_aranges(f, err);
    return code < 0 ? code : cairn_unit_finder_need_roots(f, err);
}

void cairn_unit_finder_take_roots(struct cairn_unit_finder *f, struct cairn_unit_map *map)
{
    cairn_unit_map_done(&f->roots);
    f->roots = *map;
    f->has_roots = true;
    *map = (struct cairn_unit_map){0};
}

static bool claims_vaddr(const struct cairn_dwarf_ranges *ranges, uint64_t vaddr)
{
    for (size_t i = 0; i < ranges->n; i++)
        if (vaddr - ranges->ranges[i].low < ranges->ranges[i].high - ranges->ranges[i].low)
            return true;
    return false;
}

/* From unit to unit until the asker is content. */
static int walk_roots(struct cairn_unit_finder *f, uint64_t vaddr, cairn_unit_ask_fn ask, void *ctx,
                      struct cairn_err *err)
{
    struct cairn_dwarf_roots roots;
    int code, n_asked = 0, answer = CAIRN_OK;
    cairn_dwarf_roots_begin(&roots, f->units);
    while ((code = cairn_dwarf_roots_next(&roots, err)) == 1) {
        if (!claims_vaddr(&roots.ranges, vaddr))
            continue;
        answer = ask(ctx, roots.unit.off, err);
        if (answer != CAIRN_OK || ++n_asked == CANDIDATES_MAX)
            break;
    }
    cairn_dwarf_roots_done(&roots);
    return code < 0 ? code : answer;
}

int cairn_unit_finder_ask_roots(struct cairn_unit_finder *f, uint64_t vaddr, cairn_unit_ask_fn ask,
                                void *ctx, struct cairn_err *err)
{
    struct claims claims;
    uint32_t at;
    claims.vaddr = vaddr;
    claims.n = 0;
    if (!place(f->units->d, vaddr, &at))
        return CAIRN_OK;
    if (!f->has_roots && !f->expects_many && f->n_walks < WALKS_MAX) {
        f->n_walks++;
        return walk_roots(f, vaddr, ask, ctx, err);
    }
    int code = cairn_unit_finder_need_roots(f, err);
    if (code < 0)
        return code;
    list_claims(&f->roots, at, &claims);
    return ask_all(&claims, ask, ctx, err);
}

size_t cairn_unit_finder_bytes(const struct cairn_unit_finder *f)
{
    return (f->aranges.cap + f->roots.cap) * sizeof *f->roots.spans;
}
