/* SPDX-License-Identifier: MIT */
/*
 * Places: probes are attached to all places of a file by one call, and detached at once
 * (uprobe.multi, Linux 6.6). One by one each of them costs some 0.1 s to detach. libbpf of Debian
 * 12 does not know it.
 */
#ifndef CAIRN_BPF_PLACES_H
#define CAIRN_BPF_PLACES_H

#include "bpf/trace_programs.h"

struct bpf_program;

/* What a program at a probe finds by bpf_get_attach_cookie() (probe.bpf.h). */
static inline uint64_t cairn_bpf_place_cookie(const struct cairn_trace_probe_at *at, size_t number)
{
    return (uint64_t)number << 32 | (CAIRN_TRACE_CALLS + at->number);
}

/* Before it is loaded. False: this kernel attaches places one by one, as libbpf does. */
bool cairn_bpf_places_prepare(struct bpf_program *program);

/* Attaches the program to places [first, last), which are of one file and
 * all where functions return, or none. A descriptor, which ends it
 * when it is closed, or a negative errno. */
int cairn_bpf_places_attach(const struct bpf_program *program,
                            const struct cairn_trace_probe_at *places, size_t first, size_t last);

#endif /* CAIRN_BPF_PLACES_H */
