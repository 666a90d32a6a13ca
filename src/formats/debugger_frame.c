/* SPDX-License-Identifier: MIT */
/* Frames of gdb, eu-stack and systemd-coredump, as debugger_line.h shows them. */
#include "formats/debugger_line.h"

static bool is_operator_sign(uint8_t c)
{
    return c && strchr("<>=!-+*/%^&|~,()[]", c);
}

/* Behind "operator<<": signs that are no brackets. */
static size_t skip_operator(struct cairn_span text, size_t at)
{
    static const char word[] = "operator";
    if (!cairn_span_begins(cairn_span_from(text, at), word))
        return at;
    at += sizeof word - 1;
    while (at < text.size && is_operator_sign(text.data[at]))
        at++;
    return at;
}

/* Where the arguments begin behind a function's name: at the first " (" outside of brackets. */
static size_t find_arguments(struct cairn_span text)
{
    size_t depth = 0;
    for (size_t i = 0; i < text.size; i++) {
        size_t behind = skip_operator(text, i);
        if (behind > i) {
            i = behind - 1;
            continue;
        }
        uint8_t c = text.data[i];
        if (!depth && c == ' ' && i + 1 < text.size && text.data[i + 1] == '(' && i)
            return i;
        if (c == '(' || c == '<' || c == '{')
            depth++;
        else if ((c == ')' || c == '>' || c == '}') && depth)
            depth--;
    }
    return text.size;
}

/* ") at a.c:7" or ") from /lib/x.so" at the end; arguments may hold any text. */
static void parse_gdb_place(struct cairn_span text, struct cairn_debugger_frame *frame)
{
    static const char at_mark[] = ") at ", from_mark[] = ") from ";
    size_t at = cairn_stack_text_find_last(text, at_mark);
    size_t from = cairn_stack_text_find_last(text, from_mark);
    if (at < text.size && cairn_stack_text_place(cairn_span_from(text, at + sizeof at_mark - 1),
                                                 &frame->text.file, &frame->text.line)) {
        frame->is_whole = true;
        return;
    }
    struct cairn_span module = cairn_span_from(text, from + sizeof from_mark - 1);
    if (from < text.size && module.size && !cairn_span_ends(module, ")")) {
        frame->text.module = module;
        frame->is_whole = true;
    }
}

bool cairn_debugger_part_closes(struct cairn_span part)
{
    struct cairn_debugger_frame frame = {0};
    if (cairn_span_begins(part, "at "))
        return cairn_stack_text_place(cairn_span_from(part, 3), &frame.text.file, &frame.text.line);
    parse_gdb_place(part, &frame);
    return frame.is_whole || cairn_span_begins(part, "from ");
}

/* "poll (fds=0x0, n=1) at poll.c:48" */
static bool parse_gdb(struct cairn_span text, struct cairn_debugger_frame *frame)
{
    size_t at = find_arguments(text);
    if (at == text.size)
        return false;
    struct cairn_span name = cairn_span_up_to(text, at);
    frame->is_gdb = true;
    frame->is_whole = cairn_span_ends(text, " ()");
    parse_gdb_place(cairn_span_from(text, at), frame);
    if (!cairn_span_equal(name, cairn_span_of("??")))
        frame->text.name = name;
    return true;
}

/* "poll (libc.so.6 + 0xf8a4f)"; false: it is eu-stack's. */
static bool parse_systemd(struct cairn_span text, struct cairn_debugger_frame *frame)
{
    static const char mark[] = " + 0x", missing[] = "n/a";
    struct cairn_span rest = text, inside;
    if (!cairn_stack_text_group(&rest, &inside))
        return false;
    size_t at = cairn_stack_text_find_last(inside, mark), digits = at + sizeof mark - 1;
    struct cairn_span module = cairn_span_up_to(inside, at);
    frame->is_whole = at < inside.size;
    if (!cairn_span_equal(rest, cairn_span_of(missing)))
        frame->text.name = rest;
    if (cairn_span_equal(module, cairn_span_of(missing)))
        return true;
    frame->text.module = module;
    frame->text.has_offset = at < inside.size &&
                             cairn_stack_text_hex(inside, &digits, &frame->text.offset) &&
                             digits == inside.size;
    return true;
}

/* "sleep@GLIBC_2.2 - /lib/libc.so.6", "- /lib/libc.so.6", "sleep". */
static void parse_eu(struct cairn_span text, struct cairn_debugger_frame *frame)
{
    static const char mark[] = " - ";
    size_t at = cairn_stack_text_find_last(text, mark);
    if (cairn_span_begins(text, "- ")) {
        frame->text.module = cairn_span_from(text, 2);
        return;
    }
    frame->text.name = cairn_span_up_to(text, at);
    frame->text.name = cairn_span_up_to(text, cairn_span_find(frame->text.name, "@"));
    frame->text.module = cairn_span_from(text, at + sizeof mark - 1);
}

/* Behind an address without "in". eu-stack -a marks return addresses by "- 1", and others by blanks
 * of the same size. */
static void parse_other(struct cairn_span text, struct cairn_debugger_frame *frame)
{
    frame->is_exact = cairn_span_begins(text, "    ") || frame->number == 0;
    text = cairn_stack_text_trimmed(text);
    if (cairn_span_equal(text, cairn_span_of("- 1")))
        text.size = 0;
    else if (cairn_span_begins(text, "- 1 "))
        text = cairn_stack_text_trimmed(cairn_span_from(text, 4));
    if (!parse_systemd(text, frame))
        parse_eu(text, frame);
}

/* `text` begins with '#'. Behind a prefix, an address must follow: less is no frame for sure.
 * `*ret_is_last`: where no frame is, none is searched for behind it, or a line of nothing but
 * "#0 0x1 in" would be read to its end from each '#' on. */
static bool parse_at(struct cairn_span text, bool is_first, struct cairn_debugger_frame *frame,
                     bool *ret_is_last)
{
    static const char handler[] = "<signal handler called>";
    size_t at = 1;
    if (!cairn_stack_text_number(text, &at, &frame->number) || at == text.size ||
        text.data[at] != ' ')
        return false;
    while (at < text.size && text.data[at] == ' ')
        at++;
    struct cairn_span rest = cairn_span_from(text, at);
    bool has_pc = cairn_span_begins(rest, "0x");
    if (!has_pc && !is_first)
        return false;
    if (cairn_span_equal(rest, cairn_span_of(handler))) {
        frame->is_handler = frame->is_gdb = frame->is_whole = true;
        frame->text.name = rest;
        return true;
    }
    frame->is_exact = frame->number == 0;
    at = 2;
    if (!has_pc)
        return parse_gdb(rest, frame);
    if (!cairn_stack_text_hex(rest, &at, &frame->text.pc) ||
        (at < rest.size && rest.data[at] != ' '))
        return false;
    rest = cairn_span_from(rest, at);
    *ret_is_last = true;
    if (cairn_span_begins(rest, " in "))
        return parse_gdb(cairn_span_from(rest, 4), frame);
    parse_other(rest, frame);
    return true;
}

bool cairn_debugger_frame_parse(struct cairn_span line, struct cairn_debugger_frame *ret_frame)
{
    struct cairn_span text = cairn_stack_text_trimmed(line);
    bool is_first = true, is_last = false;
    while (text.size && !is_last) {
        size_t at = cairn_span_find(text, "#");
        is_first = is_first && at == 0;
        text = cairn_span_from(text, at);
        struct cairn_debugger_frame frame = {0};
        if (text.size && parse_at(text, is_first, &frame, &is_last)) {
            *ret_frame = frame;
            return true;
        }
        text = cairn_span_from(text, 1);
        is_first = false;
    }
    return false;
}

/* "[93ac61ec]@0x7f3a8ae2b000+0xd3e52" */
bool cairn_debugger_build_parse(struct cairn_span line, struct cairn_span *ret_build_id,
                                uint64_t *ret_offset)
{
    static const char mark[] = "]@0x", plus[] = "+0x";
    struct cairn_span text = cairn_stack_text_trimmed(line);
    uint64_t base;
    size_t end = cairn_span_find(text, mark), at = end + sizeof mark - 1;
    if (!cairn_span_begins(text, "[") || end == text.size ||
        !cairn_stack_text_hex(text, &at, &base) ||
        !cairn_span_begins(cairn_span_from(text, at), plus))
        return false;
    at += sizeof plus - 1;
    if (!cairn_stack_text_hex(text, &at, ret_offset) || at != text.size)
        return false;
    *ret_build_id = cairn_span_from(cairn_span_up_to(text, end), 1);
    return true;
}
