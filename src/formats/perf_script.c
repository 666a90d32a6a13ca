/* SPDX-License-Identifier: MIT */
/*
 * Text of perf script, as it comes out of `perf script` and simpleperf's report_sample.py:
 *
 *     # cmdline : ...                                         comments, with --header
 *     redis 12/13 [001] 6049.323385: 250000 cpu-clock:ppp:    a head; fields may be missing
 *         7f1230 inner+0x10 (/lib/libx.so)                    its frames, the innermost one first
 *         7f4560 main+0x20 (/usr/bin/x)
 *                                                             a blank line ends the stack
 *
 * Each event is a value of its own: the sum of its periods, where those are told, else the number
 * of its samples. Samples are summed by stack, thread and event as they come, so that memory
 * follows what is new in the text; of the times only the first and the last are kept, unless the
 * caller wants them all.
 */
#include "formats/perf_script.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "formats/format.h"
#include "profile/label_list.h"

enum { EVENTS_MAX = 64, COMMENTS_MAX = 64, SNIFFED_LINES_MAX = 2, FRAME_DIGITS_MIN = 5 };

struct event {
    uint32_t name; /* of the profile */
    uint64_t n;
    bool has_period, is_clock;
};

/* Samples that differ in nothing but their time. */
struct row {
    uint32_t stack, labels, event;
    int64_t n, value;
};

struct reading {
    struct cairn_profile *p;
    struct cairn_perf_stacks stacks;
    struct cairn_table labels;  /* of a thread: hash of its head's part -> label set */
    struct cairn_table by_what; /* stack, labels and event -> row */
    struct row *rows;
    size_t n_rows, cap_rows;
    struct event events[EVENTS_MAX];
    uint32_t n_events;
    uint64_t line; /* from 1 */
    uint64_t first_ns, last_ns;
    uint64_t n_lost;
    bool has_times;
    unsigned keeps;      /* of enum cairn_stream_keep */
    bool in_sample;      /* a head was read: */
    bool has_head_frame; /* whose one frame is in its own line */
    uint32_t sample_labels, sample_event;
    int64_t sample_value;
};

static void done(struct reading *r)
{
    cairn_perf_stacks_done(&r->stacks);
    cairn_table_done(&r->labels);
    cairn_table_done(&r->by_what);
    cairn_free(r->rows);
}

static uint32_t text_of(struct reading *r, struct cairn_span text)
{
    return cairn_profile_text(r->p, (const char *)text.data, text.size);
}

/* Ends the sample whose head was read. */
static int add_sample(struct reading *r, struct cairn_err *err)
{
    struct row row = {.labels = r->sample_labels, .event = r->sample_event};
    uint32_t number;
    if (!r->in_sample)
        return CAIRN_OK;
    r->in_sample = false;
    row.stack = cairn_perf_stacks_make(&r->stacks);
    if (row.stack == UINT32_MAX)
        return cairn_fail_memory(err);
    const uint32_t what[] = {row.stack, row.labels, row.event};
    const uint64_t key = cairn_hash_bytes(what, sizeof what);
    if (!cairn_table_find(&r->by_what, key, &number)) {
        number = (uint32_t)r->n_rows;
        if (cairn_grow((void **)&r->rows, &r->cap_rows, r->n_rows + 1, sizeof *r->rows) < 0 ||
            cairn_table_set(&r->by_what, key, number) < 0)
            return cairn_fail_memory(err);
        r->rows[r->n_rows++] = row;
    }
    r->rows[number].n++;
    r->rows[number].value = cairn_profile_add_clamped(r->rows[number].value, r->sample_value);
    return CAIRN_OK;
}

/* The labels of a head's thread; UINT32_MAX: memory is gone. */
static uint32_t labels_of(struct reading *r, const struct cairn_perf_head *head)
{
    uint32_t set;
    const uint64_t what[] = {(uint64_t)head->pid, (uint64_t)head->tid,
                             cairn_hash_bytes(head->comm.data, head->comm.size)};
    const uint64_t key = cairn_hash_bytes(what, sizeof what);
    if (cairn_table_find(&r->labels, key, &set))
        return set;
    struct cairn_label_list list = {.profile = r->p};
    cairn_label_list_string(&list, "thread", head->comm.size ? text_of(r, head->comm) : 0);
    if (head->pid >= 0)
        cairn_label_list_number(&list, "pid", head->pid);
    if (head->tid >= 0)
        cairn_label_list_number(&list, "tid", head->tid);
    set = cairn_label_list_add(&list, 0, 0);
    return set != UINT32_MAX && cairn_table_set(&r->labels, key, set) < 0 ? UINT32_MAX : set;
}

/* With what is kept of the sample alone. */
static uint32_t sample_labels_of(struct reading *r, const struct cairn_perf_head *head)
{
    uint32_t set = labels_of(r, head);
    bool has_cpu = r->keeps & CAIRN_STREAM_CPUS && head->cpu >= 0;
    bool has_time = r->keeps & CAIRN_STREAM_TIMES && head->has_time && head->time_ns <= INT64_MAX;
    if (set == UINT32_MAX || (!has_cpu && !has_time))
        return set;
    struct cairn_label_list list = {.profile = r->p};
    cairn_label_list_set(&list, set);
    if (has_cpu)
        cairn_label_list_number(&list, "cpu", head->cpu);
    return cairn_label_list_add(&list, 0, has_time ? (int64_t)head->time_ns : 0);
}

static int event_of(struct reading *r, const struct cairn_perf_head *head, uint32_t *ret_event,
                    struct cairn_err *err)
{
    struct cairn_span text = cairn_perf_event_name(head->event);
    if (!text.size)
        text = (struct cairn_span){(const uint8_t *)"events", 6};
    uint32_t name = text_of(r, text), i = 0;
    if (name == UINT32_MAX)
        return cairn_fail_memory(err);
    while (i < r->n_events && r->events[i].name != name)
        i++;
    if (i == EVENTS_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT, "line %llu: more than %d events",
                          (unsigned long long)r->line, EVENTS_MAX);
    if (i == r->n_events) {
        bool is_clock =
            cairn_span_begins(text, "cpu-clock") || cairn_span_begins(text, "task-clock");
        r->events[r->n_events++] = (struct event){.name = name, .is_clock = is_clock};
    }
    r->events[i].n++;
    r->events[i].has_period |= head->has_period;
    *ret_event = i;
    return CAIRN_OK;
}

/* Without call chains the one frame stands behind the event, where tracepoints have fields. */
static bool is_head_frame(struct cairn_span rest)
{
    struct cairn_perf_frame frame;
    size_t digits = 0;
    while (digits < rest.size && rest.data[digits] != ' ')
        digits++;
    return digits >= FRAME_DIGITS_MIN && rest.data[rest.size - 1] == ')' &&
           cairn_perf_frame_parse(rest, &frame);
}

static int begin_sample(struct reading *r, const struct cairn_perf_head *head,
                        struct cairn_err *err)
{
    int code = add_sample(r, err);
    if (code == CAIRN_OK)
        code = event_of(r, head, &r->sample_event, err);
    if (code < 0)
        return code;
    r->sample_labels = sample_labels_of(r, head);
    if (r->sample_labels == UINT32_MAX)
        return cairn_fail_memory(err);
    r->sample_value = !head->has_period                    ? 1
                      : head->period > (uint64_t)INT64_MAX ? INT64_MAX
                                                           : (int64_t)head->period;
    if (head->has_time) {
        r->first_ns = r->has_times && r->first_ns < head->time_ns ? r->first_ns : head->time_ns;
        r->last_ns = r->has_times && r->last_ns > head->time_ns ? r->last_ns : head->time_ns;
        r->has_times = true;
    }
    r->in_sample = true;
    r->has_head_frame = head->rest.size && is_head_frame(head->rest);
    if (r->has_head_frame && cairn_perf_stacks_add(&r->stacks, head->rest) == CAIRN_PERF_NOMEM)
        return cairn_fail_memory(err);
    return CAIRN_OK;
}

/* "# cmdline : perf record ...": how the recording was made. */
static int add_comment(struct reading *r, struct cairn_span line, struct cairn_err *err)
{
    static const char *const kept[] = {"# captured on", "# hostname", "# os release", "# cmdline",
                                       "# arch"};
    char text[1024];
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        if (!cairn_span_begins(line, kept[i]) || r->p->n_notes >= COMMENTS_MAX)
            continue;
        size_t size = line.size - 2 < sizeof text - 1 ? line.size - 2 : sizeof text - 1;
        memcpy(text, line.data + 2, size);
        text[size] = 0;
        return cairn_profile_add_comment(r->p, text) < 0 ? cairn_fail_memory(err) : CAIRN_OK;
    }
    return CAIRN_OK;
}

static const uint8_t *find_record(struct cairn_span line)
{
    static const char mark[] = ": PERF_RECORD_";
    const uint8_t *at = memmem(line.data, line.size, mark, sizeof mark - 1);
    return at ? at + sizeof mark - 1 : NULL;
}

/* Of --show-mmap-events and such, among the samples: "COMM 12 6049.3: PERF_RECORD_LOST lost 7". */
static bool is_record(struct reading *r, struct cairn_span line)
{
    static const char lost[] = "LOST lost ";
    const uint8_t *at = find_record(line);
    if (!at)
        return false;
    size_t left = line.size - (size_t)(at - line.data);
    char digits[20] = "";
    if (cairn_span_begins((struct cairn_span){at, left}, lost)) {
        left -= sizeof lost - 1;
        memcpy(digits, at + sizeof lost - 1, left < sizeof digits - 1 ? left : sizeof digits - 1);
        r->n_lost += strtoull(digits, NULL, 10);
    }
    return true;
}

static int fail_line(const struct reading *r, struct cairn_err *err)
{
    cairn_fail(err, CAIRN_E_FORMAT, "line %llu: neither the head of a sample nor a frame",
               (unsigned long long)r->line);
    cairn_hint(err, "perf script -F comm,pid,tid,time,period,event,ip,sym,dso writes all that "
                    "cairn reads");
    return CAIRN_E_FORMAT;
}

/* A line below a head: a frame, or the place of the one before. */
static int add_below(struct reading *r, struct cairn_span line, bool *ret_taken,
                     struct cairn_err *err)
{
    *ret_taken = true;
    switch (cairn_perf_stacks_add(&r->stacks, line)) {
    case CAIRN_PERF_FRAME:
        if (r->has_head_frame) /* it was a tracepoint's field */
            cairn_perf_stacks_drop_first(&r->stacks);
        r->has_head_frame = false;
        return CAIRN_OK;
    case CAIRN_PERF_TOO_DEEP:
        return cairn_fail(err, CAIRN_E_LIMIT, "line %llu: more than %d frames",
                          (unsigned long long)r->line, CAIRN_PROFILE_DEPTH_MAX);
    case CAIRN_PERF_NOMEM:
        return cairn_fail_memory(err);
    case CAIRN_PERF_NO_FRAME:
        break;
    }
    *ret_taken = false;
    return CAIRN_OK;
}

/* Frames begin with a tab. Where somebody has made blanks of it, they may begin as heads do that
 * perf pads to columns: those have a time. Where it was lost, a frame is what is no head. */
static int add_text(struct reading *r, struct cairn_span line, struct cairn_err *err)
{
    struct cairn_perf_head head;
    bool is_indented = line.data[0] == ' ' || line.data[0] == '\t', is_taken = false;
    bool is_head = line.data[0] != '\t' && cairn_perf_head_parse(line, &head);
    if (is_head && (!is_indented || !r->in_sample || head.has_time))
        return begin_sample(r, &head, err);
    if (r->in_sample) {
        int code = add_below(r, line, &is_taken, err);
        if (code < 0 || is_taken)
            return code;
        if (is_head)
            return begin_sample(r, &head, err);
        if (!is_indented)
            return is_record(r, line) ? CAIRN_OK : fail_line(r, err);
        return cairn_perf_stacks_place(&r->stacks, line) ? CAIRN_OK : cairn_fail_memory(err);
    }
    return is_record(r, line) ? CAIRN_OK : fail_line(r, err);
}

static int add_line(struct reading *r, struct cairn_span line, struct cairn_err *err)
{
    r->line++;
    if (line.size && line.data[line.size - 1] == '\r')
        line.size--;
    if (line.size && memchr(line.data, 0, line.size))
        return cairn_fail(err, CAIRN_E_FORMAT, "line %llu: a NUL byte",
                          (unsigned long long)r->line);
    if (line.size == 0)
        return add_sample(r, err);
    if (line.data[0] == '#')
        return add_comment(r, line, err);
    return add_text(r, line, err);
}

/* The event that most samples are of is shown first. */
static int add_types(struct reading *r, bool *ret_has_events, struct cairn_err *err)
{
    const struct event *most = &r->events[0];
    if (cairn_profile_add_type(r->p, "samples", "count") == UINT32_MAX)
        return cairn_fail_memory(err);
    *ret_has_events = r->n_events > 1 || most->has_period;
    for (uint32_t i = 0; *ret_has_events && i < r->n_events; i++) {
        const struct event *event = &r->events[i];
        bool is_time = event->is_clock && event->has_period;
        if (cairn_profile_add_type(r->p, cairn_strings_get(&r->p->strings, event->name),
                                   is_time ? "nanoseconds" : "count") == UINT32_MAX)
            return cairn_fail_memory(err);
        most = event->n > most->n ? event : most;
    }
    r->p->default_type = *ret_has_events ? most->name : 0;
    return CAIRN_OK;
}

static int finish(struct reading *r, struct cairn_err *err)
{
    int64_t values[1 + EVENTS_MAX];
    bool has_events = false;
    int code = add_sample(r, err);
    if (code == CAIRN_OK)
        code = add_types(r, &has_events, err);
    for (size_t i = 0; i < r->n_rows && code == CAIRN_OK; i++) {
        const struct row *row = &r->rows[i];
        memset(values, 0, sizeof values);
        values[0] = row->n;
        if (has_events)
            values[1 + row->event] = row->value;
        if (cairn_profile_add_sample(r->p, row->stack, row->labels, values) == UINT32_MAX)
            code = cairn_fail_memory(err);
    }
    if (r->has_times)
        r->p->duration_ns = (int64_t)(r->last_ns - r->first_ns);
    if (r->n_lost)
        cairn_log(CAIRN_LOG_WARNING, "perf says that %llu events were lost",
                  (unsigned long long)r->n_lost);
    return code;
}

static int read_perf_script(struct cairn_source *source, struct cairn_profile *p,
                            struct cairn_err *err)
{
    struct reading r = {.p = p, .stacks = {.p = p}, .keeps = source->input.keeps};
    struct cairn_span line;
    int code = CAIRN_OK, got;
    while (code == CAIRN_OK && (got = cairn_source_line(source, &line, r.line + 1, err)) != 0)
        code = got < 0 ? got : add_line(&r, line, err);
    if (code == CAIRN_OK)
        code = finish(&r, err);
    done(&r);
    return code;
}

/* A line that may follow a head; only whole lines are asked. */
static bool may_follow(struct cairn_span line)
{
    struct cairn_perf_head head;
    struct cairn_perf_frame frame;
    return !line.size || strchr("# \t", line.data[0]) || cairn_perf_frame_parse(line, &frame) ||
           cairn_perf_head_parse(line, &head) || find_record(line);
}

/* The first line that is no comment is a head, and what follows it may. */
static bool sniff(struct cairn_span head)
{
    struct cairn_perf_head parsed;
    bool has_head = false;
    if (cairn_span_begins(head, "# ========\n# captured on")) /* --header, which may be long */
        return true;
    for (size_t n = 0; head.size && n < SNIFFED_LINES_MAX;) {
        const uint8_t *end = memchr(head.data, '\n', head.size);
        struct cairn_span line = {head.data, end ? (size_t)(end - head.data) : head.size};
        head = (struct cairn_span){head.data + line.size + (end != NULL),
                                   head.size - line.size - (end != NULL)};
        if (line.size && line.data[line.size - 1] == '\r')
            line.size--;
        if (!has_head && (line.size == 0 || line.data[0] == '#' || find_record(line)))
            continue;
        if (!has_head && !cairn_perf_head_parse(line, &parsed))
            return false;
        if (has_head && end && !may_follow(line))
            return false;
        has_head = true;
        n++;
    }
    return has_head;
}

static const char *const endings[] = {".perf", NULL};

const struct cairn_format_row cairn_format_perf_script = {
    .format = CAIRN_FORMAT_PERF_SCRIPT,
    .name = "perf-script",
    .endings = endings,
    .sniff = sniff,
    .read = read_perf_script,
};
