/* SPDX-License-Identifier: MIT */
/*
 * Filter: a condition on an event, as a person writes it.
 *
 *     either  = both { "||" both }
 *     both    = one { "&&" one }
 *     one     = "!" one | "(" either ")" | FIELD operator value
 *     operator: == != < <= > >= & ~     `&`: any of the bits; `~`: a pattern with * and ?
 *
 * A FIELD is an argument's name, arg0 to arg5, pid, tid, uid, cpu, comm, ret, errno or duration. A
 * value is a number (4096, 0x10, 4k, 10ms), a name (ENOENT, O_CREAT, SIGTERM) or a "text".
 */
#ifndef CAIRN_TRACE_FILTER_H
#define CAIRN_TRACE_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include <cairn/error.h>

#include "bpf/trace.h"
#include "trace/calls.h"

enum {
    CAIRN_TRACE_FILTER_NODES_MAX = 64,
    CAIRN_TRACE_FILTER_TEXT_BYTES = 128,
    CAIRN_TRACE_FILTER_DEPTH_MAX = 32
};

enum cairn_filter_kind {
    CAIRN_FILTER_COMPARE,
    CAIRN_FILTER_MATCH,
    CAIRN_FILTER_BOTH,
    CAIRN_FILTER_EITHER,
    CAIRN_FILTER_NOT
};

struct cairn_trace_filter_node {
    uint8_t kind; /* enum cairn_filter_kind */
    uint8_t field, op, width;
    uint8_t left, right; /* numbers of nodes */
    bool is_text;        /* `text` is compared */
    bool is_done;        /* the kernel evaluates it */
    int64_t value;
    char text[CAIRN_TRACE_FILTER_TEXT_BYTES];
};

struct cairn_trace_filter {
    struct cairn_trace_filter_node nodes[CAIRN_TRACE_FILTER_NODES_MAX];
    uint8_t n, root;
    bool is_empty; /* all events pass */
};

/* What a filter sees of an event. */
struct cairn_trace_filter_subject {
    const uint64_t *args;
    const char *texts[CAIRN_CALL_ARGS]; /* of arguments that are strings; NULL: not known */
    const char *comm;
    uint32_t pid, tid, uid, cpu;
    uint32_t unread; /* enum cairn_trace_unread, two bits for each argument */
    bool has_result; /* else no comparison of the next two holds */
    int64_t ret;     /* as its type has it: cairn_trace_result() */
    uint64_t duration_ns;
};

/* The width of values of a kind. */
enum cairn_trace_width cairn_trace_width_of(enum cairn_call_kind kind);

/* `call` has the arguments' names. CAIRN_E_ARG: what is wrong, with its column; `*ret_no_field`
 * then says that the call merely has no such argument. */
int cairn_trace_filter_parse(const char *text, const struct cairn_syscall *call,
                             struct cairn_trace_filter *ret_filter, bool *ret_no_field,
                             struct cairn_err *err);

/* The comparisons that the kernel can evaluate, at most `max`: all have to hold. Without `has_args`
 * it does not know the arguments: they are fields of a record. They are left out
 * of cairn_trace_filter_holds(). Returns how many. */
size_t cairn_trace_filter_terms(struct cairn_trace_filter *filter, bool has_args,
                                struct cairn_bpf_term *terms, size_t max);

/* Is anything left to evaluate here? */
bool cairn_trace_filter_has_rest(const struct cairn_trace_filter *filter);
bool cairn_trace_filter_holds(const struct cairn_trace_filter *filter,
                              const struct cairn_trace_filter_subject *subject);

/* "10ms" in nanoseconds, "4k" in units; false: it is no number. `*ret_size`: bytes read. */
bool cairn_trace_filter_number(const char *text, int64_t *ret_value, size_t *ret_size);

#endif /* CAIRN_TRACE_FILTER_H */
