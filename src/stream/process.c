/* SPDX-License-Identifier: MIT */
#include "stream/kernel.h"
#include "stream/name.h"

/* The space of a process, new or old; NULL: memory or the limit ends. */
static struct cairn_stream_space *process_of(struct cairn_stream *stream, int pid)
{
    struct cairn_stream_space *space = cairn_stream_processes_find(&stream->processes, pid);
    if (space || stream->processes.n == CAIRN_STREAM_PROCESSES_MAX ||
        cairn_table_set(&stream->threads, (uint32_t)pid, stream->n_births + 1) < 0)
        return space;
    space = cairn_stream_processes_add(&stream->processes, pid);
    if (!space)
        return NULL;
    space->birth = ++stream->n_births;
    space->n_threads = 1; /* the first one, which has the process's number */
    return space;
}

int cairn_stream_map(struct cairn_stream *stream, const struct cairn_stream_mapping *mapping)
{
    if (mapping->is_kernel)
        return cairn_stream_map_kernel(stream, mapping);
    struct cairn_stream_space *space = process_of(stream, mapping->pid);
    if (!space)
        return CAIRN_E_NOMEM;
    return cairn_stream_count(
        stream, cairn_stream_space_map(space, stream->profile, mapping, &stream->processes.load));
}

int cairn_stream_exec(struct cairn_stream *stream, int pid)
{
    struct cairn_stream_space *space = process_of(stream, pid);
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
    struct cairn_stream_space *space = process_of(stream, birth->pid), *parent;
    if (!space)
        return CAIRN_E_NOMEM;
    int code = CAIRN_OK;
    if (birth->pid != birth->parent_pid && !birth->is_bare) {
        parent = cairn_stream_processes_find(&stream->processes, birth->parent_pid);
        cairn_stream_space_clear(space, &stream->processes.load);
        code = parent ? cairn_stream_space_copy(space, parent, &stream->processes.load) : 1;
        stream->counts.n_mappings += code == 0;
        space->n_threads = 0; /* threads that were told of before are another process's */
        space->birth = ++stream->n_births;
    }
    if (code >= 0)
        code = count_thread(stream, space, birth->tid);
    return code < 0 ? code
                    : cairn_stream_inherit_name(&stream->names, birth->parent_tid, birth->tid);
}

/* The mappings go with the last thread that was heard of. */
int cairn_stream_exit(struct cairn_stream *stream, int pid, int tid)
{
    uint32_t birth;
    struct cairn_stream_space *space = cairn_stream_processes_find(&stream->processes, pid);
    if (!space || !cairn_table_find(&stream->threads, (uint32_t)tid, &birth) ||
        birth != space->birth)
        return CAIRN_OK;
    cairn_table_remove(&stream->threads, (uint32_t)tid);
    if (space->n_threads && --space->n_threads == 0)
        cairn_stream_space_clear(space, &stream->processes.load);
    return CAIRN_OK;
}
