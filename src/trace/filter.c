/* SPDX-License-Identifier: MIT */
#include "trace/filter.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "symbol/named_arguments.h"
#include "trace/flags.h"

enum { ERRNO = CAIRN_TRACE_DURATION + 1, WORD_MAX = 32 };

struct parser {
    const char *text, *at;
    const struct cairn_syscall *call;
    struct cairn_trace_filter *filter;
    bool *no_field;
    int depth;
    struct cairn_err *err;
};

static int column(const struct parser *p)
{
    return (int)(p->at - p->text) + 1;
}

static int fail(struct parser *p, const char *what)
{
    return cairn_fail(p->err, CAIRN_E_ARG, "filter: column %d: %s", column(p), what);
}

static void skip_blanks(struct parser *p)
{
    p->at += strspn(p->at, " \t\n");
}

static bool take(struct parser *p, const char *word)
{
    skip_blanks(p);
    if (strncmp(p->at, word, strlen(word)) != 0)
        return false;
    p->at += strlen(word);
    return true;
}

static int add_node(struct parser *p, enum cairn_filter_kind kind, int left, int right)
{
    struct cairn_trace_filter *f = p->filter;
    if (f->n >= CAIRN_TRACE_FILTER_NODES_MAX)
        return cairn_fail(p->err, CAIRN_E_LIMIT, "filter: column %d: more than %d comparisons",
                          column(p), CAIRN_TRACE_FILTER_NODES_MAX / 2);
    f->nodes[f->n] = (struct cairn_trace_filter_node){
        .kind = (uint8_t)kind, .left = (uint8_t)left, .right = (uint8_t)right};
    return f->n++;
}

enum cairn_trace_width cairn_trace_width_of(enum cairn_call_kind kind)
{
    switch (kind) {
    case CAIRN_KIND_INT:
    case CAIRN_KIND_FD:
    case CAIRN_KIND_AT:
    case CAIRN_KIND_SIGNAL:
    case CAIRN_KIND_ENUM:
        return CAIRN_TRACE_S32;
    case CAIRN_KIND_LONG:
        return CAIRN_TRACE_S64;
    case CAIRN_KIND_FLAGS:
    case CAIRN_KIND_MODE:
    case CAIRN_KIND_HEX32:
    case CAIRN_KIND_UNSIGNED:
        return CAIRN_TRACE_U32;
    default:
        return CAIRN_TRACE_U64;
    }
}

static const struct {
    const char *name;
    uint8_t field, width;
} fields[] = {
    {"pid", CAIRN_TRACE_PID, CAIRN_TRACE_U64},          {"tid", CAIRN_TRACE_TID, CAIRN_TRACE_U64},
    {"event_pid", CAIRN_TRACE_PID, CAIRN_TRACE_U64}, /* where a call has a pid, too */
    {"event_tid", CAIRN_TRACE_TID, CAIRN_TRACE_U64},    {"uid", CAIRN_TRACE_UID, CAIRN_TRACE_U64},
    {"cpu", CAIRN_TRACE_CPU, CAIRN_TRACE_U64},          {"comm", CAIRN_TRACE_COMM, CAIRN_TRACE_U64},
    {"ret", CAIRN_TRACE_RET, CAIRN_TRACE_S64},          {"errno", ERRNO, CAIRN_TRACE_S64},
    {"duration", CAIRN_TRACE_DURATION, CAIRN_TRACE_U64}};

static bool is_word(const char *name, const char *word, size_t size)
{
    return strlen(name) == size && memcmp(name, word, size) == 0;
}

/* A result, its error and its duration are not of all events. */
static bool is_lacking(const struct cairn_syscall *call, uint8_t field)
{
    switch (field) {
    case CAIRN_TRACE_RET:
        return call->lacks & CAIRN_CALL_LACKS_RESULT;
    case ERRNO:
        return call->lacks & (CAIRN_CALL_LACKS_RESULT | CAIRN_CALL_LACKS_ERRNO);
    case CAIRN_TRACE_DURATION:
        return call->lacks & (CAIRN_CALL_LACKS_RESULT | CAIRN_CALL_LACKS_DURATION);
    default:
        return false;
    }
}

static size_t word_size(const char *at)
{
    size_t size = 0;
    while (isalnum((unsigned char)at[size]) || at[size] == '_')
        size++;
    return size;
}

static int fail_no_field(struct parser *p, size_t size)
{
    *p->no_field = true;
    cairn_fail(p->err, CAIRN_E_ARG, "filter: column %d: %s has no field \"%.*s\"", column(p),
               p->call->name, size > WORD_MAX ? WORD_MAX : (int)size, p->at);
    if (is_word("errno", p->at, size) && strchr(p->call->name, ':'))
        cairn_hint(p->err, "only results of system calls are errors; of a function compare ret");
    else if ((is_word("ret", p->at, size) || is_word("duration", p->at, size)) &&
             !strchr(p->call->name, ':'))
        cairn_hint(p->err, "the call does not return, or is traced as it begins: --enter-only");
    else if (is_word("ret", p->at, size) || is_word("duration", p->at, size))
        cairn_hint(p->err, "uretprobe: and kretprobe: have ret, and the pairs uprobe+uretprobe: "
                           "and kprobe+kretprobe: have ret and duration");
    return CAIRN_E_ARG;
}

/* An argument's own name comes before those that all events have: kill has a pid. */
static int read_field(struct parser *p, struct cairn_trace_filter_node *node)
{
    skip_blanks(p);
    const size_t size = word_size(p->at);
    if (!size)
        return fail(p, *p->at ? "expected a field, such as ret, comm or an argument's name"
                              : "ends where a field is expected");
    for (int i = 0; i < p->call->n_args; i++)
        if (is_word(p->call->args[i].name, p->at, size)) {
            if (p->call->args[i].kind == CAIRN_KIND_FLOAT ||
                p->call->args[i].kind == CAIRN_KIND_DOUBLE)
                return fail(p, "a floating-point number cannot be compared");
            node->field = (uint8_t)i;
            node->width = (uint8_t)cairn_trace_width_of(p->call->args[i].kind);
            p->at += size;
            return CAIRN_OK;
        }
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (is_word(fields[i].name, p->at, size)) {
            if (is_lacking(p->call, fields[i].field))
                break;
            node->field = fields[i].field;
            node->width = fields[i].width;
            p->at += size;
            return CAIRN_OK;
        }
    if (!p->call->has_own_args && size == 4 && memcmp(p->at, "arg", 3) == 0 && p->at[3] >= '0' &&
        p->at[3] <= '5') {
        node->field = (uint8_t)(p->at[3] - '0');
        node->width = (int)node->field < p->call->n_args
                          ? (uint8_t)cairn_trace_width_of(p->call->args[node->field].kind)
                          : CAIRN_TRACE_S64;
        p->at += size;
        return CAIRN_OK;
    }
    return fail_no_field(p, size);
}

static int read_operator(struct parser *p, struct cairn_trace_filter_node *node)
{
    static const struct {
        const char *text;
        uint8_t op;
    } operators[] = {{"==", CAIRN_TRACE_EQ}, {"!=", CAIRN_TRACE_NE}, {"<=", CAIRN_TRACE_LE},
                     {">=", CAIRN_TRACE_GE}, {"<", CAIRN_TRACE_LT},  {">", CAIRN_TRACE_GT}};
    skip_blanks(p);
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (take(p, operators[i].text)) {
            node->op = operators[i].op;
            return CAIRN_OK;
        }
    if (p->at[0] == '&' && p->at[1] != '&') {
        node->op = CAIRN_TRACE_AND;
        p->at++;
        return CAIRN_OK;
    }
    if (take(p, "~")) {
        node->kind = CAIRN_FILTER_MATCH;
        return CAIRN_OK;
    }
    return fail(p, "expected one of == != < <= > >= & ~");
}

bool cairn_trace_filter_number(const char *text, int64_t *ret_value, size_t *ret_size)
{
    static const struct {
        const char *unit;
        int64_t factor;
    } units[] = {{"ns", 1},   {"us", 1000},   {"ms", 1000000}, {"s", 1000000000},
                 {"k", 1024}, {"M", 1 << 20}, {"G", 1 << 30},  {"", 1}};
    char *end;
    if (!isdigit((unsigned char)text[*text == '-']))
        return false;
    errno = 0;
    long long value = text[*text == '-'] == '0' && text[1 + (*text == '-')] != 'x'
                          ? strtoll(text, &end, 8)
                          : strtoll(text, &end, 0);
    if (errno == ERANGE) {
        errno = 0;
        value = (long long)strtoull(text, &end, 0);
    }
    const size_t size = word_size(end);
    for (size_t i = 0; !errno && i < sizeof units / sizeof *units; i++) {
        int64_t all;
        if (!is_word(units[i].unit, end, size) ||
            __builtin_mul_overflow((int64_t)value, units[i].factor, &all))
            continue;
        *ret_value = all;
        *ret_size = (size_t)(end - text) + size;
        return true;
    }
    return false;
}

static int read_text(struct parser *p, struct cairn_trace_filter_node *node)
{
    size_t n = 0;
    for (p->at++; *p->at && *p->at != '"'; p->at++) {
        if (*p->at == '\\' && p->at[1])
            p->at++;
        if (n + 1 >= sizeof node->text)
            return fail(p, "the text is longer than 127 bytes");
        node->text[n++] = *p->at;
    }
    if (*p->at != '"')
        return fail(p, "the text has no closing \"");
    p->at++;
    return CAIRN_OK;
}

static bool is_text_field(const struct parser *p, uint8_t field)
{
    return field == CAIRN_TRACE_COMM ||
           (field < p->call->n_args && p->call->args[field].kind == CAIRN_KIND_TEXT);
}

static bool find_name(const char *name, size_t size, int64_t *ret_value)
{
    uint64_t bits;
    int number = cairn_error_of(name, size);
    if (number < 0)
        number = cairn_signal_of(name, size);
    if (number < 0 && is_word("AT_FDCWD", name, size))
        *ret_value = -100;
    else if (number >= 0)
        *ret_value = number;
    else if (cairn_flags_find(name, size, &bits))
        *ret_value = (int64_t)bits;
    else
        return false;
    return true;
}

/* Of a field that is an enum. */
static bool find_value(const struct parser *p, uint8_t field, size_t size, int64_t *ret_value)
{
    if (field >= p->call->n_args)
        return false;
    const struct cairn_call_arg *arg = &p->call->args[field];
    for (size_t i = 0; i < arg->n_values; i++)
        if (is_word(arg->values[i].name, p->at, size)) {
            *ret_value = (int32_t)arg->values[i].value;
            return true;
        }
    return false;
}

static int read_value(struct parser *p, struct cairn_trace_filter_node *node)
{
    size_t size;
    skip_blanks(p);
    if (is_text_field(p, node->field) || node->kind == CAIRN_FILTER_MATCH) {
        if (!is_text_field(p, node->field))
            return fail(p, "~ compares texts, and this field is a number");
        if (*p->at != '"')
            return fail(p, "expected a \"text\"");
        if (node->kind == CAIRN_FILTER_COMPARE && node->op > CAIRN_TRACE_NE)
            return fail(p, "a text is compared by ==, != or ~");
        node->is_text = true;
        return read_text(p, node);
    }
    if (cairn_trace_filter_number(p->at, &node->value, &size)) {
        p->at += size;
        return CAIRN_OK;
    }
    size = word_size(p->at);
    if (!size ||
        (!find_value(p, node->field, size, &node->value) && !find_name(p->at, size, &node->value)))
        return fail(p, "expected a number or a name, such as 4k, 10ms, ENOENT or O_CREAT");
    p->at += size;
    return CAIRN_OK;
}

static int read_either(struct parser *p);

static int read_comparison(struct parser *p)
{
    int number = add_node(p, CAIRN_FILTER_COMPARE, 0, 0);
    if (number < 0)
        return number;
    struct cairn_trace_filter_node *node = &p->filter->nodes[number];
    int code = read_field(p, node);
    if (code == CAIRN_OK)
        code = read_operator(p, node);
    if (code == CAIRN_OK)
        code = read_value(p, node);
    return code < 0 ? code : number;
}

static int read_one(struct parser *p)
{
    skip_blanks(p);
    if (++p->depth > CAIRN_TRACE_FILTER_DEPTH_MAX)
        return fail(p, "too many parentheses inside each other");
    int number;
    if (*p->at == '!' && p->at[1] != '=') {
        p->at++;
        number = read_one(p);
        number = number < 0 ? number : add_node(p, CAIRN_FILTER_NOT, number, 0);
    } else if (take(p, "(")) {
        number = read_either(p);
        if (number >= 0 && !take(p, ")"))
            number = fail(p, "expected )");
    } else {
        number = read_comparison(p);
    }
    p->depth--;
    return number;
}

static int read_list(struct parser *p, const char *word, enum cairn_filter_kind kind,
                     int (*read)(struct parser *))
{
    int left = read(p);
    while (left >= 0 && take(p, word)) {
        int right = read(p);
        left = right < 0 ? right : add_node(p, kind, left, right);
    }
    return left;
}

static int read_both(struct parser *p)
{
    return read_list(p, "&&", CAIRN_FILTER_BOTH, read_one);
}

static int read_either(struct parser *p)
{
    return read_list(p, "||", CAIRN_FILTER_EITHER, read_both);
}

int cairn_trace_filter_parse(const char *text, const struct cairn_syscall *call,
                             struct cairn_trace_filter *ret_filter, bool *ret_no_field,
                             struct cairn_err *err)
{
    struct cairn_trace_filter filter = {0};
    struct parser p = {.text = text,
                       .at = text,
                       .call = call,
                       .filter = &filter,
                       .no_field = ret_no_field,
                       .err = err};
    *ret_no_field = false;
    skip_blanks(&p);
    if (!*p.at) {
        *ret_filter = (struct cairn_trace_filter){.is_empty = true};
        return CAIRN_OK;
    }
    int root = read_either(&p);
    if (root < 0)
        return root;
    skip_blanks(&p);
    if (*p.at)
        return fail(&p, "expected && or || or the end");
    filter.root = (uint8_t)root;
    *ret_filter = filter;
    return CAIRN_OK;
}

/* What the kernel can compare. */
static bool to_term(const struct cairn_trace_filter_node *node, bool has_args,
                    struct cairn_bpf_term *term)
{
    *term = (struct cairn_bpf_term){.field = node->field,
                                    .op = node->op,
                                    .width = node->width,
                                    .value = {(uint64_t)node->value}};
    if (node->kind != CAIRN_FILTER_COMPARE ||
        (node->field < CAIRN_TRACE_PID && (!has_args || node->field >= CAIRN_TRACE_ARGS_MAX)))
        return false;
    if (node->field == CAIRN_TRACE_COMM) {
        if (strlen(node->text) >= sizeof term->value)
            return false;
        memset(term->value, 0, sizeof term->value);
        memcpy(term->value, node->text, strlen(node->text));
        return true;
    }
    if (node->field == ERRNO && node->op <= CAIRN_TRACE_NE && node->value > 0) {
        term->field = CAIRN_TRACE_RET;
        term->value[0] = (uint64_t)-node->value;
        return true;
    }
    return node->field != ERRNO && !node->is_text;
}

static size_t collect(struct cairn_trace_filter *f, uint8_t number, bool has_args,
                      struct cairn_bpf_term *terms, size_t max)
{
    struct cairn_trace_filter_node *node = &f->nodes[number];
    if (node->kind == CAIRN_FILTER_BOTH) {
        size_t n = collect(f, node->left, has_args, terms, max);
        n += collect(f, node->right, has_args, terms + n, max - n);
        node->is_done = f->nodes[node->left].is_done && f->nodes[node->right].is_done;
        return n;
    }
    if (max == 0 || !to_term(node, has_args, terms))
        return 0;
    node->is_done = true;
    return 1;
}

size_t cairn_trace_filter_terms(struct cairn_trace_filter *filter, bool has_args,
                                struct cairn_bpf_term *terms, size_t max)
{
    return filter->is_empty ? 0 : collect(filter, filter->root, has_args, terms, max);
}

bool cairn_trace_filter_has_rest(const struct cairn_trace_filter *filter)
{
    return !filter->is_empty && !filter->nodes[filter->root].is_done;
}

static int64_t number_of(const struct cairn_trace_filter_node *node,
                         const struct cairn_trace_filter_subject *s)
{
    switch (node->field) {
    case CAIRN_TRACE_PID:
        return s->pid;
    case CAIRN_TRACE_TID:
        return s->tid;
    case CAIRN_TRACE_UID:
        return s->uid;
    case CAIRN_TRACE_CPU:
        return s->cpu;
    case CAIRN_TRACE_RET:
        return s->ret;
    case CAIRN_TRACE_DURATION:
        return (int64_t)s->duration_ns;
    case ERRNO:
        return s->ret < 0 && s->ret >= -CAIRN_TRACE_ERRORS_MAX ? -s->ret : 0;
    default:
        return cairn_trace_widen(s->args[node->field], node->width);
    }
}

/* A text that could not be read equals none, and matches no pattern. */
static bool holds_text(const struct cairn_trace_filter_node *node, const char *text)
{
    if (node->kind == CAIRN_FILTER_MATCH)
        return text && fnmatch(node->text, text, 0) == 0;
    return (text && strcmp(node->text, text) == 0) == (node->op == CAIRN_TRACE_EQ);
}

static bool holds(const struct cairn_trace_filter *f, uint8_t number,
                  const struct cairn_trace_filter_subject *s)
{
    const struct cairn_trace_filter_node *node = &f->nodes[number];
    if (node->is_done)
        return true;
    switch (node->kind) {
    case CAIRN_FILTER_BOTH:
        return holds(f, node->left, s) && holds(f, node->right, s);
    case CAIRN_FILTER_EITHER:
        return holds(f, node->left, s) || holds(f, node->right, s);
    case CAIRN_FILTER_NOT:
        return !holds(f, node->left, s);
    default:
        if (node->field == CAIRN_TRACE_COMM)
            return holds_text(node, s->comm);
        if (node->field < CAIRN_TRACE_ARGS_MAX && cairn_trace_why_unread(s->unread, node->field))
            return false;
        if (node->is_text)
            return holds_text(node, s->texts[node->field]);
        if (node->field >= CAIRN_TRACE_RET && !s->has_result)
            return false;
        return cairn_trace_compares(node->op, node->width, number_of(node, s), node->value);
    }
}

bool cairn_trace_filter_holds(const struct cairn_trace_filter *filter,
                              const struct cairn_trace_filter_subject *subject)
{
    return filter->is_empty || holds(filter, filter->root, subject);
}
