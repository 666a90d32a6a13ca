/* SPDX-License-Identifier: MIT */
#include "sample/perf_sampler.h"

#include <sys/mman.h>

#include "sample/clock.h"

int cairn_perf_sampler_open(const struct cairn_perf_opts *opts, int64_t period_ns,
                            struct cairn_perf_sampler *ret_sampler, struct cairn_err *err)
{
    ret_sampler->period_ns = period_ns;
    return cairn_perf_open(opts, &ret_sampler->events, err);
}

void cairn_perf_sampler_close(struct cairn_perf_sampler *sampler)
{
    cairn_perf_close(&sampler->events);
    cairn_perf_queue_done(&sampler->queue);
}

/* Where a record goes. */
struct intake {
    struct cairn_perf_sampler *sampler;
    struct cairn_collect *collect;
};

static int on_sample(struct intake *in, const struct cairn_perf_record *record)
{
    struct cairn_perf_sampler *sampler = in->sampler;
    if (cairn_perf_is_double(&sampler->events, record))
        return CAIRN_OK;
    if (record->pid == 0 || record->pid == UINT32_MAX) { /* already without a pid: it is ending */
        sampler->n_lost++;
        return CAIRN_OK;
    }
    cairn_perf_chain_split(record->chain, &sampler->chain);
    struct cairn_caught caught = {
        .pid = (int)record->pid,
        .tid = (int)record->tid,
        .kernel = sampler->chain.kernel,
        .n_kernel = sampler->chain.n_kernel,
        .user = {.chain = sampler->chain.user, .n_chain = sampler->chain.n_user},
        .sp = record->sp,
        .now_ns = cairn_now_ns(),
        .cpu_ns = sampler->period_ns,
    };
    if (sampler->events.frames_max > caught.n_kernel)
        caught.user.chain_max = sampler->events.frames_max - caught.n_kernel;
    if (record->stack.size >= sizeof caught.user.top)
        memcpy(caught.user.top, record->stack.data, sizeof caught.user.top);
    return cairn_collect_add(in->collect, &caught);
}

static int on_mapping(struct intake *in, const struct cairn_perf_record *record)
{
    const struct cairn_space_news news = {
        .start = record->start,
        .size = record->size,
        .off = record->off,
        .dev = (uint64_t)record->dev_major << 32 | record->dev_minor,
        .inode = record->inode,
        .build_id = record->build_id,
        .path = record->text,
    };
    if (!(record->protection & PROT_EXEC) || record->pid == UINT32_MAX)
        return CAIRN_OK;
    struct cairn_space *space = cairn_spaces_get(&in->collect->spaces, (int)record->pid);
    if (!space)
        return CAIRN_E_NOMEM;
    return cairn_space_add(&in->collect->spaces, space, &news);
}

static int on_name(struct intake *in, const struct cairn_perf_record *record)
{
    if (record->misc & PERF_RECORD_MISC_COMM_EXEC) {
        struct cairn_space *space = cairn_spaces_get(&in->collect->spaces, (int)record->pid);
        if (!space)
            return CAIRN_E_NOMEM;
        cairn_space_exec(space);
    }
    return cairn_collect_name(in->collect, (int)record->tid, record->text);
}

static int on_fork(struct intake *in, const struct cairn_perf_record *record)
{
    if (record->pid != record->parent_pid &&
        cairn_spaces_fork(&in->collect->spaces, (int)record->parent_pid, (int)record->pid) < 0)
        return CAIRN_E_NOMEM;
    return cairn_collect_inherit_name(in->collect, (int)record->parent_tid, (int)record->tid);
}

static int on_record(void *ctx, const struct cairn_perf_record *record)
{
    struct intake *in = ctx;
    switch (record->type) {
    case PERF_RECORD_SAMPLE:
        return on_sample(in, record);
    case PERF_RECORD_MMAP2:
        return on_mapping(in, record);
    case PERF_RECORD_COMM:
        return on_name(in, record);
    case PERF_RECORD_FORK:
        return on_fork(in, record);
    case PERF_RECORD_THROTTLE:
        in->sampler->n_throttled++;
        return CAIRN_OK;
    case PERF_RECORD_LOST:
    case PERF_RECORD_LOST_SAMPLES:
        in->sampler->n_lost += record->n_lost;
        return CAIRN_OK;
    default:
        return CAIRN_OK;
    }
}

int cairn_perf_sampler_take(struct cairn_perf_sampler *sampler, struct cairn_collect *collect,
                            bool all)
{
    struct intake in = {sampler, collect};
    uint64_t before_ns = cairn_now_ns();
    cairn_perf_drain(&sampler->events, &sampler->queue);
    uint64_t until_ns = all ? UINT64_MAX : sampler->drained_ns;
    sampler->drained_ns = before_ns;
    return cairn_perf_queue_flush(&sampler->queue, until_ns, on_record, &in);
}
