/* SPDX-License-Identifier: MIT */
/*
 * Suppressions, in LeakSanitizer's form:
 *
 *     # a comment
 *     leak:pattern
 *
 * A pattern is a part of the name of a function, a source file or a module; * stands for anything,
 * ^ at its begin and $ at its end for those of the name. What no pattern takes out the default
 * rules may (suppress_default.h), where they were added.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "profile/profile.h"
#include "watch/heap.h"
#include "watch/suppress_default.h"

enum { FILE_MAX = 16 << 20, SHOWN = 80 };

/* Of a frame: not asked yet, no pattern, or the pattern's number and two. */
enum { UNASKED, NONE, FIRST };

struct pattern {
    char *text;  /* as it was given */
    char *whole; /* the same for whole names: * on each side that is not bound */
    struct cairn_heap_suppressed counts;
};

struct cairn_heap_suppressions {
    struct pattern *patterns;
    size_t n, cap;
    bool has_defaults;
    struct cairn_heap_suppressed defaults[CAIRN_HEAP_DEFAULTS_MAX]; /* by rule: what it took out */
};

static char *whole_of(const char *text)
{
    size_t n = strlen(text);
    bool from_begin = text[0] == '^', to_end = n > from_begin && text[n - 1] == '$';
    int shown = (int)(n - from_begin - to_end);
    struct cairn_buffer whole = {0};
    cairn_buffer_printf(&whole, "%s%.*s%s", from_begin ? "" : "*", shown, text + from_begin,
                        to_end ? "" : "*");
    char *result = whole.failed ? NULL : cairn_strdup(cairn_buffer_text(&whole));
    cairn_buffer_done(&whole);
    return result;
}

static void free_pattern(struct pattern *pattern)
{
    cairn_free(pattern->text);
    cairn_free(pattern->whole);
}

static int add_pattern(struct cairn_heap_suppressions *s, const char *text, struct cairn_err *err)
{
    struct pattern pattern = {.text = cairn_strdup(text), .whole = whole_of(text)};
    if (!pattern.text || !pattern.whole ||
        cairn_grow((void **)&s->patterns, &s->cap, s->n + 1, sizeof *s->patterns) < 0) {
        free_pattern(&pattern);
        return cairn_fail_memory(err);
    }
    s->patterns[s->n++] = pattern;
    return CAIRN_OK;
}

/* One line, without its end and the blanks around it. */
static int read_line(struct cairn_heap_suppressions *s, const char *line, size_t number,
                     struct cairn_err *err)
{
    static const char kind[] = "leak:";
    if (!*line || *line == '#')
        return CAIRN_OK;
    if (strncmp(line, kind, sizeof kind - 1) == 0 && line[sizeof kind - 1])
        return add_pattern(s, line + sizeof kind - 1, err);
    cairn_fail(err, CAIRN_E_FORMAT, "line %zu: \"%.*s\", expected leak:PATTERN", number, SHOWN,
               line);
    cairn_hint(err,
               "a line is leak: and a part of the name of a function, file or module; * stands "
               "for anything, # begins a comment");
    return CAIRN_E_FORMAT;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

int cairn_heap_suppressions_add(struct cairn_heap_suppressions *s, struct cairn_span text,
                                struct cairn_err *err)
{
    struct cairn_buffer line = {0};
    int result = CAIRN_OK;
    size_t number = 1;
    for (size_t at = 0, end; result == CAIRN_OK && at < text.size; at = end + 1, number++) {
        const uint8_t *found = memchr(text.data + at, '\n', text.size - at);
        end = found ? (size_t)(found - text.data) : text.size;
        size_t from = at, to = end;
        while (from < to && is_blank((char)text.data[from]))
            from++;
        while (to > from && is_blank((char)text.data[to - 1]))
            to--;
        cairn_buffer_clear(&line);
        cairn_buffer_add(&line, text.data + from, to - from);
        result = line.failed ? cairn_fail_memory(err)
                             : read_line(s, cairn_buffer_text(&line), number, err);
    }
    cairn_buffer_done(&line);
    return result;
}

int cairn_heap_suppressions_new(struct cairn_heap_suppressions **ret_s, struct cairn_err *err)
{
    struct cairn_heap_suppressions *s = cairn_alloc(1, sizeof *s);
    if (!s)
        return cairn_fail_memory(err);
    *ret_s = s;
    return CAIRN_OK;
}

void cairn_heap_suppressions_add_defaults(struct cairn_heap_suppressions *s)
{
    s->has_defaults = true;
}

int cairn_heap_suppressions_parse(struct cairn_span text, struct cairn_heap_suppressions **ret_s,
                                  struct cairn_err *err)
{
    struct cairn_heap_suppressions *s;
    int result = cairn_heap_suppressions_new(&s, err);
    if (result < 0)
        return result;
    result = cairn_heap_suppressions_add(s, text, err);
    if (result < 0)
        cairn_heap_suppressions_free(s);
    else
        *ret_s = s;
    return result;
}

int cairn_heap_suppressions_read(const char *path, struct cairn_heap_suppressions **ret_s,
                                 struct cairn_err *err)
{
    struct cairn_buffer text = {0};
    int result = cairn_file_slurp(path, FILE_MAX, &text, err);
    if (result == CAIRN_OK) {
        result = cairn_heap_suppressions_parse(cairn_buffer_span(&text), ret_s, err);
        if (result < 0)
            result = cairn_fail_in(err, result, path);
    }
    cairn_buffer_done(&text);
    return result;
}

void cairn_heap_suppressions_free(struct cairn_heap_suppressions *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n; i++)
        free_pattern(&s->patterns[i]);
    cairn_free(s->patterns);
    cairn_free(s);
}

/* What follows the last * is tried at ever later places. */
static bool matches(const char *pattern, const char *text)
{
    const char *star = NULL, *resume = text;
    while (*text) {
        if (*pattern == '*') {
            star = ++pattern;
            resume = text;
        } else if (*pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star;
            text = ++resume;
        } else {
            return false;
        }
    }
    return pattern[strspn(pattern, "*")] == '\0';
}

/* An unknown name is no name: "*" does not mean it. */
static uint32_t find_text(const struct cairn_heap_suppressions *s, const char *text)
{
    for (size_t i = 0; *text && i < s->n; i++)
        if (matches(s->patterns[i].whole, text))
            return (uint32_t)i + FIRST;
    return NONE;
}

static uint32_t find_frame(const struct cairn_heap_suppressions *s, const struct cairn_profile *p,
                           uint32_t number)
{
    const struct cairn_profile_frame *frame = &p->frames[number];
    uint32_t found = find_text(s, cairn_strings_get(&p->strings, p->modules[frame->module].path));
    for (uint32_t i = 0; found == NONE && i < frame->n_lines; i++) {
        const struct cairn_profile_function *function =
            &p->functions[p->lines[frame->lines + i].function];
        found = find_text(s, cairn_strings_get(&p->strings, function->name));
        if (found == NONE)
            found = find_text(s, cairn_strings_get(&p->strings, function->file));
    }
    return found;
}

/* The first frame from the innermost on that a pattern is for. */
static uint32_t find_stack(const struct cairn_heap_suppressions *s, const struct cairn_profile *p,
                           uint32_t stack, uint32_t *of_frames)
{
    uint32_t found = NONE;
    for (; found == NONE && stack && stack < p->n_stacks; stack = p->stacks[stack].parent) {
        uint32_t *of_frame = &of_frames[p->stacks[stack].frame];
        if (*of_frame == UNASKED)
            *of_frame = find_frame(s, p, p->stacks[stack].frame);
        found = *of_frame;
    }
    return found;
}

static void count(struct cairn_heap_suppressed *counts, const struct cairn_heap_leak *leak)
{
    counts->n_stacks++;
    counts->n_blocks += leak->n_blocks;
    counts->bytes += leak->bytes;
}

/* True: it is taken out, and counted. */
static bool take_out(struct cairn_heap_suppressions *s, const struct cairn_profile *profile,
                     const struct cairn_heap_leak *leak, uint32_t *of_frames)
{
    size_t rule;
    uint32_t found = find_stack(s, profile, leak->stack, of_frames);
    if (found != NONE)
        count(&s->patterns[found - FIRST].counts, leak);
    else if (s->has_defaults && cairn_heap_default_find(profile, leak, &rule))
        count(&s->defaults[rule], leak);
    else
        return false;
    return true;
}

int cairn_heap_suppress(struct cairn_heap_suppressions *s, const struct cairn_profile *profile,
                        struct cairn_heap_leak *leaks, size_t *n, struct cairn_err *err)
{
    uint32_t *of_frames = cairn_alloc(profile->n_frames + 1, sizeof *of_frames);
    size_t kept = 0;
    if (!of_frames)
        return cairn_fail_memory(err);
    for (size_t i = 0; i < s->n; i++)
        s->patterns[i].counts = (struct cairn_heap_suppressed){0};
    memset(s->defaults, 0, sizeof s->defaults);
    for (size_t i = 0; i < *n; i++)
        if (!take_out(s, profile, &leaks[i], of_frames))
            leaks[kept++] = leaks[i];
    *n = kept;
    cairn_free(of_frames);
    return CAIRN_OK;
}

int cairn_heap_suppressed(const struct cairn_heap_suppressions *s, size_t index,
                          struct cairn_heap_suppressed *suppressed)
{
    const bool is_default = index >= s->n;
    const char *what = is_default ? cairn_heap_default_text(index - s->n) : s->patterns[index].text;
    if (!what || (is_default && !s->has_defaults))
        return 0;
    struct cairn_heap_suppressed counts =
        is_default ? s->defaults[index - s->n] : s->patterns[index].counts;
    counts.size = suppressed->size;
    counts.pattern = what;
    counts.is_default = is_default;
    memcpy(suppressed, &counts, counts.size < sizeof counts ? counts.size : sizeof counts);
    return 1;
}
