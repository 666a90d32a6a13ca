/* SPDX-License-Identifier: MIT */
/*
 * Printed: the last dumps that had a number, for those that the log calls the same ("same as #12").
 * The printer names a dump of at most 256 before; this remembers 1,024. One of more frames, or an
 * older one, is forgotten: the later dump then has none.
 */
#ifndef CAIRN_KLOG_PRINTED_H
#define CAIRN_KLOG_PRINTED_H

#include <cairn/klog.h>

enum { CAIRN_KLOG_PRINTED_MAX = 1024, CAIRN_KLOG_PRINTED_FRAMES_MAX = 512 };

struct cairn_klog_printed_dump {
    uint64_t key; /* of its lines: tag and number */
    struct cairn_klog_dump dump;
    struct cairn_klog_frame *frames;
    size_t cap;
};

struct cairn_klog_printed {
    struct cairn_klog_printed_dump *dumps; /* by number; NULL: none was kept yet */
};

void cairn_klog_printed_done(struct cairn_klog_printed *printed);

/* Without memory it is forgotten. */
void cairn_klog_printed_keep(struct cairn_klog_printed *printed, uint64_t key,
                             const struct cairn_klog_dump *dump);

/* Gives `dump` the stacks of the one of this key and of number dump->same_as, of the same boot.
 * The frames are borrowed until the next keep. */
void cairn_klog_printed_find(const struct cairn_klog_printed *printed, uint64_t key,
                             struct cairn_klog_dump *dump);

#endif /* CAIRN_KLOG_PRINTED_H */
