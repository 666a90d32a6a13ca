/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Late start: when libcairn-track begins to record, and when it stops (heap/late.h).
 */
#include <memory_tracker.h>
#include <string.h>

#include "heap/late_call.h"
#include "heap/late_libc.h"
#include "heap/late_rows.h"
#include "heap/settings.h"
#include "rt/lock.h"
#include "unwind/modules.h"

static struct cairn_lock starting;

static bool has_originals(void)
{
    const struct cairn_late_row *row;
    for (uint32_t i = 0; (row = cairn_late_row(i)); i++)
        if (row->roles & CAIRN_LATE_NEEDED && !*row->original)
            return false;
    return true;
}

/* "CAIRN_HEAP_DIR=" and the folder, as the environment would have it. */
static bool read_given(struct cairn_heap_settings *ret, const struct cairn_late_settings *given)
{
    static const char name[] = "CAIRN_HEAP_DIR=";
    char dir[sizeof(name) + CAIRN_LATE_DIR_BYTES];
    memcpy(dir, name, sizeof(name));
    memcpy(dir + sizeof(name) - 1, given->dir, sizeof(given->dir));
    if (given->fd_plus_1 && !given->dir[0])
        memcpy(dir + sizeof(name) - 1, "/", 2); /* children of fork(2) have no state */
    dir[sizeof(dir) - 1] = 0;
    const char *const list[] = {dir, NULL};
    return cairn_heap_settings_of(ret, dir[sizeof(name) - 1] ? list : list + 1);
}

static bool fill(struct cairn_heap_settings *ret, const struct cairn_late_settings *given)
{
    bool read = given->from_environment ? cairn_heap_settings_read(ret) : read_given(ret, given);
    if (!read)
        return false;
    ret->granule_bits = given->granule_bits ? given->granule_bits : CAIRN_LATE_GRANULE_OTHER;
    ret->max_bytes = given->max_bytes ? given->max_bytes : ret->max_bytes;
    ret->sample_bytes = given->sample_bytes ? given->sample_bytes : ret->sample_bytes;
    if (given->depth && given->depth <= CAIRN_HEAP_FRAMES)
        ret->depth = given->depth;
    ret->no_stacks |= given->no_stacks != 0;
    ret->mappings = ret->fork_copy = false; /* nothing is interposed for them */
    ret->fd_plus_1 = given->fd_plus_1;
    return true;
}

static int start(const struct cairn_late_settings *given)
{
    struct cairn_tracked_heap *heap = cairn_heap_present();
    struct cairn_heap_settings settings;
    if (!has_originals() || (given->granule_bits && given->granule_bits < 3) ||
        given->granule_bits > 7)
        return MEMORY_TRACKER_E_ARG;
    if (heap) {
        cairn_late_forget(heap);
    } else {
        memset(&settings, 0, sizeof(settings));
        cairn_heap_granule_bits =
            given->granule_bits ? given->granule_bits : (unsigned)CAIRN_LATE_GRANULE_OTHER;
        cairn_modules_refresh();
        if (!fill(&settings, given) || !cairn_heap_start(&settings))
            return MEMORY_TRACKER_E_STATE;
        heap = cairn_heap_present();
    }
    atomic_fetch_and(&heap->state.header->flags, ~(unsigned)CAIRN_HEAP_CHOSEN);
    atomic_fetch_or(&heap->state.header->flags,
                    CAIRN_HEAP_LIVE | CAIRN_HEAP_LATE | (given->chosen ? CAIRN_HEAP_CHOSEN : 0));
    atomic_store(&cairn_late_is_chosen, given->chosen != 0);
    atomic_store(&heap->state.header->paused, 0);
    atomic_store(&heap->state.header->older, 0);
    cairn_heap_next_turn(heap->state.header);
    atomic_store(&cairn_late_records, true);
    return MEMORY_TRACKER_OK;
}

int cairn_late_start(const struct cairn_late_settings *settings)
{
    if (!settings || settings->size < sizeof(*settings))
        return MEMORY_TRACKER_E_ARG;
    cairn_late_libc_find();
    cairn_lock_take(&starting);
    int code = start(settings);
    cairn_lock_give(&starting);
    return code;
}

void cairn_late_record(bool on)
{
    atomic_store(&cairn_late_records, on && cairn_heap_present());
}

void cairn_late_end(void)
{
    struct cairn_tracked_heap *heap = cairn_heap_present();
    atomic_store(&cairn_late_records, false);
    if (heap)
        atomic_fetch_and(&heap->state.header->flags, ~(unsigned)CAIRN_HEAP_LIVE);
}

const void *cairn_late_state(void)
{
    const struct cairn_tracked_heap *heap = cairn_heap_present();
    return heap ? heap->state.header : NULL;
}
