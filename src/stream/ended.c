/* SPDX-License-Identifier: MIT */
#include "stream/ended.h"

#include <string.h>

#include <cairn/error.h>

#include "base/alloc.h"

struct cairn_ended_thread {
    uint32_t tid, turn;
};

void cairn_ended_done(struct cairn_ended *ended)
{
    cairn_table_done(&ended->by_tid);
    cairn_free(ended->threads);
    *ended = (struct cairn_ended){0};
}

int cairn_ended_add(struct cairn_ended *ended, uint32_t tid)
{
    if (cairn_grow((void **)&ended->threads, &ended->cap, ended->n + 1, sizeof *ended->threads) <
            0 ||
        cairn_table_set(&ended->by_tid, tid, ended->turn) < 0)
        return CAIRN_E_NOMEM;
    ended->threads[ended->n++] = (struct cairn_ended_thread){tid, ended->turn};
    return CAIRN_OK;
}

bool cairn_ended_born(struct cairn_ended *ended, uint32_t tid)
{
    uint32_t turn;
    bool had_ended = cairn_table_find(&ended->by_tid, tid, &turn);
    if (had_ended)
        cairn_table_remove(&ended->by_tid, tid);
    return had_ended;
}

bool cairn_ended_is_over(const struct cairn_ended *ended, uint32_t tid)
{
    uint32_t turn;
    return cairn_table_find(&ended->by_tid, tid, &turn) && turn != ended->turn;
}

void cairn_ended_turn(struct cairn_ended *ended, cairn_ended_fn fn, void *ctx)
{
    size_t n = 0;
    uint32_t turn;
    for (; n < ended->n && ended->threads[n].turn != ended->turn; n++) {
        const struct cairn_ended_thread *thread = &ended->threads[n];
        if (!cairn_table_find(&ended->by_tid, thread->tid, &turn) || turn != thread->turn)
            continue;
        cairn_table_remove(&ended->by_tid, thread->tid);
        fn(ctx, thread->tid);
    }
    ended->n -= n;
    if (n)
        memmove(ended->threads, ended->threads + n, ended->n * sizeof *ended->threads);
    ended->turn = (ended->turn + 1) % UINT32_MAX;
}
