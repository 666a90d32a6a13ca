/* SPDX-License-Identifier: MIT */
#include "stream/stream.h"

#include "base/alloc.h"
#include "stream/build_id.h"
#include "stream/kernel.h"
#include "stream/marker.h"
#include "stream/row.h"
#include "stream/thread.h"

int cairn_stream_init(struct cairn_stream *stream, struct cairn_profile *profile)
{
    *stream = (struct cairn_stream){.profile = profile, .processes.load.is_bounded = true};
    return cairn_stream_name(stream, 0, 0, "swapper"); /* as the kernel calls what idles */
}

void cairn_stream_done(struct cairn_stream *stream)
{
    cairn_stream_space_clear(&stream->kernel, &stream->processes.load);
    cairn_stream_processes_done(&stream->processes);
    cairn_table_done(&stream->build_ids);
    cairn_table_done(&stream->stacks);
    cairn_table_done(&stream->labels);
    cairn_table_done(&stream->by_what);
    cairn_free(stream->rows);
    cairn_free(stream->others);
    cairn_free(stream->markers);
    *stream = (struct cairn_stream){0};
}

uint32_t cairn_stream_add_event(struct cairn_stream *stream, const char *type, const char *unit)
{
    struct cairn_stream_event event = {
        .type = cairn_profile_text(stream->profile, type, strlen(type)),
        .unit = cairn_profile_text(stream->profile, unit, strlen(unit)),
    };
    uint32_t i = 0;
    while (i < stream->n_events && stream->events[i].type != event.type)
        i++;
    if (i < stream->n_events)
        return i;
    if (i == CAIRN_STREAM_EVENTS_MAX || event.type == UINT32_MAX || event.unit == UINT32_MAX)
        return UINT32_MAX;
    stream->events[stream->n_events++] = event;
    return i;
}

static uint32_t module_of(void *ctx, struct cairn_stream_map *map)
{
    struct cairn_stream *stream = ctx;
    return cairn_stream_module(&stream->processes.modules, stream->profile, 0, map);
}

static bool push_kernel(struct cairn_stream *stream, const struct cairn_stream_sample *sample,
                        uint32_t *stack)
{
    bool ok = true;
    for (size_t i = sample->n_kernel; i-- > 0 && ok;) {
        struct cairn_stream_map *map =
            cairn_stream_space_find(&stream->kernel, sample->kernel[i] - (i > 0));
        ok = cairn_stream_push_kernel(stream->profile, sample->kernel[i], i == 0,
                                      cairn_stream_kernel_module(stream, map),
                                      map && map->is_symbol ? map->path : 0, stack);
    }
    return ok;
}

/* The same frames with the same mappings are the same stack. UINT32_MAX: memory is gone. */
static uint32_t stack_of(struct cairn_stream *stream, const struct cairn_stream_space *space,
                         const struct cairn_stream_sample *sample,
                         const struct cairn_stream_walk *user)
{
    const struct cairn_stream_sink to = {stream->profile, module_of, stream};
    const uint64_t what[] = {
        user->n ? cairn_hash_bytes(user->frames, user->n * sizeof *user->frames) : 0,
        user->n,
        sample->n_kernel ? cairn_hash_bytes(sample->kernel, sample->n_kernel * sizeof(uint64_t))
                         : 0,
        sample->n_kernel,
        user->n && space ? space->version : 0,
        sample->n_kernel ? stream->kernel.version : 0,
    };
    const uint64_t key = cairn_hash_bytes(what, sizeof what);
    uint32_t stack = 0;
    if (cairn_table_find(&stream->stacks, key, &stack))
        return stack;
    if ((stream->profile->n_modules <= 1 && space && !cairn_stream_add_program(&to, space)) ||
        !cairn_stream_push(&to, space, user->frames, user->n, &stack) ||
        !push_kernel(stream, sample, &stack) || cairn_table_set(&stream->stacks, key, stack) < 0)
        return UINT32_MAX;
    return stack;
}

/* The process of a sample as it is now; NULL: nothing was heard of it. */
static struct cairn_stream_space *space_of(struct cairn_stream *stream,
                                           const struct cairn_stream_sample *sample)
{
    struct cairn_stream_space *space = cairn_stream_processes_find(&stream->processes, sample->pid);
    if (space && space->is_leaving && (sample->user.n || sample->copy) && !sample->n_kernel)
        cairn_stream_space_drop_old(space, &stream->processes.load);
    return space;
}

/* Without a walker where the CPU was is all that is known. */
static int walk_copy(struct cairn_stream *stream, const struct cairn_stream_space *space,
                     const struct cairn_stream_copy *copy, struct cairn_stream_walk *ret_walk)
{
    if (stream->walker.walk && space)
        return stream->walker.walk(stream->walker.ctx, stream, space, copy, ret_walk);
    stream->leaf = (struct cairn_stream_frame){.va = copy->regs.ip, .exact = true};
    *ret_walk = (struct cairn_stream_walk){
        .frames = &stream->leaf, .n = 1, .cut = "the copy of the stack was not walked"};
    return CAIRN_OK;
}

static void note_time(struct cairn_stream *stream, uint64_t time_ns)
{
    if (!stream->has_times || time_ns < stream->first_ns)
        stream->first_ns = time_ns;
    if (!stream->has_times || time_ns > stream->last_ns)
        stream->last_ns = time_ns;
    stream->has_times = true;
}

int cairn_stream_sample(struct cairn_stream *stream, const struct cairn_stream_sample *sample)
{
    struct cairn_stream_row row = {
        .event = sample->event,
        .cpu = stream->keeps & CAIRN_STREAM_CPUS ? sample->cpu : -1,
        .n = 1,
        .value = sample->value,
        .time_ns = sample->time_ns,
        .has_time = sample->has_time && stream->keeps & CAIRN_STREAM_TIMES,
    };
    struct cairn_stream_walk user = sample->user;
    stream->row = UINT32_MAX;
    struct cairn_stream_space *space = space_of(stream, sample);
    if (sample->copy && walk_copy(stream, space, sample->copy, &user) < 0)
        return CAIRN_E_NOMEM;
    if (user.n + sample->n_kernel > CAIRN_PROFILE_DEPTH_MAX) {
        stream->counts.n_deep++;
        return CAIRN_OK;
    }
    row.stack = stack_of(stream, space, sample, &user);
    row.labels = cairn_stream_labels(stream, sample, user.cut);
    if (row.stack == UINT32_MAX || row.labels == UINT32_MAX ||
        cairn_stream_row_add(stream, &row, &stream->row) < 0)
        return CAIRN_E_NOMEM;
    for (size_t i = 0; i < sample->n_others; i++)
        if (cairn_stream_add_value(stream, stream->row, sample->others[i].event,
                                   sample->others[i].value) < 0)
            return CAIRN_E_NOMEM;
    if (sample->event_name && cairn_stream_marker_add(stream, sample, row.stack, row.labels) < 0)
        return CAIRN_E_NOMEM;
    stream->events[sample->event].n++;
    stream->counts.n_samples++;
    if (sample->has_time)
        note_time(stream, sample->time_ns);
    return CAIRN_OK;
}

static int add_types(struct cairn_stream *stream)
{
    struct cairn_profile *p = stream->profile;
    const struct cairn_stream_event *most = &stream->events[0];
    if (cairn_profile_add_type(p, "samples", "count") == UINT32_MAX)
        return CAIRN_E_NOMEM;
    for (uint32_t i = 0; i < stream->n_events; i++) {
        const struct cairn_stream_event *event = &stream->events[i];
        if (cairn_profile_add_type(p, cairn_strings_get(&p->strings, event->type),
                                   cairn_strings_get(&p->strings, event->unit)) == UINT32_MAX)
            return CAIRN_E_NOMEM;
        most = event->rank < most->rank || (event->rank == most->rank && event->n > most->n) ? event
                                                                                             : most;
    }
    p->default_type = stream->n_events ? most->type : 0;
    return CAIRN_OK;
}

int cairn_stream_finish(struct cairn_stream *stream)
{
    struct cairn_profile *p = stream->profile;
    int64_t values[1 + CAIRN_STREAM_EVENTS_MAX];
    int code = add_types(stream);
    for (size_t i = 0; i < stream->n_rows && code == CAIRN_OK; i++) {
        const struct cairn_stream_row *row = &stream->rows[i];
        memset(values, 0, sizeof values);
        values[0] = row->n;
        cairn_stream_row_sums(stream, row, values + 1);
        uint32_t labels = cairn_stream_row_labels(stream, row);
        if (labels == UINT32_MAX ||
            cairn_profile_add_sample(p, row->stack, labels, values) == UINT32_MAX)
            code = CAIRN_E_NOMEM;
    }
    if (code == CAIRN_OK)
        code = cairn_stream_markers_finish(stream);
    if (code == CAIRN_OK)
        code = cairn_stream_say_clock(stream);
    if (stream->has_times && stream->last_ns - stream->first_ns <= INT64_MAX)
        p->duration_ns = (int64_t)(stream->last_ns - stream->first_ns);
    cairn_stream_set_build_ids(stream);
    return code;
}
