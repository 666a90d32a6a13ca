/* SPDX-License-Identifier: MIT */
/*
 * Probe: an event that is no system call, as a person writes it, and where that is.
 *
 *     uprobe:FILE:FUNC[+OFF]    uretprobe:FILE:FUNC    a function of a program or library, or a
 *                                                      pattern of several
 *     uprobe+uretprobe:FILE:FUNC                       both: one event when it has returned, with
 *                                                      its duration and the arguments of its begin
 *     uprobe:FILE:SOURCE:LINE                          a line of source
 *     kprobe:FUNC[+OFF]         kretprobe:FUNC         a function of the kernel; and
 *     kprobe+kretprobe:FUNC
 *     tracepoint:GROUP:NAME                            both may be patterns
 *     usdt:[FILE:]PROVIDER:NAME                        static probes; likewise, and of all places
 *     mem:[FILE:]SYMBOL[+OFF][/LEN]:w                  an access to memory (memory.h)
 */
#ifndef CAIRN_TRACE_PROBE_H
#define CAIRN_TRACE_PROBE_H

#include <cairn/error.h>

#include "bpf/trace_programs.h"
#include "symbol/named_arguments.h"
#include "trace/calls.h"
#include "trace/fields.h"
#include "trace/usdt.h"

struct cairn_probe {
    struct cairn_trace_probe_at at; /* its texts are `texts` */
    char *event;                    /* "uprobe:libc.so.6:fopen" */
    char *path, *name;
    struct cairn_syscall call; /* arguments, or fields; its name is `event` */
    struct cairn_fields fields;
    struct cairn_named_arguments named; /* which `call` points to */
    const char *how; /* static: what is attached, and what a hit costs; "" of USDT, whose places
                        say it */
    struct cairn_usdt_place *places; /* of USDT; of a function, whose copies have offsets alone */
    size_t n_places;
    char *pattern;    /* of which this is the first event, as the user wrote it; NULL: of none */
    bool is_line;     /* of source */
    size_t n_matched; /* events of it, one behind the other */
    /* Of a breakpoint in a command: bytes behind its program's first mapping; of a library's
     * variable behind its begin. */
    uint64_t rel;
    bool is_of_library;
};

struct cairn_probes {
    struct cairn_probe *items; /* CAIRN_TRACE_PROBES */
    size_t n;
    const int *pids; /* in whose mappings libraries are looked for; borrowed */
    size_t n_pids;
    const char *command; /* that will be started; NULL: none */
};

/* Does the text begin with a kind of this file? */
bool cairn_probe_is(const char *text);

/* Is it a kind of two probes with one event? */
bool cairn_probe_is_pair(const char *event);

/* Adds what one text means: of a pattern several. CAIRN_E_ARG, CAIRN_E_MISSING: no such file or
 * function. CAIRN_E_LIMIT. */
int cairn_probes_add(struct cairn_probes *probes, const char *text, struct cairn_err *err);
void cairn_probes_done(struct cairn_probes *probes);

/* For the files that know a kind: a probe of the kind of `event`, with copies of the texts. NULL:
 * memory is gone, or there are too many. */
struct cairn_probe *cairn_probes_append(struct cairn_probes *probes, const char *event,
                                        const char *path, const char *name, struct cairn_err *err);

/* "name+0x10": cuts it behind the name. CAIRN_E_ARG. */
int cairn_probe_cut_offset(const char *event, char *name, uint64_t *ret_off, struct cairn_err *err);

/* "uprobe". */
const char *cairn_probe_kind(const struct cairn_probe *probe);

/* Calls `fn` with the name of each tracepoint that matches; a nonzero answer stops. */
int cairn_probe_list_points(const char *group, const char *name,
                            int (*fn)(void *ctx, const char *group, const char *name), void *ctx);

#endif /* CAIRN_TRACE_PROBE_H */
