/* SPDX-License-Identifier: MIT */
/*
 * Stacks with counts that programs in the kernel collected: maps of bpftrace, and what bcc's
 * profile and offcputime print.
 *
 *     @calls[                                 a map of bpftrace: its name, keys before the stack
 *         do_nanosleep+94
 *     ,                                       the next stack, below this one
 *         7f3a8aefa545 main+19 (/bin/sleep)   stack mode perf
 *     , sleep]: 42                            keys behind it, the count
 *
 *         do_nanosleep                        bcc
 *         --                                  between the kernel's and the user's stack
 *         main
 *         -                sleep (1234)
 *             5000123
 *
 * Source: bpftrace 0.12 to 0.21, src/output.cpp (TextOutput::map) and bpftrace.cpp (get_stack);
 * bcc 0.26, tools/profile.py and tools/offcputime.py.
 */
#include "base/buffer.h"
#include "base/error.h"
#include "formats/format.h"
#include "formats/thread_text.h"

enum place {
    OUTSIDE,
    IN_MAP,       /* between "@[" and "]: 42" */
    IN_HISTOGRAM, /* its rows follow "]:" */
    BEHIND_THREAD /* "-   sleep (1234)": the count follows */
};

struct reading {
    struct cairn_thread_text threads;
    enum place place;
    struct cairn_buffer key; /* those before the stack and those behind it */
    int64_t sum;             /* of the histogram's rows */
};

/* "do_nanosleep+94" */
static struct cairn_span without_offset(struct cairn_span name)
{
    size_t at = name.size, hex = at;
    while (at &&
           ((name.data[at - 1] >= '0' && name.data[at - 1] <= '9') ||
            (name.data[at - 1] >= 'a' && name.data[at - 1] <= 'f') || name.data[at - 1] == 'x'))
        at--;
    return at > 1 && at < hex && name.data[at - 1] == '+' ? cairn_span_up_to(name, at - 1) : name;
}

/* "7f3a8aefa545 main+19 (/bin/sleep)", "0x7f3a8aefa545", "main+19" */
static struct cairn_text_frame parse_frame(struct cairn_span text)
{
    enum { DIGITS_MIN = 8 }; /* fewer may be a name, such as "add" */
    struct cairn_text_frame frame = {0};
    struct cairn_span rest = text, inside;
    size_t start = cairn_span_begins(text, "0x") ? 2 : 0, at = start;
    if (cairn_stack_text_group(&rest, &inside)) {
        if (!cairn_span_equal(inside, cairn_span_of("[unknown]")))
            frame.module = inside;
        text = rest;
    }
    if (cairn_stack_text_hex(text, &at, &frame.pc) && (start || at >= DIGITS_MIN) &&
        (at == text.size || text.data[at] == ' '))
        text = cairn_stack_text_trimmed(cairn_span_from(text, at));
    frame.name = without_offset(text);
    if (cairn_span_equal(frame.name, cairn_span_of("[unknown]")))
        frame.name.size = 0;
    return frame;
}

static int add_frame(struct reading *r, struct cairn_span text, struct cairn_err *err)
{
    struct cairn_text_frame frame = parse_frame(text);
    return cairn_thread_text_next(&r->threads, &frame, err);
}

/* "@calls[" and what is behind it. */
static bool parse_begin(struct cairn_span line, struct cairn_span *ret_map,
                        struct cairn_span *ret_key)
{
    size_t at = 1;
    if (!cairn_span_begins(line, "@"))
        return false;
    while (at < line.size &&
           (line.data[at] == '_' || (line.data[at] | 0x20) >= 'a' ||
            (line.data[at] >= '0' && line.data[at] <= '9')) &&
           line.data[at] != '[' && line.data[at] < 0x80)
        at++;
    if (at == line.size || line.data[at] != '[' || cairn_span_find(line, "]:") < line.size)
        return false;
    *ret_map = cairn_span_up_to(line, at);
    *ret_key = cairn_span_from(line, at + 1);
    return true;
}

static struct cairn_span without_commas(struct cairn_span text)
{
    text = cairn_stack_text_trimmed(text);
    while (cairn_span_begins(text, ","))
        text = cairn_stack_text_trimmed(cairn_span_from(text, 1));
    while (cairn_span_ends(text, ","))
        text = cairn_stack_text_trimmed(cairn_span_up_to(text, text.size - 1));
    return text;
}

static int note_key(struct reading *r, struct cairn_span text, struct cairn_err *err)
{
    text = without_commas(text);
    if (!text.size)
        return CAIRN_OK;
    cairn_buffer_str(&r->key, r->key.size ? ", " : "");
    cairn_buffer_add(&r->key, text.data, text.size);
    return r->key.failed ? cairn_fail_memory(err)
                         : cairn_thread_text_note(&r->threads, CAIRN_THREAD_KEY,
                                                  cairn_buffer_span(&r->key), err);
}

/* What has no count counts nothing. */
static void drop(struct reading *r)
{
    r->threads.n_odd += r->place == IN_MAP && cairn_stack_text_is_begun(&r->threads.stacks);
    cairn_thread_text_drop(&r->threads);
}

static int begin_map(struct reading *r, struct cairn_span map, struct cairn_span key,
                     struct cairn_err *err)
{
    drop(r);
    cairn_buffer_clear(&r->key);
    int code = cairn_thread_text_forget(&r->threads, CAIRN_THREAD_PROCESS, err);
    if (code == CAIRN_OK)
        code = cairn_thread_text_note(&r->threads, CAIRN_THREAD_MAP, map, err);
    r->place = IN_MAP;
    return code == CAIRN_OK ? note_key(r, key, err) : code;
}

/* "42", "count 5, average 3, total 15"; false: a histogram follows, or what is no count. */
static bool parse_count(struct cairn_span text, int64_t *ret_count)
{
    static const char mark[] = "count ";
    uint64_t count;
    bool is_many = cairn_span_begins(text, mark);
    size_t at = is_many ? sizeof mark - 1 : 0;
    if (!cairn_stack_text_number(text, &at, &count) ||
        (is_many ? !cairn_span_begins(cairn_span_from(text, at), ",") : at != text.size))
        return false;
    *ret_count = (int64_t)count;
    return true;
}

/* ", sleep]: 42" */
static int end_map(struct reading *r, struct cairn_span line, struct cairn_err *err)
{
    int64_t count;
    size_t at = cairn_span_find(line, "]:");
    struct cairn_span value = cairn_stack_text_trimmed(cairn_span_from(line, at + 2));
    int code = note_key(r, cairn_span_up_to(line, at), err);
    if (code < 0)
        return code;
    r->place = OUTSIDE;
    if (parse_count(value, &count))
        return cairn_thread_text_end_counted(&r->threads, count, err);
    r->sum = 0;
    if (value.size) {
        r->threads.n_odd++;
        cairn_thread_text_drop(&r->threads);
    } else {
        r->place = IN_HISTOGRAM;
    }
    return CAIRN_OK;
}

static int add_to_map(struct reading *r, struct cairn_span text, struct cairn_err *err)
{
    bool is_key = cairn_span_begins(text, ",") || cairn_span_begins(text, "]");
    if (is_key && cairn_span_find(text, "]:") < text.size)
        return end_map(r, text, err);
    if (is_key)
        return note_key(r, text, err);
    return text.size ? add_frame(r, text, err) : CAIRN_OK;
}

/* "[4K, 8K)            17 |@@@@      |": false: the histogram ends. */
static bool add_bucket(struct reading *r, struct cairn_span text)
{
    size_t at = cairn_span_find(text, ") ");
    if (at == text.size)
        at = cairn_span_find(text, "] ");
    struct cairn_span rest = cairn_stack_text_trimmed(cairn_span_from(text, at + 2));
    uint64_t count;
    at = 0;
    if ((!cairn_span_begins(text, "[") && !cairn_span_begins(text, "(")) ||
        !cairn_stack_text_number(rest, &at, &count) || cairn_span_find(rest, "|") == rest.size)
        return false;
    r->sum = cairn_profile_add_clamped(r->sum, (int64_t)count);
    return true;
}

/* "-                sleep (1234)" of bcc, which pads the sign to 16 columns: an item of a list in a
 * text has fewer blanks. */
static bool parse_thread(struct cairn_span text, struct cairn_span *ret_name, uint64_t *ret_pid)
{
    size_t at = 0;
    if (!cairn_span_begins(text, "-                "))
        return false;
    struct cairn_span rest = cairn_stack_text_trimmed(cairn_span_from(text, 1)), inside;
    *ret_pid = 0;
    if (!cairn_stack_text_group(&rest, &inside) || !rest.size ||
        !cairn_stack_text_number(inside, &at, ret_pid) || at != inside.size)
        return false;
    *ret_name = rest;
    return true;
}

static int end_thread(struct reading *r, struct cairn_span text, struct cairn_err *err)
{
    int64_t count;
    r->place = OUTSIDE;
    if (parse_count(text, &count))
        return cairn_thread_text_end_counted(&r->threads, count, err);
    r->threads.n_odd++;
    cairn_thread_text_drop(&r->threads);
    return CAIRN_OK;
}

static int begin_thread(struct reading *r, struct cairn_span name, uint64_t pid,
                        struct cairn_err *err)
{
    struct cairn_profile_label label = {.number = (int64_t)pid};
    r->threads.labels[CAIRN_THREAD_MAP].key = 0; /* of a map before it */
    r->threads.labels[CAIRN_THREAD_KEY].key = 0;
    int code = cairn_thread_text_note(&r->threads, CAIRN_THREAD_NAME, name, err);
    r->place = BEHIND_THREAD;
    label.key = cairn_profile_text(r->threads.stacks.p, "pid", 3);
    r->threads.labels[CAIRN_THREAD_PID] = label;
    return code == CAIRN_OK && label.key == UINT32_MAX ? cairn_fail_memory(err) : code;
}

/* Lines of bcc, which begin with no mark: frames are those that a thread follows. */
static int add_outside(struct reading *r, struct cairn_span line, struct cairn_err *err)
{
    struct cairn_span text = cairn_stack_text_trimmed(line), name;
    uint64_t pid;
    if (parse_thread(text, &name, &pid))
        return begin_thread(r, name, pid, err);
    if (cairn_span_begins(line, "    ") && line.size > 4 && line.data[4] != ' ')
        return cairn_span_equal(text, cairn_span_of("--")) ? CAIRN_OK : add_frame(r, text, err);
    cairn_thread_text_drop(&r->threads);
    return CAIRN_OK;
}

static int add_line(void *ctx, struct cairn_span line, bool is_cut, struct cairn_err *err)
{
    struct reading *r = ctx;
    struct cairn_span text = cairn_stack_text_trimmed(line), map, key;
    if (memchr(line.data, 0, line.size) || is_cut) {
        r->threads.n_odd += text.size > 0;
        return CAIRN_OK;
    }
    if (r->place == IN_HISTOGRAM && !add_bucket(r, text)) {
        r->place = OUTSIDE;
        int code = cairn_thread_text_end_counted(&r->threads, r->sum, err);
        if (code < 0)
            return code;
    }
    if (parse_begin(line, &map, &key))
        return begin_map(r, map, key, err);
    switch (r->place) {
    case IN_MAP:
        return add_to_map(r, text, err);
    case BEHIND_THREAD:
        return end_thread(r, text, err);
    case OUTSIDE:
        return add_outside(r, line, err);
    default:
        return CAIRN_OK;
    }
}

static int finish(struct reading *r, struct cairn_err *err)
{
    int code = CAIRN_OK;
    if (r->place == IN_HISTOGRAM)
        code = cairn_thread_text_end_counted(&r->threads, r->sum, err);
    else
        drop(r);
    return code == CAIRN_OK ? cairn_thread_text_finish(
                                  &r->threads, "text of bpftrace",
                                  "a map with stacks: profile:hz:99 { @[ustack] = count() }", err)
                            : code;
}

static int read_bpf(struct cairn_source *source, struct cairn_profile *p, struct cairn_err *err)
{
    struct reading r = {.threads.stacks.p = p};
    int code = cairn_stack_text_read(source, &r.threads.line, add_line, &r, err);
    if (code == CAIRN_OK)
        code = finish(&r, err);
    cairn_thread_text_done(&r.threads);
    cairn_buffer_done(&r.key);
    return code;
}

static bool sniff(struct cairn_span head)
{
    struct cairn_span line, map, key;
    uint64_t pid;
    while (cairn_stack_text_next(&head, &line))
        if (parse_begin(line, &map, &key) ||
            parse_thread(cairn_stack_text_trimmed(line), &map, &pid))
            return true;
    return false;
}

static const char *const endings[] = {NULL};

const struct cairn_format_row cairn_format_bpf = {
    .format = CAIRN_FORMAT_BPF,
    .name = "bpf",
    .endings = endings,
    .in_log = true,
    .sniff = sniff,
    .read = read_bpf,
};
