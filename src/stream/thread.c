/* SPDX-License-Identifier: MIT */
#include "stream/thread.h"

#include <inttypes.h>
#include <stdio.h>

#include "profile/label_list.h"
#include "stream/name.h"

static uint32_t text_of(struct cairn_stream *stream, const char *text)
{
    return cairn_profile_text(stream->profile, text, strlen(text));
}

int cairn_stream_name(struct cairn_stream *stream, int pid, int tid, const char *name)
{
    (void)pid;
    return cairn_stream_set_name(&stream->processes.names, stream->profile, tid, name);
}

/* The text of a thread's name; 0: unknown. */
static uint32_t name_of(const struct cairn_stream *stream, int tid)
{
    uint32_t text;
    return tid >= 0 && cairn_table_find(&stream->processes.names, (uint32_t)tid, &text) ? text : 0;
}

/* `texts`: names of the process and the thread, and why the stack ends early. */
static uint32_t make_set(struct cairn_stream *stream, int pid, int tid, const uint32_t texts[3])
{
    struct cairn_label_list list = {.profile = stream->profile};
    if (pid >= 0)
        cairn_label_list_number(&list, "pid", pid);
    if (tid >= 0)
        cairn_label_list_number(&list, "tid", tid);
    cairn_label_list_string(&list, "process", texts[0]);
    cairn_label_list_string(&list, "thread", texts[1]);
    return cairn_label_list_add(&list, texts[2], 0);
}

uint32_t cairn_stream_labels(struct cairn_stream *stream, int pid, int tid, const char *cut)
{
    const uint32_t texts[] = {name_of(stream, pid), name_of(stream, tid),
                              cut ? text_of(stream, cut) : 0};
    const uint64_t what[] = {(uint64_t)(uint32_t)pid << 32 | (uint32_t)tid,
                             (uint64_t)texts[0] << 32 | texts[1], texts[2]};
    const uint64_t key = cairn_hash_bytes(what, sizeof what);
    uint32_t set;
    if (cairn_table_find(&stream->labels, key, &set))
        return set;
    set = make_set(stream, pid, tid, texts);
    return set != UINT32_MAX && cairn_table_set(&stream->labels, key, set) < 0 ? UINT32_MAX : set;
}

uint32_t cairn_stream_row_labels(struct cairn_stream *stream, const struct cairn_stream_row *row)
{
    struct cairn_label_list list = {.profile = stream->profile};
    uint64_t ns = row->has_time ? row->time_ns + stream->to_wall_ns : 0;
    if (row->cpu < 0 && !row->has_time)
        return row->labels;
    cairn_label_list_set(&list, row->labels);
    if (row->cpu >= 0)
        cairn_label_list_number(&list, "cpu", row->cpu);
    return cairn_label_list_add(&list, stream->profile->label_sets[row->labels].cut,
                                ns > INT64_MAX ? INT64_MAX : (int64_t)ns);
}

int cairn_stream_say_clock(struct cairn_stream *stream)
{
    char text[64];
    if (!stream->to_wall_ns || !(stream->keeps & CAIRN_STREAM_TIMES))
        return CAIRN_OK;
    snprintf(text, sizeof text, "%" PRId64 " ns", (int64_t)stream->to_wall_ns);
    return cairn_profile_add_note(stream->profile, CAIRN_NOTE_CLOCK, text);
}
