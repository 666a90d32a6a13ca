/* SPDX-License-Identifier: MIT */
/*
 * Stacks that C and C++ programs print of themselves, by glibc's backtrace_symbols(), abseil, glog
 * and Boost.Stacktrace, which std::stacktrace looks like.
 *
 *     /lib/libx.so(draw+0x1a) [0x7f072569024a]             glibc
 *     ./prog(+0x11d1)[0x55f56953f1d1]                      likewise, without a name
 *         @     0x55f1c0b2a1b2         64  draw()          abseil: size of the frame, function
 *         @     0x55f1c0b2a1b2 draw()                      glog
 *      0# draw() at /src/a.cpp:7                           Boost
 *      1# 0x000055D1C1001234 in ./prog
 *
 * A stack ends at any other line. Its head is the last line before it.
 *
 * Source: glibc 2.36, debug/backtracesyms.c and backtracesymsfd.c; abseil 20240116,
 * absl/debugging/internal/examine_stack.cc; glog 0.6, src/utilities.cc; Boost 1.74,
 * boost/stacktrace/detail/frame_unwind.ipp; gcc 12, libstdc++, <stacktrace>.
 */
#include "base/buffer.h"
#include "base/error.h"
#include "formats/format.h"
#include "formats/thread_text.h"

struct reading {
    struct cairn_thread_text threads;
    struct cairn_buffer head; /* the last line of text */
};

struct frame {
    struct cairn_text_frame text; /* as printed: a return address is one of the next instruction */
    uint64_t number;
    bool has_number;
    bool is_whole; /* it ends as such a frame does */
};

/* "[0x7f072569024a]" at the end. */
static bool take_pc(struct cairn_span *io_text, uint64_t *ret_pc)
{
    struct cairn_span text = *io_text;
    size_t start = text.size;
    while (start && text.data[start - 1] != '[')
        start--;
    size_t at = start + 2;
    if (!start || !cairn_span_begins(cairn_span_from(text, start), "0x") ||
        !cairn_stack_text_hex(text, &at, ret_pc) || at + 1 != text.size || text.data[at] != ']')
        return false;
    *io_text = cairn_stack_text_trimmed(cairn_span_up_to(text, start - 1));
    return true;
}

/* Where the parentheses begin that end the text; its size: it does not end in any. */
static size_t find_group(struct cairn_span text)
{
    size_t depth = 0;
    for (size_t at = text.size; at-- > 0 && cairn_span_ends(text, ")");) {
        depth += text.data[at] == ')';
        depth -= text.data[at] == '(';
        if (!depth)
            return at;
    }
    return text.size;
}

/* "draw+0x1a": where in the module that is, is said only where there is no function. */
static void parse_inside(struct cairn_span inside, struct cairn_text_frame *frame)
{
    size_t sign = inside.size;
    while (sign && inside.data[sign - 1] != '+' && inside.data[sign - 1] != '-')
        sign--;
    size_t at = sign + 2;
    uint64_t offset;
    if (!sign || !cairn_span_begins(cairn_span_from(inside, sign), "0x") ||
        !cairn_stack_text_hex(inside, &at, &offset) || at != inside.size) {
        frame->name = inside;
        return;
    }
    frame->name = cairn_span_up_to(inside, sign - 1);
    frame->has_offset = !frame->name.size && inside.data[sign - 1] == '+';
    frame->offset = frame->has_offset ? offset : 0;
}

/* "/lib/libx.so(draw+0x1a) [0x7f07]": a log's prefix ends at the last blank before the path. */
static bool parse_glibc(struct cairn_span text, struct frame *frame)
{
    struct cairn_span rest = text;
    if (!take_pc(&rest, &frame->text.pc) || cairn_span_find(rest, " nid=") < rest.size)
        return false; /* or the head of a thread of Java */
    frame->is_whole = true;
    if (!rest.size)
        return true; /* "[0x7f07]" */
    size_t group = find_group(rest), start = group;
    struct cairn_span inside = cairn_span_from(rest, group + 1);
    if (group < rest.size) {
        inside.size--;
        parse_inside(inside, &frame->text);
    }
    while (start && rest.data[start - 1] != ' ')
        start--;
    frame->text.module = cairn_span_from(cairn_span_up_to(rest, group), start);
    return frame->text.module.size && (group < rest.size || frame->text.module.data[0] == '/');
}

/* "@     0x55f1c0b2a1b2         64  draw()" */
static bool parse_abseil(struct cairn_span text, struct frame *frame)
{
    static const char unknown[] = "(unknown)";
    size_t at = cairn_span_find(text, "@ ");
    struct cairn_span rest = cairn_stack_text_trimmed(cairn_span_from(text, at + 2));
    uint64_t size;
    if (at == text.size || !cairn_span_begins(rest, "0x") ||
        cairn_span_ends(cairn_span_up_to(text, at), "PC: "))
        return false;
    at = 2;
    if (!cairn_stack_text_hex(rest, &at, &frame->text.pc) || at == rest.size ||
        rest.data[at] != ' ')
        return false;
    rest = cairn_stack_text_trimmed(cairn_span_from(rest, at));
    at = 0;
    if (cairn_stack_text_number(rest, &at, &size) && at < rest.size && rest.data[at] == ' ')
        rest = cairn_stack_text_trimmed(cairn_span_from(rest, at));
    if (cairn_span_begins(rest, "0x"))
        return false;                        /* a heap profile of jemalloc */
    while (cairn_span_begins(rest, unknown)) /* as the size, as the function */
        rest = cairn_stack_text_trimmed(cairn_span_from(rest, sizeof unknown - 1));
    frame->text.name = rest;
    return true;
}

/* Takes what is behind the last `mark` off the text. */
static bool take_behind(struct cairn_span *io_text, const char *mark, struct cairn_span *ret_behind)
{
    struct cairn_span text = *io_text;
    size_t at = cairn_stack_text_find_last(text, mark);
    if (at == text.size)
        return false;
    *ret_behind = cairn_span_from(text, at + strlen(mark));
    *io_text = cairn_span_up_to(text, at);
    return true;
}

/* " 0# draw() at /src/a.cpp:7", " 1# 0x000055D1 in ./prog"; std::stacktrace adds " [0x401234]". */
static bool parse_boost(struct cairn_span text, struct frame *frame)
{
    struct cairn_text_frame *f = &frame->text;
    size_t at = 0, hex = 2;
    struct cairn_span place;
    if (!cairn_stack_text_number(text, &at, &frame->number) ||
        !cairn_span_begins(cairn_span_from(text, at), "# "))
        return false;
    frame->has_number = true;
    text = cairn_stack_text_trimmed(cairn_span_from(text, at + 2));
    (void)take_pc(&text, &f->pc);
    struct cairn_span rest = text;
    if (take_behind(&rest, " at ", &place) && cairn_stack_text_place(place, &f->file, &f->line)) {
        text = rest;
        frame->is_whole = true;
    } else if (take_behind(&text, " in ", &place)) {
        f->module = place;
    }
    if (cairn_span_begins(text, "0x") && cairn_stack_text_hex(text, &hex, &f->pc) &&
        hex == text.size)
        text.size = 0;
    f->name = text;
    return text.size || f->pc;
}

/* `text` has no blanks at its ends. */
static bool parse_frame(struct cairn_span text, struct frame *ret_frame)
{
    static bool (*const parsers[])(struct cairn_span, struct frame *) = {parse_boost, parse_abseil,
                                                                         parse_glibc};
    for (size_t i = 0; text.size && i < sizeof parsers / sizeof *parsers; i++) {
        *ret_frame = (struct frame){0};
        if (parsers[i](text, ret_frame))
            return true;
    }
    return false;
}

/* What is printed is where each call returns to. */
static void look_up_calls(struct frame *frame)
{
    struct cairn_text_frame *text = &frame->text;
    text->pc -= text->pc > 0;
    text->offset -= text->offset > 0;
}

static int add_frame(struct reading *r, struct frame *frame, struct cairn_err *err)
{
    struct cairn_thread_text *t = &r->threads;
    int code = CAIRN_OK;
    if (!cairn_stack_text_is_begun(&t->stacks))
        code = cairn_thread_text_say(t, CAIRN_THREAD_STACK, cairn_buffer_span(&r->head), err);
    look_up_calls(frame);
    if (code == CAIRN_OK && frame->has_number)
        return cairn_thread_text_frame(t, frame->number, &frame->text, err);
    return code == CAIRN_OK ? cairn_thread_text_next(t, &frame->text, err) : code;
}

/* "*** SIGSEGV (@0x0) received by PID 4813 (TID 0x7f) from PID 0; stack trace: ***" of glog. */
static int add_head(struct reading *r, struct cairn_span text, struct cairn_err *err)
{
    static const char mark[] = " received by PID ";
    struct cairn_thread_text *t = &r->threads;
    size_t at = cairn_span_find(text, mark), digits = at + sizeof mark - 1;
    uint64_t pid;
    int code = cairn_thread_text_end(t, err);
    if (code < 0 || cairn_span_begins(text, "PC: @"))
        return code;
    cairn_buffer_clear(&r->head);
    text.size -= cairn_span_ends(text, ":");
    cairn_buffer_add(&r->head, text.data, text.size);
    if (r->head.failed)
        return cairn_fail_memory(err);
    return at < text.size && cairn_stack_text_number(text, &digits, &pid)
               ? cairn_thread_text_say_number(t, CAIRN_THREAD_PID, pid, err)
               : CAIRN_OK;
}

static int add_line(void *ctx, struct cairn_span line, bool is_cut, struct cairn_err *err)
{
    struct reading *r = ctx;
    struct frame frame;
    struct cairn_span text = cairn_stack_text_trimmed(line);
    bool is_frame = parse_frame(text, &frame);
    if (memchr(text.data, 0, text.size) || (is_cut && !(is_frame && frame.is_whole))) {
        r->threads.n_odd += is_frame;
        return CAIRN_OK;
    }
    if (is_frame)
        return add_frame(r, &frame, err);
    return text.size ? add_head(r, text, err) : cairn_thread_text_end(&r->threads, err);
}

static int read_backtrace(struct cairn_source *source, struct cairn_profile *p,
                          struct cairn_err *err)
{
    struct reading r = {.threads.stacks.p = p};
    int code = cairn_stack_text_read(source, &r.threads.line, add_line, &r, err);
    if (code == CAIRN_OK)
        code = cairn_thread_text_finish(&r.threads, "text of backtrace_symbols() and its like",
                                        "backtrace_symbols_fd(frames, n, 2) prints one", err);
    cairn_thread_text_done(&r.threads);
    cairn_buffer_done(&r.head);
    return code;
}

static bool sniff(struct cairn_span head)
{
    struct cairn_span line;
    while (cairn_stack_text_next(&head, &line)) {
        struct frame frame;
        struct cairn_span text = cairn_stack_text_trimmed(line);
        bool is_marked = cairn_span_begins(text, "@  ") || cairn_span_begins(text, "0# ") ||
                         (cairn_span_ends(text, "]") && cairn_span_find(text, "(") < text.size);
        if (is_marked && parse_frame(text, &frame))
            return true;
    }
    return false;
}

static const char *const endings[] = {NULL};

const struct cairn_format_row cairn_format_backtrace = {
    .format = CAIRN_FORMAT_BACKTRACE,
    .name = "backtrace",
    .endings = endings,
    .in_log = true,
    .sniff = sniff,
    .read = read_backtrace,
};
