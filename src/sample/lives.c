/* SPDX-License-Identifier: MIT */
/* Lives: what the sampler asks of each thread and process, beside what events report of them
 * (stream/lifetime.h): it reads a parent that is older than the recording before a fork copies it.
 */
#include "base/error.h"
#include "sample/collect.h"

/* <linux/sched.h>: threads that have no user side, PF_KTHREAD and PF_IO_WORKER. */
enum { KERNEL_THREAD = 0x00200010 };

/* What is kept of a thread, in the table of the stream. */
enum { SAMPLED = 1, ASKED = 2, KERNEL = 4 };

int cairn_collect_fork(struct cairn_collect *collect, const struct cairn_stream_birth *birth)
{
    struct cairn_spaces *spaces = &collect->spaces;
    if (birth->pid != birth->parent_pid) { /* before its mappings are copied */
        struct cairn_space *parent = cairn_spaces_get(spaces, birth->parent_pid);
        if (!parent || cairn_space_know(spaces, parent) < 0)
            return CAIRN_E_NOMEM;
    }
    int code = cairn_stream_processes_fork(&spaces->all, birth);
    return code < 0 ? code : CAIRN_OK;
}

void cairn_collect_turn(struct cairn_collect *collect)
{
    cairn_stream_processes_turn(&collect->spaces.all);
    collect->pack_turns -= collect->pack_turns > 0;
}

static uint32_t known_of(const struct cairn_collect *collect, int tid)
{
    uint32_t known;
    return cairn_table_find(&collect->spaces.all.threads, (uint32_t)tid, &known) ? known : 0;
}

int cairn_collect_seen(struct cairn_collect *collect, int tid)
{
    const uint32_t known = known_of(collect, tid);
    if (known & SAMPLED)
        return CAIRN_OK;
    collect->n_threads++;
    return cairn_table_set(&collect->spaces.all.threads, (uint32_t)tid, known | SAMPLED);
}

bool cairn_collect_is_kernel_thread(struct cairn_collect *collect, int pid, int tid)
{
    struct cairn_thread_stat stat;
    uint32_t known = known_of(collect, tid);
    if (!(known & ASKED)) {
        const bool is_one =
            cairn_thread_stat(pid, tid, &stat, NULL) == CAIRN_OK && (stat.flags & KERNEL_THREAD);
        known |= ASKED | (is_one ? KERNEL : 0);
        (void)cairn_table_set(&collect->spaces.all.threads, (uint32_t)tid, known);
    }
    return known & KERNEL;
}
