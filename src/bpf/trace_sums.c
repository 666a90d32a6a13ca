/* SPDX-License-Identifier: MIT */
/* Sums of traced events, taken out of the kernel while programs add to them. See trace.h. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "base/alloc.h"
#include "bpf/trace_programs.h"
#include "bpf/walk.skel.h"

enum { BATCH = 1024 };

struct batch {
    struct cairn_bpf_trace_key keys[BATCH];
    struct cairn_bpf_trace_sum sums[BATCH];
};

/* Of a side that no program adds to. */
static int empty_side(int fd, struct batch *batch, cairn_trace_sum_fn fn, void *ctx)
{
    uint64_t at = 0;
    int result = 0, code = CAIRN_OK;
    for (bool is_first = true; result == 0 && code >= 0; is_first = false) {
        uint32_t count = BATCH;
        result = bpf_map_lookup_and_delete_batch(fd, is_first ? NULL : &at, &at, batch->keys,
                                                 batch->sums, &count, NULL);
        if (result < 0 && result != -ENOENT)
            return CAIRN_OK;
        for (uint32_t i = 0; i < count && code >= 0; i++)
            code = fn(ctx, &batch->keys[i], &batch->sums[i]);
    }
    return code < 0 ? code : CAIRN_OK;
}

/* Programs that run now have ended when this returns. */
static bool wait_for_programs(const struct cairn_trace_programs *trace)
{
    const uint32_t zero = 0;
    const int inner = bpf_map__fd(trace->program->maps.trace_fence_inner);
    return bpf_map_update_elem(bpf_map__fd(trace->program->maps.trace_fence), &zero, &inner,
                               BPF_ANY) == 0;
}

static int side_fd(const struct cairn_trace_programs *trace, uint32_t side)
{
    return bpf_map__fd(side ? trace->program->maps.trace_sums_other
                            : trace->program->maps.trace_sums);
}

static int turn_sides(struct cairn_trace_programs *trace, struct batch *batch,
                      cairn_trace_sum_fn fn, void *ctx)
{
    const uint32_t active = trace->program->bss->cairn_trace_side;
    int code =
        empty_side(side_fd(trace, !active), batch, fn, ctx); /* where the wait failed before */
    if (code < 0)
        return code;
    trace->program->bss->cairn_trace_fresh = 0;
    __atomic_store_n(&trace->program->bss->cairn_trace_side, !active, __ATOMIC_SEQ_CST);
    return wait_for_programs(trace) ? empty_side(side_fd(trace, active), batch, fn, ctx) : CAIRN_OK;
}

int cairn_trace_programs_sums(struct cairn_trace_programs *trace, cairn_trace_sum_fn fn, void *ctx)
{
    struct batch *batch = cairn_alloc(1, sizeof *batch);
    if (!batch)
        return CAIRN_E_NOMEM;
    int code = turn_sides(trace, batch, fn, ctx);
    cairn_free(batch);
    return code;
}

bool cairn_trace_programs_are_crowded(const struct cairn_trace_programs *trace)
{
    return trace->program->bss->cairn_trace_fresh > CAIRN_TRACE_SUMS_MAX / 4;
}
