/* SPDX-License-Identifier: MIT */
/* The bytes of a state file, which the process that it is of may change at any time, and may have
 * made to look as it likes. */
#ifndef CAIRN_WATCH_READ_STATE_H
#define CAIRN_WATCH_READ_STATE_H

#include <cairn/error.h>

#include "base/buffer.h"

/*
 * The header comes first: a file that does not begin as a state is refused before more of it is
 * read. Holes are not read, and a chunk in a hole has no purpose. `is_of_process`: it is the file
 * of one process, written by it; so no more is read than its header says, and it is not unpacked.
 * Else it may hold several states, or be packed by gzip. CAIRN_E_FORMAT, CAIRN_E_LIMIT, CAIRN_E_IO,
 * CAIRN_E_NOMEM.
 */
int cairn_heap_read_state(int fd, const char *who, bool is_of_process,
                          struct cairn_buffer *ret_bytes, struct cairn_err *err);

#endif /* CAIRN_WATCH_READ_STATE_H */
