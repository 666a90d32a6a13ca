/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE, but for what the originals do */
/*
 * Late stream: open_memstream(3) and its kin, whose block moves until the stream is closed: it is
 * born at the fclose(3) of a hooked library. In libcairn-track alone.
 */
#include <stdatomic.h>
#include <stdint.h>

#include "heap/late_call.h"
#include "heap/late_originals.h"
#include "heap/late_rows.h"

#define MORE   cairn_late_more
#define CALLER ((struct cairn_local_frame_at)CAIRN_HEAP_CALLER)

enum { MOST_STREAMS = 256 /* open at once; of those beyond the blocks are not seen */ };

/* `stream` is 0: free; BEING_FILLED; else the stream's address, and the rest is valid. */
enum { BEING_FILLED = 1 };
static struct stream {
    _Atomic(uintptr_t) stream;
    void **block;
    size_t *n;
    size_t unit; /* bytes of a character */
} streams[MOST_STREAMS];
static _Atomic(uint32_t) n_streams;

static void keep(FILE *stream, void **block, size_t *n, size_t unit)
{
    for (unsigned i = 0; i < MOST_STREAMS; i++) {
        uintptr_t none = 0;
        if (atomic_load(&streams[i].stream) ||
            !atomic_compare_exchange_strong(&streams[i].stream, &none, BEING_FILLED))
            continue;
        streams[i].block = block;
        streams[i].n = n;
        streams[i].unit = unit;
        atomic_fetch_add(&n_streams, 1);
        atomic_store(&streams[i].stream, (uintptr_t)stream);
        return;
    }
}

static bool take(FILE *stream, struct stream *ret)
{
    for (unsigned i = 0; atomic_load(&n_streams) && i < MOST_STREAMS; i++)
        if (atomic_load(&streams[i].stream) == (uintptr_t)stream) {
            *ret = (struct stream){
                .block = streams[i].block, .n = streams[i].n, .unit = streams[i].unit};
            atomic_fetch_sub(&n_streams, 1);
            atomic_store(&streams[i].stream, 0);
            return true;
        }
    return false;
}

FILE *cairn_late_open_memstream(char **ret, size_t *ret_size)
{
    FILE *stream = MORE.open_memstream(ret, ret_size);
    if (stream)
        keep(stream, (void **)ret, ret_size, 1);
    return stream;
}

FILE *cairn_late_open_wmemstream(wchar_t **ret, size_t *ret_size)
{
    FILE *stream = MORE.open_wmemstream(ret, ret_size);
    if (stream)
        keep(stream, (void **)ret, ret_size, sizeof(wchar_t));
    return stream;
}

/* Taken before: another thread may get the same stream's address as soon as it is closed. */
int cairn_late_fclose(FILE *stream)
{
    struct stream kept;
    bool is_kept = stream && take(stream, &kept);
    struct cairn_mine *mine = is_kept ? cairn_late_enter() : NULL;
    int code = MORE.fclose(stream);
    cairn_late_leave(mine);
    if (mine)
        cairn_heap_adopt(*kept.block, (*kept.n + 1) * kept.unit, CAIRN_HEAP_KIND_MALLOC, CALLER);
    return code;
}
