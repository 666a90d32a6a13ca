/* SPDX-License-Identifier: MIT */
/* Is a text a kernel log? A line of a dump says so at once; of other lines two must have the time
 * since boot, or "kernel:", that no other text has there. */
#include <cairn/klog.h>

#include "klog/capture.h"
#include "klog/own_frame.h"
#include "klog/own_line.h"
#include "klog/prefix.h"
#include "klog/scan.h"

enum { LINES_MAX = 64, KERNEL_LINES_MIN = 2 };

static bool is_dump_line(struct cairn_span body)
{
    struct cairn_klog_capture capture;
    struct cairn_klog_own_line own;
    struct cairn_klog_own_frame frame;
    cairn_klog_capture_read(body, &capture);
    if (capture.form != CAIRN_KLOG_NONE)
        return true;
    cairn_klog_own_line_read(body, &own);
    if (own.what == CAIRN_KLOG_OWN_TRACE || own.what == CAIRN_KLOG_OWN_FAULT ||
        own.what == CAIRN_KLOG_OWN_FILE)
        return true;
    return cairn_klog_own_frame_read(body, &frame) && frame.has_brackets && frame.text.size;
}

/* "#0: 0x7f8a5c1234": a frame of an allocation tracker, whose reports logs hold as well. */
static bool is_tracker_line(struct cairn_span body)
{
    uint64_t ignored;
    const uint8_t *mark = body.size ? memchr(body.data, '#', body.size) : NULL;
    size_t at = mark ? (size_t)(mark - body.data) + 1 : body.size;
    return mark && cairn_scan_decimal(body, &at, &ignored) && cairn_scan_text(body, &at, ": 0x");
}

int cairn_klog_recognize(const void *bytes, size_t size)
{
    struct cairn_span left = {bytes, size};
    int n_kernel = 0;
    bool has_tracker = false;
    for (int i = 0; i < LINES_MAX && left.size; i++) {
        const uint8_t *end = memchr(left.data, '\n', left.size);
        struct cairn_span line = {left.data, end ? (size_t)(end - left.data) : left.size};
        struct cairn_klog_prefix prefix;
        size_t at = cairn_klog_prefix_read(line, &prefix);
        bool has_word = cairn_scan_find((struct cairn_span){line.data, at}, "kernel: ") < at;
        n_kernel += (prefix.time_us != UINT64_MAX && !prefix.is_date) || has_word;
        has_tracker = has_tracker || is_tracker_line(cairn_scan_rest(line, at));
        if (is_dump_line(cairn_scan_rest(line, at)))
            return 1;
        left = cairn_scan_rest(left, line.size + (end != NULL));
    }
    return n_kernel >= KERNEL_LINES_MIN && !has_tracker;
}
