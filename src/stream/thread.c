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

/* Texts of the profile: names of the process and the thread, why the stack ends early, and why the
 * thread leaves its CPU. */
enum { PROCESS, THREAD, CUT, OFF_CPU, N_TEXTS };

static uint32_t make_set(struct cairn_stream *stream, int pid, int tid,
                         const uint32_t texts[N_TEXTS])
{
    struct cairn_label_list list = {.profile = stream->profile};
    if (pid >= 0)
        cairn_label_list_number(&list, "pid", pid);
    if (tid >= 0)
        cairn_label_list_number(&list, "tid", tid);
    cairn_label_list_string(&list, "process", texts[PROCESS]);
    cairn_label_list_string(&list, "thread", texts[THREAD]);
    cairn_label_list_string(&list, "off_cpu", texts[OFF_CPU]);
    return cairn_label_list_add(&list, texts[CUT], 0);
}

uint32_t cairn_stream_labels(struct cairn_stream *stream, const struct cairn_stream_sample *sample,
                             const char *cut)
{
    const uint32_t texts[N_TEXTS] = {
        [PROCESS] = name_of(stream, sample->pid),
        [THREAD] = name_of(stream, sample->tid),
        [CUT] = cut ? text_of(stream, cut) : 0,
        [OFF_CPU] = sample->off_cpu ? text_of(stream, sample->off_cpu) : 0,
    };
    const uint64_t what[] = {(uint64_t)(uint32_t)sample->pid << 32 | (uint32_t)sample->tid,
                             (uint64_t)texts[PROCESS] << 32 | texts[THREAD],
                             (uint64_t)texts[CUT] << 32 | texts[OFF_CPU]};
    const uint64_t key = cairn_hash_bytes(what, sizeof what);
    uint32_t set;
    if (cairn_table_find(&stream->labels, key, &set))
        return set;
    set = make_set(stream, sample->pid, sample->tid, texts);
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
