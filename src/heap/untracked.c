/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "heap/untracked.h"

#include <string.h>

#include "heap/heap.h"
#include "heap/start.h"
#include "rt/sys.h"

enum { WHOLE_BYTES = 1024 };

/* As it is from the root directory. */
static const char *whole(const char *path, char to[WHOLE_BYTES])
{
    size_t size = strlen(path);
    if (path[0] == '/' || size >= WHOLE_BYTES / 2)
        return path;
    long n = cairn_sys_read_link("/proc/self/cwd", to, WHOLE_BYTES / 2 - 2);
    if (n <= 0)
        return path;
    to[n] = '/';
    memcpy(to + n + 1, path, size + 1);
    return to;
}

/* The end of a path tells more than its beginning. */
static const char *tail(const char *path)
{
    size_t size = strlen(path), most = CAIRN_HEAP_UNTRACKED_PATH - 1;
    return size > most ? path + size - most : path;
}

static bool is_of(struct cairn_heap_untracked *row, enum cairn_program_kind kind, const char *path)
{
    size_t size = strlen(path) + 1;
    return atomic_load(&row->kind) == (uint32_t)kind && memcmp(row->path, path, size) == 0;
}

/* Two at once may have a row each: who reads them puts them together. */
static struct cairn_heap_untracked *find(struct cairn_heap_header *header,
                                         enum cairn_program_kind kind, const char *path)
{
    for (unsigned i = 0; i < CAIRN_HEAP_UNTRACKED; i++) {
        struct cairn_heap_untracked *row = &header->untracked[i];
        uint32_t none = CAIRN_PROGRAM_UNKNOWN;
        if (is_of(row, kind, path))
            return row;
        if (atomic_compare_exchange_strong(&row->kind, &none, (uint32_t)kind)) {
            memcpy(row->path, path, strlen(path) + 1);
            return row;
        }
    }
    return &header->untracked[CAIRN_HEAP_UNTRACKED]; /* of all others */
}

struct cairn_heap_untracked *cairn_heap_untracked_note(enum cairn_program_kind kind,
                                                       const char *path)
{
    char text[WHOLE_BYTES];
    struct cairn_tracked_heap *heap = cairn_heap_start_last();
    if (!heap || !heap->state.header)
        return NULL;
    struct cairn_heap_untracked *row = find(heap->state.header, kind, tail(whole(path, text)));
    atomic_fetch_add(&row->n, 1);
    return row;
}

void cairn_heap_untracked_undo(struct cairn_heap_untracked *row)
{
    if (row)
        atomic_fetch_sub(&row->n, 1);
}
