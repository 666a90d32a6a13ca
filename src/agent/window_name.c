/* SPDX-License-Identifier: MIT */
#include "agent/window_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { MS_PER_S = 1000, YEAR_BASE = 1900 };
static const int64_t NS_PER_MS = 1000000;
static const uint64_t LENGTH_MS_MAX = UINT64_C(31) * 86400 * 1000;

static const char *const words[CAIRN_WINDOW_STATES] = {
    [CAIRN_WINDOW_KEPT] = "",
    [CAIRN_WINDOW_NEW] = ".new",
    [CAIRN_WINDOW_SENDING] = ".sending",
    [CAIRN_WINDOW_DOUBT] = ".doubt",
    [CAIRN_WINDOW_REFUSED] = ".refused",
    [CAIRN_WINDOW_DAMAGED] = ".damaged",
};

void cairn_window_name(const struct cairn_window *w, char name[CAIRN_WINDOW_NAME_BYTES])
{
    int64_t ms = w->start_ns > 0 ? w->start_ns / NS_PER_MS : 0;
    time_t seconds = (time_t)(ms / MS_PER_S);
    struct tm tm;
    gmtime_r(&seconds, &tm);
    snprintf(name, CAIRN_WINDOW_NAME_BYTES,
             "%010" PRIu64 "-%04d%02d%02dT%02d%02d%02d.%03dZ-%" PRIu64 "%s.pb.gz", w->number,
             tm.tm_year + YEAR_BASE, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
             (int)(ms % MS_PER_S), w->length_ns / (uint64_t)NS_PER_MS, words[w->state]);
}

static bool read_state(const char *text, enum cairn_window_state *ret_state)
{
    for (int i = 0; i < CAIRN_WINDOW_STATES; i++) {
        size_t size = strlen(words[i]);
        if (strncmp(text, words[i], size) == 0 && strcmp(text + size, ".pb.gz") == 0) {
            *ret_state = (enum cairn_window_state)i;
            return true;
        }
    }
    return false;
}

/* Exactly `n` digits. */
static bool read_digits(const char **io_text, size_t n, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++, ++*io_text) {
        if (**io_text < '0' || **io_text > '9')
            return false;
        value = value * 10 + (uint64_t)(**io_text - '0');
    }
    *ret_value = value;
    return true;
}

static bool read_char(const char **io_text, char c)
{
    bool is_there = **io_text == c;
    *io_text += is_there;
    return is_there;
}

/* A time that does not exist, such as a 13th month, is that of no name: it is written again and
 * compared. */
static bool read_start(const char **io_text, int64_t *ret_start_ns)
{
    uint64_t year, month, day, hour, minute, second, ms;
    if (!read_digits(io_text, 4, &year) || !read_digits(io_text, 2, &month) ||
        !read_digits(io_text, 2, &day) || !read_char(io_text, 'T') ||
        !read_digits(io_text, 2, &hour) || !read_digits(io_text, 2, &minute) ||
        !read_digits(io_text, 2, &second) || !read_char(io_text, '.') ||
        !read_digits(io_text, 3, &ms) || !read_char(io_text, 'Z') || year < 1970)
        return false;
    struct tm tm = {.tm_year = (int)year - YEAR_BASE,
                    .tm_mon = (int)month - 1,
                    .tm_mday = (int)day,
                    .tm_hour = (int)hour,
                    .tm_min = (int)minute,
                    .tm_sec = (int)second};
    time_t seconds = timegm(&tm);
    if (seconds < 0 || (int64_t)seconds > INT64_MAX / MS_PER_S / NS_PER_MS - 1)
        return false;
    *ret_start_ns = ((int64_t)seconds * MS_PER_S + (int64_t)ms) * NS_PER_MS;
    return true;
}

bool cairn_window_name_read(const char *name, struct cairn_window *ret_window)
{
    struct cairn_window w = {0};
    char again[CAIRN_WINDOW_NAME_BYTES];
    uint64_t ms = 0;
    const char *at = name;
    if (!read_digits(&at, 10, &w.number) || !read_char(&at, '-') || !read_start(&at, &w.start_ns) ||
        !read_char(&at, '-'))
        return false;
    for (uint64_t digit; ms <= LENGTH_MS_MAX && read_digits(&at, 1, &digit);)
        ms = ms * 10 + digit;
    if (ms > LENGTH_MS_MAX || !read_state(at, &w.state))
        return false;
    w.length_ns = ms * (uint64_t)NS_PER_MS;
    cairn_window_name(&w, again);
    if (strcmp(name, again) != 0)
        return false;
    *ret_window = w;
    return true;
}
