/* SPDX-License-Identifier: MIT */
/*
 * One record of a perf ring buffer, taken apart. Pure: bytes in, numbers and borrowed spans out.
 * Reads what sample/ and snapshot/ ask for and nothing else; signal-safe.
 */
#ifndef CAIRN_PROC_PERF_RECORD_H
#define CAIRN_PROC_PERF_RECORD_H

#include <linux/perf_event.h>

#include <cairn/regs.h>

#include "base/span.h"

enum {
    CAIRN_PERF_BUILD_ID_MAX = 20,
    CAIRN_PERF_CHAIN_MAX = 1 << 13, /* addresses; 64 KiB are the most that a record can hold */
};

/* What every sample carries. PERF_SAMPLE_REGS_USER with cairn_perf_regs_mask may be added, and
 * PERF_SAMPLE_STACK_USER behind it. The parser is written for exactly this, with
 * attr.sample_id_all. */
#define CAIRN_PERF_SAMPLE_TYPE                                                                     \
    ((uint64_t)(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |     \
                PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN))

struct cairn_perf_record {
    uint32_t type; /* enum perf_event_type; one that we do not read has only `type` and `misc` */
    uint16_t misc; /* PERF_RECORD_MISC_* */
    uint32_t pid, tid;
    uint32_t parent_pid, parent_tid; /* FORK, EXIT */
    uint64_t time_ns;                /* CLOCK_MONOTONIC */
    uint64_t id;                     /* of the event that we opened, also where it was inherited */
    uint64_t ip;                     /* SAMPLE */
    uint64_t period;                 /* SAMPLE: events since the last one */
    struct cairn_span chain;         /* SAMPLE: 64-bit addresses and context marks, unaligned */
    struct cairn_span raw;           /* SAMPLE: a tracepoint's record, and what pads it */
    struct cairn_cursor_regs regs;   /* SAMPLE: of the user side; none known: it has none */
    struct cairn_span stack;         /* SAMPLE: what lies at their sp; empty: not told */
    uint64_t start, size, off;       /* MMAP2: va, bytes, offset in the file */
    uint32_t protection;             /* MMAP2: PROT_EXEC ... */
    uint32_t dev_major, dev_minor;   /* MMAP2 without a build ID */
    uint64_t inode;
    struct cairn_span build_id; /* MMAP2 with one */
    const char *text;           /* MMAP2: path; COMM: name; NUL-terminated */
    uint64_t n_lost;            /* LOST, LOST_SAMPLES */
};

/* The next record of `bytes` from `*pos` on, with its header. 1: there it is; 0: the end; -1: its
 * size is impossible, nothing that follows can be trusted. */
int cairn_perf_record_next(struct cairn_span bytes, size_t *pos, struct cairn_span *ret_record);

/* False where the record is shorter than its type demands. `has_raw`: each sample has
 * PERF_SAMPLE_RAW too. */
bool cairn_perf_record_parse(struct cairn_span record, bool has_raw,
                             struct cairn_perf_record *ret_record);

/* What of a sample's chain is of one context, PERF_CONTEXT_KERNEL or _USER; returns how much. */
size_t cairn_perf_chain_part(struct cairn_span chain, enum perf_callchain_context whose,
                             uint64_t *ret_addresses, size_t max);

/* The kernel's and the user's part, without the marks between them. */
struct cairn_perf_chain {
    uint64_t kernel[CAIRN_PERF_CHAIN_MAX], user[CAIRN_PERF_CHAIN_MAX];
    size_t n_kernel, n_user;
};
void cairn_perf_chain_split(struct cairn_span chain, struct cairn_perf_chain *ret_chain);

#endif /* CAIRN_PROC_PERF_RECORD_H */
