/* SPDX-License-Identifier: MIT */
/*
 * Stacks of threads as debuggers print them: gdb and pstack, eu-stack, systemd-coredump.
 *
 * A frame may take several lines: gdb breaks long ones, eu-stack -b and -s print two more. So a
 * frame waits for the next line that is not indented as its own lines are.
 */
#include "base/buffer.h"
#include "base/error.h"
#include "formats/debugger_line.h"
#include "formats/format.h"
#include "formats/thread_text.h"

enum { INDENT = 4, FRAME_BYTES_MAX = 1 << 20 };

struct reading {
    struct cairn_thread_text threads;
    bool is_waiting; /* a frame is: */
    bool is_gdb;     /* and gdb's, */
    bool is_open;    /* whose place may be on a line below */
    struct cairn_buffer frame, build_id, file;
    struct cairn_buffer first; /* the last frame 0, as it was printed */
    uint64_t offset;           /* from the load base, where there is a build ID */
    uint32_t source_line;
    uint64_t last_pc;             /* of the frame before, to tell what was inlined */
    bool is_after_handler;        /* then the address is that of code which was interrupted */
    struct cairn_table build_ids; /* of a module's name, by numbers of the profile's strings */
    uint32_t signal;              /* likewise; 0: none was said */
    uint64_t current;             /* the thread that it ended; 0: not said */
};

static void done(struct reading *r)
{
    cairn_thread_text_done(&r->threads);
    cairn_buffer_done(&r->frame);
    cairn_buffer_done(&r->first);
    cairn_buffer_done(&r->build_id);
    cairn_buffer_done(&r->file);
    cairn_table_done(&r->build_ids);
}

static void keep(struct cairn_buffer *buffer, struct cairn_span text)
{
    cairn_buffer_clear(buffer);
    cairn_buffer_add(buffer, text.data, text.size);
}

/* gdb prints no address where the frame before is inlined into this one. */
static void set_pc(struct reading *r, struct cairn_debugger_frame *frame)
{
    enum { UNKNOWN = 1 };
    bool is_return = !frame->is_exact && !r->is_after_handler;
    if (frame->text.pc)
        frame->text.pc -= is_return;
    else if (!frame->is_handler && frame->text.name.size)
        frame->text.pc = is_return && r->last_pc ? r->last_pc : UNKNOWN;
    r->last_pc = frame->text.pc;
}

static int set_module(struct reading *r, struct cairn_debugger_frame *frame, struct cairn_err *err)
{
    struct cairn_profile *p = r->threads.stacks.p;
    struct cairn_text_frame *text = &frame->text;
    uint32_t number;
    if (r->build_id.size) {
        text->build_id = cairn_buffer_span(&r->build_id);
        text->offset = r->offset;
        text->has_offset = true;
    } else if (text->has_offset) { /* systemd gives that of a return address, too */
        text->offset -= !frame->is_exact && !r->is_after_handler && text->offset;
        uint32_t name = cairn_profile_text(p, (const char *)text->module.data, text->module.size);
        if (name == UINT32_MAX)
            return cairn_fail_memory(err);
        if (cairn_table_find(&r->build_ids, name, &number))
            text->build_id = cairn_span_of(cairn_strings_get(&p->strings, number));
    }
    return CAIRN_OK;
}

/* A frame that a signal interrupted follows. */
static bool is_handler(const struct cairn_debugger_frame *frame)
{
    return frame->is_handler || cairn_span_equal(frame->text.name, cairn_span_of("__restore_rt")) ||
           cairn_span_equal(frame->text.name, cairn_span_of("__kernel_rt_sigreturn"));
}

/* gdb prints the innermost frame of a core file before it is asked for the stack. */
static bool is_place_again(struct reading *r)
{
    bool is_again = r->threads.next_number == 1 &&
                    cairn_span_equal(cairn_buffer_span(&r->frame), cairn_buffer_span(&r->first));
    keep(&r->first, cairn_buffer_span(&r->frame));
    return is_again;
}

/* Makes the frame that waits. */
static int flush(struct reading *r, struct cairn_err *err)
{
    struct cairn_debugger_frame frame;
    if (!r->is_waiting)
        return CAIRN_OK;
    r->is_waiting = false;
    if (r->frame.failed || r->first.failed || r->build_id.failed || r->file.failed)
        return cairn_fail_memory(err);
    if (!cairn_debugger_frame_parse(cairn_buffer_span(&r->frame), &frame)) {
        r->threads.n_odd++;
        return CAIRN_OK;
    }
    if (frame.number < r->threads.next_number)
        r->is_after_handler = false;
    if (frame.number == 0 && is_place_again(r))
        return CAIRN_OK;
    set_pc(r, &frame);
    int code = set_module(r, &frame, err);
    if (code < 0)
        return code;
    if (r->file.size) {
        frame.text.file = cairn_buffer_span(&r->file);
        frame.text.line = r->source_line;
    }
    r->is_after_handler = is_handler(&frame);
    return cairn_thread_text_frame(&r->threads, frame.number, &frame.text, err);
}

static int begin_frame(struct reading *r, struct cairn_span line,
                       const struct cairn_debugger_frame *frame, bool is_cut, struct cairn_err *err)
{
    int code = flush(r, err);
    if (code < 0)
        return code;
    if (is_cut && !frame->is_whole) {
        r->threads.n_odd++;
        return CAIRN_OK;
    }
    r->is_waiting = true;
    r->is_gdb = frame->is_gdb;
    r->is_open = !frame->text.file.size && !frame->text.module.size;
    keep(&r->frame, line);
    cairn_buffer_clear(&r->build_id);
    cairn_buffer_clear(&r->file);
    return CAIRN_OK;
}

/* A line below the frame that waits, which may be a part of it. */
static void add_below(struct reading *r, struct cairn_span line)
{
    struct cairn_span part = cairn_stack_text_trimmed(line);
    if (!r->is_gdb) {
        if (cairn_debugger_build_parse(line, &part, &r->offset))
            keep(&r->build_id, part);
        else if (cairn_stack_text_place(line, &part, &r->source_line))
            keep(&r->file, part);
    } else if (r->is_open && r->frame.size + part.size < FRAME_BYTES_MAX) {
        cairn_buffer_add(&r->frame, " ", 1);
        cairn_buffer_add(&r->frame, part.data, part.size);
        r->is_open = !cairn_debugger_part_closes(part);
    }
}

static bool is_below(struct cairn_span line)
{
    return line.size > INDENT && cairn_span_begins(line, "    ") && line.data[INDENT] != ' ';
}

static int add_thread(struct reading *r, const struct cairn_debugger_line *line,
                      struct cairn_err *err)
{
    struct cairn_thread_text *t = &r->threads;
    bool is_crashed = r->signal && (!r->current || line->id == r->current);
    if (r->signal && t->next_number == 1 && !t->labels[CAIRN_THREAD_TID].key)
        cairn_thread_text_drop(t); /* where a core file's thread was, which is printed again */
    int code = cairn_thread_text_forget(t, CAIRN_THREAD_NAME, err);
    if (code == CAIRN_OK)
        code = cairn_thread_text_say(t, CAIRN_THREAD_NAME, line->text, err);
    if (code == CAIRN_OK)
        code = cairn_thread_text_say_number(t, CAIRN_THREAD_TID, line->id, err);
    if (!is_crashed || code < 0)
        return code;
    r->current = line->id;
    code = cairn_thread_text_say(t, CAIRN_THREAD_STACK, cairn_span_of("crashed"), err);
    const char *signal = cairn_strings_get(&t->stacks.p->strings, r->signal);
    return code == CAIRN_OK
               ? cairn_thread_text_say(t, CAIRN_THREAD_REPORT, cairn_span_of(signal), err)
               : code;
}

static int add_process(struct reading *r, const struct cairn_debugger_line *line,
                       struct cairn_err *err)
{
    const struct cairn_profile_label *pid = &r->threads.labels[CAIRN_THREAD_PID];
    if (pid->key && (uint64_t)pid->number == line->id)
        return CAIRN_OK; /* coredumpctl says it again behind the signal */
    int code = cairn_thread_text_forget(&r->threads, CAIRN_THREAD_PROCESS, err);
    if (code == CAIRN_OK)
        code = cairn_thread_text_say(&r->threads, CAIRN_THREAD_PROCESS, line->text, err);
    r->signal = 0;
    r->current = 0;
    return code == CAIRN_OK
               ? cairn_thread_text_say_number(&r->threads, CAIRN_THREAD_PID, line->id, err)
               : code;
}

/* The thread that a signal ended is the first whose stack follows, or the one that is named. */
static int add_signal(struct reading *r, struct cairn_span text, struct cairn_err *err)
{
    struct cairn_thread_text *t = &r->threads;
    int code = cairn_thread_text_say(t, CAIRN_THREAD_STACK, cairn_span_of("crashed"), err);
    if (code == CAIRN_OK)
        code = cairn_thread_text_say(t, CAIRN_THREAD_REPORT, text, err);
    r->signal = t->labels[CAIRN_THREAD_REPORT].text;
    return code;
}

static int add_module(struct reading *r, const struct cairn_debugger_line *line,
                      struct cairn_err *err)
{
    struct cairn_profile *p = r->threads.stacks.p;
    uint32_t name = cairn_profile_text(p, (const char *)line->text.data, line->text.size);
    uint32_t id = cairn_profile_text(p, (const char *)line->build_id.data, line->build_id.size);
    return name == UINT32_MAX || id == UINT32_MAX || cairn_table_set(&r->build_ids, name, id) < 0
               ? cairn_fail_memory(err)
               : CAIRN_OK;
}

static int add_said(struct reading *r, const struct cairn_debugger_line *line,
                    struct cairn_err *err)
{
    switch (line->kind) {
    case CAIRN_DEBUGGER_PROCESS:
        return add_process(r, line, err);
    case CAIRN_DEBUGGER_THREAD:
        return add_thread(r, line, err);
    case CAIRN_DEBUGGER_SIGNAL:
        return add_signal(r, line->text, err);
    case CAIRN_DEBUGGER_MODULE:
        return add_module(r, line, err);
    case CAIRN_DEBUGGER_CUT:
        return cairn_thread_text_note(&r->threads, CAIRN_THREAD_CUT, line->text, err);
    case CAIRN_DEBUGGER_CURRENT:
        r->current = line->id;
        return CAIRN_OK;
    default:
        return CAIRN_OK;
    }
}

static int add_line(void *ctx, struct cairn_span text, bool is_cut, struct cairn_err *err)
{
    struct reading *r = ctx;
    struct cairn_debugger_line line;
    cairn_debugger_line_parse(text, &line);
    if (memchr(text.data, 0, text.size)) {
        r->threads.n_odd += line.kind == CAIRN_DEBUGGER_FRAME;
        return CAIRN_OK;
    }
    if (line.kind == CAIRN_DEBUGGER_FRAME)
        return begin_frame(r, text, &line.frame, is_cut, err);
    if (r->is_waiting && is_below(text)) {
        add_below(r, text);
        return CAIRN_OK;
    }
    int code = flush(r, err);
    return code == CAIRN_OK ? add_said(r, &line, err) : code;
}

static int read_debugger(struct cairn_source *source, struct cairn_profile *p,
                         struct cairn_err *err)
{
    struct reading r = {.threads.stacks.p = p};
    int code = cairn_stack_text_read(source, &r.threads.line, add_line, &r, err);
    if (code == CAIRN_OK)
        code = flush(&r, err);
    if (code == CAIRN_OK)
        code = cairn_thread_text_finish(&r.threads, "a debugger's text",
                                        "gdb -batch -ex 'thread apply all bt' -p PID prints them",
                                        err);
    done(&r);
    return code;
}

/* Debuggers pad the number of a frame, sanitizers do not. */
static bool is_padded_frame(struct cairn_span text, const struct cairn_debugger_frame *frame)
{
    struct cairn_span padded = cairn_stack_text_trimmed(text);
    return frame->number == 0 && cairn_span_begins(padded, "#0  ") &&
           (frame->is_gdb ? frame->is_whole : frame->text.pc != 0);
}

static bool sniff(struct cairn_span head)
{
    struct cairn_span text;
    struct cairn_debugger_line line;
    while (cairn_stack_text_next(&head, &text)) {
        cairn_debugger_line_parse(text, &line);
        if (line.kind == CAIRN_DEBUGGER_THREAD ||
            (line.kind == CAIRN_DEBUGGER_FRAME && is_padded_frame(text, &line.frame)))
            return true;
    }
    return false;
}

static const char *const endings[] = {NULL};

const struct cairn_format_row cairn_format_debugger = {
    .format = CAIRN_FORMAT_DEBUGGER,
    .name = "debugger",
    .endings = endings,
    .in_log = true,
    .sniff = sniff,
    .read = read_debugger,
};
