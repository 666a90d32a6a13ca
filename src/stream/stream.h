/* SPDX-License-Identifier: MIT */
/*
 * Stream: what was recorded of processes, event by event in the order of time, becomes a profile.
 *
 *     map, exec, name, fork, exit ─► what is mapped where, and how threads are called, now
 *     lost ─► a count
 *     sample ─► its addresses in the modules of that moment ─► stack, labels ─► rows, summed
 *     build ID ─► at any time: modules get theirs at the end
 *
 * Pure: it knows no file and no process but by what it is told. Each function that returns int
 * returns CAIRN_OK or CAIRN_E_NOMEM.
 */
#ifndef CAIRN_STREAM_STREAM_H
#define CAIRN_STREAM_STREAM_H

#include <cairn/regs.h>

#include "base/table.h"
#include "stream/lifetime.h"
#include "stream/mapping.h"
#include "stream/push.h"

enum { CAIRN_STREAM_EVENTS_MAX = 63 };

/* What of each sample is kept in its labels; else samples are summed without it. */
enum cairn_stream_keep { CAIRN_STREAM_TIMES = 1, CAIRN_STREAM_CPUS = 2 };

/* Samples that differ in nothing but what is not kept. */
struct cairn_stream_row {
    uint32_t stack, labels, event;
    int cpu; /* -1: unknown, or not kept */
    int64_t n, value;
    uint64_t time_ns; /* where has_time */
    bool has_time;    /* it is known and kept */
    uint32_t others;  /* what it adds to other events: the first one + 1; 0: none */
};

struct cairn_stream_other {
    uint32_t event, next; /* the next one + 1; 0: it is the last */
    int64_t value;
};

/* A sample that is kept as an event; its labels are without its time. */
struct cairn_stream_marker {
    uint32_t name, stack, labels;
    uint64_t time_ns;
};

/* Of the events of the lowest rank the one with most samples is shown first. */
enum cairn_stream_rank {
    CAIRN_STREAM_RANK_USUAL,
    CAIRN_STREAM_RANK_WAITS,   /* times off the CPU */
    CAIRN_STREAM_RANK_SWITCHES /* what they are made of */
};

/* What is counted. */
struct cairn_stream_event {
    uint32_t type, unit; /* texts of the profile */
    enum cairn_stream_rank rank;
    int64_t n; /* samples */
};

/* Things that could not be taken in. */
struct cairn_stream_counts {
    uint64_t n_samples;
    uint64_t n_lost;     /* events that the recorder had no room for */
    uint64_t n_mappings; /* beyond a limit */
    uint64_t n_deep;     /* samples with more frames than a profile takes */
    uint64_t n_markers;  /* events beyond a limit */
};

struct cairn_stream;
struct cairn_label_list;

/* The user side of a stack, innermost first. */
struct cairn_stream_walk {
    const struct cairn_stream_frame *frames;
    size_t n;
    const char *cut; /* why it ends early; NULL: it does not, or that is not known */
};

/* Registers and a copy of the top of a stack, which is still to be walked; all is borrowed. */
struct cairn_stream_copy {
    struct cairn_cursor_regs regs;
    uint64_t sp; /* where the copy begins */
    struct cairn_span stack;
    bool goes_on; /* the stack does, behind the copy */
};

/* Walks it in a process as that is now; what it fills is borrowed until the next call. CAIRN_OK or
 * CAIRN_E_NOMEM. */
typedef int (*cairn_stream_walk_fn)(void *ctx, const struct cairn_stream *stream,
                                    const struct cairn_stream_space *space,
                                    const struct cairn_stream_copy *copy,
                                    struct cairn_stream_walk *ret_walk);

struct cairn_stream_walker {
    cairn_stream_walk_fn walk; /* NULL: copies of stacks are not walked */
    void *ctx;
};

struct cairn_stream {
    struct cairn_profile *profile; /* borrowed; empty at first */
    struct cairn_stream_walker walker;
    unsigned keeps;                 /* of enum cairn_stream_keep */
    struct cairn_stream_frame leaf; /* of a copy that no walker walks */
    struct cairn_stream_processes processes;
    struct cairn_stream_space kernel; /* its modules; its image is all the rest */
    uint64_t kernel_text;             /* where _text lay; 0: unknown */
    uint32_t kernel_module;           /* of the profile; 0: no sample lies there yet */
    uint32_t kernel_build_id;         /* a text; 0: unknown */
    struct cairn_table build_ids;     /* text of a path -> text; 0: several */
    struct cairn_table stacks;        /* hash of addresses and a space's version -> stack */
    struct cairn_table labels;        /* hash of a thread and its names -> label set */
    struct cairn_table by_what;       /* hash of stack, labels and event -> row */
    struct cairn_stream_row *rows;
    size_t n_rows, cap_rows;
    uint32_t row; /* of the last sample; UINT32_MAX: it was not kept */
    struct cairn_stream_other *others;
    size_t n_others, cap_others;
    struct cairn_stream_marker *markers;
    size_t n_markers, cap_markers;
    struct cairn_stream_event events[CAIRN_STREAM_EVENTS_MAX];
    uint32_t n_events;
    uint64_t first_ns, last_ns; /* of the samples */
    uint64_t to_wall_ns;        /* what makes a time one since 1970; 0: unknown */
    bool has_times;
    struct cairn_stream_counts counts;
};

int cairn_stream_init(struct cairn_stream *stream, struct cairn_profile *profile);
void cairn_stream_done(struct cairn_stream *stream); /* all-zero is fine; not the profile */

/* The number of an event, new or old; UINT32_MAX: memory or the limit ends. */
uint32_t cairn_stream_add_event(struct cairn_stream *stream, const char *type, const char *unit);

int cairn_stream_map(struct cairn_stream *stream, const struct cairn_stream_mapping *mapping);

/* A function that the kernel made at run time, as of a BPF program. */
int cairn_stream_symbol(struct cairn_stream *stream, uint64_t start, uint64_t size,
                        const char *name);

/* A thread is called so from now on. */
int cairn_stream_name(struct cairn_stream *stream, int pid, int tid, const char *name);

/* Another program begins in the process. Its mappings are gone once the process is seen outside of
 * the kernel: until then a stack is still that of the call. */
int cairn_stream_exec(struct cairn_stream *stream, int pid);

int cairn_stream_fork(struct cairn_stream *stream, const struct cairn_stream_birth *birth);

int cairn_stream_exit(struct cairn_stream *stream, int pid, int tid);

/* The recorder had no room for so many events. */
void cairn_stream_lost(struct cairn_stream *stream, uint64_t n);

/* Of the file or the kernel with that path; raw bytes. */
int cairn_stream_build_id(struct cairn_stream *stream, const char *path, struct cairn_span build_id,
                          bool is_kernel);

/* What a sample adds to another event than its own. */
struct cairn_stream_value {
    uint32_t event;
    int64_t value;
};

/* Of the kernel's side the first address is exact, the others are return addresses. */
struct cairn_stream_sample {
    int pid, tid; /* -1: unknown */
    uint32_t event;
    int64_t value;       /* what it stands for */
    const char *off_cpu; /* why the thread leaves its CPU; NULL: it does not, or that is unknown */
    const struct cairn_stream_value *others;
    size_t n_others;
    uint64_t time_ns;
    bool has_time;
    int cpu; /* -1: unknown */
    const uint64_t *kernel;
    size_t n_kernel;
    struct cairn_stream_walk user;
    const struct cairn_stream_copy *copy; /* in place of `user`; NULL: none */
    uint32_t event_name; /* a text: the sample is kept as an event, too; 0: it is not */
    const struct cairn_label_list *event_details; /* NULL: none */
};
int cairn_stream_sample(struct cairn_stream *stream, const struct cairn_stream_sample *sample);

/* What a row adds to another event than its own. */
int cairn_stream_add_value(struct cairn_stream *stream, uint32_t row, uint32_t event,
                           int64_t value);

/* After the last event: value types, samples, build IDs and the duration of the profile. */
int cairn_stream_finish(struct cairn_stream *stream);

#endif /* CAIRN_STREAM_STREAM_H */
