/* SPDX-License-Identifier: MIT */
/* The dumps of a log as lines of text, for tests: the head, then its frames. */
#ifndef CAIRN_TESTS_KLOG_DUMPS_H
#define CAIRN_TESTS_KLOG_DUMPS_H

#include <cairn/klog.h>

#include "base/buffer.h"
#include "support/test.h"

/*
 *     TITLE|SECTION|PID|COMM|FLAGS
 *      k0 f+0x1/0x2
 *      u0! 0x12 ...                  marks: ? unproven, ! exact, i inlined, _ hole, - cut, ~ maybe,
 *                                  * no code
 *      = 12                          the same as dump 12
 *      # a kernel thread             why there is no user stack
 */
static inline int klog_put_dump(void *ctx, const struct cairn_klog_dump *dump)
{
    struct cairn_buffer *out = ctx;
    static const char marks[] = "?!i_-~*";
    cairn_buffer_printf(out, "%s|%s|%d|%s|", dump->title, dump->section, dump->pid, dump->comm);
    const int flags[] = {dump->is_headless,   dump->is_whose,     dump->is_mixed,
                         dump->is_open_ended, dump->is_cut_short, !dump->is_user_supported};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (flags[i])
            cairn_buffer_char(out, "hwmosn"[i]);
    cairn_buffer_char(out, '\n');
    if (dump->same_as)
        cairn_buffer_printf(out, " = %llu\n", (unsigned long long)dump->same_as);
    for (size_t i = 0; i < dump->n_frames; i++) {
        const struct cairn_klog_frame *frame = &dump->frames[i];
        cairn_buffer_printf(out, " %c%u", frame->part == CAIRN_KLOG_USER ? 'u' : 'k', frame->index);
        for (unsigned bit = 0; bit < 7; bit++)
            if (frame->marks >> bit & 1)
                cairn_buffer_char(out, marks[bit]);
        if (frame->va)
            cairn_buffer_printf(out, " %#llx", (unsigned long long)frame->va);
        cairn_buffer_printf(out, "%s%s\n", *frame->text ? " " : "", frame->text);
    }
    if (*dump->no_user)
        cairn_buffer_printf(out, " # %s\n", dump->no_user);
    return 0;
}

static inline void klog_read(const char *log, size_t size, size_t piece, struct cairn_buffer *out)
{
    struct cairn_klog *klog;
    struct cairn_err err;
    assert_int_equal(cairn_klog_new(klog_put_dump, out, &klog, &err), CAIRN_OK);
    for (size_t at = 0; at < size; at += piece)
        assert_int_equal(
            cairn_klog_feed(klog, log + at, size - at < piece ? size - at : piece, &err), CAIRN_OK);
    assert_int_equal(cairn_klog_flush(klog, &err), CAIRN_OK);
    cairn_klog_free(klog);
    assert_false(out->failed);
}

static inline void assert_klog(const char *log, const char *expected)
{
    struct cairn_buffer out = {0};
    klog_read(log, strlen(log), strlen(log) + 1, &out);
    if (strcmp(cairn_buffer_text(&out), expected) != 0)
        fail_msg("%s\ngives\n%s\nexpected\n%s", log, cairn_buffer_text(&out), expected);
    /* Cut into single bytes it is the same. */
    cairn_buffer_clear(&out);
    klog_read(log, strlen(log), 1, &out);
    assert_string_equal(cairn_buffer_text(&out), expected);
    cairn_buffer_done(&out);
}

#endif /* CAIRN_TESTS_KLOG_DUMPS_H */
