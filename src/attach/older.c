/* SPDX-License-Identifier: MIT */
/*
 * The heap is read twice while the program runs: what is in use both times and was not recorded
 * between is from before (heap/late_older.h).
 */
#include "attach/older.h"

#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

#include "arena/arena.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "heap/late_older.h"

enum {
    PAGE = 4096,
    LIST_MAX = 1 << 20, /* blocks that are handed in at once: 16 MiB */
    LOOK_MS = 60000     /* for a heap of about 50 GB */
};

_Static_assert(sizeof(struct cairn_arena_block) == sizeof(struct cairn_late_older_block),
               "a list is handed in as it is");

struct listing {
    struct cairn_attach_job *job;
    struct cairn_arena_region *regions;
    size_t n, cap;
};

/* One look at the heap: behind its deadline nothing can be read any more. */
struct reading {
    const struct cairn_target_process *target;
    uint64_t deadline_ns;
};

static bool read_target(void *context, uint64_t va, void *out, size_t size)
{
    const struct reading *r = context;
    return cairn_now_ns() < r->deadline_ns &&
           cairn_target_read(r->target, va, out, size, NULL) == CAIRN_OK;
}

/* A mapping of the file that has malloc; NULL: the ledger has none. Pages that renew.h took from
 * their file lie behind another one of it. */
static const struct cairn_map *find_allocator(const struct cairn_attach_job *job)
{
    const struct cairn_maps *maps = job->target.maps;
    const struct cairn_map *map = NULL;
    for (uint32_t i = 0; !map && i < job->ledger.n_rows; i++)
        if (strcmp(job->ledger.rows[i].name, "malloc") == 0)
            map = cairn_maps_find(maps, job->ledger.rows[i].entry_va);
    while (map && !map->inode && map->flags & CAIRN_MAP_EXEC)
        map = cairn_maps_find(maps, map->start - 1);
    return map;
}

static enum cairn_arena_region_kind kind_of(const struct cairn_map *map,
                                            const struct cairn_map *allocator)
{
    if ((map->flags & (CAIRN_MAP_READ | CAIRN_MAP_WRITE | CAIRN_MAP_SHARED)) !=
        (CAIRN_MAP_READ | CAIRN_MAP_WRITE))
        return 0;
    if (strcmp(map->path, "[heap]") == 0)
        return CAIRN_ARENA_BREAK;
    if (!*map->path || strncmp(map->path, "[anon:", strlen("[anon:")) == 0)
        return CAIRN_ARENA_ANONYMOUS;
    bool is_same = map->inode == allocator->inode && map->dev_major == allocator->dev_major &&
                   map->dev_minor == allocator->dev_minor &&
                   strcmp(map->path, allocator->path) == 0;
    return map->flags & CAIRN_MAP_FILE && is_same ? CAIRN_ARENA_DATA : 0;
}

static int find_regions(struct listing *l, struct cairn_err *err)
{
    const struct cairn_target_process *target = &l->job->target;
    const struct cairn_map *allocator = find_allocator(l->job);
    l->n = 0;
    for (size_t i = 0; allocator && i < cairn_maps_count(target->maps); i++) {
        const struct cairn_map *map = cairn_maps_get(target->maps, i);
        enum cairn_arena_region_kind kind = kind_of(map, allocator);
        if (!kind)
            continue;
        if (cairn_grow((void **)&l->regions, &l->cap, l->n + 1, sizeof *l->regions) < 0)
            return cairn_fail_memory(err);
        l->regions[l->n++] = (struct cairn_arena_region){map->start, map->end, kind};
    }
    return CAIRN_OK;
}

/* CAIRN_E_MISSING: not glibc's. */
static int look(struct listing *l, struct cairn_arena_walk *ret_walk, struct cairn_err *err)
{
    struct cairn_attach_job *job = l->job;
    int result = cairn_target_look_again(&job->target, err);
    if (result == CAIRN_OK)
        result = find_regions(l, err);
    struct reading reading = {&job->target, cairn_now_ns() + (uint64_t)LOOK_MS * CAIRN_NS_PER_MS};
    const struct cairn_arena_space space = {read_target, &reading, l->regions, l->n};
    if (result == CAIRN_OK)
        result = cairn_arena_walk(&space, ret_walk, err);
    if (result == CAIRN_OK)
        cairn_attach_say(job,
                         "%zu blocks of %" PRIu64 " bytes in use, in %u arenas; %" PRIu64
                         " in caches of %u threads; %" PRIu64 " of %" PRIu64 " bytes not read%s",
                         ret_walk->n, ret_walk->bytes, ret_walk->n_arenas, ret_walk->n_cached,
                         ret_walk->n_caches, ret_walk->unread_bytes, ret_walk->heap_bytes,
                         ret_walk->is_ring_cut ? "; the list of arenas was overwritten" : "");
    return result;
}

/* At most LIST_MAX blocks. */
static int hand_some(struct cairn_attach_job *job, struct cairn_late_older *older,
                     const struct cairn_arena_block *blocks, size_t n, struct cairn_err *err)
{
    const struct cairn_foothold_mapping list = {.size =
                                                    (n * sizeof *blocks + PAGE - 1) / PAGE * PAGE,
                                                .prot = PROT_READ | PROT_WRITE,
                                                .flags = MAP_PRIVATE | MAP_ANONYMOUS,
                                                .fd = -1};
    uint64_t va = 0;
    int value, result = cairn_attach_enter(job, err);
    if (result == CAIRN_OK && n)
        result = cairn_foothold_map(&job->foothold, &list, &va, err);
    if (result == CAIRN_OK && n)
        result = cairn_target_write(&job->target, va, blocks, n * sizeof *blocks, err);
    older->blocks = (const struct cairn_late_older_block *)(uintptr_t)va;
    older->n = n;
    older->mapped_bytes = n ? list.size : 0;
    if (result == CAIRN_OK)
        result = cairn_target_write(&job->target, job->foothold.page_va, older, sizeof *older, err);
    if (result == CAIRN_OK)
        result = cairn_attach_run(job, "older", (uintptr_t)job->late.older, job->foothold.page_va,
                                  &value, err);
    if (result < 0)
        return result;
    if (value != 0)
        return cairn_fail(err, CAIRN_E_SUPPORT, "pid %d: the tracker takes no older blocks (%d)",
                          job->target.pid, value);
    return cairn_target_read(&job->target, job->foothold.page_va, older, sizeof *older, err);
}

/* `older`: what is done with them; its sums are of all. */
static int hand_in(struct cairn_attach_job *job, struct cairn_late_older *older,
                   const struct cairn_arena_block *blocks, size_t n, struct cairn_err *err)
{
    int result;
    do {
        size_t some = n < LIST_MAX ? n : LIST_MAX;
        result = hand_some(job, older, blocks, some, err);
        blocks += some;
        n -= some;
    } while (result == CAIRN_OK && n);
    return result;
}

/* Keeps in `first` what is not in `second`. */
static void subtract(struct cairn_arena_walk *first, const struct cairn_arena_walk *second)
{
    size_t n = 0, k = 0;
    for (size_t i = 0; i < first->n; i++) {
        while (k < second->n && second->blocks[k].va < first->blocks[i].va)
            k++;
        if (k == second->n || second->blocks[k].va != first->blocks[i].va)
            first->blocks[n++] = first->blocks[i];
    }
    first->n = n;
}

static int list(struct listing *l, struct cairn_err *err)
{
    struct cairn_attach_report *report = &l->job->report;
    struct cairn_arena_walk first = {0}, second = {0};
    struct cairn_late_older add = {.size = sizeof add, .what = CAIRN_LATE_OLDER_ADD};
    struct cairn_late_older drop = {.size = sizeof drop, .what = CAIRN_LATE_OLDER_DROP};
    struct cairn_late_older known = {.size = sizeof known, .what = CAIRN_LATE_OLDER_KNOWN};
    int result = look(l, &first, err);
    if (result == CAIRN_OK)
        result = first.n ? hand_in(l->job, &add, first.blocks, first.n, err) : CAIRN_OK;
    if (result == CAIRN_OK)
        result = look(l, &second, err);
    if (result == CAIRN_OK) {
        subtract(&first, &second);
        cairn_attach_say(l->job, "%zu of them are not in use any more", first.n);
    }
    known.unread_bytes =
        second.unread_bytes > first.unread_bytes ? second.unread_bytes : first.unread_bytes;
    if (result == CAIRN_OK && first.n)
        result = hand_in(l->job, &drop, first.blocks, first.n, err);
    if (result == CAIRN_OK)
        result = hand_some(l->job, &known, NULL, 0, err);
    if (result == CAIRN_OK) {
        report->older = CAIRN_OLDER_LISTED;
        report->n_older = add.n_done - drop.n_done;
        report->older_bytes = add.done_bytes - drop.done_bytes;
        report->older_unread_bytes = known.unread_bytes;
    }
    cairn_arena_walk_done(&first);
    cairn_arena_walk_done(&second);
    return result;
}

void cairn_attach_list_older(struct cairn_attach_job *job)
{
    struct listing l = {.job = job};
    struct cairn_err why = {0};
    if (job->opts.sample_bytes) {
        job->report.older = CAIRN_OLDER_SAMPLED;
        cairn_attach_say(job, "only some blocks are recorded: those from before are not listed");
        return;
    }
    if (job->opts.n_modules) {
        job->report.older = CAIRN_OLDER_CHOSEN;
        cairn_attach_say(job, "which module asked for blocks from before is not known: they are "
                              "not listed");
        return;
    }
    int result = list(&l, &why);
    cairn_free(l.regions);
    if (result < 0)
        cairn_attach_say(job, "blocks from before are not listed: %s", why.msg);
}
