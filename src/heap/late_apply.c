/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Late apply: slots of chosen modules as cairn found them from outside (attach/chosen.h). It holds
 * no lock: a module that goes away meanwhile takes its slots with it, and the thread that this runs
 * in, which is cairn's. In libcairn-track alone.
 */
#include <memory_tracker.h>

#include "heap/late_rows.h"
#include "rt/pages.h"
#include "rt/word_write.h"

static void apply(struct cairn_word_writer *writer, struct cairn_late_slot *slot)
{
    _Atomic(uintptr_t) *place = (_Atomic(uintptr_t) *)(uintptr_t)slot->va;
    const uintptr_t before = (uintptr_t)slot->before, after = (uintptr_t)slot->after;
    const uintptr_t from = slot->is_wanted ? before : after, to = slot->is_wanted ? after : before;
    const uintptr_t now = atomic_load(place);
    const size_t page = cairn_pages_size();
    writer->low = slot->is_read_only ? (uintptr_t)place / page * page : 0;
    writer->high = slot->is_read_only ? writer->low + page : 0;
    if (now == to)
        slot->state = CAIRN_LATE_SLOT_DONE;
    else if (now != from)
        slot->state = CAIRN_LATE_SLOT_FOREIGN;
    else
        slot->state = cairn_word_write(writer, place, from, to) ? CAIRN_LATE_SLOT_DONE
                                                                : CAIRN_LATE_SLOT_FAILED;
}

int cairn_late_slots(struct cairn_late_slots *list)
{
    struct cairn_word_writer writer = {0};
    if (!list || list->size < sizeof(*list))
        return MEMORY_TRACKER_E_ARG;
    cairn_word_writer_open(&writer);
    for (uint32_t i = 0; i < list->n; i++)
        if (list->slots[i].is_active)
            apply(&writer, &list->slots[i]);
    cairn_word_writer_close(&writer);
    return MEMORY_TRACKER_OK;
}
