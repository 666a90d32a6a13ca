/* SPDX-License-Identifier: MIT */
#include "stream/lifetime.h"

#include <cairn/error.h>

#include "stream/name.h"

enum { SWEEP_MIN = 1024, RECORDED_MAX = 1 << 22 };

static bool is_live(const struct cairn_stream_processes *processes)
{
    return processes->source && processes->source->item_is_over;
}

static bool is_over(const struct cairn_stream_processes *processes,
                    const struct cairn_stream_space *item)
{
    return item->has_ended && processes->source->item_is_over(item);
}

static void forget_process(struct cairn_stream_processes *processes, int pid)
{
    const struct cairn_stream_space *item = cairn_stream_processes_find(processes, pid);
    if (item && is_over(processes, item))
        cairn_stream_processes_remove(processes, pid);
}

static void forget_thread(struct cairn_stream_processes *processes, uint32_t tid)
{
    cairn_table_remove(&processes->names, tid);
    cairn_table_remove(&processes->threads, tid);
}

static void sweep(struct cairn_stream_processes *processes)
{
    for (size_t i = processes->n; i-- > 0;) /* the last one comes in place of what is removed */
        forget_process(processes, processes->items[i]->pid);
    processes->sweep_at = 2 * processes->n > SWEEP_MIN ? 2 * processes->n : SWEEP_MIN;
}

/* Threads that were told of before are another process's, but for the one with its number. */
static int begin_threads(struct cairn_stream_processes *processes, struct cairn_stream_space *item)
{
    item->birth = ++processes->n_births;
    item->n_threads = 1;
    return cairn_table_set(&processes->threads, (uint32_t)item->pid, item->birth);
}

struct cairn_stream_space *cairn_stream_processes_get(struct cairn_stream_processes *processes,
                                                      int pid)
{
    struct cairn_stream_space *item = cairn_stream_processes_find(processes, pid);
    const size_t n_max = processes->source ? processes->source->n_max : RECORDED_MAX;
    const size_t sweep_at = processes->sweep_at ? processes->sweep_at : SWEEP_MIN;
    if (item)
        return item;
    if (is_live(processes) && (processes->n >= sweep_at || processes->n == n_max))
        sweep(processes);
    item = processes->n < n_max ? cairn_stream_processes_add(processes, pid) : NULL;
    if (item && !is_live(processes) && begin_threads(processes, item) < 0) {
        cairn_stream_processes_remove(processes, pid);
        return NULL;
    }
    return item;
}

void cairn_stream_processes_reset(struct cairn_stream_processes *processes,
                                  struct cairn_stream_space *item)
{
    if (processes->source && processes->source->item_reset)
        processes->source->item_reset(item);
    cairn_stream_space_clear(item, &processes->load);
    item->has_ended = false;
}

/* A thread that was not heard of before counts for its process. */
static int count_thread(struct cairn_stream_processes *processes, struct cairn_stream_space *item,
                        int tid)
{
    uint32_t birth;
    if (cairn_table_find(&processes->threads, (uint32_t)tid, &birth) && birth == item->birth)
        return CAIRN_OK;
    item->n_threads++;
    return cairn_table_set(&processes->threads, (uint32_t)tid, item->birth);
}

/* 1, 0 or CAIRN_E_NOMEM as of cairn_stream_space_copy(). */
static int copy_parent(struct cairn_stream_processes *processes, struct cairn_stream_space *item,
                       int parent_pid)
{
    cairn_stream_processes_reset(processes, item); /* now no sweep takes it away */
    const struct cairn_stream_space *parent =
        is_live(processes) ? cairn_stream_processes_get(processes, parent_pid)
                           : cairn_stream_processes_find(processes, parent_pid);
    if (!parent)
        return is_live(processes) ? CAIRN_E_NOMEM : 1;
    if (processes->source && processes->source->item_inherit)
        processes->source->item_inherit(item, parent);
    return cairn_stream_space_copy(item, parent, &processes->load);
}

/* Of a kernel that runs a thread alone needs nothing: it is met with its first sample. */
static int begin_process(struct cairn_stream_processes *processes,
                         const struct cairn_stream_birth *birth)
{
    const bool is_new = birth->pid != birth->parent_pid && !birth->is_bare;
    if (!is_new && is_live(processes))
        return 1;
    struct cairn_stream_space *item = cairn_stream_processes_get(processes, birth->pid);
    int code = !item ? CAIRN_E_NOMEM : is_new ? copy_parent(processes, item, birth->parent_pid) : 1;
    if (code < 0 || is_live(processes))
        return code;
    if (is_new) { /* threads that were told of before are another process's */
        item->n_threads = 0;
        item->birth = ++processes->n_births;
    }
    return count_thread(processes, item, birth->tid) < 0 ? CAIRN_E_NOMEM : code;
}

int cairn_stream_processes_fork(struct cairn_stream_processes *processes,
                                const struct cairn_stream_birth *birth)
{
    (void)cairn_ended_born(&processes->ended, (uint32_t)birth->tid);
    if (is_live(processes))
        forget_thread(processes, (uint32_t)birth->tid);
    int code = begin_process(processes, birth);
    if (code >= 0 &&
        cairn_stream_inherit_name(&processes->names, birth->parent_tid, birth->tid) < 0)
        return CAIRN_E_NOMEM;
    return code;
}

int cairn_stream_processes_exec(struct cairn_stream_processes *processes, int pid)
{
    struct cairn_stream_space *item = cairn_stream_processes_get(processes, pid);
    if (!item)
        return CAIRN_E_NOMEM;
    /* Where another thread than the first one called, that one has exited just before. */
    if (cairn_ended_born(&processes->ended, (uint32_t)pid))
        forget_thread(processes, (uint32_t)pid);
    if (is_live(processes)) {
        cairn_stream_processes_reset(processes, item);
        return CAIRN_OK;
    }
    cairn_stream_space_leave(item);
    return begin_threads(processes, item);
}

static void count_exit(struct cairn_stream_processes *processes, int pid, int tid)
{
    uint32_t birth;
    struct cairn_stream_space *item = cairn_stream_processes_find(processes, pid);
    if (!item || !cairn_table_find(&processes->threads, (uint32_t)tid, &birth) ||
        birth != item->birth)
        return;
    cairn_table_remove(&processes->threads, (uint32_t)tid);
    if (item->n_threads && --item->n_threads == 0)
        cairn_stream_space_clear(item, &processes->load);
}

int cairn_stream_processes_exit(struct cairn_stream_processes *processes, int pid, int tid)
{
    if (!is_live(processes)) {
        count_exit(processes, pid, tid);
        return CAIRN_OK;
    }
    if (pid == tid) { /* begun where it is new: stacks of it that come late find it exited */
        struct cairn_stream_space *item = cairn_stream_processes_get(processes, pid);
        if (!item)
            return CAIRN_E_NOMEM;
        if (processes->source->item_end)
            processes->source->item_end(item);
        item->has_ended = true;
    }
    return cairn_ended_add(&processes->ended, (uint32_t)tid);
}

/* A process may go on without its first thread. */
static void on_over(void *ctx, uint32_t tid)
{
    forget_thread(ctx, tid);
    forget_process(ctx, (int)tid);
}

void cairn_stream_processes_turn(struct cairn_stream_processes *processes)
{
    cairn_ended_turn(&processes->ended, on_over, processes);
}
