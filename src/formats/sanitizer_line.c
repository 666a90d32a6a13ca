/* SPDX-License-Identifier: MIT */
#include "formats/sanitizer_line.h"

/* "(BuildId: 6214ba)" at the end. */
static void take_build_id(struct cairn_span *io_text, struct cairn_text_frame *frame)
{
    static const char mark[] = "BuildId: ";
    struct cairn_span rest = *io_text, inside;
    if (!cairn_stack_text_group(&rest, &inside) || !cairn_span_begins(inside, mark))
        return;
    inside = cairn_span_from(inside, sizeof mark - 1);
    if (cairn_stack_text_is_hex(inside))
        frame->build_id = inside;
    *io_text = rest;
}

/* Where "+0x12" begins at the end of the text; its size where there is none. */
static size_t find_offset(struct cairn_span text, uint64_t *ret_offset)
{
    size_t at = text.size;
    while (at && text.data[at - 1] != '+')
        at--;
    size_t digits = at + 2;
    if (!at || !cairn_span_begins(cairn_span_from(text, at), "0x") ||
        !cairn_stack_text_hex(text, &digits, ret_offset) || digits != text.size)
        return text.size;
    return at - 1;
}

/* "(/bin/a+0xa31e)" at the end. */
static void take_module(struct cairn_span *io_text, struct cairn_text_frame *frame)
{
    struct cairn_span rest = *io_text, inside;
    if (!cairn_stack_text_group(&rest, &inside))
        return;
    if (cairn_span_equal(inside, cairn_span_of("<unknown module>"))) {
        *io_text = rest;
        return;
    }
    size_t size = find_offset(inside, &frame->offset);
    if (!size || size == inside.size)
        return;
    frame->module = cairn_span_up_to(inside, size);
    frame->has_offset = true;
    *io_text = rest;
}

/* Takes ":12" off the end. */
static bool take_number(struct cairn_span *io_text, uint64_t *ret_number)
{
    size_t at = io_text->size, digits;
    while (at && io_text->data[at - 1] >= '0' && io_text->data[at - 1] <= '9')
        at--;
    digits = at;
    if (!at || io_text->data[at - 1] != ':' ||
        !cairn_stack_text_number(*io_text, &digits, ret_number) || *ret_number > UINT32_MAX)
        return false;
    *io_text = cairn_span_up_to(*io_text, at - 1);
    return true;
}

/* Where the file begins behind the function: at the first blank before a slash that is outside of
 * parentheses, or else at the last blank that is. */
static size_t find_file(struct cairn_span text)
{
    size_t depth = 0, last = text.size;
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = text.data[i];
        if (c == '(' || c == '<')
            depth++;
        else if ((c == ')' || c == '>') && depth)
            depth--;
        if (c != ' ' || depth || !i)
            continue;
        last = i;
        if (i + 1 < text.size && text.data[i + 1] == '/')
            break;
    }
    return last;
}

/* "main /src/a.c:7:3": the column is not kept. */
static void take_place(struct cairn_span *io_text, struct cairn_text_frame *frame)
{
    struct cairn_span text = *io_text;
    uint64_t number, line;
    if (cairn_span_ends(text, " <null>")) {
        *io_text = cairn_stack_text_trimmed(cairn_span_up_to(text, text.size - 7));
        return;
    }
    bool has_line = take_number(&text, &number);
    if (has_line && take_number(&text, &line))
        number = line;
    size_t at = find_file(text);
    if (at == text.size || (!has_line && text.data[at + 1] != '/'))
        return;
    frame->file = cairn_span_from(text, at + 1);
    frame->line = has_line ? (uint32_t)number : 0;
    *io_text = cairn_span_up_to(text, at);
}

static void set_name(struct cairn_span text, struct cairn_text_frame *frame)
{
    uint64_t offset;
    text = cairn_span_up_to(text, find_offset(text, &offset));
    if (!cairn_span_equal(text, cairn_span_of("<null>")) &&
        !cairn_span_equal(text, cairn_span_of("??")))
        frame->name = text;
}

bool cairn_sanitizer_frame_parse(struct cairn_span line, uint64_t *ret_number,
                                 struct cairn_text_frame *ret_frame)
{
    struct cairn_span text = cairn_stack_text_trimmed(line);
    struct cairn_text_frame frame = {0};
    size_t at = 1;
    if (!cairn_span_begins(text, "#") || !cairn_stack_text_number(text, &at, ret_number) ||
        at == text.size || text.data[at] != ' ')
        return false;
    text = cairn_stack_text_trimmed(cairn_span_from(text, at));
    at = 2;
    bool has_pc = cairn_span_begins(text, "0x") && cairn_stack_text_hex(text, &at, &frame.pc);
    if (has_pc && at < text.size && text.data[at] != ' ')
        return false;
    if (has_pc)
        text = cairn_stack_text_trimmed(cairn_span_from(text, at));
    bool has_name = !has_pc || cairn_span_begins(text, "in ");
    if (has_pc && has_name)
        text = cairn_stack_text_trimmed(cairn_span_from(text, 3));
    take_build_id(&text, &frame);
    take_module(&text, &frame);
    if (has_name) {
        take_place(&text, &frame);
        set_name(text, &frame);
    }
    /* "#1 of 3" of another program */
    if (!has_pc && !frame.has_offset && !frame.line)
        return false;
    *ret_frame = frame;
    return true;
}

/* "==4813==" */
static int64_t pid_of(struct cairn_span line)
{
    uint64_t pid;
    size_t at = 2;
    return cairn_span_begins(line, "==") && cairn_stack_text_number(line, &at, &pid) &&
                   cairn_span_begins(cairn_span_from(line, at), "==")
               ? (int64_t)pid
               : -1;
}

/* The text that `mark` ends, or all of it. */
static struct cairn_span before(struct cairn_span text, const char *mark)
{
    const uint8_t *at = memmem(text.data, text.size, mark, strlen(mark));
    return at ? cairn_span_up_to(text, (size_t)(at - text.data)) : text;
}

/* "ERROR: AddressSanitizer: " and its like; the offset behind it, 0: the line has none. */
static size_t find_sanitizer(struct cairn_span line)
{
    static const char *const severities[] = {"ERROR: ", "WARNING: "};
    static const char mark[] = "Sanitizer: ";
    for (size_t i = 0; i < 2; i++) {
        const uint8_t *at = memmem(line.data, line.size, severities[i], strlen(severities[i]));
        if (!at)
            continue;
        struct cairn_span rest =
            cairn_span_from(line, (size_t)(at - line.data) + strlen(severities[i]));
        size_t letters = 0;
        while (letters < rest.size && rest.data[letters] >= 'A' && rest.data[letters] <= 'z' &&
               rest.data[letters] != 'S')
            letters++;
        if (cairn_span_begins(cairn_span_from(rest, letters), mark))
            return (size_t)(rest.data - line.data) + letters + sizeof mark - 1;
    }
    return 0;
}

/* "a.c:7:3: runtime error: "; the offset behind it. */
static size_t find_runtime_error(struct cairn_span line)
{
    static const char mark[] = ": runtime error: ";
    const uint8_t *found = memmem(line.data, line.size, mark, sizeof mark - 1);
    uint64_t number;
    struct cairn_span place = cairn_span_up_to(line, found ? (size_t)(found - line.data) : 0);
    return found && (take_number(&place, &number) || cairn_span_ends(place, "<unknown>"))
               ? (size_t)(found - line.data) + sizeof mark - 1
               : 0;
}

bool cairn_sanitizer_report_parse(struct cairn_span line, struct cairn_span *ret_what,
                                  int64_t *ret_pid)
{
    line = cairn_stack_text_trimmed(line);
    size_t at = find_sanitizer(line);
    if (at) {
        static const char pid[] = " (pid=";
        const uint8_t *mark = memmem(line.data, line.size, pid, sizeof pid - 1);
        size_t digits = mark ? (size_t)(mark - line.data) + sizeof pid - 1 : 0;
        uint64_t number;
        *ret_pid = mark && cairn_stack_text_number(line, &digits, &number) ? (int64_t)number
                                                                           : pid_of(line);
        *ret_what = before(before(cairn_span_from(line, at), " on "), pid);
        return true;
    }
    at = find_runtime_error(line);
    *ret_pid = -1;
    *ret_what = before(cairn_span_from(line, at), ": ");
    return at > 0;
}
