/* SPDX-License-Identifier: MIT */
#include "select/span.h"

#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/error.h"
#include "profile/profile.h"

static const int64_t second_ns = 1000000000, day_ns = INT64_C(86400) * 1000000000;

enum { SECONDS_DIGITS_MAX = 9, EPOCH_YEAR = 1970 };

void cairn_select_spans_done(struct cairn_select_spans *spans)
{
    cairn_free(spans->items);
    *spans = (struct cairn_select_spans){0};
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* `n` to `most` digits. */
static bool take_digits(const char **at, int n, int most, int64_t *ret_number)
{
    int64_t number = 0;
    int i = 0;
    for (; i < most && is_digit(**at); i++)
        number = number * 10 + *(*at)++ - '0';
    *ret_number = number;
    return i >= n && !is_digit(**at);
}

/* ".25" as nanoseconds, as far as they go; no point is none. */
static bool take_fraction(const char **at, int64_t *ret_ns)
{
    int64_t unit = second_ns;
    *ret_ns = 0;
    if (**at != '.')
        return true;
    ++*at;
    if (!is_digit(**at))
        return false;
    for (; is_digit(**at); ++*at) {
        unit /= 10;
        *ret_ns += (**at - '0') * unit;
    }
    return true;
}

/* "12:30", "12:30:05.25" */
static bool take_clock(const char **at, int64_t *ret_ns)
{
    int64_t hour, minute, second = 0, fraction = 0;
    if (!take_digits(at, 1, 2, &hour) || *(*at)++ != ':' || !take_digits(at, 2, 2, &minute))
        return false;
    if (**at == ':' && (++*at, !take_digits(at, 2, 2, &second) || !take_fraction(at, &fraction)))
        return false;
    *ret_ns = ((hour * 60 + minute) * 60 + second) * second_ns + fraction;
    return hour < 24 && minute < 60 && second <= 60;
}

/* "2026-11-29T12:30" */
static bool take_date(const char **at, struct cairn_select_moment *moment)
{
    int64_t year, month, day;
    if (!take_digits(at, 4, 4, &year) || *(*at)++ != '-' || !take_digits(at, 2, 2, &month) ||
        *(*at)++ != '-' || !take_digits(at, 2, 2, &day) || (**at != 'T' && **at != ' '))
        return false;
    ++*at;
    moment->year = (int)year;
    moment->month = (int)month;
    moment->day = (int)day;
    return month >= 1 && month <= 12 && day >= 1 && day <= 31 && take_clock(at, &moment->ns);
}

static bool begins(const char *text, const char *unit)
{
    return strncmp(text, unit, strlen(unit)) == 0;
}

/* "1.5", "1.5s", "200ms", "30us", "7ns" */
static bool take_seconds(const char **at, int64_t *ret_ns)
{
    int64_t whole, fraction, divisor = 1;
    if (!take_digits(at, 1, SECONDS_DIGITS_MAX, &whole) || !take_fraction(at, &fraction))
        return false;
    if (begins(*at, "ms"))
        divisor = 1000;
    else if (begins(*at, "us"))
        divisor = 1000000;
    else if (begins(*at, "ns"))
        divisor = second_ns;
    *at += divisor > 1 ? 2 : **at == 's';
    *ret_ns = (whole * second_ns + fraction) / divisor;
    return true;
}

/* What a moment is, its first bytes say. */
static bool take_moment(const char **at, struct cairn_select_moment *ret_moment)
{
    size_t digits = strspn(*at, "0123456789");
    const char *behind = *at + digits;
    if (!digits) {
        ret_moment->kind = CAIRN_SELECT_OPEN;
        return true;
    }
    bool is_date = digits == 4 && strlen(behind) > 6 && behind[0] == '-' && behind[3] == '-';
    if (is_date) {
        ret_moment->kind = CAIRN_SELECT_DATE;
        return take_date(at, ret_moment);
    }
    if (*behind == ':') {
        ret_moment->kind = CAIRN_SELECT_CLOCK;
        return take_clock(at, &ret_moment->ns);
    }
    ret_moment->kind = CAIRN_SELECT_START;
    return take_seconds(at, &ret_moment->ns);
}

static int fail_at(const char *text, const char *at, struct cairn_err *err)
{
    cairn_fail(err, CAIRN_E_ARG, "\"%.100s\": column %zu: expected a stretch of time, A-B", text,
               (size_t)(at - text) + 1);
    cairn_hint(err, "seconds from the start: 1.5-3, 1.5-, -3; or clock times: 12:30:05-12:31");
    return CAIRN_E_ARG;
}

int cairn_select_spans_add(struct cairn_select_spans *spans, const char *text,
                           struct cairn_err *err)
{
    struct cairn_select_span span = {0};
    const char *at = text;
    if (!take_moment(&at, &span.from) || *at != '-')
        return fail_at(text, at, err);
    at++;
    if (!take_moment(&at, &span.to) || *at ||
        (!span.from.kind && !span.to.kind)) /* "-" asks for nothing */
        return fail_at(text, at, err);
    if (span.from.kind == CAIRN_SELECT_START && span.to.kind == CAIRN_SELECT_START &&
        span.to.ns <= span.from.ns)
        return cairn_fail(err, CAIRN_E_ARG, "\"%.100s\": ends before it begins", text);
    if (spans->n == CAIRN_SELECT_SPANS_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT, "more than %d stretches of time",
                          CAIRN_SELECT_SPANS_MAX);
    if (cairn_grow((void **)&spans->items, &spans->cap, spans->n + 1, sizeof *spans->items) < 0)
        return cairn_fail_memory(err);
    spans->items[spans->n++] = span;
    return CAIRN_OK;
}

/* A clock time of the day on which `of_ns` is, or of the day that the moment names. */
static int64_t on_day(const struct cairn_select_moment *moment, int64_t of_ns)
{
    time_t seconds = (time_t)(of_ns / second_ns);
    struct tm day = {0};
    localtime_r(&seconds, &day);
    if (moment->kind == CAIRN_SELECT_DATE)
        day = (struct tm){
            .tm_year = moment->year - 1900, .tm_mon = moment->month - 1, .tm_mday = moment->day};
    day.tm_hour = (int)(moment->ns / second_ns / 3600);
    day.tm_min = (int)(moment->ns / second_ns / 60 % 60);
    day.tm_sec = (int)(moment->ns / second_ns % 60);
    day.tm_isdst = -1;
    day.tm_wday = -1; /* mktime(3) sets it unless time_t, of 32 bits, cannot hold the moment */
    int64_t at = (int64_t)mktime(&day), at_ns;
    if (day.tm_wday < 0 || __builtin_mul_overflow(at, second_ns, &at_ns)) /* a year far from ours */
        return day.tm_year < EPOCH_YEAR - 1900 ? INT64_MIN : INT64_MAX;
    return cairn_profile_add_clamped(at_ns, moment->ns % second_ns);
}

/* `open_ns`: what a moment that is not said means. A clock time alone is of the day of the start,
 * or of the next day where the recording goes on to it. */
static int64_t place(const struct cairn_select_moment *moment,
                     const struct cairn_select_times *times, int64_t open_ns)
{
    if (moment->kind == CAIRN_SELECT_OPEN)
        return open_ns;
    if (moment->kind == CAIRN_SELECT_START)
        return cairn_profile_add_clamped(times->start_ns, moment->ns);
    int64_t at = on_day(moment, times->start_ns);
    bool is_next = moment->kind == CAIRN_SELECT_CLOCK && at < times->start_ns &&
                   cairn_profile_add_clamped(at, day_ns) <= times->last_ns;
    return is_next ? cairn_profile_add_clamped(at, day_ns) : at;
}

static bool is_clock(const struct cairn_select_moment *moment)
{
    return moment->kind == CAIRN_SELECT_CLOCK || moment->kind == CAIRN_SELECT_DATE;
}

int cairn_select_span_place(const struct cairn_select_span *span,
                            const struct cairn_select_times *times, int64_t *ret_low,
                            int64_t *ret_high, struct cairn_err *err)
{
    if (!times->is_wall && (is_clock(&span->from) || is_clock(&span->to))) {
        cairn_fail(err, CAIRN_E_ARG,
                   "the samples' times are not clock times, they count from when their machine "
                   "started");
        cairn_hint(err, "seconds from the start: 1.5-3; perf record -k mono keeps clock times");
        return CAIRN_E_ARG;
    }
    int64_t low = place(&span->from, times, INT64_MIN);
    int64_t high = place(&span->to, times, INT64_MAX);
    /* "23:55-00:05" */
    if (span->to.kind == CAIRN_SELECT_CLOCK && high <= low && high > INT64_MIN + day_ns)
        high = cairn_profile_add_clamped(high, day_ns);
    if (high <= low)
        return cairn_fail(err, CAIRN_E_ARG, "the stretch of time ends before it begins");
    *ret_low = low;
    *ret_high = high;
    return CAIRN_OK;
}
