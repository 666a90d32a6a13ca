/* SPDX-License-Identifier: MIT */
#include "select/pattern.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

static void pattern_done(struct cairn_select_pattern *pattern)
{
    if (pattern->regex)
        regfree(pattern->regex);
    cairn_free(pattern->regex);
    cairn_free(pattern->text);
}

void cairn_select_patterns_done(struct cairn_select_patterns *patterns)
{
    for (size_t i = 0; i < patterns->n; i++)
        pattern_done(&patterns->items[i]);
    cairn_free(patterns->items);
    *patterns = (struct cairn_select_patterns){0};
}

static int compile(regex_t *regex, const char *text)
{
    return regcomp(regex, text, REG_EXTENDED | REG_NOSUB);
}

/* regcomp() does not say where: the longest start that is an expression ends before that place. */
static size_t column_of(char *text)
{
    for (size_t size = strlen(text); size-- > 0;) {
        regex_t regex;
        char was = text[size];
        text[size] = 0;
        bool is_sound = size == 0 || compile(&regex, text) == 0;
        if (is_sound && size)
            regfree(&regex);
        text[size] = was;
        if (is_sound)
            return size + 1;
    }
    return 1;
}

static int fail_pattern(char *text, const char *reason, struct cairn_err *err)
{
    return cairn_fail(err, CAIRN_E_ARG, "\"%.100s\": column %zu: no regular expression: %s", text,
                      column_of(text), reason);
}

static int compile_pattern(struct cairn_select_pattern *pattern, struct cairn_err *err)
{
    char reason[128];
    regex_t *regex = cairn_alloc(1, sizeof *regex);
    if (!regex)
        return cairn_fail_memory(err);
    int code = compile(regex, pattern->text);
    if (code == 0) {
        pattern->regex = regex;
        return CAIRN_OK;
    }
    regerror(code, regex, reason, sizeof reason);
    cairn_free(regex);
    return code == REG_ESPACE ? cairn_fail_memory(err) : fail_pattern(pattern->text, reason, err);
}

int cairn_select_patterns_add(struct cairn_select_patterns *patterns, const char *text,
                              struct cairn_err *err)
{
    struct cairn_select_pattern pattern = {0};
    if (!*text)
        return cairn_fail(err, CAIRN_E_ARG, "the regular expression is empty");
    if (strlen(text) > CAIRN_SELECT_PATTERN_BYTES_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT, "the regular expression is longer than %d bytes",
                          CAIRN_SELECT_PATTERN_BYTES_MAX);
    if (patterns->n == CAIRN_SELECT_PATTERNS_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT, "more than %d regular expressions",
                          CAIRN_SELECT_PATTERNS_MAX);
    pattern.text = cairn_strdup(text);
    int code = pattern.text ? compile_pattern(&pattern, err) : cairn_fail_memory(err);
    if (code == CAIRN_OK && cairn_grow((void **)&patterns->items, &patterns->cap, patterns->n + 1,
                                       sizeof *patterns->items) < 0)
        code = cairn_fail_memory(err);
    if (code == CAIRN_OK)
        patterns->items[patterns->n++] = pattern;
    else
        pattern_done(&pattern);
    return code;
}

const struct cairn_select_pattern *
cairn_select_patterns_find(const struct cairn_select_patterns *patterns, const char *name)
{
    char start[CAIRN_SELECT_NAME_BYTES_MAX + 1];
    if (strnlen(name, sizeof start) == sizeof start) {
        memcpy(start, name, CAIRN_SELECT_NAME_BYTES_MAX);
        start[CAIRN_SELECT_NAME_BYTES_MAX] = 0;
        name = start;
    }
    for (size_t i = 0; i < patterns->n; i++)
        if (regexec(patterns->items[i].regex, name, 0, NULL, 0) == 0)
            return &patterns->items[i];
    return NULL;
}
