/* SPDX-License-Identifier: MIT */
/* What syslog, journals, consoles and logcat put before a message. */
#include "klog/prefix.h"
#include "klog/scan.h"

enum { HOST_BYTES_MAX = 255, FRACTION_DIGITS = 6, YEAR_MIN = 1970, YEAR_MAX = 9999 };

struct date {
    uint64_t year, month, day, hour, minute, second, micros;
};

/* Days from 1970-01-01 in the Gregorian calendar (years from March on make leap days the last). */
static uint64_t days_of(uint64_t year, uint64_t month, uint64_t day)
{
    year -= month <= 2;
    uint64_t era = year / 400, of_era = year % 400;
    uint64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static bool is_sound(const struct date *date)
{
    return date->month >= 1 && date->month <= 12 && date->day >= 1 && date->day <= 31 &&
           date->hour < 24 && date->minute < 60 && date->second <= 60;
}

static void take_date(const struct date *date, struct cairn_span text,
                      struct cairn_klog_prefix *prefix)
{
    prefix->time = text;
    if (date->year < YEAR_MIN || date->year > YEAR_MAX)
        return; /* syslog and logcat have no year: the time is shown, not compared */
    uint64_t seconds = days_of(date->year, date->month, date->day) * 86400 + date->hour * 3600 +
                       date->minute * 60 + date->second;
    prefix->time_us = seconds * 1000000 + date->micros;
    prefix->is_date = true;
}

/* "20:11:46", with ".123456" or ",123" behind it or not. */
static bool read_clock(struct cairn_span line, size_t *at, struct date *date)
{
    size_t p = *at;
    if (!cairn_scan_decimal(line, &p, &date->hour) || p - *at > 2 ||
        !cairn_scan_char(line, &p, ':') || !cairn_scan_decimal(line, &p, &date->minute) ||
        !cairn_scan_char(line, &p, ':') || !cairn_scan_decimal(line, &p, &date->second))
        return false;
    date->micros = 0;
    if (p + 1 < line.size && (line.data[p] == '.' || line.data[p] == ',') &&
        cairn_scan_is_digit(line.data[p + 1])) {
        unsigned n = 0;
        for (p++; p < line.size && cairn_scan_is_digit(line.data[p]); p++)
            if (n++ < FRACTION_DIGITS)
                date->micros = date->micros * 10 + (uint64_t)(line.data[p] - '0');
        for (; n < FRACTION_DIGITS; n++)
            date->micros *= 10;
    }
    *at = p;
    return true;
}

static uint64_t month_of(struct cairn_span line, size_t *at)
{
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    if (line.size - *at < 3)
        return 0;
    for (uint64_t i = 0; i < 12; i++)
        if (memcmp(line.data + *at, names + 3 * i, 3) == 0) {
            *at += 3;
            return i + 1;
        }
    return 0;
}

/* "Nov 28 20:11:46", and " 2026" behind it or not. */
static bool read_month_date(struct cairn_span line, size_t *at, struct date *date)
{
    size_t p = *at;
    *date = (struct date){.month = month_of(line, &p)};
    if (!date->month || !cairn_scan_char(line, &p, ' '))
        return false;
    cairn_scan_blanks(line, &p);
    if (!cairn_scan_decimal(line, &p, &date->day) || !cairn_scan_char(line, &p, ' ') ||
        !read_clock(line, &p, date))
        return false;
    size_t year = p;
    if (cairn_scan_char(line, &year, ' ') && cairn_scan_decimal(line, &year, &date->year) &&
        year - p == 5)
        p = year;
    else
        date->year = 0;
    *at = p;
    return is_sound(date);
}

/* "2026-11-28T20:11:46.123+01:00", "2026-11-28 20:11:46", and logcat's "11-28 20:11:46.123". */
static bool read_number_date(struct cairn_span line, size_t *at, struct date *date)
{
    size_t p = *at, first = p;
    *date = (struct date){0};
    if (!cairn_scan_decimal(line, &p, &date->year) || !cairn_scan_char(line, &p, '-'))
        return false;
    bool has_year = p - first == 5;
    if (!has_year) {
        date->month = date->year;
        date->year = 0;
    } else if (!cairn_scan_decimal(line, &p, &date->month) || !cairn_scan_char(line, &p, '-')) {
        return false;
    }
    if (!cairn_scan_decimal(line, &p, &date->day) ||
        (!cairn_scan_char(line, &p, 'T') && !cairn_scan_char(line, &p, ' ')) ||
        !read_clock(line, &p, date) || !is_sound(date))
        return false;
    size_t zone = p;
    if (cairn_scan_char(line, &zone, 'Z'))
        p = zone;
    else if (cairn_scan_char(line, &zone, '+') || cairn_scan_char(line, &zone, '-'))
        for (p = zone; p < line.size && (cairn_scan_is_digit(line.data[p]) || line.data[p] == ':');)
            p++;
    *at = p;
    return true;
}

/* " host kernel: ", or " kernel: ", or " host prog[12]: ". */
static void skip_host(struct cairn_span line, size_t *at)
{
    size_t p = *at;
    for (int word = 0; word < 3; word++) {
        size_t before = p;
        if (!cairn_scan_char(line, &p, ' '))
            return;
        cairn_scan_blanks(line, &p);
        while (p < line.size && line.data[p] > ' ' && line.data[p] != ':' &&
               p - before < HOST_BYTES_MAX)
            p++;
        if (cairn_scan_char(line, &p, ':')) {
            bool is_writer = cairn_scan_find((struct cairn_span){line.data + before, p - before},
                                             "kernel") < p - before ||
                             word > 0;
            if (is_writer && (p == line.size || cairn_scan_char(line, &p, ' ')))
                *at = p;
            return;
        }
    }
}

/* "   0     0 I tag     : ". */
static void skip_logcat(struct cairn_span line, size_t *at)
{
    uint64_t ignored;
    size_t p = *at;
    cairn_scan_blanks(line, &p);
    if (!cairn_scan_decimal(line, &p, &ignored) || !cairn_scan_char(line, &p, ' '))
        return;
    cairn_scan_blanks(line, &p);
    if (!cairn_scan_decimal(line, &p, &ignored) || !cairn_scan_char(line, &p, ' ') ||
        p + 2 > line.size || !memchr("VDIWEF", line.data[p], 6) || line.data[p + 1] != ' ')
        return;
    const uint8_t *end = memmem(line.data + p, line.size - p, ": ", 2);
    if (end)
        *at = (size_t)(end - line.data) + 2;
}

/* "kern  :info  : ", as dmesg -x writes it. */
static bool skip_facility(struct cairn_span line, size_t *at)
{
    static const char *const names[] = {"kern", "user", "daemon", "syslog"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t p = *at;
        if (!cairn_scan_text(line, &p, names[i]))
            continue;
        cairn_scan_blanks(line, &p);
        if (!cairn_scan_char(line, &p, ':'))
            return false;
        while (p < line.size && line.data[p] >= 'a' && line.data[p] <= 'z')
            p++;
        cairn_scan_blanks(line, &p);
        if (!cairn_scan_char(line, &p, ':'))
            return false;
        cairn_scan_char(line, &p, ' ');
        *at = p;
        return true;
    }
    return false;
}

/* "I/kernel(  123): ", logcat's brief form. */
static bool skip_brief(struct cairn_span line, size_t *at)
{
    size_t p = *at;
    if (line.size - p < 4 || !memchr("VDIWEF", line.data[p], 6) || line.data[p + 1] != '/')
        return false;
    const uint8_t *end = memmem(line.data + p, line.size - p, "): ", 3);
    const uint8_t *bracket = memchr(line.data + p, '(', line.size - p);
    if (!end || !bracket || bracket > end)
        return false;
    *at = (size_t)(end - line.data) + 3;
    return true;
}

/* "[Sat Nov 28 20:11:46 2026] ", "[2026-11-28 20:11:46] ", and a console's "[12.3 0.1] ". */
static bool read_bracketed(struct cairn_span line, size_t *at, struct cairn_klog_prefix *prefix)
{
    struct date date;
    size_t p = *at + 1, first = p;
    if (line.size - p > 4 && line.data[p + 3] == ' ' && line.data[p] >= 'A' && line.data[p] <= 'Z')
        p += 4; /* the day of the week */
    if (!read_month_date(line, &p, &date) && (p = first, !read_number_date(line, &p, &date))) {
        while (p < line.size && p - first < 32 &&
               (cairn_scan_is_digit(line.data[p]) || strchr(" .:", line.data[p])))
            p++;
        if (p == first || p >= line.size || line.data[p] != ']' || line.size - p < 2 ||
            line.data[p + 1] != ' ')
            return false;
        *at = p + 2;
        return true;
    }
    if (p >= line.size || line.data[p] != ']')
        return false;
    take_date(&date, (struct cairn_span){line.data + first, p - first}, prefix);
    p++;
    cairn_scan_char(line, &p, ' ');
    *at = p;
    return true;
}

bool cairn_klog_prefix_date(struct cairn_span line, size_t *at, struct cairn_klog_prefix *prefix)
{
    struct date date;
    size_t p = *at;
    uint8_t c = line.data[p];
    if (c == '[')
        return read_bracketed(line, at, prefix);
    if (read_month_date(line, &p, &date) || (p = *at, read_number_date(line, &p, &date))) {
        take_date(&date, (struct cairn_span){line.data + *at, p - *at}, prefix);
        size_t behind = p;
        skip_logcat(line, &behind);
        if (behind == p)
            skip_host(line, &behind);
        if (behind == p)
            cairn_scan_char(line, &behind, ' ');
        *at = behind;
        return true;
    }
    p = *at;
    if (cairn_scan_is_digit(c) && read_clock(line, &p, &date) && cairn_scan_char(line, &p, ' ')) {
        *at = p;
        return true;
    }
    p = *at;
    if (cairn_scan_text(line, &p, "kernel: ")) {
        *at = p;
        return true;
    }
    return skip_facility(line, at) || skip_brief(line, at);
}
