/* SPDX-License-Identifier: MIT */
/* Lives: what is known of each thread from its begin on, and no longer than it can be asked for, so
 * that processes that come and go without end take no more memory than those of a few seconds. */
#include "base/error.h"
#include "sample/collect.h"
#include "stream/name.h"

/* <linux/sched.h>: threads that have no user side, PF_KTHREAD and PF_IO_WORKER. */
enum { KERNEL_THREAD = 0x00200010 };

static void forget(struct cairn_collect *collect, uint32_t tid)
{
    cairn_table_remove(&collect->names, tid);
    cairn_table_remove(&collect->threads, tid);
    cairn_table_remove(&collect->kernel_threads, tid);
}

int cairn_collect_fork(struct cairn_collect *collect, const struct cairn_perf_record *record)
{
    (void)cairn_ended_born(&collect->ended, record->tid);
    forget(collect, record->tid);
    if (record->pid != record->parent_pid) {
        struct cairn_space *parent = cairn_spaces_get(&collect->spaces, (int)record->parent_pid);
        if (!parent || cairn_space_know(&collect->spaces, parent) < 0 ||
            cairn_spaces_fork(&collect->spaces, (int)record->parent_pid, (int)record->pid) < 0)
            return CAIRN_E_NOMEM;
    }
    return cairn_stream_inherit_name(&collect->names, (int)record->parent_tid, (int)record->tid);
}

int cairn_collect_exec(struct cairn_collect *collect, const struct cairn_perf_record *record)
{
    struct cairn_space *space = cairn_spaces_get(&collect->spaces, (int)record->pid);
    if (!space)
        return CAIRN_E_NOMEM;
    /* Where another thread than the first one did it, that one has ended, and this has its number.
     */
    if (cairn_ended_born(&collect->ended, record->tid))
        forget(collect, record->tid);
    cairn_space_exec(&collect->spaces, space);
    return CAIRN_OK;
}

int cairn_collect_exit(struct cairn_collect *collect, const struct cairn_perf_record *record)
{
    if (record->pid == record->tid) {
        struct cairn_space *space = cairn_spaces_get(&collect->spaces, (int)record->pid);
        if (!space)
            return CAIRN_E_NOMEM;
        cairn_space_end(space);
    }
    return cairn_ended_add(&collect->ended, record->tid);
}

static void on_over(void *ctx, uint32_t tid)
{
    struct cairn_collect *collect = ctx;
    forget(collect, tid);
    cairn_spaces_forget(&collect->spaces, (int)tid);
}

void cairn_collect_turn(struct cairn_collect *collect)
{
    cairn_ended_turn(&collect->ended, on_over, collect);
    collect->pack_turns -= collect->pack_turns > 0;
}

int cairn_collect_seen(struct cairn_collect *collect, int tid)
{
    uint32_t one;
    if (cairn_table_find(&collect->threads, (uint64_t)tid, &one))
        return CAIRN_OK;
    collect->n_threads++;
    return cairn_table_set(&collect->threads, (uint64_t)tid, 1);
}

bool cairn_collect_is_kernel_thread(struct cairn_collect *collect, int pid, int tid)
{
    struct cairn_thread_stat stat;
    uint32_t is_one;
    if (!cairn_table_find(&collect->kernel_threads, (uint64_t)tid, &is_one)) {
        is_one =
            cairn_thread_stat(pid, tid, &stat, NULL) == CAIRN_OK && (stat.flags & KERNEL_THREAD);
        (void)cairn_table_set(&collect->kernel_threads, (uint64_t)tid, is_one);
    }
    return is_one;
}
