/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Late older: blocks that were there before the tracker, as cairn read them from outside while the
 * program ran. They get a stack of their own without frames (CAIRN_HEAP_LOG_BEFORE). cairn adds
 * what it saw in use, reads the heap once more, and drops what was not in use then:
 *
 *     functions diverted   each birth and death is recorded
 *     first look           a block is in use, and was from before, or was born since
 *     add                  unless a birth is recorded there
 *     second look          not in use: it died between the functions and add; drop
 *     known                reports may say so: before, some of them may be dead
 *
 * What is left is in use, and nothing was recorded of it: it is from before.
 */
#ifndef CAIRN_HEAP_LATE_OLDER_H
#define CAIRN_HEAP_LATE_OLDER_H

#include <stdint.h>

enum cairn_late_older_what {
    CAIRN_LATE_OLDER_ADD = 1,
    CAIRN_LATE_OLDER_DROP,
    CAIRN_LATE_OLDER_KNOWN /* without blocks */
};

struct cairn_late_older_block {
    uint64_t va, bytes;
};

struct cairn_late_older {
    uint32_t size; /* of this structure */
    uint32_t what;
    const struct cairn_late_older_block
        *blocks; /* a mapping of its own, unmapped when it is done */
    uint64_t n, mapped_bytes;
    uint64_t unread_bytes;       /* that cairn could not read: with CAIRN_LATE_OLDER_KNOWN */
    uint64_t n_done, done_bytes; /* what was added, or dropped */
};

#endif /* CAIRN_HEAP_LATE_OLDER_H */
