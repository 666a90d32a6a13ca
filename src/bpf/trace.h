/* SPDX-License-Identifier: MIT */
/*
 * Trace: what the programs that report system calls, and the loader, have in common. Compiled into
 * both; kernel types alone.
 *
 *     event                what the program does                       map that it writes
 *     system call begins   walks the stack, or recognizes it; stores   pending: of the thread
 *                          time, arguments and texts
 *     system call returns  filters, adds to the sum, sends the event   sums: stack, call ──► sum
 *     thread exits         the same for a call that never returned
 *     probe, tracepoint    all of this at once: nothing returns
 *     function begins      as a system call                           levels, entered: likewise
 *     function returns     as a system call                           sums: stack, probe ──► sum
 *
 * Stacks are those of walk.h: a new one crosses to user space whole, and hash, thread and space
 * identify it.
 *
 * There are two maps of sums. User space turns the programs to the other one, waits for those that
 * run, and empties the one that is idle then: no event is counted in what is being deleted.
 *
 * Each CPU remembers stacks (a memo): the registers and every word that the walk read. A walk is a
 * function of these alone, so equal words are the same stack; one read and some comparisons replace
 * the walk. A memo is valid for one `cairn_trace_epoch`, which changes with any process's mappings.
 */
#ifndef CAIRN_BPF_TRACE_H
#define CAIRN_BPF_TRACE_H

#include "bpf/walk.h"

enum {
    CAIRN_TRACE_NUMBERS = 512, /* system calls of a table; those of i386 follow */
    CAIRN_TRACE_CALLS = 1024,  /* rows: 2 * CAIRN_TRACE_NUMBERS */
    CAIRN_TRACE_PROBES = 256,  /* rows behind them */
    CAIRN_TRACE_ROWS = CAIRN_TRACE_CALLS + CAIRN_TRACE_PROBES,
    CAIRN_TRACE_PLACES = 1024,  /* of USDT probes, each of which may have several */
    CAIRN_TRACE_TERMS_MAX = 12, /* comparisons of one call */
    CAIRN_TRACE_ARGS = 6,       /* in registers: of system calls and functions */
    CAIRN_TRACE_ARGS_MAX = 12,  /* of a USDT probe */
    CAIRN_TRACE_ARG_SLOTS = 16, /* a power of two, so that a mask bounds an index */
    CAIRN_TRACE_TEXTS = 2,
    CAIRN_TRACE_TEXT_BYTES = 256,
    CAIRN_TRACE_DATA_BYTES = 64,
    CAIRN_TRACE_SUMS_MAX = 1 << 16,
    CAIRN_TRACE_LEVELS = 64, /* functions under way in a thread: the kernel replaces no more return
                                addresses (MAX_URETPROBE_DEPTH) */
    CAIRN_TRACE_ENTERED_MAX = 1 << 14, /* the same of all threads */
    CAIRN_TRACE_MEMOS = 512,           /* of one CPU */
    CAIRN_TRACE_MEMO_WAYS = 4, /* stacks of one function at one depth are kept beside each other */
    CAIRN_TRACE_NO_TEXT = 0xffff /* of a text: its memory could not be read */
};

enum cairn_trace_field { /* what a term compares; ARG + i is an argument */
                         CAIRN_TRACE_ARG = 0,
                         CAIRN_TRACE_PID = 16, /* those from CAIRN_TRACE_ARGS_MAX on are not known
                                                  to the kernel's side */
                         CAIRN_TRACE_TID,
                         CAIRN_TRACE_UID,
                         CAIRN_TRACE_CPU,
                         CAIRN_TRACE_COMM,
                         CAIRN_TRACE_RET, /* this and the next are known when the call returns */
                         CAIRN_TRACE_DURATION
};

enum cairn_trace_op {
    CAIRN_TRACE_EQ,
    CAIRN_TRACE_NE,
    CAIRN_TRACE_LT,
    CAIRN_TRACE_LE,
    CAIRN_TRACE_GT,
    CAIRN_TRACE_GE,
    CAIRN_TRACE_AND /* any of these bits is set */
};

enum cairn_trace_width {
    CAIRN_TRACE_U64,
    CAIRN_TRACE_S64,
    CAIRN_TRACE_S32, /* the low half counts, with its sign */
    CAIRN_TRACE_U32
};

struct cairn_bpf_term {
    __u8 field, op, width, reserved[5];
    __u64 value[2]; /* of COMM 16 bytes, padded by NUL */
};

/* What a value of that width is, and whether it compares so. */
static inline __attribute__((always_inline)) __s64 cairn_trace_widen(__u64 value, __u32 width)
{
    if (width == CAIRN_TRACE_S32)
        return (__s32)value;
    if (width == CAIRN_TRACE_U32)
        return (__u32)value;
    return (__s64)value;
}

static inline __attribute__((always_inline)) int cairn_trace_compares(__u32 op, __u32 width,
                                                                      __s64 a, __s64 b)
{
    const int less = width == CAIRN_TRACE_U64 ? (__u64)a < (__u64)b : a < b;
    switch (op) {
    case CAIRN_TRACE_EQ:
        return a == b;
    case CAIRN_TRACE_NE:
        return a != b;
    case CAIRN_TRACE_LT:
        return less;
    case CAIRN_TRACE_LE:
        return less || a == b;
    case CAIRN_TRACE_GT:
        return !less && a != b;
    case CAIRN_TRACE_GE:
        return !less;
    default:
        return (a & b) != 0;
    }
}

enum cairn_trace_call_flag {
    CAIRN_TRACE_NO_RETURN = 1, /* the call never returns: it is reported as it begins */
    CAIRN_TRACE_EACH = 2,      /* user space filters: each event crosses, none is summed here */
    CAIRN_TRACE_SIZE = 4,      /* the result is a number of bytes */
    CAIRN_TRACE_AT_RETURN = 8, /* a probe where a function returns */
    CAIRN_TRACE_NAMES_PID = 16 /* the record names the target, at `record_pid` */
};

enum {
    CAIRN_TRACE_DATA_BY_RET = 7,
    CAIRN_TRACE_ERRORS_MAX = 4095 /* include/linux/err.h, MAX_ERRNO */
};

/* What is done with a system call; row number `nr`, of i386 CAIRN_TRACE_NUMBERS + nr. */
struct cairn_bpf_call {
    __u8 is_wanted;
    __u8 flags;                   /* enum cairn_trace_call_flag */
    __u8 text[CAIRN_TRACE_TEXTS]; /* 1 + number of an argument that is a C string; 0: none */
    __u8 data;                    /* 1 + number of an argument that points to bytes; 0: none */
    __u8 data_size;               /* 1 + number of the argument that counts them, or
                                     CAIRN_TRACE_DATA_BY_RET */
    __u8 n_terms;
    __u8 ret_width;     /* enum cairn_trace_width, of the result */
    __u16 record_bytes; /* of a tracepoint's record, in the place of the texts */
    __u16 record_pid;
    __u16 reserved2[2];
    struct cairn_bpf_term terms[CAIRN_TRACE_TERMS_MAX]; /* all hold of an event */
};

/* Where an argument of a USDT probe is. Registers are words of struct pt_regs. */
enum cairn_trace_operand {
    CAIRN_TRACE_OPERAND_NONE,
    CAIRN_TRACE_OPERAND_CONST,    /* `value` */
    CAIRN_TRACE_OPERAND_REGISTER, /* reg >> shift */
    CAIRN_TRACE_OPERAND_MEMORY    /* at reg + (index << shift) + value */
};

enum {
    CAIRN_TRACE_REG_WORDS = 64, /* a power of two, and more than a CPU has */
    CAIRN_TRACE_NO_REG = 63,    /* a word that is 0 */
    CAIRN_TRACE_USER_WORDS = 36 /* of struct pt_regs, as user space knows it: aarch64 has 34 */
};

enum cairn_trace_extend { /* what counts of an index */
                          CAIRN_TRACE_EXTEND_NOT,
                          CAIRN_TRACE_EXTEND_U32,
                          CAIRN_TRACE_EXTEND_S32
};

struct cairn_bpf_arg {
    __u8 operand;          /* enum cairn_trace_operand */
    __u8 bytes, is_signed; /* 1, 2, 4 or 8 */
    __u8 reg, index, shift;
    __u8 extend; /* enum cairn_trace_extend */
    __u8 reserved;
    __s64 value;
};

/* Why an argument has no value: two bits for each. */
enum cairn_trace_unread {
    CAIRN_TRACE_READ,
    CAIRN_TRACE_UNREAD_MEMORY,  /* its memory is not there, or not yet */
    CAIRN_TRACE_UNREAD_OPERAND, /* the kernel does not keep it, or we do not understand the note */
    CAIRN_TRACE_UNREAD_ABSENT   /* other places of the probe have it */
};

/* One place of a USDT probe. */
struct cairn_bpf_usdt {
    __u32 n_args, unread;
    struct cairn_bpf_arg args[CAIRN_TRACE_ARGS_MAX];
};

static inline __attribute__((always_inline)) __u32 cairn_trace_why_unread(__u32 unread, __u32 arg)
{
    return arg < CAIRN_TRACE_ARGS_MAX ? unread >> 2 * arg & 3 : CAIRN_TRACE_READ;
}

/* Has a system call failed? What a function returns is its own matter. */
static inline __attribute__((always_inline)) int cairn_trace_is_error(__u32 row, __s64 ret)
{
    return row < CAIRN_TRACE_CALLS && ret < 0 && ret >= -CAIRN_TRACE_ERRORS_MAX;
}

/* A result as its type has it: what filters, sums and reports see of a register. A call of a 32-bit
 * program has 32 bits of it, and an error is one whatever the type. */
static inline __attribute__((always_inline)) __s64 cairn_trace_result(__u32 row, __u32 width,
                                                                      __u64 raw)
{
    const int is_compat = row >= CAIRN_TRACE_NUMBERS && row < CAIRN_TRACE_CALLS;
    const __s64 ret = is_compat ? (__s32)raw : (__s64)raw;
    return cairn_trace_is_error(row, ret) ? ret : cairn_trace_widen(ret, width);
}

struct cairn_bpf_trace_key {
    __u64 hash; /* of the stack, as its message has it; 0: no stacks are wanted */
    __u32 tid, id;
    __u32 row, pid;
};

struct cairn_bpf_trace_sum {
    __u64 n, n_errors;
    __u64 ns, min_ns, max_ns; /* of those that returned */
    __u64 bytes;
    __u64 n_lost_returns; /* calls whose thread exited in them */
};

static inline __attribute__((always_inline)) void
cairn_trace_sum_add(struct cairn_bpf_trace_sum *to, const struct cairn_bpf_trace_sum *more)
{
    to->n += more->n;
    to->n_errors += more->n_errors;
    to->ns += more->ns;
    if (more->min_ns && (!to->min_ns || more->min_ns < to->min_ns))
        to->min_ns = more->min_ns;
    if (more->max_ns > to->max_ns)
        to->max_ns = more->max_ns;
    to->bytes += more->bytes;
    to->n_lost_returns += more->n_lost_returns;
}

/* A message: CAIRN_BPF_EVENT. `stack` has hash, tid, id and pid, the time of the event, and in
 * `value` how long the call took. */
struct cairn_bpf_event {
    struct cairn_bpf_stack stack;
    __u64 start_ns;
    __s64 ret;
    __u64 args[CAIRN_TRACE_ARGS_MAX];
    char comm[16]; /* of the thread, as the call began */
    __u32 row, cpu, uid;
    __u32 unread;          /* enum cairn_trace_unread, two bits for each argument */
    __u8 has_ret, is_gone; /* is_gone: the thread exited in the call */
    __u8 has_payload;
    __u8 late; /* a bit for each argument: what it points to was read later, and may be newer */
    __u8 has_regs;
    __u8 reserved[3];
};

/* Behind an event with has_payload. */
struct cairn_bpf_payload {
    __u16 n_text[CAIRN_TRACE_TEXTS]; /* bytes with the NUL; 0: there is none */
    __u16 n_data, reserved;
    char text[CAIRN_TRACE_TEXTS][CAIRN_TRACE_TEXT_BYTES];
    __u8 data[CAIRN_TRACE_DATA_BYTES];
};

struct cairn_bpf_payload_event {
    struct cairn_bpf_event event;
    struct cairn_bpf_payload payload;
};

enum { CAIRN_TRACE_HAS_REGS = 1, CAIRN_TRACE_LACKS_REGS }; /* the message has space for them */

/* A message with has_regs. */
struct cairn_bpf_regs_event {
    struct cairn_bpf_payload_event more;
    __u64 regs[CAIRN_TRACE_USER_WORDS]; /* of the user side: struct pt_regs as the kernel has it */
};

/* A thread's call that has begun. */
struct cairn_bpf_pending {
    __u64 start_ns; /* 0: none */
    __u64 hash;
    __u32 id, row, pid, tid;
    __u32 unread, reserved; /* as of an event */
    __u64 args[CAIRN_TRACE_ARG_SLOTS];
    char comm[16];
    struct cairn_bpf_payload payload;
    __u64 regs[CAIRN_TRACE_USER_WORDS]; /* as of a message */
    __u32 has_regs, reserved2;
    /* Local variables that do not fit on a program's stack (walk.h). */
    __s64 ret; /* what terms are compared with, and the duration, ns */
    __u64 ns;
    __u32 at_return, fails;         /* which terms are compared; one of them did not hold */
    struct cairn_bpf_trace_key key; /* the sum that this call is added to, and what is added */
    struct cairn_bpf_trace_sum one;
};

/* Functions under way in a thread, the outermost first. */
struct cairn_bpf_level {
    __u64 sp; /* as the function began */
    __u32 row;
    __u32 is_stored; /* its begin is in `entered`; 0: filtered out, or lost */
};

struct cairn_bpf_levels {
    __u32 thread; /* a number that no other thread has; 0: new */
    __u32 n;
    struct cairn_bpf_level at[CAIRN_TRACE_LEVELS];
};

struct cairn_bpf_memo {
    __u64 ip, sp, fp, lr; /* lr: 0 on x86-64 */
    __u64 mm;             /* the address space; 0: the memo is empty */
    __u64 hash;
    __u32 tid, id, epoch, reserved;
    struct cairn_bpf_words words;
};

/* What one CPU counts. n_seen = n_filtered + n_counted + n_lost + n_each + n_unreturned + pending
 * ones. */
struct cairn_bpf_trace_cpu {
    __u64 n_seen;     /* calls of targets that began */
    __u64 n_filtered; /* of them: a term did not hold */
    __u64 n_counted;  /* added to a sum */
    __u64 n_each;     /* sent to user space, which filters and counts */
    __u64 n_lost;     /* no space in `sums` or, of those to be filtered, in the ring */
    __u64 n_sent;     /* events that crossed */
    __u64 n_unsent;   /* events that were summed alone: beyond the limit */
    __u64 n_no_space; /* the same, for the ring had no space */
    __u64 n_busy;     /* calls that began while another program walked on this CPU: lost */
    __u64 n_remembered, n_walked, n_stacks_lost;
    __u64 n_unreturned;   /* functions that were left without a return */
    __u64 slice_ns, left; /* so many events may cross in this second */
    __u64 run_ns;
};

#endif /* CAIRN_BPF_TRACE_H */
