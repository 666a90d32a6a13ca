/* SPDX-License-Identifier: MIT */
#include "snapshot/sampled.h"

#include "base/reader.h"
#include "proc/perf_regs.h"

/* In a chain, what is so large says whose frames come next (PERF_CONTEXT_MAX). */
static bool is_mark(uint64_t word)
{
    return word >= (uint64_t)PERF_CONTEXT_MAX;
}

static void read_chain(struct cairn_reader *r, struct cairn_sampled *to)
{
    bool in_kernel = false;
    uint64_t n = cairn_reader_u64(r);
    for (uint64_t i = 0; i < n && cairn_reader_more(r); i++) {
        uint64_t word = cairn_reader_u64(r);
        if (is_mark(word))
            in_kernel = word == (uint64_t)PERF_CONTEXT_KERNEL;
        else if (in_kernel && to->n_kernel < CAIRN_SAMPLED_KERNEL_MAX)
            to->kernel[to->n_kernel++] = word;
    }
}

static bool read_regs(struct cairn_reader *r, struct cairn_sampled *to)
{
    uint64_t abi = cairn_reader_u64(r);
    size_t bytes = (size_t)__builtin_popcountll(cairn_perf_regs_mask) * sizeof(uint64_t);
    if (abi != PERF_SAMPLE_REGS_ABI_32 && abi != PERF_SAMPLE_REGS_ABI_64)
        return false;
    return cairn_perf_regs_read(cairn_reader_take(r, bytes), abi == PERF_SAMPLE_REGS_ABI_32,
                                &to->regs);
}

static void read_stack(struct cairn_reader *r, struct cairn_sampled *to)
{
    uint64_t size = cairn_reader_u64(r);
    to->stack = cairn_reader_take(r, size);
    uint64_t filled = size ? cairn_reader_u64(r) : 0;
    if (filled < to->stack.size)
        to->stack.size = (size_t)filled;
}

bool cairn_sampled_read(struct cairn_span bytes, struct cairn_sampled *ret_sampled)
{
    struct cairn_reader r = cairn_reader_of(bytes, false);
    while (cairn_reader_more(&r)) {
        uint32_t type = cairn_reader_u32(&r);
        cairn_reader_skip(&r, sizeof(uint16_t));
        uint16_t size = cairn_reader_u16(&r);
        if (size < sizeof(struct perf_event_header))
            return false;
        struct cairn_span body = cairn_reader_take(&r, size - sizeof(struct perf_event_header));
        if (type != PERF_RECORD_SAMPLE)
            continue;
        struct cairn_sampled sampled = {0};
        struct cairn_reader in = cairn_reader_of(body, false);
        read_chain(&in, &sampled);
        if (!read_regs(&in, &sampled))
            return false;
        read_stack(&in, &sampled);
        if (!in.failed)
            *ret_sampled = sampled;
        return !in.failed;
    }
    return false;
}
