/* SPDX-License-Identifier: MIT */
#include "trace/filter_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

static const char *const operators[] = {
    [CAIRN_TRACE_EQ] = "==", [CAIRN_TRACE_NE] = "!=", [CAIRN_TRACE_LT] = "<",
    [CAIRN_TRACE_LE] = "<=", [CAIRN_TRACE_GT] = ">",  [CAIRN_TRACE_GE] = ">=",
    [CAIRN_TRACE_AND] = "&"};

/* The kernel quotes nothing inside a text, and its patterns know more signs than ours. */
static bool is_plain_text(const char *text)
{
    for (; *text; text++)
        if (!isalnum((unsigned char)*text) && !strchr("._-/:@ *?", *text))
            return false;
    return true;
}

/* The kernel takes a pattern that begins with a digit for a whole text, and looks for the end of
 * "*text" where a field ends that has one size, not where its text does. */
static bool is_pattern_there(const char *pattern, const struct cairn_field *field)
{
    return !isdigit((unsigned char)*pattern) && (field->is_dynamic || *pattern != '*');
}

/* The kernel cuts a number to the field's size: only what fits means the same there. */
static bool fits(const struct cairn_field *field, int64_t value)
{
    const unsigned bits = field->size < 8 ? 8 * field->size - 1 : 63;
    const int64_t end = (int64_t)((UINT64_C(1) << bits) - 1);
    return value <= end && (value >= 0 || (field->is_signed && value >= -end - 1));
}

static bool put_comparison(const struct cairn_trace_filter_node *node,
                           const struct cairn_syscall *call, const struct cairn_fields *fields,
                           struct cairn_buffer *out)
{
    if (node->field >= fields->n || node->field >= call->n_args)
        return false;
    const struct cairn_field *field = &fields->fields[node->field];
    const char *name = call->args[node->field].name;
    if (node->is_text || node->kind == CAIRN_FILTER_MATCH) {
        if (call->args[node->field].kind != CAIRN_KIND_TEXT || !is_plain_text(node->text) ||
            (node->kind == CAIRN_FILTER_MATCH ? !is_pattern_there(node->text, field)
                                              : strpbrk(node->text, "*?") != NULL))
            return false;
        cairn_buffer_printf(out, "%s%s\"%s\"", name,
                            node->kind == CAIRN_FILTER_MATCH ? "~" : operators[node->op],
                            node->text);
        return true;
    }
    if (call->args[node->field].kind == CAIRN_KIND_TEXT || field->is_dynamic ||
        field->size > sizeof node->value || !fits(field, node->value) ||
        node->op >= sizeof operators / sizeof *operators)
        return false;
    cairn_buffer_printf(out, "%s%s%" PRId64, name, operators[node->op], node->value);
    return true;
}

struct writing {
    const struct cairn_trace_filter *filter;
    const struct cairn_syscall *call;
    const struct cairn_fields *fields;
    struct cairn_buffer *out;
};

static void cut_to(struct cairn_buffer *out, size_t size)
{
    if (out->failed || out->size == size)
        return;
    out->size = size;
    out->data[size] = '\0';
}

/* All of a part, or nothing. */
static bool put_whole(const struct writing *w, uint8_t number)
{
    const struct cairn_trace_filter_node *node = &w->filter->nodes[number];
    const size_t before = w->out->size;
    bool is_there = false;
    switch (node->kind) {
    case CAIRN_FILTER_BOTH:
    case CAIRN_FILTER_EITHER:
        cairn_buffer_char(w->out, '(');
        is_there = put_whole(w, node->left);
        cairn_buffer_str(w->out, node->kind == CAIRN_FILTER_BOTH ? "&&" : "||");
        is_there = is_there && put_whole(w, node->right);
        cairn_buffer_char(w->out, ')');
        break;
    case CAIRN_FILTER_NOT:
        cairn_buffer_str(w->out, "!(");
        is_there = put_whole(w, node->left);
        cairn_buffer_char(w->out, ')');
        break;
    default:
        is_there = put_comparison(node, w->call, w->fields, w->out);
        break;
    }
    if (!is_there)
        cut_to(w->out, before);
    return is_there;
}

static bool put_parts(const struct writing *w, uint8_t number)
{
    const struct cairn_trace_filter_node *node = &w->filter->nodes[number];
    if (node->kind == CAIRN_FILTER_BOTH) {
        const bool left = put_parts(w, node->left);
        return put_parts(w, node->right) && left;
    }
    const size_t before = w->out->size;
    cairn_buffer_str(w->out, before ? "&&" : "");
    if (put_whole(w, number))
        return true;
    cut_to(w->out, before);
    return false;
}

bool cairn_trace_filter_text(const struct cairn_trace_filter *filter,
                             const struct cairn_syscall *call, const struct cairn_fields *fields,
                             struct cairn_buffer *out)
{
    const struct writing w = {filter, call, fields, out};
    return filter->is_empty || put_parts(&w, filter->root);
}
