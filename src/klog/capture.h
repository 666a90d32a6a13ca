/* SPDX-License-Identifier: MIT */
/*
 * Capture: one line of our own form. Behind each may stand what newer printers add: the number of
 * the dump (" #17"), of the head also the process and the CPU, of a user frame its file, or that no
 * code is there. contrib/kernel/cairn_stack_dump.h prints all of that.
 *
 *     TAG: pid=110 comm=u_cxx tgid=108 cpu=1 bits=32 #17
 *     TAG: kernel backtrace:
 *     TAG:   [k00] misc_open+0x0/0x180 (probe) #17                        no return address
 *     TAG:   [k01] chrdev_open+0xc4/0x180 #17
 *     TAG: user backtrace (raw user PCs):
 *     TAG:   [u04] 0x00007f592a8da5b9 lib/libwork_lld.so+0x5b9 #17
 *     TAG:   [u05] 0x485300656d616e74 no code #17
 *     TAG: no user backtrace: a kernel thread #17                         in place of a user part
 *     TAG: same as #12 #17                                                in place of both
 *     TAG: 7 dumps before #18 were not printed
 */
#ifndef CAIRN_KLOG_CAPTURE_H
#define CAIRN_KLOG_CAPTURE_H

#include "base/span.h"

enum cairn_klog_form {
    CAIRN_KLOG_NONE, /* no line of this form */
    CAIRN_KLOG_HEAD,
    CAIRN_KLOG_KERNEL_HEAD,
    CAIRN_KLOG_KERNEL_FRAME,
    CAIRN_KLOG_USER_HEAD,
    CAIRN_KLOG_USER_FRAME,
    CAIRN_KLOG_NO_USER,  /* there is no user part, and why */
    CAIRN_KLOG_SAME,     /* "same as #12" */
    CAIRN_KLOG_UNPRINTED /* of no dump */
};

struct cairn_klog_capture {
    enum cairn_klog_form form;
    struct cairn_span tag;
    uint64_t printed; /* the number of the dump; 0: none */
    uint64_t same_as;
    uint64_t unprinted;     /* dumps that the kernel did not print */
    int64_t pid, tgid, cpu; /* of a head; -1: not said */
    bool is_32_bit;
    struct cairn_span comm;
    uint32_t index;         /* of a frame */
    uint64_t va;            /* 0: none */
    struct cairn_span text; /* symbol, or file and offset; of NO_USER the reason, where it is not
                               that the kernel cannot walk user stacks */
    bool is_cut;            /* the address is not whole, or too long for one */
    bool is_probe;          /* an address that a probe is at */
    bool is_no_code;        /* the kernel says that no code is there */
};

void cairn_klog_capture_read(struct cairn_span body, struct cairn_klog_capture *ret_line);

#endif /* CAIRN_KLOG_CAPTURE_H */
