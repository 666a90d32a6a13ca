/* SPDX-License-Identifier: MIT */
/* Which blocks a filter keeps: those of a range of epochs. */
#include <string.h>

#include "base/error.h"
#include "watch/heap.h"

uint64_t cairn_heap_end_ns(const struct cairn_heap_state *state)
{
    struct cairn_heap_epoch epoch;
    if (state->read_ns)
        return state->read_ns;
    return cairn_heap_view_epoch(&state->view, state->view.header.epoch, &epoch) ? epoch.begin_ns
                                                                                 : 0;
}

/* How long before the end an epoch began. */
uint64_t cairn_heap_age(const struct cairn_heap_state *state, uint32_t number)
{
    struct cairn_heap_epoch epoch;
    uint64_t end = cairn_heap_end_ns(state);
    if (state->view.header.flags & CAIRN_HEAP_UNSEEN)
        return UINT64_MAX;
    if (!cairn_heap_view_epoch(&state->view, number, &epoch) || epoch.begin_ns > end)
        return 0;
    return end - epoch.begin_ns;
}

/* The epoch that mark `mark` began; false: there is none. */
static bool epoch_of_mark(const struct cairn_heap_state *state, uint32_t mark, uint32_t *ret_epoch)
{
    struct cairn_heap_epoch epoch;
    for (uint32_t i = 0; i <= state->view.header.epoch && i < CAIRN_HEAP_MAX_EPOCHS; i++)
        if (cairn_heap_view_epoch(&state->view, i, &epoch) && epoch.mark == mark) {
            *ret_epoch = i;
            return true;
        }
    return false;
}

/* The last epoch that began, and so ended, at least `age` ago. A block of it may be younger by as
 * long as the epoch lasted; so the next one must have begun by then. False: none. */
static bool last_older(const struct cairn_heap_state *state, uint64_t age, uint32_t *ret_epoch)
{
    bool found = false;
    for (uint32_t i = 0; i < state->view.header.epoch && i + 1 < CAIRN_HEAP_MAX_EPOCHS; i++) {
        struct cairn_heap_epoch next;
        if (!cairn_heap_view_epoch(&state->view, i + 1, &next) ||
            cairn_heap_age(state, i + 1) < age)
            break;
        *ret_epoch = i;
        found = true;
    }
    return found;
}

static int fail_mark(const struct cairn_heap_state *state, uint32_t mark, struct cairn_err *err)
{
    cairn_fail(err, CAIRN_E_ARG, "there is no mark %u in process %u", mark, state->view.header.pid);
    cairn_hint(err, "its last mark is number %u; cairn heap mark %u sets one",
               state->view.header.n_marks, state->view.header.pid);
    return CAIRN_E_ARG;
}

int cairn_heap_select_epochs(const struct cairn_heap_state *state,
                             const struct cairn_heap_filter *filter,
                             struct cairn_heap_select *ret_select, struct cairn_err *err)
{
    struct cairn_heap_select select = CAIRN_HEAP_ALL;
    uint32_t epoch = 0;
    if (filter->older_than_ns && (state->view.header.flags & CAIRN_HEAP_UNSEEN))
        return cairn_fail(err, CAIRN_E_ARG, "how old blocks are is not known: no tracker saw them");
    if (filter->since_mark && !epoch_of_mark(state, filter->since_mark, &select.first))
        return fail_mark(state, filter->since_mark, err);
    if (filter->before_mark && !epoch_of_mark(state, filter->before_mark, &epoch))
        return fail_mark(state, filter->before_mark, err);
    if (filter->before_mark)
        select.last = epoch - 1; /* the first epoch is no mark's */
    if (filter->older_than_ns && !last_older(state, filter->older_than_ns, &epoch))
        select = (struct cairn_heap_select){1, 0};
    else if (filter->older_than_ns && epoch < select.last)
        select.last = epoch;
    *ret_select = select;
    return CAIRN_OK;
}

struct cairn_heap_filter cairn_heap_filter_of(const struct cairn_heap_filter *filter)
{
    struct cairn_heap_filter all = {.size = sizeof all};
    if (filter)
        memcpy(&all, filter, filter->size < sizeof all ? filter->size : sizeof all);
    return all;
}

bool cairn_heap_filter_is_all(const struct cairn_heap_filter *filter)
{
    return !filter->older_than_ns && !filter->since_mark && !filter->before_mark &&
           !filter->min_bytes;
}
