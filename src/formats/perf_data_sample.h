/* SPDX-License-Identifier: MIT */
/* Perf data sample: one sample record taken apart by what its event's attribute says. */
#ifndef CAIRN_FORMATS_PERF_DATA_SAMPLE_H
#define CAIRN_FORMATS_PERF_DATA_SAMPLE_H

#include "formats/perf_data_attr.h"
#include "formats/perf_data_numbers.h"
#include "stream/push.h"

enum { CAIRN_PERF_DATA_CHAIN_MAX = 1 << 13 }; /* a record has at most 64 KiB */

/* Registers as the kernel wrote them: one word for each bit of the mask, the lowest one first. */
struct cairn_perf_data_regs {
    uint64_t abi; /* 0: there were none, 1: of 32 bits, 2: of 64 bits */
    uint64_t mask;
    struct cairn_span words;
};

/* Values of counters: of the event, or of all of its group. Places are in words. */
struct cairn_perf_data_readings {
    struct cairn_span words;
    size_t n;           /* values */
    size_t first, step; /* the first value, and from one to the next */
    size_t id_at;       /* a counter's number, behind its value; 0: it has none */
};

struct cairn_perf_data_sample {
    int pid, tid, cpu; /* -1: not recorded */
    uint64_t ip, time, period;
    bool has_ip, has_time, has_period;
    struct cairn_span chain; /* words: addresses and context markers */
    struct cairn_span raw;   /* of a tracepoint its record */
    struct cairn_perf_data_readings readings;
    struct cairn_perf_data_regs regs;
    bool is_stack_full;      /* all that was reserved for the copy is used: the stack may go on */
    struct cairn_span stack; /* what lies at the stack pointer; empty: it was not copied */
};

/* From here on a time says that a sample is a sum: `perf record --off-cpu` ends with those. */
static const uint64_t cairn_perf_data_sum_time = UINT64_MAX << 32;

/* `body`: behind the header. False where it ends inside of its fields. What later kernels append is
 * left alone. */
bool cairn_perf_data_sample_parse(struct cairn_span body, bool swap,
                                  const struct cairn_perf_data_attr *attr,
                                  struct cairn_perf_data_sample *ret_sample);

/* One register by its number; false: it was not recorded. */
bool cairn_perf_data_reg(const struct cairn_perf_data_regs *regs, unsigned number, bool swap,
                         uint64_t *ret_value);

/* A chain's addresses by side, without the markers between them, innermost first. */
struct cairn_perf_data_chain {
    uint64_t kernel[CAIRN_PERF_DATA_CHAIN_MAX];
    struct cairn_stream_frame user[CAIRN_PERF_DATA_CHAIN_MAX];
    size_t n_kernel, n_user;
    size_t n_other;   /* of guests and hypervisors */
    bool has_calls;   /* callers' addresses are of the call, not behind it: exact */
    bool is_deferred; /* the user part was to follow in a record of its own */
    uint64_t cookie;  /* that names it */
};

/* Without a chain the ip alone counts. */
void cairn_perf_data_chain_split(const struct cairn_perf_data_sample *sample, bool swap,
                                 enum cairn_perf_data_mode mode,
                                 struct cairn_perf_data_chain *ret_chain);

#endif /* CAIRN_FORMATS_PERF_DATA_SAMPLE_H */
