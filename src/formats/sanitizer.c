/* SPDX-License-Identifier: MIT */
/*
 * Reports of sanitizers: of addresses, leaks, threads, memory and undefined behaviour.
 *
 *     ==4813==ERROR: AddressSanitizer: heap-use-after-free on address ...    begins a report
 *     READ of size 1 at 0x602000000013 thread T0                             the head of a stack
 *         #0 0x55d1 in use /src/a.c:4:53                                     its frames
 *
 *     freed by thread T0 here:                                               the next head
 *         #0 0x55d1 in free (/bin/a+0xa2ea2) (BuildId: a51794ed)
 *
 * A stack ends at a blank line, at a frame 0 and where a report begins. Its head is the last line
 * of text before it. All that a program prints among these lines is passed over.
 */
#include "base/error.h"
#include "base/log.h"
#include "formats/format.h"
#include "formats/sanitizer_line.h"

enum { LABELS_MAX = 3, HEAD_BYTES_MAX = 512 };

/* The last line of text, which may be the head of a stack. */
struct head {
    char text[HEAD_BYTES_MAX];
    size_t size;
};

struct reading {
    struct cairn_stack_text stacks;
    struct head next;     /* of a stack that may come */
    struct head head;     /* of the stack that is read */
    uint32_t what;        /* of the report; a string of the profile */
    int64_t pid;          /* -1: not said */
    uint64_t next_number; /* of the stack's next frame */
    uint64_t line;        /* from 1 */
    uint64_t n_stacks;
    uint64_t n_odd;       /* lines of frames that cannot be read */
    uint64_t n_missing;   /* frames that their numbers say are missing */
    bool has_stack;       /* of the report */
    uint64_t n_stackless; /* reports */
    bool in_report;
};

static struct cairn_span text_of(const struct head *head)
{
    return (struct cairn_span){(const uint8_t *)head->text, head->size};
}

/* The labels of a stack; UINT32_MAX: memory is gone. */
static uint32_t make_labels(struct reading *r)
{
    struct cairn_profile *p = r->stacks.p;
    struct cairn_profile_label labels[LABELS_MAX];
    uint32_t n = 0;
    if (r->head.size && !cairn_stack_text_label(p, "stack", text_of(&r->head), &labels[n++]))
        return UINT32_MAX;
    if (r->what) {
        labels[n] = (struct cairn_profile_label){.key = cairn_profile_text(p, "report", 6),
                                                 .text = r->what};
        if (labels[n++].key == UINT32_MAX)
            return UINT32_MAX;
    }
    if (r->pid >= 0) {
        labels[n] =
            (struct cairn_profile_label){.key = cairn_profile_text(p, "pid", 3), .number = r->pid};
        if (labels[n++].key == UINT32_MAX)
            return UINT32_MAX;
    }
    return cairn_profile_add_labels(p, labels, n);
}

/* "Direct leak of 72 byte(s) in 3 object(s) allocated from" */
static bool is_leak(struct cairn_span head)
{
    return cairn_span_begins(head, "Direct leak of ") ||
           cairn_span_begins(head, "Indirect leak of ");
}

static int end_stack(struct reading *r, struct cairn_err *err)
{
    struct cairn_span head = text_of(&r->head);
    int64_t bytes = -1, objects = -1;
    if (!cairn_stack_text_is_begun(&r->stacks))
        return CAIRN_OK;
    if (is_leak(head)) {
        bytes = cairn_stack_text_before(head, " byte(s)");
        objects = cairn_stack_text_before(head, " object(s)");
    }
    r->n_stacks++;
    r->has_stack = true;
    r->next_number = 0;
    uint32_t labels = make_labels(r);
    return labels == UINT32_MAX ? cairn_fail_memory(err)
                                : cairn_stack_text_end(&r->stacks, labels, bytes, objects, err);
}

static void end_report(struct reading *r)
{
    r->n_stackless += r->in_report && !r->has_stack;
    r->in_report = r->has_stack = false;
}

/* Without "==4813==" in front and a colon behind. */
static void set_head(struct reading *r, struct cairn_span line)
{
    size_t at = 2;
    uint64_t pid;
    if (cairn_span_begins(line, "==") && cairn_stack_text_number(line, &at, &pid) &&
        line.size >= at + 2)
        line = (struct cairn_span){line.data + at + 2, line.size - at - 2};
    if (cairn_span_begins(line, "Hint: "))
        return;
    line.size -= line.size && line.data[line.size - 1] == ':';
    r->next.size = line.size < HEAD_BYTES_MAX ? line.size : HEAD_BYTES_MAX;
    memcpy(r->next.text, line.data, r->next.size);
}

static int begin_report(struct reading *r, struct cairn_span what, int64_t pid,
                        struct cairn_err *err)
{
    int code = end_stack(r, err);
    end_report(r);
    r->in_report = true;
    r->pid = pid;
    r->what = cairn_profile_text(r->stacks.p, (const char *)what.data,
                                 what.size < HEAD_BYTES_MAX ? what.size : HEAD_BYTES_MAX);
    return code == CAIRN_OK && r->what == UINT32_MAX ? cairn_fail_memory(err) : code;
}

static int add_frame(struct reading *r, uint64_t number, const struct cairn_text_frame *frame,
                     struct cairn_err *err)
{
    bool is_begun = cairn_stack_text_is_begun(&r->stacks);
    if (!is_begun || number < r->next_number) {
        int code = end_stack(r, err);
        if (code < 0)
            return code;
        r->head = r->next;
        r->next.size = 0;
        r->next_number = 0;
    }
    r->n_missing += number - r->next_number;
    r->next_number = number + 1;
    return cairn_stack_text_frame(&r->stacks, frame, err);
}

/* `is_cut`: the text ends within the line, unless it ends in what ends a frame. */
static int add_line(void *ctx, struct cairn_span line, bool is_cut, struct cairn_err *err)
{
    struct reading *r = ctx;
    struct cairn_text_frame frame;
    struct cairn_span what;
    uint64_t number;
    int64_t pid;
    line = cairn_stack_text_trimmed(line);
    if (!line.size)
        return end_stack(r, err);
    bool is_frame = line.data[0] == '#';
    bool is_odd = memchr(line.data, 0, line.size) || (is_cut && line.data[line.size - 1] != ')');
    if (is_frame && !is_odd && cairn_sanitizer_frame_parse(line, &number, &frame) &&
        (!is_cut || frame.has_offset)) /* else "f(int)" may be that of "f(int)::g" */
        return add_frame(r, number, &frame, err);
    if (is_frame || is_odd) {
        r->n_odd += is_frame;
        return CAIRN_OK;
    }
    int code = CAIRN_OK;
    if (cairn_sanitizer_report_parse(line, &what, &pid))
        code = begin_report(r, what, pid, err);
    set_head(r, line);
    return code;
}

static int finish(struct reading *r, struct cairn_err *err)
{
    int code = end_stack(r, err);
    end_report(r);
    if (code == CAIRN_OK && !r->n_stacks) {
        cairn_fail(err, CAIRN_E_FORMAT, "%llu reports of a sanitizer, but no stack",
                   (unsigned long long)r->n_stackless);
        cairn_hint(err, "UBSAN_OPTIONS=print_stacktrace=1 has the stacks printed");
        return CAIRN_E_FORMAT;
    }
    if (r->n_odd || r->n_missing)
        cairn_log(CAIRN_LOG_WARNING,
                  "the text is damaged: %llu frames are missing from its "
                  "stacks, %llu lines of frames cannot be read",
                  (unsigned long long)r->n_missing, (unsigned long long)r->n_odd);
    if (r->n_stackless)
        cairn_log(CAIRN_LOG_WARNING, "%llu reports have no stack and are not counted",
                  (unsigned long long)r->n_stackless);
    return code == CAIRN_OK ? cairn_stack_text_finish(&r->stacks, err) : code;
}

static int read_sanitizer(struct cairn_source *source, struct cairn_profile *p,
                          struct cairn_err *err)
{
    struct reading r = {.stacks = {.p = p}, .pid = -1};
    int code = cairn_stack_text_read(source, &r.line, add_line, &r, err);
    if (code == CAIRN_OK)
        code = finish(&r, err);
    cairn_stack_text_done(&r.stacks);
    return code;
}

static bool sniff(struct cairn_span head)
{
    struct cairn_span line, what;
    int64_t pid;
    while (cairn_stack_text_next(&head, &line))
        if (cairn_sanitizer_report_parse(line, &what, &pid))
            return true;
    return false;
}

static const char *const endings[] = {NULL};

const struct cairn_format_row cairn_format_sanitizer = {
    .format = CAIRN_FORMAT_SANITIZER,
    .name = "sanitizer",
    .endings = endings,
    .in_log = true,
    .sniff = sniff,
    .read = read_sanitizer,
};
