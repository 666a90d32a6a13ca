/* SPDX-License-Identifier: MIT */
/*
 * The reader: bytes to lines, lines to dumps.
 *
 *     bytes ──► lines, cleaned ──► records (glued ones are cut apart) ──► prefix ──► stacks, trace
 */
#include <cairn/klog.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "klog/capture.h"
#include "klog/clean.h"
#include "klog/prefix.h"
#include "klog/scan.h"
#include "klog/stacks.h"
#include "klog/trace.h"

enum {
    LINE_BYTES_MAX = 1 << 16,
    GLUED_MAX = 16,              /* records of one line */
    BOOT_BACK_US = 10 * 1000000, /* clocks of CPUs differ by microseconds */
    AGE_LINES = 64               /* between two looks for dumps that stood still */
};

struct cairn_klog {
    struct cairn_strings strings;
    struct cairn_klog_stacks stacks;
    struct cairn_klog_trace trace;
    struct cairn_klog_counts counts;
    struct cairn_buffer rest, clean; /* a line without its end; a line without what fools us */
    bool skips_line;                 /* until the end of a line that is too long */
    uint64_t last_us;
    unsigned boot;
    bool has_booted;
    uint32_t last_tag; /* a string */
    struct cairn_err *err;
};

int cairn_klog_new(cairn_klog_fn each, void *ctx, struct cairn_klog **ret_klog,
                   struct cairn_err *err)
{
    struct cairn_klog *klog = cairn_alloc(1, sizeof *klog);
    if (!klog)
        return cairn_fail_memory(err);
    cairn_klog_stacks_init(&klog->stacks);
    klog->stacks.each = each;
    klog->stacks.ctx = ctx;
    klog->stacks.strings = &klog->strings;
    klog->stacks.counts = &klog->counts;
    klog->last_us = UINT64_MAX;
    klog->boot = 1;
    *ret_klog = klog;
    return CAIRN_OK;
}

void cairn_klog_free(struct cairn_klog *klog)
{
    if (!klog)
        return;
    cairn_klog_stacks_done(&klog->stacks);
    cairn_strings_done(&klog->strings);
    cairn_buffer_done(&klog->rest);
    cairn_buffer_done(&klog->clean);
    cairn_free(klog);
}

void cairn_klog_counts(const struct cairn_klog *klog, struct cairn_klog_counts *counts)
{
    struct cairn_klog_counts known = klog->counts;
    known.size = counts->size;
    memcpy(counts, &known, counts->size < sizeof known ? counts->size : sizeof known);
}

static const char *text_of(const struct cairn_klog *klog, uint32_t number)
{
    return cairn_strings_get(&klog->strings, number);
}

/* False: memory is gone. */
static bool intern(struct cairn_klog *klog, struct cairn_span text, uint32_t *ret_number)
{
    *ret_number =
        text.size ? cairn_strings_add(&klog->strings, (const char *)text.data, text.size) : 0;
    return *ret_number != UINT32_MAX;
}

/* Most lines have the tag of the line before. */
static bool intern_tag(struct cairn_klog *klog, struct cairn_span tag, uint32_t *ret_number)
{
    size_t size = cairn_strings_size(&klog->strings, klog->last_tag);
    if (size != tag.size || (size && memcmp(text_of(klog, klog->last_tag), tag.data, size) != 0)) {
        if (!intern(klog, tag, ret_number))
            return false;
        klog->last_tag = *ret_number;
    }
    *ret_number = klog->last_tag;
    return true;
}

static int close_all(struct cairn_klog *klog)
{
    cairn_klog_stacks_age(&klog->stacks, NULL, true);
    cairn_klog_trace_end(&klog->trace);
    return cairn_klog_stacks_hand_out(&klog->stacks, klog->err);
}

/* What every dump knows that begins in this line. False: memory is gone. */
static bool head_of(struct cairn_klog *klog, const struct cairn_klog_prefix *prefix,
                    struct cairn_klog_dump *ret_head)
{
    uint32_t time;
    if (!intern(klog, prefix->time, &time))
        return false;
    *ret_head = (struct cairn_klog_dump){
        .title = "",
        .section = "",
        .comm = "",
        .build_id = "",
        .no_user = "",
        .time = text_of(klog, time),
        .time_us = prefix->time_us,
        .is_date = prefix->is_date,
        .pid = -1,
        .tgid = -1,
        .cpu = prefix->caller == 'C' ? (int)prefix->caller_id : -1,
        .boot = klog->boot,
        .is_user_supported = 1,
    };
    return true;
}

static struct cairn_klog_stack *open_capture(struct cairn_klog *klog,
                                             const struct cairn_klog_capture *line, uint32_t tag,
                                             const struct cairn_klog_prefix *prefix,
                                             const struct cairn_klog_where *where)
{
    struct cairn_klog_dump dump;
    uint32_t comm;
    if (!head_of(klog, prefix, &dump) || !intern(klog, line->comm, &comm))
        return NULL;
    dump.kind = CAIRN_KLOG_CAPTURE;
    dump.title = text_of(klog, tag);
    dump.comm = text_of(klog, comm);
    dump.pid = line->pid <= INT32_MAX ? (int)line->pid : -1;
    dump.tgid = line->tgid >= 0 && line->tgid <= INT32_MAX ? (int)line->tgid : -1;
    if (line->cpu >= 0 && line->cpu <= INT32_MAX)
        dump.cpu = (int)line->cpu;
    dump.printed = line->printed;
    dump.is_32_bit = line->is_32_bit;
    dump.is_headless = line->form != CAIRN_KLOG_HEAD;
    if (!dump.is_headless)
        cairn_klog_stacks_end_thread(&klog->stacks, where->key, dump.pid);
    return cairn_klog_stacks_open(&klog->stacks, where, &dump);
}

/* Its dump; where there is none, one without a head begins, unless the line may be of several. */
static bool find_stack(struct cairn_klog *klog, const struct cairn_klog_capture *line,
                       const struct cairn_klog_frame *frame, uint32_t tag,
                       const struct cairn_klog_prefix *prefix, const struct cairn_klog_where *where,
                       struct cairn_klog_stack **ret_stack, bool *ret_is_late)
{
    bool several = false;
    struct cairn_klog_stack *stack = NULL;
    enum cairn_klog_phase phase =
        frame->part == CAIRN_KLOG_USER ? CAIRN_KLOG_IN_USER : CAIRN_KLOG_IN_KERNEL;
    *ret_is_late = false;
    if (line->form == CAIRN_KLOG_KERNEL_HEAD || line->form == CAIRN_KLOG_SAME)
        stack = cairn_klog_stacks_find(&klog->stacks, where, CAIRN_KLOG_AT_HEAD, 0, NULL);
    else if (line->form == CAIRN_KLOG_USER_HEAD || line->form == CAIRN_KLOG_NO_USER)
        stack = cairn_klog_stacks_find_user(&klog->stacks, where);
    else
        stack = cairn_klog_stacks_find(&klog->stacks, where, phase, line->index, frame);
    if (!stack && (line->form == CAIRN_KLOG_KERNEL_FRAME || line->form == CAIRN_KLOG_USER_FRAME)) {
        stack = cairn_klog_stacks_find_late(&klog->stacks, where, phase, line->index, &several);
        *ret_is_late = stack || line->index > 0;
    }
    if (!stack && several)
        klog->counts.n_astray++;
    else if (!stack)
        stack = open_capture(klog, line, tag, prefix, where);
    *ret_stack = stack;
    return stack || several;
}

/* What the line alone says of a frame. False: memory is gone. */
static bool frame_of(struct cairn_klog *klog, const struct cairn_klog_capture *line,
                     struct cairn_klog_frame *ret_frame)
{
    bool is_user = line->form == CAIRN_KLOG_USER_FRAME || line->form == CAIRN_KLOG_USER_HEAD;
    uint32_t text;
    if (!intern(klog, line->text, &text))
        return false;
    *ret_frame = (struct cairn_klog_frame){
        .va = line->va,
        .text = text_of(klog, text),
        .index = line->index,
        .part = is_user ? CAIRN_KLOG_USER : CAIRN_KLOG_KERNEL,
        .marks = (uint8_t)((line->is_cut ? CAIRN_KLOG_CUT : 0) |
                           (line->is_no_code ? CAIRN_KLOG_NO_CODE : 0)),
    };
    /* A system call's own place is exact: the kernel came back to it, no call did. */
    if ((is_user && line->index == 0) || line->is_probe)
        ret_frame->marks |= CAIRN_KLOG_EXACT;
    return true;
}

static bool add_capture_frame(struct cairn_klog *klog, struct cairn_klog_stack *stack,
                              const struct cairn_klog_frame *frame)
{
    bool is_user = frame->part == CAIRN_KLOG_USER;
    stack->dump.has_user |= is_user;
    /* With a number no other dump's line can be taken for one of this. */
    stack->is_at_chain_end =
        !is_user && !stack->dump.printed && cairn_klog_stacks_ends_chain(frame->text);
    if (!cairn_klog_stacks_add(&klog->stacks, stack, frame))
        return false;
    cairn_klog_stacks_move(&klog->stacks, stack,
                           is_user ? CAIRN_KLOG_IN_USER : CAIRN_KLOG_IN_KERNEL, frame->index + 1);
    cairn_klog_stacks_settle(stack);
    return true;
}

/* The dumps that a line can belong to: of its tag, and of its number or its caller. */
static uint64_t key_of(uint64_t printed, uint32_t tag, const struct cairn_klog_prefix *prefix)
{
    uint64_t key = (uint64_t)tag << 32;
    if (printed)
        return cairn_hash_u64(key | 1) ^ cairn_hash_u64(printed);
    return cairn_hash_u64(key | (uint64_t)(uint8_t)prefix->caller << 8) ^
           cairn_hash_u64(prefix->caller_id);
}

static bool take_capture(struct cairn_klog *klog, const struct cairn_klog_capture *line,
                         uint32_t tag, const struct cairn_klog_prefix *prefix,
                         const struct cairn_klog_where *where)
{
    struct cairn_klog_stack *stack;
    struct cairn_klog_frame frame;
    bool is_late = false;
    if (line->form == CAIRN_KLOG_HEAD)
        return open_capture(klog, line, tag, prefix, where) != NULL;
    if (!frame_of(klog, line, &frame) ||
        !find_stack(klog, line, &frame, tag, prefix, where, &stack, &is_late))
        return false;
    if (!stack)
        return true;
    cairn_klog_stacks_use(&klog->stacks, stack, where);
    switch (line->form) {
    case CAIRN_KLOG_USER_HEAD:
        stack->dump.has_user = 1;
        stack->is_at_chain_end = false;
        break;
    case CAIRN_KLOG_NO_USER:
        stack->dump.has_user = !line->text.size;
        stack->dump.is_user_supported = line->text.size > 0;
        stack->dump.no_user = frame.text;
        cairn_klog_stacks_close(&klog->stacks, stack);
        return true;
    case CAIRN_KLOG_SAME:
        stack->dump.same_as = line->same_as;
        stack->same_key = key_of(line->same_as, tag, prefix);
        cairn_klog_stacks_close(&klog->stacks, stack);
        return true;
    case CAIRN_KLOG_KERNEL_FRAME:
    case CAIRN_KLOG_USER_FRAME:
        frame.marks |= (uint8_t)((is_late ? CAIRN_KLOG_HOLE : 0) |
                                 (stack->is_doubtful ? CAIRN_KLOG_MAYBE : 0));
        return add_capture_frame(klog, stack, &frame);
    default:
        break;
    }
    cairn_klog_stacks_move(
        &klog->stacks, stack,
        line->form == CAIRN_KLOG_USER_HEAD ? CAIRN_KLOG_IN_USER : CAIRN_KLOG_IN_KERNEL, 0);
    return true;
}

static int look_at_time(struct cairn_klog *klog, const struct cairn_klog_prefix *prefix)
{
    int code = CAIRN_OK;
    if (prefix->time_us == UINT64_MAX || prefix->is_date)
        return CAIRN_OK;
    if (klog->last_us != UINT64_MAX && prefix->time_us + BOOT_BACK_US < klog->last_us) {
        code = close_all(klog);
        klog->boot++;
    }
    klog->last_us = prefix->time_us;
    return code;
}

static int take_own_line(struct cairn_klog *klog, struct cairn_span body,
                         const struct cairn_klog_prefix *prefix,
                         const struct cairn_klog_where *where)
{
    struct cairn_klog_dump head;
    enum cairn_klog_own what;
    if (!head_of(klog, prefix, &head))
        return cairn_fail_memory(klog->err);
    int code = cairn_klog_trace_take(&klog->trace, &klog->stacks, body, prefix, &head, where, &what,
                                     klog->err);
    if (code == CAIRN_OK && what == CAIRN_KLOG_OWN_BOOT) {
        if (klog->has_booted && prefix->time_us == UINT64_MAX)
            klog->boot++; /* else its time tells */
        klog->has_booted = true;
        code = close_all(klog);
    }
    return code;
}

static int take_record(struct cairn_klog *klog, struct cairn_span record)
{
    struct cairn_klog_prefix prefix;
    struct cairn_klog_capture line;
    uint32_t tag = 0;
    size_t at = cairn_klog_prefix_read(record, &prefix);
    struct cairn_span body = cairn_scan_rest(record, at);
    struct cairn_klog_where where = {.line = klog->counts.n_lines, .time_us = prefix.time_us};
    int code = look_at_time(klog, &prefix);
    if (code < 0)
        return code;
    cairn_klog_capture_read(body, &line);
    if (line.form == CAIRN_KLOG_UNPRINTED) {
        klog->counts.n_unprinted += line.unprinted;
    } else if (line.form == CAIRN_KLOG_NONE) {
        code = take_own_line(klog, body, &prefix, &where);
    } else if (!intern_tag(klog, line.tag, &tag)) {
        return cairn_fail_memory(klog->err);
    } else {
        where.key = key_of(line.printed, tag, &prefix);
        if (!take_capture(klog, &line, tag, &prefix, &where))
            return cairn_fail_memory(klog->err);
    }
    if (code == CAIRN_OK && klog->counts.n_lines % AGE_LINES == 0)
        cairn_klog_stacks_age(&klog->stacks, &where, false);
    return code < 0 ? code : cairn_klog_stacks_hand_out(&klog->stacks, klog->err);
}

/* Two CPUs that write to one console may glue their records. */
static int take_line(struct cairn_klog *klog, struct cairn_span line)
{
    klog->counts.n_lines++;
    for (int i = 0; i < GLUED_MAX; i++) {
        size_t next = line.size > 1 ? cairn_klog_prefix_find_glued(line, 1) : line.size;
        /* A console's own time, or a priority, stands before the first record. */
        if (i == 0 && next < line.size) {
            struct cairn_klog_prefix prefix;
            if (next < cairn_klog_prefix_read(line, &prefix))
                next = cairn_klog_prefix_find_glued(line, cairn_klog_prefix_read(line, &prefix));
        }
        int code = take_record(klog, (struct cairn_span){line.data, next});
        if (code < 0 || next == line.size)
            return code;
        line = cairn_scan_rest(line, next);
    }
    return CAIRN_OK;
}

static int take_raw_line(struct cairn_klog *klog, struct cairn_span line, bool is_dirty)
{
    while (line.size && line.data[line.size - 1] == '\r')
        line.size--;
    if (line.size > LINE_BYTES_MAX) {
        klog->counts.n_long++;
        line.size = LINE_BYTES_MAX;
    }
    if (is_dirty) {
        if (!cairn_klog_clean(line, &klog->clean))
            return cairn_fail_memory(klog->err);
        line = cairn_buffer_span(&klog->clean);
    }
    return take_line(klog, line);
}

/* The end of a line whose beginning came before. */
static int take_rest(struct cairn_klog *klog, struct cairn_span more, bool is_whole)
{
    size_t room = LINE_BYTES_MAX + 1 - klog->rest.size;
    if (more.size > room)
        more.size = room; /* what shows that it is too long */
    if (more.size)
        cairn_buffer_add(&klog->rest, more.data, more.size);
    if (klog->rest.failed)
        return cairn_fail_memory(klog->err);
    if (!is_whole)
        return CAIRN_OK;
    int code = take_raw_line(klog, cairn_buffer_span(&klog->rest), true);
    cairn_buffer_clear(&klog->rest);
    return code;
}

int cairn_klog_feed(struct cairn_klog *klog, const void *bytes, size_t size, struct cairn_err *err)
{
    struct cairn_span left = {bytes, size};
    klog->err = err;
    bool is_dirty = size && (memchr(bytes, 0x1b, size) || memchr(bytes, 0, size));
    bool has_cr = size && memchr(bytes, '\r', size);
    int code = CAIRN_OK;
    while (code == CAIRN_OK && left.size) {
        const uint8_t *end = memchr(left.data, '\n', left.size);
        struct cairn_span line = {left.data, end ? (size_t)(end - left.data) : left.size};
        if (klog->rest.size || !end)
            code = take_rest(klog, line, end != NULL);
        else
            code = take_raw_line(klog, line, is_dirty || (has_cr && cairn_klog_has_inner_cr(line)));
        left = cairn_scan_rest(left, line.size + (end != NULL));
    }
    return code;
}

int cairn_klog_flush(struct cairn_klog *klog, struct cairn_err *err)
{
    klog->err = err;
    int code = klog->rest.size ? take_rest(klog, (struct cairn_span){0}, true) : CAIRN_OK;
    return code < 0 ? code : close_all(klog);
}
