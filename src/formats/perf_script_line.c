/* SPDX-License-Identifier: MIT */
#include "formats/perf_script_line.h"

#include <string.h>

enum { TRIES_MAX = 64 }; /* words of a line that may be the TID */

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t';
}

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static int hex_of(uint8_t c)
{
    if (is_digit(c))
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static struct cairn_span from(struct cairn_span text, size_t at)
{
    return (struct cairn_span){text.data + at, text.size - at};
}

static struct cairn_span trimmed(struct cairn_span text)
{
    while (text.size && is_blank(text.data[text.size - 1]))
        text.size--;
    size_t at = 0;
    while (at < text.size && is_blank(text.data[at]))
        at++;
    return from(text, at);
}

static size_t skip_blanks(struct cairn_span line, size_t at)
{
    while (at < line.size && is_blank(line.data[at]))
        at++;
    return at;
}

/* Digits from `*io_at` on; false where there are none, or they are too large a number. */
static bool take_number(struct cairn_span line, size_t *io_at, uint64_t *ret_number)
{
    size_t at = *io_at;
    uint64_t number = 0;
    for (; at < line.size && is_digit(line.data[at]); at++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, line.data[at] - '0', &number))
            return false;
    if (at == *io_at)
        return false;
    *io_at = at;
    *ret_number = number;
    return true;
}

/* "[PID/]TID", and a blank or the end behind it. PIDs of -1 are of no process. */
static bool take_ids(struct cairn_span line, size_t *io_at, struct cairn_perf_head *head)
{
    int64_t *const ids[] = {&head->pid, &head->tid};
    size_t at = *io_at, n = 0;
    head->pid = -1;
    for (;; at++) {
        bool is_minus = at < line.size && line.data[at] == '-';
        uint64_t number;
        at += is_minus;
        if (!take_number(line, &at, &number) || number > INT32_MAX)
            return false;
        *ids[n++] = is_minus ? -1 : (int64_t)number;
        if (n == 2 || at == line.size || line.data[at] != '/')
            break;
    }
    if (n == 1) {
        head->tid = head->pid;
        head->pid = -1;
    }
    if (at < line.size && !is_blank(line.data[at]))
        return false;
    *io_at = skip_blanks(line, at);
    return true;
}

/* "[003]" */
static void take_cpu(struct cairn_span line, size_t *io_at, struct cairn_perf_head *head)
{
    size_t at = *io_at;
    uint64_t cpu;
    if (at == line.size || line.data[at++] != '[' || !take_number(line, &at, &cpu) ||
        at == line.size || line.data[at] != ']')
        return;
    head->cpu = cpu <= INT32_MAX ? (int64_t)cpu : -1;
    *io_at = skip_blanks(line, at + 1);
}

/* "6049.323385:", of six or nine digits behind the point. */
static bool take_time(struct cairn_span line, size_t *io_at, struct cairn_perf_head *head)
{
    size_t at = *io_at;
    uint64_t seconds, fraction;
    if (!take_number(line, &at, &seconds) || at == line.size || line.data[at++] != '.')
        return false;
    size_t first = at;
    if (!take_number(line, &at, &fraction) || at - first > 9 || at == line.size ||
        line.data[at] != ':')
        return false;
    for (size_t n = at - first; n < 9; n++)
        fraction *= 10;
    if (__builtin_mul_overflow(seconds, UINT64_C(1000000000), &head->time_ns) ||
        __builtin_add_overflow(head->time_ns, fraction, &head->time_ns))
        return false;
    *io_at = skip_blanks(line, at + 1);
    return head->has_time = true;
}

/* A word that ends in a colon, and a blank or the end behind it. */
static bool take_event(struct cairn_span line, size_t *io_at, struct cairn_perf_head *head)
{
    size_t at = *io_at;
    while (at < line.size && !is_blank(line.data[at]))
        at++;
    if (at - *io_at < 2 || line.data[at - 1] != ':' || is_digit(line.data[*io_at]))
        return false;
    head->event = (struct cairn_span){line.data + *io_at, at - 1 - *io_at};
    *io_at = at;
    return true;
}

/* All behind COMM. */
static bool fits(struct cairn_span line, size_t at, struct cairn_perf_head *head)
{
    head->has_time = head->has_period = false;
    head->cpu = -1;
    head->event = (struct cairn_span){0};
    if (!take_ids(line, &at, head))
        return false;
    take_cpu(line, &at, head);
    bool has_time = take_time(line, &at, head);
    size_t before = at;
    head->has_period = take_number(line, &at, &head->period);
    if (head->has_period && (at == line.size || !is_blank(line.data[at])))
        return false;
    at = skip_blanks(line, at);
    if (!take_event(line, &at, head)) {
        at = before;
        head->has_period = false;
        if (!has_time || skip_blanks(line, at) != line.size)
            return false;
    }
    head->rest = trimmed(from(line, at));
    return true;
}

/* A head with a time is believed before one without: COMM may look like the latter. */
bool cairn_perf_head_parse(struct cairn_span line, struct cairn_perf_head *ret_head)
{
    struct cairn_perf_head head = {0};
    bool is_found = false;
    size_t start = skip_blanks(line, 0), n_tries = 0;
    if (start < line.size && line.data[start] == '#')
        return false;
    for (size_t at = start + 1; at < line.size && n_tries < TRIES_MAX; at++) {
        bool is_number = is_digit(line.data[at]) || line.data[at] == '-';
        if (!is_number || !is_blank(line.data[at - 1]))
            continue;
        n_tries++;
        if (!fits(line, at, &head) || (is_found && !head.has_time))
            continue;
        head.comm = trimmed((struct cairn_span){line.data + start, at - start});
        *ret_head = head;
        is_found = true;
        if (head.has_time)
            break;
    }
    return is_found;
}

/* The last "(...)" of the line, whose own parentheses are in pairs; without pairs the last "(". */
static bool split_module(struct cairn_span *io_text, struct cairn_span *ret_module)
{
    struct cairn_span text = *io_text;
    size_t depth = 0, at = text.size, last = 0;
    if (!text.size || text.data[text.size - 1] != ')')
        return false;
    while (at-- > 0) {
        bool opens = text.data[at] == '(';
        depth += text.data[at] == ')';
        if (!opens)
            continue;
        bool is_word = at == 0 || is_blank(text.data[at - 1]);
        last = is_word && !last ? at + 1 : last;
        if (--depth == 0 && is_word) {
            last = at + 1;
            break;
        }
        if (depth == 0)
            break;
    }
    if (!last)
        return false;
    *ret_module = (struct cairn_span){text.data + last, text.size - 1 - last};
    *io_text = trimmed((struct cairn_span){text.data, last - 1});
    return true;
}

static struct cairn_span without_deleted(struct cairn_span module)
{
    static const char deleted[] = " (deleted)";
    const size_t size = sizeof deleted - 1;
    if (module.size > size && memcmp(module.data + module.size - size, deleted, size) == 0)
        module.size -= size;
    return cairn_span_equal(module, cairn_span_of("[unknown]")) ? (struct cairn_span){0} : module;
}

/* "name+0x1c" */
static struct cairn_span without_offset(struct cairn_span name)
{
    size_t at = name.size;
    while (at && hex_of(name.data[at - 1]) >= 0)
        at--;
    bool has_offset = at < name.size && at > 3 && memcmp(name.data + at - 3, "+0x", 3) == 0;
    if (has_offset)
        name.size = at - 3;
    return cairn_span_equal(name, cairn_span_of("[unknown]")) ? (struct cairn_span){0} : name;
}

bool cairn_perf_frame_parse(struct cairn_span line, struct cairn_perf_frame *ret_frame)
{
    struct cairn_perf_frame frame = {0};
    size_t at = skip_blanks(line, 0), first = at;
    for (; at < line.size && hex_of(line.data[at]) >= 0; at++)
        frame.address = frame.address << 4 | (unsigned)hex_of(line.data[at]);
    if (at == first || at - first > 16 || (at < line.size && !is_blank(line.data[at])))
        return false;
    struct cairn_span text = trimmed(from(line, at));
    if (split_module(&text, &frame.module)) {
        frame.is_inlined = cairn_span_equal(frame.module, cairn_span_of("inlined"));
        frame.module = frame.is_inlined ? (struct cairn_span){0} : without_deleted(frame.module);
    }
    frame.name = without_offset(text);
    *ret_frame = frame;
    return true;
}

bool cairn_perf_place_parse(struct cairn_span line, struct cairn_span *ret_file, uint32_t *ret_line)
{
    struct cairn_span text = trimmed(line);
    size_t at = text.size;
    uint64_t number;
    while (at && is_digit(text.data[at - 1]))
        at--;
    if (at < 2 || text.data[at - 1] != ':')
        return false;
    struct cairn_span file = {text.data, at - 1};
    if (!take_number(text, &at, &number) || number > UINT32_MAX ||
        cairn_span_equal(file, cairn_span_of("??")))
        return false;
    *ret_file = file;
    *ret_line = (uint32_t)number;
    return true;
}

/* Letters of perf-list(1), "EVENT MODIFIERS". */
struct cairn_span cairn_perf_event_name(struct cairn_span event)
{
    const uint8_t *colon = event.size ? memrchr(event.data, ':', event.size) : NULL;
    size_t at = colon ? (size_t)(colon - event.data) : event.size;
    for (size_t i = at + 1; i < event.size; i++)
        if (!strchr("ukhGHIpPSDWeb", event.data[i]) || !event.data[i])
            return event;
    return colon && at ? (struct cairn_span){event.data, at} : event;
}
