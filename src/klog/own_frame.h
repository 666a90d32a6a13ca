/* SPDX-License-Identifier: MIT */
/*
 * Own frame: a frame as the kernel itself prints it, on x86, arm64, arm and riscv, of each version.
 *
 *     f+0x1a/0x40 [mod]            ? f+0x1a/0x40              f+0x1a/0x40 (P)
 *     [<ffffffff81002f6a>] ? f+0x1a/0x40                     [<0>] f+0x1a/0x40
 *     [<c0112345>] (f) from [<c0112399>] (g+0x18/0x1c)       f from g+0x18/0x1c
 *     f (inlined)      f file.c:12 [inline]      f+0x1a/0x40 file.c:12      0xffffffffc05f90c8
 *     f (file.c:12)    f (file.c:12 (inlined by) g.h:3)
 */
#ifndef CAIRN_KLOG_OWN_FRAME_H
#define CAIRN_KLOG_OWN_FRAME_H

#include "base/span.h"

struct cairn_klog_own_frame {
    uint64_t va;            /* 0: not printed, or hidden */
    struct cairn_span text; /* the symbol, with what a decoder put behind it; may be empty */
    bool is_unproven, is_inlined;
    bool has_brackets; /* "[<...>] " */
    /* Of arm: the callee, which is the innermost frame where this is the first line. */
    struct cairn_span callee;
    uint64_t callee_va;
};

/* False: this is no frame. */
bool cairn_klog_own_frame_read(struct cairn_span body, struct cairn_klog_own_frame *ret_frame);

#endif /* CAIRN_KLOG_OWN_FRAME_H */
