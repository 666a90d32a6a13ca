/* SPDX-License-Identifier: MIT */
#include "stream/kernel.h"
#include "stream/stream.h"

int cairn_stream_map(struct cairn_stream *stream, const struct cairn_stream_mapping *mapping)
{
    if (mapping->is_kernel)
        return cairn_stream_map_kernel(stream, mapping);
    struct cairn_stream_space *space = cairn_stream_processes_get(&stream->processes, mapping->pid);
    if (!space)
        return CAIRN_E_NOMEM;
    return cairn_stream_count(
        stream, cairn_stream_space_map(space, stream->profile, mapping, &stream->processes.load));
}

int cairn_stream_exec(struct cairn_stream *stream, int pid)
{
    return cairn_stream_processes_exec(&stream->processes, pid);
}

int cairn_stream_fork(struct cairn_stream *stream, const struct cairn_stream_birth *birth)
{
    return cairn_stream_count(stream, cairn_stream_processes_fork(&stream->processes, birth));
}

int cairn_stream_exit(struct cairn_stream *stream, int pid, int tid)
{
    return cairn_stream_processes_exit(&stream->processes, pid, tid);
}

void cairn_stream_lost(struct cairn_stream *stream, uint64_t n)
{
    if (__builtin_add_overflow(stream->counts.n_lost, n, &stream->counts.n_lost))
        stream->counts.n_lost = UINT64_MAX;
}
