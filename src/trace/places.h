/* SPDX-License-Identifier: MIT */
/*
 * Places: what the events of a spec are attached to. A probe has one place, a static one several.
 * Those of breakpoints in a command have no address before it has called execve(2): they are late.
 */
#ifndef CAIRN_TRACE_PLACES_H
#define CAIRN_TRACE_PLACES_H

#include "trace/spec.h"

struct cairn_places {
    struct cairn_trace_probe_at *items; /* what they point to is the spec's */
    size_t n;
    bool has_entered; /* the command's execve(2) has ended */
};

/* Of the probes that are wanted. CAIRN_E_LIMIT, CAIRN_E_NOMEM. */
int cairn_places_list(const struct cairn_spec *spec, struct cairn_places *ret_places,
                      struct cairn_err *err);
void cairn_places_done(struct cairn_places *places);

bool cairn_places_has_late(const struct cairn_places *places);

/* Attaches late ones in the command `pid`, which is held: at first behind its execve(2), then at
 * its entry, when the loader has mapped its libraries. CAIRN_SAMPLER_AT_ENTRY: hold it there, too.
 */
int cairn_places_attach_late(struct cairn_places *places, struct cairn_spec *spec,
                             struct cairn_trace_programs *programs, int pid, struct cairn_err *err);

/* Says which processes with breakpoints have called execve(2): their new programs had none. */
void cairn_places_say_replaced(const struct cairn_places *places,
                               const struct cairn_trace_programs *programs,
                               struct cairn_buffer *out);

#endif /* CAIRN_TRACE_PLACES_H */
