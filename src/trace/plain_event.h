/* SPDX-License-Identifier: MIT */
/* Plain event: one call of a stopped thread, as the programs in the kernel would report it. */
#ifndef CAIRN_TRACE_PLAIN_EVENT_H
#define CAIRN_TRACE_PLAIN_EVENT_H

#include <cairn/regs.h>

#include "bpf/trace.h"
#include "proc/call_stops.h"
#include "sample/collect.h"
#include "target/copied.h"

/* What is kept of a thread, and of the call that it is in. */
struct cairn_plain_pending {
    struct cairn_bpf_payload_event event;
    struct cairn_cursor_regs regs;
    bool has_regs;
    struct cairn_collected stack;
    bool is_event;      /* the call is traced */
    bool is_complete;   /* it is to be reported */
    bool maps, renames; /* it may map code, or give the thread a name */
    uint32_t tid;       /* whose it is now: execve(2) may have changed it within the call */
    uint64_t n_gaps;    /* losses before it began, where losses are told of */
    uint64_t looked_ns; /* when name and user were read; 0: never */
    char comm[16];
    uint32_t uid;
};

enum { CAIRN_PLAIN_NO_ROW = UINT32_MAX };

/* The row of a call; CAIRN_PLAIN_NO_ROW: it is in no table. `*ret_is_x32`: of x32. */
uint32_t cairn_plain_row(const struct cairn_stopped_call *call, bool *ret_is_x32);

/* Does it map code, or rename its thread? */
bool cairn_plain_maps(const struct cairn_stopped_call *call);
bool cairn_plain_renames(const struct cairn_stopped_call *call);

/* The event of a call that begins; name and user are those of `pending`. */
void cairn_plain_begin(struct cairn_plain_pending *pending, const struct cairn_call_thread *thread,
                       const struct cairn_stopped_call *call, uint32_t row);

/* Where arguments point to. */
struct cairn_plain_memory {
    int tid;
    struct cairn_target_copy copy; /* of the moment of the event; empty: there is none */
    bool is_running;               /* the rest is read while the thread runs on */
};

/* Texts and bytes that arguments point to; at its end what was not there before. */
void cairn_plain_take(struct cairn_plain_pending *pending, const struct cairn_bpf_call *row,
                      const struct cairn_plain_memory *memory, bool at_end);

/* Do the row's terms hold: those that are known where the call begins, or where it ends? */
bool cairn_plain_holds(const struct cairn_plain_pending *pending, const struct cairn_bpf_call *row,
                       bool at_end);

#endif /* CAIRN_TRACE_PLAIN_EVENT_H */
