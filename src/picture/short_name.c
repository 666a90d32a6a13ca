/* SPDX-License-Identifier: MIT */
/* One look from left to right. Brackets that do not close end the shortening: such a name is shown
 * as it is. */
#include "picture/short_name.h"

#include <ctype.h>
#include <string.h>

enum {
    QUOTED_MAX = 8
}; /* each is looked for to its end: without a limit a hostile name takes long */

struct shortening {
    struct cairn_buffer *out;
    const char *first, *at;
    size_t name;       /* in `out`: where the name begins, behind what may be its return type */
    unsigned n_quoted; /* open brackets of Rust's "<T as Trait>", which are part of the name */
    unsigned n_quotes; /* all that there were */
    bool damaged;
};

static const char *find_closing(const char *at, char open, char close)
{
    for (unsigned depth = 0; *at; at++) {
        if (*at == open)
            depth++;
        else if (*at == close && --depth == 0)
            return at;
    }
    return NULL;
}

/* The '>' for a '<'. Those in parentheses are comparisons, those in arrows no brackets. */
static const char *find_angle(const char *at)
{
    for (unsigned depth = 0; at && *at; at++) {
        if (*at == '(')
            at = find_closing(at, '(', ')');
        else if (*at == '<')
            depth++;
        else if (*at == '>' && at[-1] != '-' && --depth == 0)
            return at;
        if (!at)
            break;
    }
    return NULL;
}

static bool ends_word(const struct shortening *s, const char *word)
{
    size_t size = strlen(word);
    if ((size_t)(s->at - s->first) < size)
        return false;
    const char *begin = s->at - size;
    return memcmp(begin, word, size) == 0 &&
           (begin == s->first || !(isalnum((unsigned char)begin[-1]) || begin[-1] == '_'));
}

static void copy_to(struct shortening *s, const char *end)
{
    cairn_buffer_add(s->out, s->at, (size_t)(end - s->at));
    s->at = end;
}

/* "operator<<", "operator()", "operator new[]", "operator unsigned long": up to the parameters. */
static void take_operator(struct shortening *s)
{
    size_t signs = strspn(s->at, "<>=!+-*/%&|^~,[]");
    if (signs == 0 && strncmp(s->at, "()", 2) == 0)
        signs = 2;
    if (signs == 0 || s->at[0] == ' ')
        signs = strcspn(s->at, "(<");
    copy_to(s, s->at + signs);
    if (s->at[0] == ' ' && s->at[1] == '<') /* "operator< <int>" */
        s->at++;
}

static void take_template(struct shortening *s)
{
    const char *end = find_angle(s->at);
    bool begins =
        s->out->size == s->name || (s->n_quoted > 0 && s->out->data[s->out->size - 1] == '<');
    if (!end || s->n_quotes > QUOTED_MAX) {
        s->damaged = true;
    } else if (begins) { /* "<T as Trait>::method": what it says is the name */
        s->n_quoted++;
        s->n_quotes++;
        copy_to(s, s->at + 1);
    } else {
        cairn_buffer_str(s->out, "<…>");
        s->at = end + 1;
    }
}

/* Behind the parameters comes the end, or what is declared inside the function. */
static void take_parentheses(struct shortening *s)
{
    const char *end = find_closing(s->at, '(', ')');
    bool is_scope = strncmp(s->at, "(anonymous ", 11) == 0 || strncmp(s->at, "(inlined ", 9) == 0;
    if (!end) {
        s->damaged = true;
    } else if (is_scope) {
        copy_to(s, end + 1);
    } else if (ends_word(s, "decltype") || s->out->size == s->name) {
        s->at = end + 1;
    } else {
        const char *inner = end + 1;
        while (strncmp(inner, " const", 6) == 0 || strncmp(inner, " volatile", 9) == 0)
            inner += inner[1] == 'c' ? 6 : 9;
        s->at = strncmp(inner, "::", 2) == 0 ? inner : strchr(inner, 0);
    }
}

static void take_braces(struct shortening *s)
{
    const char *end = find_closing(s->at, '{', '}');
    if (!end) {
        s->damaged = true;
        return;
    }
    const char *open = memchr(s->at, '(', (size_t)(end - s->at));
    const char *close = open ? find_closing(open, '(', ')') : NULL;
    if (close && close < end) { /* "{lambda(int)#1}" */
        copy_to(s, open);
        s->at = close + 1;
    }
    copy_to(s, end + 1);
}

static void take_space(struct shortening *s)
{
    copy_to(s, s->at + 1);
    if (s->n_quoted == 0)
        s->name = s->out->size;
}

static void take_next(struct shortening *s)
{
    switch (*s->at) {
    case '<':
        take_template(s);
        break;
    case '(':
        take_parentheses(s);
        break;
    case '{':
        take_braces(s);
        break;
    case ' ':
        if (s->at[1] == '[') /* " [clone .cold]" */
            s->at = strchr(s->at, 0);
        else
            take_space(s);
        break;
    default:
        if (*s->at == '>' && s->n_quoted)
            s->n_quoted--;
        copy_to(s, s->at + 1);
        if (s->at[-1] == 'r' && ends_word(s, "operator"))
            take_operator(s);
    }
}

void cairn_short_name(struct cairn_buffer *b, const char *name)
{
    size_t begin = b->size;
    struct shortening s = {.out = b, .first = name, .at = name, .name = begin};
    bool is_plain = !strpbrk(name, "(<");
    while (!is_plain && *s.at && !s.damaged && !b->failed)
        take_next(&s);
    if (b->failed)
        return;
    if (is_plain || s.damaged || b->size == s.name) {
        b->size = begin;
        cairn_buffer_str(b, name);
        return;
    }
    memmove(b->data + begin, b->data + s.name, b->size - s.name + 1);
    b->size -= s.name - begin;
}
