/* SPDX-License-Identifier: MIT */
#include "formats/debugger_line.h"

static bool take_id(struct cairn_span text, const char *mark, struct cairn_debugger_line *line)
{
    size_t at = cairn_span_find(text, mark), digits = at + strlen(mark);
    return at < text.size && cairn_stack_text_number(text, &digits, &line->id);
}

/* Thread 2 (Thread 0x7f3a8ae276c0 (LWP 29163) "worker"):
 * [Switching to thread 2 (Thread 0x7f3a8ae276c0 (LWP 29163))] */
static bool parse_gdb_thread(struct cairn_span text, struct cairn_debugger_line *line)
{
    static const char switched[] = "[Switching to thread ";
    uint64_t number;
    size_t at = cairn_span_begins(text, switched) ? sizeof switched - 1 : 7;
    if ((at == 7 && !cairn_span_begins(text, "Thread ")) ||
        !cairn_stack_text_number(text, &at, &number) ||
        !cairn_span_begins(cairn_span_from(text, at), " ("))
        return false;
    line->kind = CAIRN_DEBUGGER_THREAD;
    line->text = cairn_stack_text_between(cairn_span_from(text, at), " \"", "\")");
    return take_id(text, "(LWP ", line) || take_id(text, "(process ", line);
}

/* "PID 29160 - process" and "TID 29163:", alone on their lines. */
static bool parse_eu_head(struct cairn_span text, struct cairn_debugger_line *line)
{
    size_t at = 4;
    bool is_process = cairn_span_begins(text, "PID ");
    if ((!is_process && !cairn_span_begins(text, "TID ")) ||
        !cairn_stack_text_number(text, &at, &line->id))
        return false;
    line->kind = is_process ? CAIRN_DEBUGGER_PROCESS : CAIRN_DEBUGGER_THREAD;
    text = cairn_span_from(text, at);
    return is_process ? cairn_span_begins(text, " - ") : cairn_span_equal(text, cairn_span_of(":"));
}

/* "Process 4813 (paintd) of user 1000 dumped core." and coredumpctl's "PID: 4813 (paintd)". */
static bool parse_dumped(struct cairn_span text, struct cairn_debugger_line *line)
{
    bool is_listed = cairn_span_begins(text, "PID: ");
    const char *mark = is_listed ? "PID: " : "Process ";
    if (!is_listed && !cairn_span_ends(text, "dumped core."))
        return false;
    line->kind = CAIRN_DEBUGGER_PROCESS;
    text = cairn_span_from(text, cairn_span_find(text, mark));
    line->text = cairn_stack_text_between(text, " (", ")");
    return take_id(text, mark, line);
}

/* "Module libc.so.6 with build-id 93ac61ec", "Found module libc.so.6 with build-id: 93ac61ec". */
static bool parse_module(struct cairn_span text, struct cairn_debugger_line *line)
{
    static const char mark[] = " with build-id";
    size_t at = cairn_span_find(text, mark);
    size_t start = cairn_span_begins(text, "Module ")         ? 7
                   : cairn_span_begins(text, "Found module ") ? 13
                                                              : at;
    if (at == text.size || start >= at)
        return false;
    struct cairn_span id = cairn_span_from(text, at + sizeof mark - 1);
    id = cairn_span_from(id, cairn_span_begins(id, ":"));
    line->kind = CAIRN_DEBUGGER_MODULE;
    line->text = cairn_span_up_to(cairn_span_from(text, start), at - start);
    line->build_id = cairn_stack_text_trimmed(id);
    return true;
}

/* "Program terminated with signal SIGSEGV, Segmentation fault.", systemd's "Signal: 11 (SEGV)". */
static bool parse_signal(struct cairn_span text, struct cairn_debugger_line *line)
{
    static const char *const marks[] = {" terminated with signal ", " received signal "};
    line->kind = CAIRN_DEBUGGER_SIGNAL;
    line->text = text;
    if (cairn_span_begins(text, "Signal: "))
        return true;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        size_t at = cairn_span_find(text, marks[i]);
        if (at == text.size ||
            (!cairn_span_begins(text, "Program ") && !cairn_span_begins(text, "Thread ")))
            continue;
        line->text = cairn_span_from(text, cairn_span_find(text, "signal "));
        line->text.size -= cairn_span_ends(line->text, ".");
        return true;
    }
    return false;
}

/* "Backtrace stopped: previous frame identical to this frame (corrupt stack?)" */
static bool parse_cut(struct cairn_span text, struct cairn_debugger_line *line)
{
    static const char mark[] = "Backtrace stopped: ";
    line->kind = CAIRN_DEBUGGER_CUT;
    line->text = cairn_span_from(text, sizeof mark - 1);
    return cairn_span_begins(text, mark);
}

static bool parse_current(struct cairn_span text, struct cairn_debugger_line *line)
{
    line->kind = CAIRN_DEBUGGER_CURRENT;
    return (cairn_span_begins(text, "[Current thread is ") ||
            cairn_span_begins(text, "[Switching to Thread ")) &&
           take_id(text, "LWP ", line);
}

/* "Stack trace of thread 4813:", behind any prefix. */
static bool parse_systemd_thread(struct cairn_span text, struct cairn_debugger_line *line)
{
    line->kind = CAIRN_DEBUGGER_THREAD;
    return cairn_span_ends(text, ":") && take_id(text, "Stack trace of thread ", line);
}

void cairn_debugger_line_parse(struct cairn_span text, struct cairn_debugger_line *ret_line)
{
    static bool (*const parsers[])(struct cairn_span, struct cairn_debugger_line *) = {
        parse_signal, parse_gdb_thread, parse_eu_head, parse_dumped,
        parse_module, parse_current,    parse_cut,     parse_systemd_thread};
    *ret_line = (struct cairn_debugger_line){.kind = CAIRN_DEBUGGER_FRAME};
    if (cairn_debugger_frame_parse(text, &ret_line->frame))
        return;
    text = cairn_stack_text_trimmed(text);
    for (size_t i = 0; text.size && i < sizeof parsers / sizeof *parsers; i++) {
        *ret_line = (struct cairn_debugger_line){.kind = CAIRN_DEBUGGER_OTHER};
        if (parsers[i](text, ret_line))
            return;
    }
    *ret_line = (struct cairn_debugger_line){.kind = CAIRN_DEBUGGER_OTHER};
}
