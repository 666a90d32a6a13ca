/* SPDX-License-Identifier: MIT */
/*
 * --annotate: every byte of the log but its symbols, of which the ones that got a place change:
 *
 *     misc_open+0xc4/0x180 [mod]     misc_open (drivers/char/misc.c:165) [mod]
 *     [u04] 0x00007f592a8da5b9       [u04] 0x00007f592a8da5b9 work_inner (libwork.c:6)
 *
 * A line is changed by what it says itself; user addresses take the maps of the last head, of
 * those with a number ("#17") of the head with the line's number.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/escape.h"
#include "cli/klog.h"

enum { LINE_BYTES_MAX = 1 << 20, PIECE_BYTES = 1 << 16, HEADS = 64, COMM_BYTES = 64 };

struct head {
    uint64_t number; /* 0: it has none */
    int pid, tgid;   /* -1: not said */
    char comm[COMM_BYTES];
};

struct annotate {
    struct cli_klog *klog;
    struct cairn_buffer line; /* of which the end did not come yet */
    bool passes;              /* the rest of a line that is too long goes as it is */
    struct head heads[HEADS]; /* of the last dumps with a number, by it */
    struct head last, unknown;
    const struct head *head;  /* the one of this line */
    struct cairn_buffer text; /* of one frame */
};

static void add_clean(struct cairn_buffer *out, const char *text)
{
    cairn_escape_terminal(out, text, strlen(text));
}

static const char *base_of(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path ? path : "??";
}

/* "f (file.c:12)", the inlined ones before it with " < " between. */
static void add_places(struct cairn_buffer *out, const struct cairn_resolved_frame *found)
{
    for (uint32_t i = 0; i < found->n_lines; i++) {
        const struct cairn_symbol_frame *line = &found->lines[i];
        cairn_buffer_str(out, i ? " < " : "");
        add_clean(out, line->function ? line->function : "??");
        cairn_buffer_str(out, " (");
        add_clean(out, base_of(line->file));
        if (line->line)
            cairn_buffer_printf(out, ":%u", (unsigned)line->line);
        cairn_buffer_char(out, ')');
    }
}

static int name(struct annotate *a, const struct cairn_klog_frame *frame,
                struct cairn_resolved_frame *ret_found, struct cairn_err *err)
{
    int space = CAIRN_NO_SPACE;
    const struct cairn_klog_dump dump = {.size = sizeof dump,
                                         .comm = a->head->comm,
                                         .build_id = "",
                                         .pid = a->head->pid,
                                         .tgid = a->head->tgid,
                                         .frames = frame,
                                         .n_frames = 1};
    int code =
        frame->part == CAIRN_KLOG_USER ? cli_klog_maps_of(a->klog, &dump, &space, err) : CAIRN_OK;
    *ret_found = (struct cairn_resolved_frame){.size = sizeof *ret_found};
    return code < 0 ? code
                    : cairn_resolver_klog_frame(a->klog->resolver, &dump, 0, space, ret_found, err);
}

/* Does what stands before the symbol, or behind it, say that it is no caller? */
static bool is_exact(const char *line, size_t at, const char *behind, size_t size)
{
    static const char *const heads[] = {"RIP: ", "pc : ", "PC is at ", "epc : "};
    static const char probe[] = " (probe)";
    if (size >= sizeof probe - 1 && memcmp(behind, probe, sizeof probe - 1) == 0)
        return true;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (memmem(line, at, heads[i], strlen(heads[i])))
            return true;
    return false;
}

/* The symbol with an offset whose "+0x" is at `plus`, and how long it is with its module. */
static size_t symbol_around(const char *line, size_t size, size_t plus, size_t *ret_start,
                            struct cairn_klog_symbol *symbol)
{
    size_t start = plus;
    while (start && line[start - 1] > ' ' && !strchr("()[]{},;=\"'/", line[start - 1]))
        start--;
    /* "RIP: 0010:f+0x1/0x2" */
    const char *colon = memchr(line + start, ':', plus - start);
    if (colon && line[start] >= '0' && line[start] <= '9')
        start = (size_t)(colon - line) + 1;
    size_t all = cairn_klog_symbol(line + start, size - start, symbol);
    if (!all || !symbol->has_off || !symbol->has_function_size || start + symbol->name_size != plus)
        return 0;
    *ret_start = start;
    return all;
}

/* A text of the line as a string, until the next one. NULL: memory is gone. */
static const char *text_of(struct annotate *a, const char *text, size_t size)
{
    cairn_buffer_clear(&a->text);
    cairn_buffer_add(&a->text, text, size);
    return a->text.failed ? NULL : cairn_buffer_text(&a->text);
}

static int annotate_symbols(struct annotate *a, const char *line, size_t size,
                            struct cairn_err *err)
{
    struct cairn_buffer *out = &a->klog->out;
    size_t from = 0, at = 0;
    for (;;) {
        const char *plus = memmem(line + at, size - at, "+0x", 3);
        if (!plus)
            break;
        struct cairn_klog_symbol symbol;
        struct cairn_resolved_frame found;
        size_t start, all = symbol_around(line, size, (size_t)(plus - line), &start, &symbol);
        at = (size_t)(plus - line) + 3;
        if (!all || start < from)
            continue;
        const char *text = text_of(a, line + start, all);
        if (!text)
            return cairn_fail_memory(err);
        const struct cairn_klog_frame frame = {
            .text = text,
            .marks = is_exact(line, start, line + start + all, size - start - all)
                         ? CAIRN_KLOG_EXACT
                         : 0};
        int code = name(a, &frame, &found, err);
        if (code < 0)
            return code;
        at = start + all;
        if (!found.n_lines || !found.lines[0].file)
            continue;
        cairn_buffer_add(out, line + from, start - from);
        add_places(out, &found);
        if (symbol.module) {
            cairn_buffer_str(out, " [");
            cairn_buffer_add(out, symbol.module, symbol.module_size);
            cairn_buffer_char(out, ']');
        }
        from = at;
    }
    cairn_buffer_add(out, line + from, size - from);
    return CAIRN_OK;
}

/* "[u04] 0x..." in a line: the address, and where its text ends; 0: there is none. */
static size_t user_address(const char *line, size_t size, uint64_t *ret_va, bool *ret_is_first)
{
    const char *mark = memmem(line, size, "[u", 2);
    size_t at = mark ? (size_t)(mark - line) : size;
    if (at + 8 >= size || line[at + 4] != ']' || strncmp(line + at + 5, " 0x", 3) != 0)
        return 0;
    uint64_t va = 0;
    size_t p = at + 8;
    for (; p < size && strchr("0123456789abcdefABCDEF", line[p]) && line[p]; p++)
        va = va << 4 | (uint64_t)((line[p] & 0xf) + (line[p] > '9' ? 9 : 0));
    *ret_va = va;
    *ret_is_first = line[at + 2] == '0' && line[at + 3] == '0';
    return p - at - 8 <= 16 && p > at + 8 ? p : 0;
}

/* The number behind `name` at the end of a line, which is cut off with it; -1: there is none. */
static int64_t take_number(const char *line, size_t *size, const char *name)
{
    size_t n = strlen(name), first = *size;
    int64_t value = 0;
    while (first && line[first - 1] >= '0' && line[first - 1] <= '9')
        first--;
    if (first == *size || *size - first > 18 || first < n || memcmp(line + first - n, name, n) != 0)
        return -1;
    for (size_t i = first; i < *size; i++)
        value = value * 10 + (line[i] - '0');
    *size = first - n;
    return value;
}

/* The head that a line is, or the one that it belongs to. */
static void find_head(struct annotate *a, const char *line, size_t size)
{
    while (size && strchr("\r ", line[size - 1]))
        size--;
    int64_t number = take_number(line, &size, " #"), tgid, value = 0;
    struct head *head = number > 0 ? &a->heads[number % HEADS] : &a->last;
    const char *pid = memmem(line, size, "pid=", 4);
    const char *comm = pid ? memmem(pid, size - (size_t)(pid - line), " comm=", 6) : NULL;
    a->head = number > 0 && head->number != (uint64_t)number ? &a->unknown : head;
    if (!comm)
        return;
    (void)take_number(line, &size, " bits=");
    (void)take_number(line, &size, " cpu=");
    tgid = take_number(line, &size, " tgid=");
    for (const char *p = pid + 4; p < comm && *p >= '0' && *p <= '9' && value < 100000000; p++)
        value = value * 10 + (*p - '0');
    *head = (struct head){.number = number > 0 ? (uint64_t)number : 0,
                          .pid = (int)value,
                          .tgid = tgid <= INT32_MAX ? (int)tgid : -1};
    if (comm + 6 < line + size)
        snprintf(head->comm, sizeof head->comm, "%.*s", (int)(line + size - comm - 6), comm + 6);
    a->head = head;
}

/* What follows an address, "lib/libx.so+0x5b9 #17", as the text of its frame. False: memory. */
static bool read_place(struct annotate *a, const char *line, size_t size,
                       struct cairn_klog_frame *frame)
{
    while (size && strchr("\r ", line[size - 1]))
        size--;
    (void)take_number(line, &size, " #");
    while (size && *line == ' ') {
        line++;
        size--;
    }
    frame->text = text_of(a, line, size);
    return frame->text != NULL;
}

/* Without its line break. */
static int annotate_line(struct annotate *a, const char *line, size_t size, struct cairn_err *err)
{
    struct cairn_buffer *out = &a->klog->out;
    struct cairn_klog_frame frame = {.text = "", .part = CAIRN_KLOG_USER};
    struct cairn_resolved_frame found;
    bool is_first = false;
    find_head(a, line, size);
    size_t end = user_address(line, size, &frame.va, &is_first);
    if (!end)
        return annotate_symbols(a, line, size, err);
    frame.marks = is_first ? CAIRN_KLOG_EXACT : 0;
    if (!read_place(a, line + end, size - end, &frame))
        return cairn_fail_memory(err);
    int code = name(a, &frame, &found, err);
    if (code < 0)
        return code;
    cairn_buffer_add(out, line, end);
    if (found.n_lines) {
        cairn_buffer_char(out, ' ');
        add_places(out, &found);
    }
    cairn_buffer_add(out, line + end, size - end);
    return CAIRN_OK;
}

/* A line that is too long is passed through. */
static int take(struct annotate *a, const char *text, size_t size, bool is_whole,
                struct cairn_err *err)
{
    int code = CAIRN_OK;
    if (a->passes || a->line.size + size > LINE_BYTES_MAX) {
        cairn_buffer_add(&a->klog->out, a->line.data, a->line.size);
        cairn_buffer_add(&a->klog->out, text, size);
        cairn_buffer_clear(&a->line);
        a->passes = !is_whole;
    } else if (!is_whole) {
        cairn_buffer_add(&a->line, text, size);
    } else if (a->line.size) {
        cairn_buffer_add(&a->line, text, size);
        code = a->line.failed ? cairn_fail_memory(err)
                              : annotate_line(a, cairn_buffer_text(&a->line), a->line.size, err);
        cairn_buffer_clear(&a->line);
    } else {
        code = annotate_line(a, text, size, err);
    }
    if (code == CAIRN_OK && is_whole)
        cairn_buffer_char(&a->klog->out, '\n');
    return code < 0 ? code : cli_klog_drain(a->klog, false, err);
}

static int drain_idle(struct cli_klog *klog, void *ctx, struct cairn_err *err)
{
    (void)ctx;
    return cli_klog_show(klog, err);
}

static int take_piece(struct annotate *a, const char *piece, size_t size, struct cairn_err *err)
{
    int code = CAIRN_OK;
    for (size_t at = 0; at < size && code == CAIRN_OK;) {
        const char *newline = memchr(piece + at, '\n', size - at);
        size_t end = newline ? (size_t)(newline - piece) : size;
        code = take(a, piece + at, end - at, newline != NULL, err);
        at = end + 1;
    }
    return code;
}

int cli_klog_annotate(struct cli_klog *klog, struct cli_source *source, struct cairn_err *err)
{
    struct annotate a = {.klog = klog, .last = {.pid = -1, .tgid = -1}};
    a.unknown = a.last;
    char piece[PIECE_BYTES];
    int code = CAIRN_OK;
    long got = 1;
    while (code == CAIRN_OK && got > 0) {
        got = cli_klog_read(klog, source, piece, sizeof piece, drain_idle, NULL, err);
        code = got < 0 ? (int)err->code : take_piece(&a, piece, (size_t)got, err);
        if (code == CAIRN_OK && klog->opts->follow)
            code = cli_klog_show(klog, err);
    }
    if (code == CAIRN_OK && a.line.size) /* the last line has no break */
        code = annotate_line(&a, cairn_buffer_text(&a.line), a.line.size, err);
    if (code == CAIRN_OK)
        code = cli_klog_drain(klog, true, err);
    cli_progress_done();
    cairn_buffer_done(&a.line);
    cairn_buffer_done(&a.text);
    return code;
}
