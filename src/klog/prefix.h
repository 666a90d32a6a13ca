/* SPDX-License-Identifier: MIT */
/*
 * Prefix: what stands before the text of a message, by whatever wrote the log.
 *
 *     [    4.685815] text                      dmesg; <6> before it: dmesg -r, serial console
 *     [  114.2][ T4398] text                   CONFIG_PRINTK_CALLER: a thread, or a CPU (C1)
 *     6,339,514090,-,caller=T1;text            /dev/kmsg
 *     [Sat Nov 28 20:11:46 2026] text          dmesg -T
 *     Nov 28 20:11:46 host kernel: text        syslog, journalctl -k; ISO dates too
 *     11-28 20:11:46.123   0   0 I tag : text  logcat
 *     kern  :info  : text                      dmesg -x
 */
#ifndef CAIRN_KLOG_PREFIX_H
#define CAIRN_KLOG_PREFIX_H

#include "base/span.h"

struct cairn_klog_prefix {
    uint64_t time_us;       /* UINT64_MAX: none that can be compared */
    struct cairn_span time; /* as it stands there; empty: none */
    bool is_date;           /* `time_us` counts from 1970, as if the log's time zone were UTC */
    char caller;            /* 'T': a thread, 'C': a CPU; 0: not said */
    uint32_t caller_id;
};

/* Bytes of `line` before the message. */
size_t cairn_klog_prefix_read(struct cairn_span line, struct cairn_klog_prefix *ret_prefix);

/* The dates and names that other programs put there; moves `*at` behind one. */
bool cairn_klog_prefix_date(struct cairn_span line, size_t *at,
                            struct cairn_klog_prefix *ret_prefix);

/* Where in `line` behind `from` another record begins, glued to this one: at its "[ 12.345678] ".
 * line.size: nowhere. */
size_t cairn_klog_prefix_find_glued(struct cairn_span line, size_t from);

/* "[    4.685815]" and the caller that may follow. */
bool cairn_klog_prefix_boot_time(struct cairn_span line, size_t *at,
                                 struct cairn_klog_prefix *ret_prefix);

#endif /* CAIRN_KLOG_PREFIX_H */
