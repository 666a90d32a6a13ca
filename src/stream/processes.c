/* SPDX-License-Identifier: MIT */
#include "stream/processes.h"

#include "base/alloc.h"

static void drop(struct cairn_stream_processes *processes, struct cairn_stream_space *item)
{
    if (processes->source && processes->source->item_reset)
        processes->source->item_reset(item);
    cairn_stream_space_clear(item, &processes->load);
    cairn_free(item);
}

void cairn_stream_processes_done(struct cairn_stream_processes *processes)
{
    for (size_t i = 0; i < processes->n; i++)
        drop(processes, processes->items[i]);
    cairn_free(processes->items);
    cairn_table_done(&processes->by_pid);
    cairn_table_done(&processes->names);
    cairn_table_done(&processes->threads);
    cairn_ended_done(&processes->ended);
    cairn_stream_modules_done(&processes->modules);
    *processes = (struct cairn_stream_processes){0};
}

struct cairn_stream_space *
cairn_stream_processes_find(const struct cairn_stream_processes *processes, int pid)
{
    uint32_t index;
    return cairn_table_find(&processes->by_pid, (uint32_t)pid, &index) ? processes->items[index]
                                                                       : NULL;
}

struct cairn_stream_space *cairn_stream_processes_add(struct cairn_stream_processes *processes,
                                                      int pid)
{
    struct cairn_stream_space *item = NULL;
    const size_t bytes = processes->source ? processes->source->item_bytes : sizeof *item;
    if (cairn_grow((void **)&processes->items, &processes->cap, processes->n + 1,
                   sizeof *processes->items) < 0)
        return NULL;
    item = cairn_alloc(1, bytes);
    if (!item || cairn_table_set(&processes->by_pid, (uint32_t)pid, (uint32_t)processes->n) < 0) {
        cairn_free(item);
        return NULL;
    }
    item->pid = pid;
    cairn_stream_space_touch(item, &processes->load);
    return processes->items[processes->n++] = item;
}

void cairn_stream_processes_remove(struct cairn_stream_processes *processes, int pid)
{
    uint32_t index;
    if (!cairn_table_find(&processes->by_pid, (uint32_t)pid, &index))
        return;
    struct cairn_stream_space *last = processes->items[processes->n - 1];
    if (cairn_table_set(&processes->by_pid, (uint32_t)last->pid, index) < 0) /* is there already */
        return;
    cairn_table_remove(&processes->by_pid, (uint32_t)pid);
    drop(processes, processes->items[index]);
    processes->items[index] = last;
    processes->n--;
}
