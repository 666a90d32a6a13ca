/* SPDX-License-Identifier: MIT */
#include "klog/prefix.h"

#include "klog/scan.h"

enum { STEPS_MAX = 6, DECIMALS = 6, SECONDS_DIGITS_MAX = 12 };

/* "[ T4398] " or "[    C1] ". */
static void read_caller(struct cairn_span line, size_t *at, struct cairn_klog_prefix *prefix)
{
    size_t p = *at;
    uint64_t id;
    if (!cairn_scan_char(line, &p, '['))
        return;
    cairn_scan_blanks(line, &p);
    if (p >= line.size || (line.data[p] != 'T' && line.data[p] != 'C'))
        return;
    char kind = (char)line.data[p++];
    if (!cairn_scan_decimal(line, &p, &id) || id > UINT32_MAX || !cairn_scan_char(line, &p, ']'))
        return;
    prefix->caller = kind;
    prefix->caller_id = (uint32_t)id;
    *at = p;
}

bool cairn_klog_prefix_boot_time(struct cairn_span line, size_t *at,
                                 struct cairn_klog_prefix *prefix)
{
    uint64_t seconds = 0, micros = 0;
    size_t p = *at;
    if (!cairn_scan_char(line, &p, '['))
        return false;
    cairn_scan_blanks(line, &p);
    size_t first = p;
    if (!cairn_scan_decimal(line, &p, &seconds) || p - first > SECONDS_DIGITS_MAX ||
        !cairn_scan_char(line, &p, '.'))
        return false;
    size_t decimals = p;
    if (!cairn_scan_decimal(line, &p, &micros) || p >= line.size || line.data[p] != ']')
        return false;
    for (size_t n = p - decimals; n != DECIMALS; n += n < DECIMALS ? 1 : -1)
        micros = n < DECIMALS ? micros * 10 : micros / 10;
    prefix->time = (struct cairn_span){line.data + first, p - first};
    prefix->time_us = seconds * 1000000 + micros;
    prefix->is_date = false;
    p++;
    read_caller(line, &p, prefix);
    *at = p;
    return true;
}

/* "<6>", or "<6>[...". */
static bool read_priority(struct cairn_span line, size_t *at)
{
    uint64_t priority;
    size_t p = *at;
    if (!cairn_scan_char(line, &p, '<') || !cairn_scan_decimal(line, &p, &priority) ||
        priority > 1023 || !cairn_scan_char(line, &p, '>'))
        return false;
    *at = p;
    return true;
}

/* "PRIO,SEQ,USEC,FLAGS[,caller=T1];" */
static bool read_record(struct cairn_span line, size_t *at, struct cairn_klog_prefix *prefix)
{
    uint64_t priority, number, micros;
    size_t p = *at;
    if (!cairn_scan_decimal(line, &p, &priority) || !cairn_scan_char(line, &p, ',') ||
        !cairn_scan_decimal(line, &p, &number) || !cairn_scan_char(line, &p, ','))
        return false;
    size_t first = p;
    if (!cairn_scan_decimal(line, &p, &micros))
        return false;
    struct cairn_span time = {line.data + first, p - first};
    if (!cairn_scan_char(line, &p, ','))
        return false;
    const uint8_t *end = memchr(line.data + p, ';', line.size - p);
    if (!end)
        return false;
    struct cairn_span flags = {line.data + p, (size_t)(end - line.data) - p};
    size_t caller = cairn_scan_find(flags, "caller=");
    if (caller + 8 <= flags.size) {
        uint64_t id;
        char kind = (char)flags.data[caller + 7];
        size_t q = caller + 8;
        if ((kind == 'T' || kind == 'C') && cairn_scan_decimal(flags, &q, &id) &&
            id <= UINT32_MAX) {
            prefix->caller = kind;
            prefix->caller_id = (uint32_t)id;
        }
    }
    prefix->time = time;
    prefix->time_us = micros;
    prefix->is_date = false;
    *at = (size_t)(end - line.data) + 1;
    return true;
}

/* journalctl -o short-monotonic writes "host kernel: " behind the time, others the word alone. */
static void skip_kernel_word(struct cairn_span line, size_t *at)
{
    size_t p = *at;
    cairn_scan_blanks(line, &p);
    if (cairn_scan_text(line, &p, "kernel: ")) {
        *at = p;
        return;
    }
    while (p < line.size && line.data[p] > ' ' && line.data[p] != ':')
        p++;
    if (cairn_scan_text(line, &p, " kernel: "))
        *at = p;
}

size_t cairn_klog_prefix_read(struct cairn_span line, struct cairn_klog_prefix *ret_prefix)
{
    size_t at = 0;
    *ret_prefix = (struct cairn_klog_prefix){.time_us = UINT64_MAX};
    for (int i = 0; i < STEPS_MAX && at < line.size; i++) {
        uint8_t c = line.data[at];
        if (c == '[' && cairn_klog_prefix_boot_time(line, &at, ret_prefix)) {
            /* What a console or a journal puts before the kernel's own time comes before. */
            cairn_scan_char(line, &at, ' ');
            if (at < line.size && line.data[at] >= 'a' && line.data[at] <= 'z')
                skip_kernel_word(line, &at);
            return at;
        }
        if (c == '<' && read_priority(line, &at))
            continue;
        if (cairn_scan_is_digit(c) && read_record(line, &at, ret_prefix))
            return at;
        if (!cairn_klog_prefix_date(line, &at, ret_prefix))
            break;
    }
    return at;
}

size_t cairn_klog_prefix_find_glued(struct cairn_span line, size_t from)
{
    while (from < line.size) {
        const uint8_t *bracket = memchr(line.data + from, '[', line.size - from);
        if (!bracket)
            break;
        struct cairn_klog_prefix ignored;
        size_t start = (size_t)(bracket - line.data), at = start;
        /* Cheap first: most brackets hold a symbol's module or an index. */
        uint8_t next = start + 1 < line.size ? bracket[1] : 0;
        if ((next == ' ' || cairn_scan_is_digit(next)) &&
            cairn_klog_prefix_boot_time(line, &at, &ignored))
            return start > 2 && line.data[start - 1] == '>' && line.data[start - 3] == '<'
                       ? start - 3
                       : start;
        from = start + 1;
    }
    return line.size;
}
