/* SPDX-License-Identifier: MIT */
#include "klog/trace.h"

#include "base/buffer.h"
#include "base/error.h"
#include "klog/scan.h"

enum {
    FOREIGN_MAX = 3,    /* lines of others between two frames */
    TITLE_LINES_MAX = 4 /* "BUG: unable to handle ..." and "Oops: ..." are one title */
};

static const uint64_t trace_key = UINT64_C(0x6b6c6f6774726163); /* no key of a tag, see where */

struct take {
    struct cairn_klog_trace *trace;
    struct cairn_klog_stacks *stacks;
    struct cairn_klog_report *report;
    const struct cairn_klog_dump *head;
    struct cairn_klog_where where;
    bool failed;
};

static uint32_t intern(struct take *take, struct cairn_span text)
{
    uint32_t number =
        text.size ? cairn_strings_add(take->stacks->strings, (const char *)text.data, text.size)
                  : 0;
    take->failed |= number == UINT32_MAX;
    return number == UINT32_MAX ? 0 : number;
}

static const char *text_of(struct take *take, uint32_t number)
{
    return cairn_strings_get(take->stacks->strings, number);
}

static void forget_task(struct cairn_klog_report *report)
{
    report->task =
        (struct cairn_klog_dump){.pid = -1, .tgid = -1, .cpu = -1, .comm = "", .build_id = ""};
}

/* That of the caller; where there are too many, the one that was silent for longest is dropped. */
static struct cairn_klog_report *report_of(struct cairn_klog_trace *trace,
                                           const struct cairn_klog_prefix *prefix)
{
    struct cairn_klog_report *oldest = NULL;
    for (size_t i = 0; i < trace->n; i++) {
        struct cairn_klog_report *report = &trace->reports[i];
        if (report->caller == prefix->caller && report->caller_id == prefix->caller_id)
            return report;
        if (!oldest || report->last_line < oldest->last_line)
            oldest = report;
    }
    if (trace->n < CAIRN_KLOG_CALLERS_MAX)
        oldest = &trace->reports[trace->n++];
    *oldest = (struct cairn_klog_report){.caller = prefix->caller, .caller_id = prefix->caller_id};
    forget_task(oldest);
    return oldest;
}

/* NULL where it has none, or it was closed by its age. */
static struct cairn_klog_stack *open_stack(const struct cairn_klog_report *report)
{
    struct cairn_klog_stack *stack = report->stack;
    return stack && stack->is_open && stack->first_line == report->stack_line ? stack : NULL;
}

static void close_stack(struct take *take)
{
    struct cairn_klog_stack *stack = open_stack(take->report);
    if (stack)
        cairn_klog_stacks_close(take->stacks, stack);
    take->report->stack = NULL;
    take->report->has_frames = false;
    take->report->expects_frames = false;
    take->report->in_task = false;
}

static struct cairn_klog_stack *begin_stack(struct take *take, enum cairn_klog_kind kind)
{
    struct cairn_klog_report *report = take->report;
    struct cairn_klog_dump dump = *take->head;
    dump.kind = kind;
    dump.title = report->title             ? text_of(take, report->title)
                 : kind == CAIRN_KLOG_PROC ? "stack"
                                           : "Call Trace";
    dump.section = text_of(take, report->section);
    dump.pid = report->task.pid;
    dump.tgid = report->task.tgid;
    dump.cpu = report->task.cpu >= 0 ? report->task.cpu : dump.cpu;
    dump.comm = report->task.comm;
    dump.build_id = report->task.build_id;
    struct cairn_klog_stack *stack = cairn_klog_stacks_open(take->stacks, &take->where, &dump);
    if (!stack) {
        take->failed = true;
        return NULL;
    }
    cairn_klog_stacks_move(take->stacks, stack, CAIRN_KLOG_DONE, 0);
    report->stack = stack;
    report->stack_line = stack->first_line;
    return stack;
}

static void add_frame(struct take *take, struct cairn_span text, uint64_t va, unsigned marks,
                      enum cairn_klog_part part)
{
    struct cairn_klog_report *report = take->report;
    struct cairn_klog_stack *stack = open_stack(report);
    if (!stack)
        stack = begin_stack(take, report->expects_frames || (marks & CAIRN_KLOG_EXACT)
                                      ? CAIRN_KLOG_TRACE
                                      : CAIRN_KLOG_PROC);
    if (!stack)
        return;
    if (stack->is_doubtful)
        marks |= CAIRN_KLOG_MAYBE;
    const struct cairn_klog_frame frame = {.va = va,
                                           .text = text_of(take, intern(take, text)),
                                           .index = stack->next++,
                                           .part = (uint8_t)part,
                                           .marks = (uint8_t)marks};
    take->failed |= !cairn_klog_stacks_add(take->stacks, stack, &frame);
    cairn_klog_stacks_use(take->stacks, stack, &take->where);
    stack->dump.has_user |= part == CAIRN_KLOG_USER;
    report->n_foreign = 0;
}

static void take_title(struct take *take, const struct cairn_klog_own_line *line)
{
    struct cairn_klog_report *report = take->report;
    bool goes_on = report->title && !report->has_frames && !report->ended &&
                   take->where.line - report->title_line < TITLE_LINES_MAX;
    if (goes_on)
        return;
    close_stack(take);
    forget_task(report);
    report->task.cpu = (int)line->cpu;
    report->title = intern(take, line->text);
    report->title_line = take->where.line;
    report->section = 0;
    report->ended = false;
}

static void take_task(struct take *take, const struct cairn_klog_own_line *line)
{
    struct cairn_klog_report *report = take->report;
    struct cairn_klog_dump *task = &report->task;
    if (report->has_frames) {
        close_stack(take);
        report->title = report->section = 0;
    }
    report->ended = false;
    task->pid = line->pid >= 0 ? (int)line->pid : task->pid;
    task->tgid = line->tgid >= 0 ? (int)line->tgid : task->tgid;
    task->cpu = line->cpu >= 0 ? (int)line->cpu : task->cpu;
    task->comm = text_of(take, intern(take, line->comm));
    if (line->build_id.size)
        task->build_id = text_of(take, intern(take, line->build_id));
    struct cairn_klog_stack *stack = open_stack(report);
    if (stack) { /* arm prints the program counter first */
        stack->dump.pid = task->pid;
        stack->dump.comm = task->comm;
        stack->dump.cpu = task->cpu >= 0 ? task->cpu : stack->dump.cpu;
    }
}

/* A stack begins where another did not end, and nothing says which lines are whose. */
static void doubt_both(struct take *take, struct cairn_klog_stack *before)
{
    struct cairn_klog_stack *stack = begin_stack(take, CAIRN_KLOG_TRACE);
    if (!stack)
        return;
    stack->is_doubtful = true;
    stack->dump.others[0] = before->dump.pid;
    stack->dump.n_others = 1;
    before->dump.is_open_ended = 1;
    before->dump.others[0] = stack->dump.pid;
    before->dump.n_others = 1;
    cairn_klog_stacks_close(take->stacks, before);
    take->report->has_frames = false;
    take->report->in_task = false;
}

static void take_trace(struct take *take, const struct cairn_klog_own_line *line)
{
    struct cairn_klog_report *report = take->report;
    struct cairn_klog_stack *before = open_stack(report);
    report->ended = false;
    if (line->what == CAIRN_KLOG_OWN_SECTION) {
        close_stack(take);
        report->section = intern(take, line->text);
    } else if (before && report->has_frames && report->in_task && !report->caller) {
        doubt_both(take, before);
    } else if (report->has_frames) {
        close_stack(take);
        report->section = 0;
    }
    report->expects_frames = true;
    report->n_foreign = 0;
}

static void take_pc(struct take *take, const struct cairn_klog_own_line *line)
{
    bool is_user = line->what == CAIRN_KLOG_OWN_USER_PC;
    if (take->report->ended || (is_user && !open_stack(take->report)))
        return; /* the registers once more, behind the report */
    add_frame(take, line->text, line->va, CAIRN_KLOG_EXACT,
              is_user ? CAIRN_KLOG_USER : CAIRN_KLOG_KERNEL);
}

/* A dump of one frame. */
static void take_fault(struct take *take, const struct cairn_klog_own_line *line)
{
    struct cairn_klog_dump dump = *take->head;
    char text[256] = "";
    dump.kind = CAIRN_KLOG_FAULT;
    dump.title = "user fault";
    dump.pid = (int)line->pid;
    dump.cpu = line->cpu >= 0 ? (int)line->cpu : dump.cpu;
    dump.comm = text_of(take, intern(take, line->comm));
    dump.has_user = dump.is_user_supported = 1;
    struct cairn_klog_stack *stack = cairn_klog_stacks_open(take->stacks, &take->where, &dump);
    if (!stack) {
        take->failed = true;
        return;
    }
    cairn_klog_stacks_move(take->stacks, stack, CAIRN_KLOG_DONE, 0);
    struct cairn_buffer place = {0};
    if (line->text.size && line->text.size < sizeof text && line->has_off) {
        cairn_buffer_add(&place, line->text.data, line->text.size);
        cairn_buffer_printf(&place, "+0x%llx", (unsigned long long)line->off);
    }
    take->failed |= place.failed;
    const struct cairn_klog_frame frame = {
        .va = line->va,
        .text = text_of(take, intern(take, cairn_buffer_span(&place))),
        .part = CAIRN_KLOG_USER,
        .marks = CAIRN_KLOG_EXACT};
    cairn_buffer_done(&place);
    take->failed |= !cairn_klog_stacks_add(take->stacks, stack, &frame);
    cairn_klog_stacks_close(take->stacks, stack);
}

static bool take_frame(struct take *take, struct cairn_span body)
{
    struct cairn_klog_own_frame frame;
    struct cairn_klog_report *report = take->report;
    if (!cairn_klog_own_frame_read(body, &frame))
        return false;
    bool is_proc = frame.has_brackets && !report->expects_frames;
    if (!report->expects_frames && !is_proc)
        return false;
    if (frame.va == UINT64_MAX || (!frame.text.size && !frame.va))
        return true; /* what ends a chain */
    if (frame.callee.size && !report->has_frames)
        add_frame(take, frame.callee, frame.callee_va, 0, CAIRN_KLOG_KERNEL);
    add_frame(take, frame.text, frame.va,
              (frame.is_unproven ? CAIRN_KLOG_UNPROVEN : 0) |
                  (frame.is_inlined ? CAIRN_KLOG_INLINED : 0),
              CAIRN_KLOG_KERNEL);
    report->has_frames = true;
    return true;
}

static void take_other(struct take *take, struct cairn_span body)
{
    struct cairn_klog_report *report = take->report;
    if (take_frame(take, body) || !report->has_frames)
        return;
    bool is_proc = open_stack(report) && open_stack(report)->dump.kind == CAIRN_KLOG_PROC;
    if (!cairn_scan_trim(body).size || is_proc || ++report->n_foreign > FOREIGN_MAX) {
        close_stack(take);
        if (is_proc)
            forget_task(report);
    }
}

static void take_line(struct take *take, const struct cairn_klog_own_line *line,
                      struct cairn_span body)
{
    struct cairn_klog_report *report = take->report;
    switch (line->what) {
    case CAIRN_KLOG_OWN_TITLE:
        take_title(take, line);
        break;
    case CAIRN_KLOG_OWN_SECTION:
    case CAIRN_KLOG_OWN_TRACE:
        take_trace(take, line);
        break;
    case CAIRN_KLOG_OWN_TASK:
        take_task(take, line);
        break;
    case CAIRN_KLOG_OWN_PC:
    case CAIRN_KLOG_OWN_USER_PC:
        take_pc(take, line);
        break;
    case CAIRN_KLOG_OWN_PART:
        report->in_task |= cairn_span_begins(cairn_scan_trim(body), "<TASK>");
        break;
    case CAIRN_KLOG_OWN_TASK_END:
    case CAIRN_KLOG_OWN_END:
        close_stack(take);
        report->ended = line->what == CAIRN_KLOG_OWN_END;
        report->title = report->ended ? 0 : report->title;
        break;
    case CAIRN_KLOG_OWN_FAULT:
        take_fault(take, line);
        break;
    case CAIRN_KLOG_OWN_FILE:
        close_stack(take);
        forget_task(report);
        report->task.pid = (int)line->pid;
        break;
    case CAIRN_KLOG_OWN_REGS:
    case CAIRN_KLOG_OWN_BOOT:
        break;
    case CAIRN_KLOG_OWN_OTHER:
        take_other(take, body);
        break;
    }
}

int cairn_klog_trace_take(struct cairn_klog_trace *trace, struct cairn_klog_stacks *stacks,
                          struct cairn_span body, const struct cairn_klog_prefix *prefix,
                          const struct cairn_klog_dump *head, const struct cairn_klog_where *where,
                          enum cairn_klog_own *ret_what, struct cairn_err *err)
{
    struct cairn_klog_own_line line;
    cairn_klog_own_line_read(body, &line);
    struct take take = {.trace = trace,
                        .stacks = stacks,
                        .report = report_of(trace, prefix),
                        .head = head,
                        .where = *where};
    take.where.key = trace_key;
    take.report->last_line = where->line;
    take_line(&take, &line, body);
    *ret_what = line.what;
    return take.failed ? cairn_fail_memory(err) : CAIRN_OK;
}

void cairn_klog_trace_end(struct cairn_klog_trace *trace)
{
    *trace = (struct cairn_klog_trace){0};
}
