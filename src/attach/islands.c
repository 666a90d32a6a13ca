/* SPDX-License-Identifier: MIT */
/* Islands: where diverted functions lead to, mapped and written, and the ledger's rows of them. */
#include <string.h>
#include <sys/mman.h>

#include "attach/divert.h"
#include "base/error.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000 /* Linux 4.17; older ones take the address as a hint */
#endif

/* HEAD_BYTES: what takes the function's hints back, and the jump. */
enum { PAGE = 4096, HEAD_BYTES = CAIRN_HOOK_JUMP_MAX + 8 };

static bool has_page(const struct cairn_diversions *d, size_t n, uint64_t page)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t va = d->items[i].island_va;
        if (va && (va / PAGE * PAGE == page || (va + CAIRN_ISLAND_BYTES - 1) / PAGE * PAGE == page))
            return true;
    }
    return false;
}

/* Pages of a file, which are a copy as soon as they are written: no system forbids those to be
 * executed. */
static int map_page(struct cairn_foothold *foothold, int their_fd, uint64_t page,
                    struct cairn_err *err)
{
    const struct cairn_foothold_mapping want = {.va = page,
                                                .size = PAGE,
                                                .prot = PROT_READ | PROT_EXEC,
                                                .flags = MAP_PRIVATE | MAP_FIXED_NOREPLACE,
                                                .fd = their_fd};
    uint64_t va;
    int result = cairn_foothold_map(foothold, &want, &va, err);
    if (result < 0 || va == page)
        return result;
    cairn_foothold_unmap(foothold, va, PAGE, NULL);
    return cairn_fail(err, CAIRN_E_SUPPORT, "pid %d: something was mapped at 0x%llx meanwhile",
                      foothold->target->pid, (unsigned long long)page);
}

static int map_pages(struct cairn_foothold *foothold, struct cairn_diversions *d, int their_fd,
                     struct cairn_ledger *ledger, struct cairn_err *err)
{
    int result = CAIRN_OK;
    for (size_t i = 0; i < d->n && result == CAIRN_OK; i++) {
        uint64_t va = d->items[i].island_va;
        uint64_t first = va / PAGE * PAGE, last = (va + CAIRN_ISLAND_BYTES - 1) / PAGE * PAGE;
        for (uint64_t page = first; va && page <= last && result == CAIRN_OK; page += PAGE) {
            if (has_page(d, i, page))
                continue;
            if (d->n_pages == CAIRN_ISLAND_PAGES)
                return cairn_fail(err, CAIRN_E_LIMIT, "more than %d islands", CAIRN_ISLAND_PAGES);
            result = map_page(foothold, their_fd, page, err);
            if (result == CAIRN_OK)
                d->pages[d->n_pages++] = page;
            ledger->code_bytes += PAGE;
        }
    }
    return result;
}

/* The code around the entry as it is now. */
static int move(const struct cairn_diversions *d, const struct cairn_diversion *item,
                struct cairn_hook_copy *copy, struct cairn_err *err)
{
    uint8_t code[CAIRN_HOOK_LEAST_MAX + 16] = {0};
    const struct cairn_map *map = cairn_maps_find(d->target->maps, item->entry_va);
    size_t n = map && map->end - item->entry_va < sizeof code ? (size_t)(map->end - item->entry_va)
                                                              : sizeof code;
    const struct cairn_hook_piece piece = {.size = sizeof piece,
                                           .cpu = cairn_cpu_hook,
                                           .code = code,
                                           .n_code = n,
                                           .from_va = item->entry_va,
                                           .to_va = item->island_va + HEAD_BYTES,
                                           .least = item->plan.move_bytes};
    int result = cairn_target_read(d->target, item->entry_va, code, n, err);
    if (result < 0)
        return result;
    if (!cairn_hook_move(&piece, copy))
        return cairn_fail(err, CAIRN_E_SUPPORT, "pid %d: %s cannot be moved: %s", d->target->pid,
                          item->wish->name, cairn_hook_reason_text(copy->reason));
    return copy->n_code <= CAIRN_ISLAND_BYTES - HEAD_BYTES
               ? CAIRN_OK
               : cairn_fail(err, CAIRN_E_SUPPORT, "pid %d: %s needs %zu bytes when it is moved",
                            d->target->pid, item->wish->name, copy->n_code);
}

static int fill_row(const struct cairn_diversion *item, struct cairn_ledger_row *row,
                    struct cairn_err *err)
{
    const struct cairn_hook_plan *plan = &item->plan;
    struct cairn_hook_patch patch;
    if (!cairn_hook_aim(plan, item->island_va, &patch))
        return cairn_fail(err, CAIRN_E_SUPPORT, "%s: no jump leads from it to 0x%llx",
                          item->wish->name, (unsigned long long)item->island_va);
    *row = (struct cairn_ledger_row){.way = plan->way,
                                     .roles = item->wish->roles,
                                     .entry_va = item->entry_va,
                                     .pad_va = plan->pad_va,
                                     .n_pad = (uint32_t)patch.n_pad,
                                     .word_va = plan->word_va,
                                     .island_va = item->island_va,
                                     .moved_va = item->island_va + HEAD_BYTES};
    memcpy(row->name, item->wish->name, strlen(item->wish->name));
    memcpy(row->pad_before, plan->pad_before, sizeof row->pad_before);
    memcpy(row->pad_after, patch.pad, sizeof row->pad_after);
    memcpy(row->word_before, plan->word_before, sizeof row->word_before);
    memcpy(row->word_after, patch.word, sizeof row->word_after);
    return CAIRN_OK;
}

static int write_island(const struct cairn_diversions *d, const struct cairn_diversion *item,
                        uint64_t base, struct cairn_err *err)
{
    uint8_t bytes[CAIRN_ISLAND_BYTES] = {0};
    struct cairn_hook_copy copy;
    int result = move(d, item, &copy, err);
    if (result < 0)
        return result;
    memcpy(bytes, item->plan.undo, item->plan.undo_bytes);
    cairn_hook_far_jump(cairn_cpu_hook, base + item->wish->replacement,
                        bytes + item->plan.undo_bytes);
    memcpy(bytes + HEAD_BYTES, copy.code, copy.n_code);
    return cairn_target_write(d->target, item->island_va, bytes, sizeof bytes, err);
}

/* What a replacement calls; another name of the same function calls the same. */
static int tell_original(const struct cairn_diversions *d, const struct cairn_diversion *item,
                         uint64_t base, struct cairn_err *err)
{
    const struct cairn_diversion *own = item->same ? item->same : item;
    uint64_t va = own->island_va ? own->island_va + HEAD_BYTES : item->entry_va;
    return cairn_target_write(d->target, base + item->wish->original, &va, sizeof va, err);
}

void cairn_divert_drop(struct cairn_foothold *foothold, const struct cairn_diversions *diversions)
{
    struct cairn_err ignored;
    for (size_t i = 0; i < diversions->n_pages; i++)
        cairn_foothold_unmap(foothold, diversions->pages[i], PAGE, &ignored);
}

int cairn_divert_prepare(struct cairn_foothold *foothold, struct cairn_diversions *diversions,
                         int their_fd, struct cairn_ledger *ledger, struct cairn_err *err)
{
    int result = map_pages(foothold, diversions, their_fd, ledger, err);
    for (size_t i = 0; result == CAIRN_OK && i < diversions->n; i++) {
        const struct cairn_diversion *item = &diversions->items[i];
        if (item->island_va && ledger->n_rows == CAIRN_LEDGER_ROWS)
            return cairn_fail(err, CAIRN_E_LIMIT, "more than %d functions", CAIRN_LEDGER_ROWS);
        if (item->island_va)
            result = write_island(diversions, item, ledger->base, err);
        if (result == CAIRN_OK && item->island_va)
            result = fill_row(item, &ledger->rows[ledger->n_rows++], err);
        if (result == CAIRN_OK)
            result = tell_original(diversions, item, ledger->base, err);
    }
    return result;
}
