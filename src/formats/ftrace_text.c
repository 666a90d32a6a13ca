/* SPDX-License-Identifier: MIT */
/*
 * Stacks in the text of the kernel's tracer (trace, trace_pipe, trace-cmd report), which its
 * options stacktrace and userstacktrace and the trigger stacktrace add to events.
 *
 *     #           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
 *                 bash-1234    [000] d..2.   123.456789: sched_switch: prev_comm=bash ==> ...
 *                 bash-1234    [000] d..2.   123.456791: <stack trace>
 *      => __schedule
 *      => schedule+0x54/0xe0
 *                 bash-1234    [000] d..2.   123.456792: <user stack trace>
 *      =>  <00007f3a8aefa545>
 *      => /usr/lib/libc.so.6[+0x1234]
 *
 *                 bash-1234    [000]   123.456791: kernel_stack:  <stack trace>     trace-cmd
 *     => schedule (ffffffff8158c5ec)
 *     => ffffffffc0021061
 *
 * The user's stack of an event follows the kernel's, and is the same sample. The event is the last
 * one before them of the same task.
 *
 * Source: Linux 4.9 to 6.8, kernel/trace/trace_output.c (trace_stack_print, trace_user_stack_print,
 * seq_print_user_ip) and trace.c (print_lat_fmt); trace-cmd 3, lib/trace-cmd/trace-ftrace.c
 * (trace_stack_handler).
 */
#include "base/buffer.h"
#include "base/error.h"
#include "formats/format.h"
#include "formats/thread_text.h"

struct head {
    struct cairn_span task, event;
    uint64_t tid;
    bool is_kernel, is_user; /* it begins a stack */
};

struct reading {
    struct cairn_thread_text threads;
    struct cairn_buffer event; /* of the task that was last */
    uint64_t tid;              /* of that task */
    bool in_stack, in_user;
};

/* "bash-1234    [000] d..2.   123.456789: sched_switch: prev_comm=bash" */
static bool parse_head(struct cairn_span line, struct head *ret_head)
{
    struct cairn_span text = cairn_stack_text_trimmed(line);
    size_t bracket = cairn_span_find(text, " ["), dash, at;
    struct cairn_span task = cairn_stack_text_trimmed(cairn_span_up_to(text, bracket));
    /* The group of the task, of the option record-tgid: "(-----)" or "(  123)" */
    struct cairn_span rest = task, group;
    if (cairn_stack_text_group(&rest, &group))
        task = rest;
    dash = task.size;
    while (dash && task.data[dash - 1] != '-')
        dash--;
    at = dash;
    if (bracket == text.size || dash < 2 || !cairn_stack_text_number(task, &at, &ret_head->tid) ||
        at != task.size)
        return false;
    text = cairn_span_from(text, bracket);
    size_t colon = cairn_span_find(text, ": ");
    if (colon == text.size || !colon || text.data[colon - 1] < '0' || text.data[colon - 1] > '9')
        return false;
    text = cairn_span_from(text, colon + 2);
    ret_head->task = cairn_span_up_to(task, dash - 1);
    ret_head->is_kernel =
        cairn_span_begins(text, "<stack trace>") || cairn_span_begins(text, "kernel_stack:");
    ret_head->is_user =
        cairn_span_begins(text, "<user stack trace>") || cairn_span_begins(text, "user_stack:");
    ret_head->event = cairn_span_up_to(text, cairn_span_find(text, ":"));
    return true;
}

/* "/usr/lib/libc.so.6[+0x1234]": the offset is in the mapping of the code. Where in the file that
 * begins is not said, so that no later step could name it: the text is the name. */
static bool parse_file(struct cairn_span text, struct cairn_text_frame *frame)
{
    size_t bracket = cairn_span_find(text, "[+0x"), name = bracket;
    if (bracket == text.size || !cairn_span_ends(text, "]"))
        return false;
    while (name && text.data[name - 1] != '/')
        name--;
    frame->module = cairn_span_up_to(text, bracket);
    frame->name = cairn_span_from(text, name);
    return true;
}

/* "schedule (ffffffff8158c5ec)" or "ffffffff8158c5ec": what is left is the name. */
static bool take_trace_cmd_pc(struct cairn_span *io_text, uint64_t *ret_pc)
{
    enum { DIGITS_MIN = 8 }; /* fewer may be a name, such as "add" */
    struct cairn_span rest = *io_text, inside = rest;
    size_t at = 0;
    bool has_name = cairn_stack_text_group(&rest, &inside);
    if (inside.size < DIGITS_MIN || !cairn_stack_text_hex(inside, &at, ret_pc) || at != inside.size)
        return false;
    *io_text = has_name ? rest : (struct cairn_span){0};
    return true;
}

/* "schedule+0x54/0xe0", " <00007f3a8aefa545>", "/lib/libc.so.6[+0x1234] <00007f3a8aefa545>" */
static struct cairn_text_frame parse_frame(struct cairn_span text)
{
    struct cairn_text_frame frame = {0};
    if (take_trace_cmd_pc(&text, &frame.pc)) {
        frame.name = text;
        return frame;
    }
    size_t address = cairn_span_find(text, "<"), at = address + 1;
    if (address < text.size && cairn_stack_text_hex(text, &at, &frame.pc) && at < text.size &&
        text.data[at] == '>')
        text = cairn_stack_text_trimmed(cairn_span_up_to(text, address));
    else
        frame.pc = 0;
    if (!parse_file(text, &frame) && !cairn_span_equal(text, cairn_span_of("??")))
        frame.name = cairn_span_up_to(text, cairn_span_find(text, "+0x"));
    return frame;
}

/* All addresses are return addresses but the user's innermost one. */
static int add_frame(struct reading *r, struct cairn_span text, struct cairn_err *err)
{
    struct cairn_text_frame frame = parse_frame(cairn_stack_text_trimmed(text));
    bool is_return = !r->in_user;
    r->in_user = false;
    if (!frame.name.size && !frame.module.size && !frame.pc)
        return CAIRN_OK;
    frame.pc -= is_return && frame.pc;
    return cairn_thread_text_next(&r->threads, &frame, err);
}

static int begin_stack(struct reading *r, const struct head *head, struct cairn_err *err)
{
    struct cairn_thread_text *t = &r->threads;
    bool has_event = r->tid == head->tid;
    bool goes_on = head->is_user && r->in_stack && has_event; /* the kernel's part came before */
    int code = CAIRN_OK;
    r->in_stack = true;
    r->in_user = head->is_user;
    if (goes_on)
        return CAIRN_OK;
    bool is_named = !cairn_span_equal(head->task, cairn_span_of("<...>"));
    code = cairn_thread_text_say(t, CAIRN_THREAD_NAME,
                                 is_named ? head->task : (struct cairn_span){0}, err);
    if (code == CAIRN_OK)
        code = cairn_thread_text_say_number(t, CAIRN_THREAD_TID, head->tid, err);
    return code == CAIRN_OK
               ? cairn_thread_text_say(
                     t, CAIRN_THREAD_REPORT,
                     has_event ? cairn_buffer_span(&r->event) : (struct cairn_span){0}, err)
               : code;
}

static int add_event(struct reading *r, const struct head *head, struct cairn_err *err)
{
    r->in_stack = false;
    r->tid = head->tid;
    cairn_buffer_clear(&r->event);
    cairn_buffer_add(&r->event, head->event.data, head->event.size);
    return r->event.failed ? cairn_fail_memory(err) : cairn_thread_text_end(&r->threads, err);
}

static int add_line(void *ctx, struct cairn_span line, bool is_cut, struct cairn_err *err)
{
    struct reading *r = ctx;
    struct head head;
    struct cairn_span text = cairn_stack_text_trimmed(line);
    bool is_frame = cairn_span_begins(text, "=> ");
    if (memchr(line.data, 0, line.size) || is_cut) {
        r->threads.n_odd += r->in_stack && is_frame;
        return CAIRN_OK;
    }
    if (is_frame)
        return r->in_stack ? add_frame(r, cairn_span_from(text, 3), err) : CAIRN_OK;
    if (!parse_head(line, &head))
        return CAIRN_OK;
    return head.is_kernel || head.is_user ? begin_stack(r, &head, err) : add_event(r, &head, err);
}

static int read_ftrace(struct cairn_source *source, struct cairn_profile *p, struct cairn_err *err)
{
    struct reading r = {.threads.stacks.p = p};
    int code = cairn_stack_text_read(source, &r.threads.line, add_line, &r, err);
    if (code == CAIRN_OK)
        code = cairn_thread_text_finish(&r.threads, "a trace of the kernel",
                                        "echo 1 >/sys/kernel/tracing/options/stacktrace adds stacks"
                                        " to events",
                                        err);
    cairn_thread_text_done(&r.threads);
    cairn_buffer_done(&r.event);
    return code;
}

static bool sniff(struct cairn_span head)
{
    struct cairn_span line;
    struct head parsed;
    while (cairn_stack_text_next(&head, &line))
        if (cairn_span_begins(line, "# tracer: ") ||
            (parse_head(line, &parsed) && (parsed.is_kernel || parsed.is_user)))
            return true;
    return false;
}

static const char *const endings[] = {NULL};

const struct cairn_format_row cairn_format_ftrace = {
    .format = CAIRN_FORMAT_FTRACE,
    .name = "ftrace",
    .endings = endings,
    .in_log = true,
    .sniff = sniff,
    .read = read_ftrace,
};
