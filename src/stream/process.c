/* SPDX-License-Identifier: MIT */
#include "stream/process.h"

#include "base/alloc.h"
#include "stream/kernel.h"
#include "stream/thread.h"

struct cairn_stream_space *cairn_stream_find_process(const struct cairn_stream *stream, int pid)
{
    uint32_t index;
    return cairn_table_find(&stream->by_pid, (uint32_t)pid, &index) ? stream->spaces[index] : NULL;
}

struct cairn_stream_space *cairn_stream_process(struct cairn_stream *stream, int pid)
{
    struct cairn_stream_space *space = cairn_stream_find_process(stream, pid);
    if (space)
        return space;
    if (stream->n_spaces == CAIRN_STREAM_PROCESSES_MAX ||
        cairn_grow((void **)&stream->spaces, &stream->cap_spaces, stream->n_spaces + 1,
                   sizeof *stream->spaces) < 0)
        return NULL;
    space = cairn_alloc(1, sizeof *space);
    if (!space || cairn_table_set(&stream->threads, (uint32_t)pid, stream->n_births + 1) < 0 ||
        cairn_table_set(&stream->by_pid, (uint32_t)pid, (uint32_t)stream->n_spaces) < 0) {
        cairn_free(space);
        return NULL;
    }
    space->birth = ++stream->n_births;
    space->n_threads = 1; /* the first one, which has the process's number */
    cairn_stream_space_touch(space, &stream->load);
    stream->spaces[stream->n_spaces++] = space;
    return space;
}

int cairn_stream_map(struct cairn_stream *stream, const struct cairn_stream_mapping *mapping)
{
    if (mapping->is_kernel)
        return cairn_stream_map_kernel(stream, mapping);
    struct cairn_stream_space *space = cairn_stream_process(stream, mapping->pid);
    if (!space)
        return CAIRN_E_NOMEM;
    return cairn_stream_count(
        stream, cairn_stream_space_map(space, stream->profile, mapping, &stream->load));
}

int cairn_stream_exec(struct cairn_stream *stream, int pid)
{
    struct cairn_stream_space *space = cairn_stream_process(stream, pid);
    if (!space)
        return CAIRN_E_NOMEM;
    cairn_stream_space_leave(space);
    return CAIRN_OK;
}

/* A thread that was not heard of before counts for its process. */
static int count_thread(struct cairn_stream *stream, struct cairn_stream_space *space, int tid)
{
    uint32_t birth;
    if (cairn_table_find(&stream->threads, (uint32_t)tid, &birth) && birth == space->birth)
        return CAIRN_OK;
    space->n_threads++;
    return cairn_table_set(&stream->threads, (uint32_t)tid, space->birth);
}

int cairn_stream_fork(struct cairn_stream *stream, const struct cairn_stream_birth *birth)
{
    struct cairn_stream_space *space = cairn_stream_process(stream, birth->pid), *parent;
    if (!space)
        return CAIRN_E_NOMEM;
    int code = CAIRN_OK;
    if (birth->pid != birth->parent_pid && !birth->is_bare) {
        parent = cairn_stream_find_process(stream, birth->parent_pid);
        cairn_stream_space_clear(space, &stream->load);
        code = parent ? cairn_stream_space_copy(space, parent, &stream->load) : 1;
        stream->counts.n_mappings += code == 0;
        space->n_threads = 0; /* threads that were told of before are another process's */
        space->birth = ++stream->n_births;
    }
    if (code >= 0)
        code = count_thread(stream, space, birth->tid);
    return code < 0 ? code : cairn_stream_inherit_name(stream, birth->parent_tid, birth->tid);
}

/* The mappings go with the last thread that was heard of. */
int cairn_stream_exit(struct cairn_stream *stream, int pid, int tid)
{
    uint32_t birth;
    struct cairn_stream_space *space = cairn_stream_find_process(stream, pid);
    if (!space || !cairn_table_find(&stream->threads, (uint32_t)tid, &birth) ||
        birth != space->birth)
        return CAIRN_OK;
    cairn_table_remove(&stream->threads, (uint32_t)tid);
    if (space->n_threads && --space->n_threads == 0)
        cairn_stream_space_clear(space, &stream->load);
    return CAIRN_OK;
}
