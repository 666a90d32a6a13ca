/* SPDX-License-Identifier: MIT */
#include "guest/definition.h"

#include <stdio.h>
#include <string.h>

struct text {
    const char *at, *end;
};

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (unsigned char)c >= 0x80;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

/* The level of a long bracket, [[ or [==[, at `at`; -1: there is none. */
static int long_bracket(const char *at, const char *end)
{
    int level = 0;
    if (at == end || *at != '[')
        return -1;
    for (at++; at < end && *at == '='; at++)
        level++;
    return at < end && *at == '[' ? level : -1;
}

static const char *behind_long(const char *at, const char *end, int level)
{
    for (at += level + 2; at < end; at++) {
        int equals = 0;
        if (*at != ']')
            continue;
        while (at + 1 + equals < end && at[1 + equals] == '=')
            equals++;
        if (equals == level && at + 1 + equals < end && at[1 + equals] == ']')
            return at + level + 2;
    }
    return end;
}

/* A string of one line; what it holds is left out of what is looked at. */
static const char *behind_string(const char *at, const char *end)
{
    char quote = *at++;
    for (; at < end && *at != quote; at++)
        if (*at == '\\' && at + 1 < end)
            at++;
    return at < end ? at + 1 : end;
}

/* The next word or sign of the line, comments and blanks left out. */
static bool next_token(struct text *text, struct text *ret_token)
{
    const char *at = text->at, *end = text->end;
    while (at < end) {
        if (is_space(*at)) {
            at++;
            continue;
        }
        if (*at != '-' || at + 1 == end || at[1] != '-')
            break;
        int level = long_bracket(at + 2, end);
        at = level < 0 ? end : behind_long(at + 2, end, level);
    }
    if (at == end)
        return false;
    const char *begin = at;
    int level = long_bracket(at, end);
    if (level >= 0)
        at = behind_long(at, end, level);
    else if (*at == '"' || *at == '\'')
        at = behind_string(at, end);
    else if (is_name(*at))
        while (at < end && is_name(*at))
            at++;
    else
        at++;
    text->at = at;
    *ret_token = (struct text){begin, at};
    return true;
}

static bool is_word(struct text token, const char *word)
{
    size_t size = (size_t)(token.end - token.at);
    return size == strlen(word) && !memcmp(token.at, word, size);
}

static bool is_sign(struct text token, char sign)
{
    return token.end - token.at == 1 && *token.at == sign;
}

enum { PATH_MAX_TOKENS = 16 };

/* A name as it is written, a.b:c, the way to it in tokens. */
struct path {
    struct text tokens[PATH_MAX_TOKENS];
    size_t n;
};

static void add(struct path *path, struct text token)
{
    if (path->n < PATH_MAX_TOKENS)
        path->tokens[path->n++] = token;
}

static bool is_keyword(struct text token)
{
    static const char *const words[] = {"local", "return", "and", "or",  "not",   "then", "else",
                                        "do",    "in",     "end", "nil", "false", "true", "global"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (is_word(token, words[i]))
            return true;
    return false;
}

static bool print(const struct path *path, char *to, size_t room)
{
    size_t size = 0;
    for (size_t i = 0; i < path->n; i++) {
        const char *from = path->tokens[i].at;
        size_t n = (size_t)(path->tokens[i].end - from);
        if (*from == '"' || *from == '\'') { /* ["name"] */
            from++;
            n -= n >= 2 ? 2 : 1;
        }
        if (size + n >= room)
            return false;
        memcpy(to + size, from, n);
        size += n;
    }
    to[size] = 0;
    return size != 0;
}

/* What was seen of the line so far: `path` may be what a function is assigned to. */
struct seen {
    struct path path;
    bool is_open;     /* the path may go on */
    bool is_assigned; /* an = follows it */
};

static void see(struct seen *seen, struct text token)
{
    bool is_link = is_sign(token, '.') || is_sign(token, ':');
    if (is_sign(token, '=') && seen->path.n) {
        seen->is_assigned = true;
    } else if (is_link && seen->path.n && !seen->is_assigned) {
        add(&seen->path, token);
        seen->is_open = true;
    } else if ((is_name(*token.at) || *token.at == '"' || *token.at == '\'') &&
               !is_keyword(token)) {
        if (!seen->is_open || seen->is_assigned)
            *seen = (struct seen){0};
        add(&seen->path, token);
        seen->is_open = false;
    } else if (!is_sign(token, '[') && !is_sign(token, ']')) {
        *seen = (struct seen){0};
    }
}

bool cairn_guest_definition(const char *line, size_t size, char *to, size_t room)
{
    struct text text = {line, line + size}, token;
    struct seen seen = {0};
    struct path name = {0};
    unsigned n_functions = 0;
    while (next_token(&text, &token)) {
        if (!is_word(token, "function")) {
            see(&seen, token);
            continue;
        }
        if (n_functions++)
            return false;
        if (seen.is_assigned)
            name = seen.path;
        struct text after = text, next;
        if (!next_token(&after, &next) || is_sign(next, '('))
            continue;
        for (name.n = 0; next_token(&text, &token) && !is_sign(token, '(');)
            add(&name, token);
    }
    return n_functions == 1 && print(&name, to, room);
}
