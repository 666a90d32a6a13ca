/* SPDX-License-Identifier: MIT */
/* Stream processes: the space of each, by its number. */
#ifndef CAIRN_STREAM_PROCESS_H
#define CAIRN_STREAM_PROCESS_H

#include "stream/stream.h"

/* The space of a process, made empty where it is new; NULL: memory or the limit ends. */
struct cairn_stream_space *cairn_stream_process(struct cairn_stream *stream, int pid);

/* The same, or NULL where nothing was heard of the process. */
struct cairn_stream_space *cairn_stream_find_process(const struct cairn_stream *stream, int pid);

#endif /* CAIRN_STREAM_PROCESS_H */
