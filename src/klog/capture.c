/* SPDX-License-Identifier: MIT */
#include "klog/capture.h"

#include "klog/scan.h"

enum {
    TAG_BYTES_MAX = 128,
    COMM_BYTES_MAX = 64, /* the kernel has 15; a head may hold more after a rewrite */
    INDEX_DIGITS_MAX = 4,
    ADDRESS_DIGITS = 16 /* %016lx; fewer where the line was cut */
};

/* "TAG:" without its colon; blanks around are gone. False: that is no tag. */
static bool read_tag(struct cairn_span text, struct cairn_span *ret_tag)
{
    text = cairn_scan_trim(text);
    if (text.size && text.data[text.size - 1] != ':')
        return false;
    text.size -= text.size > 0;
    /* What a logger that we do not know put before the tag. */
    for (size_t i = text.size; i-- > 1;)
        if (text.data[i - 1] == ':' && text.data[i] == ' ') {
            text.data += i + 1;
            text.size -= i + 1;
            break;
        }
    if (text.size > TAG_BYTES_MAX)
        return false;
    *ret_tag = text;
    return true;
}

/* Takes " NAME<number>" off the end. */
static bool take_number(struct cairn_span *text, const char *name, uint64_t *ret_value)
{
    size_t digits = 0, size = strlen(name);
    while (digits < text->size && cairn_scan_is_digit(text->data[text->size - 1 - digits]))
        digits++;
    size_t first = text->size - digits;
    if (!digits || first < size || memcmp(text->data + first - size, name, size) != 0)
        return false;
    if (!cairn_scan_decimal(*text, &first, ret_value))
        return false;
    text->size -= digits + size;
    return true;
}

static void read_comm(struct cairn_span rest, struct cairn_klog_capture *line)
{
    uint64_t value;
    for (bool more = true; more;) {
        more = false;
        if (take_number(&rest, " tgid=", &value)) {
            line->tgid = (int64_t)value;
            more = true;
        }
        if (take_number(&rest, " cpu=", &value)) {
            line->cpu = (int64_t)value;
            more = true;
        }
        if (take_number(&rest, " bits=", &value)) {
            line->is_32_bit = value == 32;
            more = true;
        }
    }
    if (rest.size > COMM_BYTES_MAX)
        rest.size = COMM_BYTES_MAX;
    line->comm = rest;
}

/* "pid=110 comm=..." from `at` on. */
static bool read_head(struct cairn_span body, size_t at, struct cairn_klog_capture *line)
{
    uint64_t pid;
    if (!cairn_scan_text(body, &at, "pid=") || !cairn_scan_decimal(body, &at, &pid) ||
        pid > INT32_MAX || !cairn_scan_text(body, &at, " comm="))
        return false;
    line->form = CAIRN_KLOG_HEAD;
    line->pid = (int64_t)pid;
    read_comm(cairn_scan_rest(body, at), line);
    return true;
}

/* What follows the tag of a line in `body`; false: the words do not stand there. */
static bool find_words(struct cairn_span body, const char *words, struct cairn_klog_capture *line,
                       size_t *ret_end)
{
    size_t at = cairn_scan_find(body, words);
    if (at == body.size || !read_tag((struct cairn_span){body.data, at}, &line->tag))
        return false;
    *ret_end = at + strlen(words);
    return true;
}

/* "TAG: 7 dumps before #18 were not printed" */
static bool read_unprinted(struct cairn_span body, struct cairn_klog_capture *line)
{
    static const char end[] = " were not printed";
    size_t n = sizeof end - 1;
    if (body.size < n || memcmp(body.data + body.size - n, end, n) != 0)
        return false;
    struct cairn_span before = {body.data, cairn_scan_find(body, " dumps before ")};
    if (before.size == body.size || !take_number(&before, ": ", &line->unprinted))
        return false;
    before.size++; /* the colon */
    return read_tag(before, &line->tag);
}

/* Words with "trace" in them. */
static bool read_trace_words(struct cairn_span body, struct cairn_klog_capture *line)
{
    static const struct {
        const char *words;
        enum cairn_klog_form form;
    } rows[] = {{"kernel backtrace:", CAIRN_KLOG_KERNEL_HEAD},
                {"no user backtrace: ", CAIRN_KLOG_NO_USER},
                {"user backtrace", CAIRN_KLOG_USER_HEAD},
                {"user stack trace not supported", CAIRN_KLOG_NO_USER}};
    size_t end;
    if (cairn_scan_find(body, "trace") == body.size)
        return false;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (find_words(body, rows[i].words, line, &end)) {
            line->form = rows[i].form;
            if (i == 1)
                line->text = cairn_scan_trim(cairn_scan_rest(body, end));
            return true;
        }
    return false;
}

/* Lines of words. They are as short as a tag and some words. */
static void read_words(struct cairn_span body, struct cairn_klog_capture *line)
{
    size_t head = cairn_scan_find(body, "pid="), end;
    struct cairn_span before = {body.data, head};
    if (head < body.size && read_tag(before, &line->tag) && read_head(body, head, line))
        return;
    if (read_trace_words(body, line))
        return;
    if (find_words(body, "same as #", line, &end) && cairn_scan_decimal(body, &end, &line->same_as))
        line->form = CAIRN_KLOG_SAME;
    else if (read_unprinted(body, line))
        line->form = CAIRN_KLOG_UNPRINTED;
}

/* "[k02] " at `at`. */
static bool read_index(struct cairn_span body, size_t *at, bool *ret_is_user, uint32_t *ret_index)
{
    uint64_t index;
    size_t p = *at + 2;
    if (body.size - *at < 4 || (body.data[*at + 1] != 'k' && body.data[*at + 1] != 'u') ||
        !cairn_scan_decimal(body, &p, &index) || p - *at - 2 > INDEX_DIGITS_MAX ||
        !cairn_scan_char(body, &p, ']'))
        return false;
    *ret_is_user = body.data[*at + 1] == 'u';
    *ret_index = (uint32_t)index;
    *at = p;
    return true;
}

static void read_address(struct cairn_span rest, struct cairn_klog_capture *line)
{
    size_t at = 0, digits = 0;
    bool found = cairn_scan_text(rest, &at, "0x") && cairn_scan_hex(rest, &at, &line->va, &digits);
    bool is_padded = found && rest.data[2] == '0';
    line->is_cut = !found || digits > ADDRESS_DIGITS || (at < rest.size && rest.data[at] != ' ') ||
                   (is_padded && digits < ADDRESS_DIGITS && line->form == CAIRN_KLOG_USER_FRAME);
    if (line->is_cut)
        line->va = 0;
    line->text = found ? cairn_scan_trim(cairn_scan_rest(rest, at)) : rest;
    line->is_no_code = found && line->text.size == 7 && cairn_span_begins(line->text, "no code");
    if (line->is_no_code)
        line->text.size = 0;
}

/* Most frames have one plus sign; memmem() takes twice as long. */
static bool has_offset(struct cairn_span rest)
{
    const uint8_t *end = rest.data + rest.size;
    for (const uint8_t *p = rest.data; end - p >= 3; p++) {
        p = memchr(p, '+', (size_t)(end - p));
        if (!p)
            return false;
        if (end - p >= 3 && p[1] == '0' && p[2] == 'x')
            return true;
    }
    return false;
}

static bool take_end(struct cairn_span *text, const char *end)
{
    size_t size = strlen(end);
    bool is_there = text->size >= size && memcmp(text->data + text->size - size, end, size) == 0;
    text->size -= is_there ? size : 0;
    return is_there;
}

static void read_frame(struct cairn_span rest, struct cairn_klog_capture *line)
{
    rest = cairn_scan_trim(rest);
    (void)take_number(&rest, " #", &line->printed);
    line->is_probe = line->form == CAIRN_KLOG_KERNEL_FRAME && take_end(&rest, " (probe)");
    line->text = rest;
    if (line->form == CAIRN_KLOG_USER_FRAME || cairn_span_begins(rest, "0x"))
        read_address(rest, line);
    else
        line->is_cut = !has_offset(rest);
}

/* "same as #12" has a number that is not its own. */
static bool ends_with_same(struct cairn_span body)
{
    return body.size >= 7 && memcmp(body.data + body.size - 7, "same as", 7) == 0;
}

void cairn_klog_capture_read(struct cairn_span body, struct cairn_klog_capture *ret_line)
{
    *ret_line = (struct cairn_klog_capture){.pid = -1, .tgid = -1, .cpu = -1};
    bool is_user;
    for (size_t at = 0; at < body.size; at++) {
        const uint8_t *bracket = memchr(body.data + at, '[', body.size - at);
        if (!bracket)
            break;
        size_t start = at = (size_t)(bracket - body.data);
        struct cairn_span before = {body.data, start};
        if (!read_index(body, &at, &is_user, &ret_line->index) || !read_tag(before, &ret_line->tag))
            continue;
        ret_line->form = is_user ? CAIRN_KLOG_USER_FRAME : CAIRN_KLOG_KERNEL_FRAME;
        read_frame(cairn_scan_rest(body, at), ret_line);
        return;
    }
    struct cairn_span whole = body;
    if (take_number(&body, " #", &ret_line->printed) && ends_with_same(body)) {
        body = whole;
        ret_line->printed = 0;
    }
    read_words(body, ret_line);
    if (ret_line->form == CAIRN_KLOG_NONE)
        ret_line->tag = (struct cairn_span){0};
}
