/* SPDX-License-Identifier: MIT */
#include "stream/marker.h"

#include "base/alloc.h"
#include "profile/label_list.h"
#include "stream/thread.h"

int cairn_stream_marker_add(struct cairn_stream *stream, const struct cairn_stream_sample *sample,
                            uint32_t stack, uint32_t labels)
{
    const struct cairn_label_list *details = sample->event_details;
    struct cairn_label_list list = {.profile = stream->profile};
    if (stream->n_markers == CAIRN_STREAM_MARKERS_MAX) {
        stream->counts.n_markers++;
        return CAIRN_OK;
    }
    cairn_label_list_set(&list, labels);
    if (sample->cpu >= 0)
        cairn_label_list_number(&list, "cpu", sample->cpu);
    for (uint32_t i = 0; details && i < details->n && list.n < CAIRN_LABEL_LIST_MAX; i++)
        list.items[list.n++] = details->items[i];
    list.failed |= details && details->failed;
    const struct cairn_stream_marker marker = {
        .name = sample->event_name,
        .stack = stack,
        .labels = cairn_label_list_add(&list, stream->profile->label_sets[labels].cut, 0),
        .time_ns = sample->time_ns};
    if (marker.labels == UINT32_MAX ||
        cairn_grow((void **)&stream->markers, &stream->cap_markers, stream->n_markers + 1,
                   sizeof *stream->markers) < 0)
        return CAIRN_E_NOMEM;
    stream->markers[stream->n_markers++] = marker;
    return CAIRN_OK;
}

/* What makes a time one since 1970 may have come behind the events. */
int cairn_stream_markers_finish(struct cairn_stream *stream)
{
    for (size_t i = 0; i < stream->n_markers; i++) {
        const struct cairn_stream_marker *from = &stream->markers[i];
        const struct cairn_stream_row row = {
            .labels = from->labels, .cpu = -1, .time_ns = from->time_ns, .has_time = true};
        const struct cairn_profile_marker marker = {.name = from->name,
                                                    .stack = from->stack,
                                                    .labels =
                                                        cairn_stream_row_labels(stream, &row)};
        if (marker.labels == UINT32_MAX ||
            cairn_profile_add_marker(stream->profile, &marker) == UINT32_MAX)
            return CAIRN_E_NOMEM;
    }
    return CAIRN_OK;
}
