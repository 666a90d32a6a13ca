/* SPDX-License-Identifier: MIT */
#ifndef CAIRN_TARGET_PID_H
#define CAIRN_TARGET_PID_H

#include <cairn/unwind.h>

#include "base/span.h"
#include "proc/mem.h"

/* The top of a thread's stack as it was at one moment. */
enum { CAIRN_COPY_PAGE = 4096 };

struct cairn_target_pieces {
    struct cairn_span bytes; /* of struct cairn_guest_piece, one behind the other */
    size_t at;               /* of the one that was read last: the next is mostly behind it */
};

struct cairn_target_copy {
    uint64_t va;
    struct cairn_span bytes;
    uint64_t pages; /* of those from va's on, which `bytes` has, one behind the other; 0: all */
    struct cairn_target_pieces *pieces; /* other memory of that moment; NULL: none */
    bool missed; /* a walk asked for other memory that the process may write */
};

/* False: it does not hold all of that. */
bool cairn_target_copy_read(const struct cairn_target_copy *copy, uint64_t va, void *to,
                            size_t size);

/*
 * Cursors of the space, which is one of cairn_unwind_space_open_pid(), read a copy instead of the
 * memory as it is, for the thread runs again. What is not in the copy is read where nobody can have
 * written to it, and is not readable elsewhere. The copy is borrowed until the next call; NULL: the
 * memory as it is.
 */
void cairn_target_pid_copy(struct cairn_unwind_space *space, struct cairn_target_copy *copy);

/* What the space reads memory by; its `unread.why` is of the reads since a cursor was made last. */
struct cairn_mem *cairn_target_pid_mem(struct cairn_unwind_space *space);

#endif /* CAIRN_TARGET_PID_H */
