/* SPDX-License-Identifier: MIT */
/*
 * Late hook: memory_tracker_init(), _hook() and _unhook() where the tracker was loaded late. In
 * libcairn-track alone.
 */
#include <stdatomic.h>

#include "heap/choice.h"
#include "heap/late_free.h"
#include "heap/late_libc.h"
#include "heap/late_rows.h"
#include "heap/late_slots.h"
#include "heap/start.h"
#include "rt/lock.h"

static struct cairn_lock lock; /* of make_ready() */
static atomic_bool is_ready;

static void make_ready(void)
{
    struct cairn_late_settings settings = {.size = sizeof(settings), .from_environment = 1};
    cairn_late_libc_find();
    if (!cairn_late_slots_find(&settings.granule_bits))
        return;
    if (cairn_late_start(&settings) != MEMORY_TRACKER_OK)
        return;
    cairn_late_free_divert();
    atomic_fetch_or(&cairn_heap_present()->state.header->flags, CAIRN_HEAP_CHOSEN);
    atomic_store(&is_ready, true);
}

void cairn_heap_make_ready(void)
{
    cairn_lock_take(&lock);
    if (!atomic_load(&is_ready))
        make_ready();
    cairn_lock_give(&lock);
}

bool cairn_heap_is_asked(void)
{
    return atomic_load(&is_ready);
}

int cairn_heap_choose(const char *const *libraries, size_t n, const char **ret_said)
{
    struct cairn_late_slots_count count;
    if (!atomic_load(&is_ready))
        return MEMORY_TRACKER_E_NOT_LIVE;
    int code = cairn_late_slots_add(libraries, n);
    if (code != MEMORY_TRACKER_OK)
        return code;
    cairn_late_slots_apply(&count);
    *ret_said = count.n_failed    ? "some slots could not be written"
                : count.n_modules ? "libraries are hooked"
                                  : "no such library is loaded yet";
    return MEMORY_TRACKER_OK;
}

int cairn_heap_unchoose(const char *const *libraries, size_t n)
{
    struct cairn_late_slots_count count;
    if (!atomic_load(&is_ready))
        return MEMORY_TRACKER_E_NOT_LIVE;
    int code =
        libraries || n ? cairn_late_slots_remove(libraries, n) : cairn_late_slots_remove_all();
    if (code == MEMORY_TRACKER_OK)
        cairn_late_slots_apply(&count);
    return code;
}
