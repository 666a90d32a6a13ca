/* SPDX-License-Identifier: MIT */
/* Programs that tracked processes started and that no tracker was in: as their states note it, and
 * as a session saw it from outside. */
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "rt/program.h"
#include "watch/heap.h"
#include "watch/missed.h"

/* Takes over `path`; false: no memory. */
static bool add(struct cairn_heap *heap, char *path, uint32_t kind, uint64_t n)
{
    for (size_t i = 0; path && i < heap->n_untracked; i++)
        if (heap->untracked[i].kind == kind && strcmp(heap->untracked[i].path, path) == 0) {
            heap->untracked[i].n += n;
            cairn_free(path);
            return true;
        }
    if (!path || cairn_grow((void **)&heap->untracked, &heap->cap_untracked, heap->n_untracked + 1,
                            sizeof *heap->untracked) < 0) {
        cairn_free(path);
        return false;
    }
    heap->untracked[heap->n_untracked++] =
        (struct cairn_heap_untracked_program){.path = path, .kind = kind, .n = n};
    return true;
}

/* Of a hostile process perhaps: the path ends somewhere, and the kind is one. */
static bool read_row(const struct cairn_heap_untracked *row, char path[CAIRN_HEAP_UNTRACKED_PATH],
                     uint32_t *ret_kind)
{
    memcpy(path, row->path, CAIRN_HEAP_UNTRACKED_PATH);
    path[CAIRN_HEAP_UNTRACKED_PATH - 1] = '\0';
    *ret_kind = row->kind;
    return row->n > 0 && row->n <= INT32_MAX && *ret_kind > CAIRN_PROGRAM_SERVED &&
           *ret_kind < CAIRN_PROGRAM_KINDS;
}

uint64_t cairn_heap_count_untracked(const struct cairn_heap_state *state)
{
    uint64_t sum = 0;
    for (size_t i = 0; i <= CAIRN_HEAP_UNTRACKED; i++) {
        uint32_t n = state->view.header.untracked[i].n;
        sum += n <= INT32_MAX ? n : 0; /* a start that failed was taken back too early */
    }
    return sum;
}

static void collect(struct cairn_heap *heap)
{
    char path[CAIRN_HEAP_UNTRACKED_PATH];
    uint32_t kind;
    heap->has_untracked = true;
    for (size_t i = 0; i < heap->n; i++)
        for (size_t k = 0; k < CAIRN_HEAP_UNTRACKED; k++) {
            const struct cairn_heap_untracked *row = &heap->states[i].view.header.untracked[k];
            if (read_row(row, path, &kind) && !add(heap, cairn_strdup(path), kind, row->n))
                return;
        }
}

int cairn_heap_untracked(struct cairn_heap *heap, size_t index, struct cairn_heap_missed *missed)
{
    if (!heap->has_untracked)
        collect(heap);
    if (index >= heap->n_untracked)
        return 0;
    const struct cairn_heap_missed found = {.path = heap->untracked[index].path,
                                            .reason =
                                                cairn_program_reason(heap->untracked[index].kind),
                                            .n = heap->untracked[index].n};
    cairn_heap_missed_copy(missed, &found);
    return 1;
}

/* The end of a path tells more than its beginning. */
static void set_row(struct cairn_heap_state *state, size_t at, uint32_t kind, uint32_t n,
                    const char *path)
{
    struct cairn_heap_untracked *row = &state->view.header.untracked[at];
    size_t size = strlen(path), most = CAIRN_HEAP_UNTRACKED_PATH - 1;
    row->kind = kind;
    row->n = n;
    if (at < CAIRN_HEAP_UNTRACKED)
        memcpy(row->path, size > most ? path + size - most : path, (size > most ? most : size) + 1);
    uint8_t *header =
        (uint8_t *)(uintptr_t)state->view.bytes.data; /* so that the file has it too */
    memcpy(header + offsetof(struct cairn_heap_header, untracked[at]), row, sizeof *row);
}

/* One of the greatest length may have been cut off at its beginning. */
void cairn_heap_resolve_untracked(struct cairn_heap *heap)
{
    char path[CAIRN_HEAP_UNTRACKED_PATH], real[PATH_MAX];
    uint32_t kind;
    for (size_t i = 0; i < heap->n; i++)
        for (size_t k = 0; k < CAIRN_HEAP_UNTRACKED; k++) {
            const struct cairn_heap_untracked *row = &heap->states[i].view.header.untracked[k];
            if (read_row(row, path, &kind) && path[0] == '/' && strlen(path) < sizeof path - 1 &&
                realpath(path, real))
                set_row(&heap->states[i], k, kind, row->n, real);
        }
}

static bool has(struct cairn_heap *heap, const char *path)
{
    struct cairn_heap_missed missed = {.size = sizeof missed};
    for (size_t i = 0; cairn_heap_untracked(heap, i, &missed); i++)
        if (strcmp(missed.path, path) == 0)
            return true;
    return false;
}

void cairn_heap_add_untracked(struct cairn_heap *heap, const char *path, uint32_t kind)
{
    if (heap->n == 0 || kind >= CAIRN_PROGRAM_KINDS || has(heap, path))
        return;
    struct cairn_heap_state *state = &heap->states[0];
    const struct cairn_heap_untracked *rows = state->view.header.untracked;
    size_t at = 0;
    while (at < CAIRN_HEAP_UNTRACKED && rows[at].kind)
        at++;
    set_row(state, at, at < CAIRN_HEAP_UNTRACKED ? kind : rows[at].kind, rows[at].n + 1, path);
    add(heap, cairn_strdup(path), kind, 1);
}
