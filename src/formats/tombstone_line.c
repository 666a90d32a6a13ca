/* SPDX-License-Identifier: MIT */
#include "formats/tombstone_line.h"

static bool is_blank(struct cairn_span text, size_t at)
{
    return at < text.size && (text.data[at] == ' ' || text.data[at] == '\t');
}

static size_t skip_blanks(struct cairn_span text, size_t at)
{
    while (is_blank(text, at))
        at++;
    return at;
}

/* "abort+164" */
static void set_name(struct cairn_span text, struct cairn_tombstone_line *line)
{
    size_t at = text.size;
    while (at && text.data[at - 1] >= '0' && text.data[at - 1] <= '9')
        at--;
    if (at > 1 && at < text.size && text.data[at - 1] == '+') {
        line->is_closed = true;
        text.size = at - 1;
    }
    line->frame.name = text;
}

/* What "(...)" at the end of a frame says; false: nothing, it belongs to what is before it. */
static bool take_group(struct cairn_span inside, struct cairn_tombstone_line *line)
{
    static const char id[] = "BuildId: ", place[] = "offset 0x";
    size_t at = sizeof place - 1;
    if (cairn_span_begins(inside, id)) {
        line->frame.build_id = cairn_span_from(inside, sizeof id - 1);
        line->is_closed = true;
        return true;
    }
    if (cairn_span_begins(inside, place))
        return cairn_stack_text_hex(inside, &at, &line->place) && at == inside.size;
    if (cairn_span_equal(inside, cairn_span_of("deleted")))
        return true;
    if (line->frame.name.size)
        return false;
    set_name(inside, line);
    return true;
}

/* "<anonymous:7b3c2d1000>": code in memory that belongs to no file, counted from its begin. */
static bool take_anonymous(struct cairn_span path, struct cairn_text_frame *frame)
{
    static const char mark[] = "<anonymous:";
    uint64_t start;
    size_t at = sizeof mark - 1;
    if (!cairn_span_begins(path, mark) || !cairn_stack_text_hex(path, &at, &start))
        return false;
    frame->pc = start + frame->offset;
    return true;
}

static void set_place(struct cairn_span path, struct cairn_tombstone_line *line)
{
    struct cairn_text_frame *frame = &line->frame;
    if (take_anonymous(path, frame))
        return;
    if (cairn_span_begins(path, "<unknown>") || !path.size) {
        frame->pc = frame->offset;
        if (!frame->pc && !frame->name.size)
            frame->name = cairn_span_of("[null]");
        return;
    }
    frame->module = path;
    frame->has_offset = true;
}

/* "/system/lib64/libc.so (abort+164) (BuildId: ab01)", read from the end: a function's name may
 * hold blanks and parentheses. */
static void parse_place(struct cairn_span text, struct cairn_tombstone_line *line)
{
    struct cairn_span rest = text, inside;
    while (cairn_stack_text_group(&rest, &inside) && take_group(inside, line))
        text = rest;
    if (!cairn_stack_text_is_hex(line->frame.build_id))
        line->frame.build_id.size = 0;
    set_place(text, line);
}

/* "#00 pc 0000000000054a44  /system/lib64/libc.so", from the '#' on. */
static bool parse_frame(struct cairn_span text, struct cairn_tombstone_line *line)
{
    struct cairn_text_frame *frame = &line->frame;
    size_t at = 1;
    if (!cairn_stack_text_number(text, &at, &line->number) || !is_blank(text, at))
        return false;
    at = skip_blanks(text, at);
    if (!cairn_span_begins(cairn_span_from(text, at), "pc ") &&
        !cairn_span_begins(cairn_span_from(text, at), "pc\t"))
        return false;
    at = skip_blanks(text, at + 2);
    if (cairn_span_begins(cairn_span_from(text, at), "0x"))
        at += 2;
    if (!cairn_stack_text_hex(text, &at, &frame->offset) || (at < text.size && !is_blank(text, at)))
        return false;
    parse_place(cairn_stack_text_trimmed(cairn_span_from(text, at)), line);
    return true;
}

static bool find_frame(struct cairn_span text, struct cairn_tombstone_line *line)
{
    while (text.size) {
        size_t at = cairn_span_find(text, "#");
        text = cairn_span_from(text, at);
        if (text.size && parse_frame(text, line))
            return true;
        text = cairn_span_from(text, 1);
    }
    return false;
}

/* "4813, tid: 4830, name: RenderThread  >>> com.example <<<"; Android 2 gives no name. */
static bool parse_head(struct cairn_span text, struct cairn_tombstone_line *line)
{
    static const char mark[] = ", tid: ";
    size_t at = 0;
    if (!cairn_stack_text_number(text, &at, &line->pid) ||
        !cairn_span_begins(cairn_span_from(text, at), mark))
        return false;
    at += sizeof mark - 1;
    if (!cairn_stack_text_number(text, &at, &line->tid))
        return false;
    line->text = cairn_stack_text_trimmed(
        cairn_stack_text_between(cairn_span_from(text, at), ", name: ", ">>> "));
    line->process = cairn_stack_text_trimmed(cairn_stack_text_between(text, ">>> ", " <<<"));
    return true;
}

/* "RenderThread" sysTid=4830: `text` is what is behind the mark. */
static bool parse_thread(struct cairn_span all, struct cairn_span text,
                         struct cairn_tombstone_line *line)
{
    size_t at = 0;
    struct cairn_span name = cairn_span_from(all, cairn_span_find(all, "\"") + 1);
    if (!cairn_stack_text_number(text, &at, &line->tid))
        return false;
    line->text = cairn_span_up_to(name, cairn_span_find(name, "\" sysTid="));
    return true;
}

/* "6 (SIGABRT), code ...": not the line that the process itself logs before it is dumped. */
static bool parse_signal(struct cairn_span all, struct cairn_span text,
                         struct cairn_tombstone_line *line)
{
    static const char mark[] = "signal ";
    uint64_t number;
    size_t at = 0;
    size_t start = (size_t)(text.data - all.data) - (sizeof mark - 1);
    if (!cairn_stack_text_number(text, &at, &number) ||
        !cairn_span_begins(cairn_span_from(text, at), " (") ||
        cairn_span_find(text, "), code ") == text.size ||
        cairn_span_ends(cairn_span_up_to(all, start), "Fatal "))
        return false;
    line->text = cairn_span_from(all, start);
    return true;
}

static bool parse_stack(struct cairn_span all, struct cairn_span text,
                        struct cairn_tombstone_line *line)
{
    size_t start = cairn_span_find(all, "deallocated by thread ");
    if (start == all.size)
        start = cairn_span_find(all, "allocated by thread ");
    uint64_t number;
    size_t at = 0;
    line->text = cairn_span_from(all, start);
    line->text.size--; /* the colon */
    return cairn_stack_text_number(text, &at, &number) && at + 1 == text.size &&
           text.data[at] == ':';
}

static struct cairn_span unquoted(struct cairn_span text)
{
    if (cairn_span_begins(text, "'"))
        text = cairn_span_from(text, 1);
    if (cairn_span_ends(text, "'"))
        text.size--;
    return text;
}

/* `text` is what is behind the mark of that kind; false: the line is another one. */
static bool parse_kind(struct cairn_span all, struct cairn_span text,
                       struct cairn_tombstone_line *line)
{
    size_t at = 0;
    switch (line->kind) {
    case CAIRN_TOMBSTONE_HEAD:
        return parse_head(text, line);
    case CAIRN_TOMBSTONE_THREAD:
        return parse_thread(all, text, line);
    case CAIRN_TOMBSTONE_SIGNAL:
        return parse_signal(all, text, line);
    case CAIRN_TOMBSTONE_STACK:
        return parse_stack(all, text, line);
    case CAIRN_TOMBSTONE_PROCESS:
        return cairn_stack_text_number(text, &at, &line->pid);
    case CAIRN_TOMBSTONE_BACKTRACE:
        return !text.size;
    default:
        line->text = unquoted(text);
        return true;
    }
}

bool cairn_tombstone_name_entry(struct cairn_buffer *path, struct cairn_text_frame *frame)
{
    size_t at = cairn_span_find(frame->module, ".apk!") + 5;
    if (at >= frame->module.size || frame->module.data[at] == '/')
        return at < frame->module.size;
    cairn_buffer_clear(path);
    cairn_buffer_add(path, frame->module.data, at);
    cairn_buffer_add(path, "/", 1);
    cairn_buffer_add(path, frame->module.data + at, frame->module.size - at);
    frame->module = cairn_buffer_span(path);
    return true;
}

void cairn_tombstone_line_parse(struct cairn_span line, struct cairn_tombstone_line *ret_line)
{
    static const struct {
        const char *mark;
        enum cairn_tombstone_kind kind;
    } rows[] = {
        {"*** *** *** *** *** *** ***", CAIRN_TOMBSTONE_BEGIN},
        {"--- --- --- --- --- --- ---", CAIRN_TOMBSTONE_NEXT},
        {"pid: ", CAIRN_TOMBSTONE_HEAD},
        {"\" sysTid=", CAIRN_TOMBSTONE_THREAD},
        {"----- pid ", CAIRN_TOMBSTONE_PROCESS},
        {"signal ", CAIRN_TOMBSTONE_SIGNAL},
        {"Abort message: ", CAIRN_TOMBSTONE_ABORT},
        {"Build fingerprint: ", CAIRN_TOMBSTONE_BUILD},
        {"allocated by thread ", CAIRN_TOMBSTONE_STACK},
        {"backtrace:", CAIRN_TOMBSTONE_BACKTRACE},
        {"Cmd line: ", CAIRN_TOMBSTONE_COMMAND},
        {"--------- log ", CAIRN_TOMBSTONE_LOG},
        {"--------- tail end of log ", CAIRN_TOMBSTONE_LOG},
    };
    line = cairn_stack_text_trimmed(line);
    *ret_line = (struct cairn_tombstone_line){.kind = CAIRN_TOMBSTONE_FRAME};
    if (find_frame(line, ret_line))
        return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t at = cairn_span_find(line, rows[i].mark);
        *ret_line = (struct cairn_tombstone_line){.kind = rows[i].kind};
        if (at < line.size &&
            parse_kind(line, cairn_span_from(line, at + strlen(rows[i].mark)), ret_line))
            return;
    }
    *ret_line = (struct cairn_tombstone_line){.kind = CAIRN_TOMBSTONE_OTHER};
}
