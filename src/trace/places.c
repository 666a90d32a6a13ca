/* SPDX-License-Identifier: MIT */
#include "trace/places.h"

#include "base/alloc.h"
#include "base/error.h"
#include "sample/sampler_state.h"
#include "trace/memory.h"

static void add(struct cairn_places *places, const struct cairn_probe *probe, bool at_end)
{
    const size_t first = places->n;
    for (size_t i = 0; i < probe->n_places; i++) {
        struct cairn_trace_probe_at *at = &places->items[places->n++];
        *at = probe->at;
        at->off = probe->places[i].off;
        at->semaphore_off = probe->places[i].semaphore_off;
        at->args = probe->at.place == CAIRN_TRACE_STATIC ? &probe->places[i].args : NULL;
    }
    if (!probe->places)
        places->items[places->n++] = probe->at;
    for (size_t i = first; at_end && i < places->n; i++) {
        struct cairn_trace_probe_at *at = &places->items[i];
        at->at_return = true;
        at->place = at->place == CAIRN_TRACE_BEGIN ? CAIRN_TRACE_END : CAIRN_TRACE_KERNEL_END;
    }
}

static int add_all(const struct cairn_spec *spec, struct cairn_places *places, bool at_end,
                   struct cairn_err *err)
{
    for (size_t i = 0; i < spec->probes.n; i++) {
        const struct cairn_probe *probe = &spec->probes.items[i];
        const size_t n = probe->places ? probe->n_places : 1;
        if (!spec->calls[CAIRN_TRACE_CALLS + i].is_wanted ||
            (at_end && !cairn_trace_is_pair(probe->at.place)))
            continue;
        if (n > CAIRN_TRACE_PLACES - places->n)
            return cairn_fail(err, CAIRN_E_LIMIT, "%s: more than %d places in all", probe->event,
                              CAIRN_TRACE_PLACES);
        add(places, probe, at_end);
    }
    return CAIRN_OK;
}

int cairn_places_list(const struct cairn_spec *spec, struct cairn_places *ret_places,
                      struct cairn_err *err)
{
    *ret_places =
        (struct cairn_places){.items = cairn_alloc(CAIRN_TRACE_PLACES, sizeof *ret_places->items)};
    if (!ret_places->items)
        return cairn_fail_memory(err);
    /* Returns first: a function that begins between the two is not seen at all. */
    int code = add_all(spec, ret_places, true, err);
    return code == CAIRN_OK ? add_all(spec, ret_places, false, err) : code;
}

void cairn_places_done(struct cairn_places *places)
{
    cairn_free(places->items);
    *places = (struct cairn_places){0};
}

static bool is_late(const struct cairn_trace_probe_at *at)
{
    return at->place == CAIRN_TRACE_MEMORY && !at->memory.va;
}

bool cairn_places_has_late(const struct cairn_places *places)
{
    for (size_t i = 0; i < places->n; i++)
        if (is_late(&places->items[i]))
            return true;
    return false;
}

int cairn_places_attach_late(struct cairn_places *places, struct cairn_spec *spec,
                             struct cairn_trace_programs *programs, int pid, struct cairn_err *err)
{
    const bool is_entry = places->has_entered;
    int code = CAIRN_OK;
    places->has_entered = true;
    for (size_t i = 0; i < places->n && code == CAIRN_OK; i++) {
        struct cairn_trace_probe_at *at = &places->items[i];
        struct cairn_probe *probe = &spec->probes.items[at->number];
        if (!is_late(at) || (probe->is_of_library && !is_entry))
            continue;
        code = cairn_memory_place(probe, pid, err);
        at->memory = probe->at.memory;
        if (code == CAIRN_OK)
            code = cairn_trace_memory_attach(programs, at, err);
    }
    return code == CAIRN_OK && cairn_places_has_late(places) ? CAIRN_SAMPLER_AT_ENTRY : code;
}

void cairn_places_say_replaced(const struct cairn_places *places,
                               const struct cairn_trace_programs *programs,
                               struct cairn_buffer *out)
{
    int said = 0;
    for (size_t i = 0; i < places->n; i++) {
        const int pid = places->items[i].memory.pid;
        if (places->items[i].place != CAIRN_TRACE_MEMORY || pid == said ||
            !cairn_trace_memory_is_replaced(programs, pid))
            continue;
        cairn_buffer_printf(out, "; pid %d has called execve: its new program was not watched",
                            pid);
        said = pid;
    }
}
