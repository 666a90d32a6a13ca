/* SPDX-License-Identifier: MIT */
#include "trace/decode.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/escape.h"
#include "symbol/named_arguments.h"
#include "trace/flags.h"
#include "trace/memory.h"

enum { SHOWN_DATA = 32 };

void cairn_decoder_done(struct cairn_decoder *decoder)
{
    cairn_buffer_done(&decoder->texts);
}

static const struct cairn_bpf_payload *payload_of(const struct cairn_bpf_event *event)
{
    return event->has_payload ? &((const struct cairn_bpf_payload_event *)event)->payload : NULL;
}

/* The copy of the text that argument `arg` points to; NULL: there is none. */
static const char *text_of(struct cairn_decoder *d, const struct cairn_bpf_event *event, int arg,
                           bool *ret_cut)
{
    const struct cairn_bpf_payload *payload = payload_of(event);
    size_t slot = 0;
    for (int i = 0; i < arg; i++)
        slot += d->call.args[i].kind == CAIRN_KIND_TEXT;
    if (!payload || slot >= CAIRN_TRACE_TEXTS || !payload->n_text[slot] ||
        payload->n_text[slot] > CAIRN_TRACE_TEXT_BYTES)
        return NULL;
    memcpy(d->text[slot], payload->text[slot], CAIRN_TRACE_TEXT_BYTES);
    d->text[slot][payload->n_text[slot] - 1] = '\0';
    if (ret_cut)
        *ret_cut = payload->n_text[slot] == CAIRN_TRACE_TEXT_BYTES;
    return d->text[slot];
}

/* Of a tracepoint the fields of its record, else the registers. */
static void read_args(struct cairn_decoder *d, const struct cairn_bpf_event *event)
{
    const struct cairn_bpf_payload *payload = payload_of(event);
    memset(d->args, 0, sizeof d->args);
    d->fields = cairn_spec_fields(d->spec, event->row);
    if (!d->fields) {
        memcpy(d->args, event->args, sizeof event->args);
        return;
    }
    struct cairn_span record = {0};
    if (payload && payload->n_text[0] <= CAIRN_RECORD_BYTES_MAX)
        record = (struct cairn_span){(const uint8_t *)payload->text, payload->n_text[0]};
    for (int i = 0; i < d->fields->n; i++) {
        const struct cairn_field *field = &d->fields->fields[i];
        struct cairn_span text = {0};
        if (d->call.args[i].kind == CAIRN_KIND_TEXT)
            text = cairn_field_text(field, record, false);
        else
            d->args[i] = cairn_field_number(field, record, false);
        if (text.size >= sizeof d->words[i])
            text.size = sizeof d->words[i] - 1;
        if (text.size)
            memcpy(d->words[i], text.data, text.size);
        d->words[i][text.size] = '\0';
    }
}

void cairn_decode_subject(struct cairn_decoder *d, const struct cairn_bpf_event *event,
                          struct cairn_trace_filter_subject *ret_subject)
{
    if (!d->call.name || d->row != event->row)
        (void)cairn_spec_call(d->spec, event->row, &d->call);
    d->row = event->row;
    memcpy(d->comm, event->comm, sizeof event->comm);
    d->comm[sizeof event->comm] = '\0';
    read_args(d, event);
    *ret_subject = (struct cairn_trace_filter_subject){.args = d->args,
                                                       .comm = d->comm,
                                                       .pid = event->stack.pid,
                                                       .tid = event->stack.tid,
                                                       .uid = event->uid,
                                                       .cpu = event->cpu,
                                                       .unread = event->unread,
                                                       .has_result = event->has_ret,
                                                       .ret = event->ret,
                                                       .duration_ns = event->stack.value};
    for (int i = 0; i < d->call.n_args; i++)
        if (d->call.args[i].kind == CAIRN_KIND_TEXT)
            ret_subject->texts[i] = d->fields ? d->words[i] : text_of(d, event, i, NULL);
}

static void put_quoted(struct cairn_buffer *out, const char *bytes, size_t size, bool goes_on)
{
    cairn_buffer_char(out, '"');
    for (size_t i = 0; i < size; i++) {
        const unsigned char c = (unsigned char)bytes[i];
        if (c == '"' || c == '\\')
            cairn_buffer_printf(out, "\\%c", c);
        else if (c == '\n')
            cairn_buffer_str(out, "\\n");
        else if (c == '\t')
            cairn_buffer_str(out, "\\t");
        else if (c < ' ' || c == 127)
            cairn_buffer_printf(out, "\\x%02x", c);
        else
            cairn_buffer_char(out, (char)c);
    }
    cairn_buffer_str(out, goes_on ? "\"..." : "\"");
}

/* As the process has it now: it may have closed the descriptor since. */
static void put_fd(struct cairn_buffer *out, uint32_t pid, int fd)
{
    char link[64], path[PATH_MAX];
    cairn_buffer_printf(out, "%d", fd);
    if (fd < 0)
        return;
    snprintf(link, sizeof link, "/proc/%u/fd/%d", pid, fd);
    const ssize_t n = readlink(link, path, sizeof path - 1);
    if (n <= 0)
        return;
    cairn_buffer_char(out, '<');
    cairn_buffer_add(out, path, (size_t)n);
    cairn_buffer_char(out, '>');
}

static void put_data(struct cairn_buffer *out, const struct cairn_bpf_event *event, uint64_t va)
{
    const struct cairn_bpf_payload *payload = payload_of(event);
    size_t n = payload ? payload->n_data : 0;
    if (n == 0 || n > CAIRN_TRACE_DATA_BYTES) {
        cairn_buffer_printf(out, va ? "0x%" PRIx64 : "NULL", va);
        return;
    }
    put_quoted(out, (const char *)payload->data, n < SHOWN_DATA ? n : SHOWN_DATA, n > SHOWN_DATA);
}

static void put_real(struct cairn_buffer *out, enum cairn_call_kind kind, uint64_t bits)
{
    double value;
    float small;
    memcpy(&value, &bits, sizeof value);
    memcpy(&small, &bits, sizeof small);
    cairn_buffer_printf(out, "%.9g", kind == CAIRN_KIND_FLOAT ? (double)small : value);
}

static void put_number(struct cairn_buffer *out, enum cairn_call_kind kind, uint64_t value)
{
    const char *name;
    switch (kind) {
    case CAIRN_KIND_INT:
        cairn_buffer_printf(out, "%d", (int32_t)value);
        break;
    case CAIRN_KIND_LONG:
        cairn_buffer_printf(out, "%" PRId64, (int64_t)value);
        break;
    case CAIRN_KIND_SIZE:
        cairn_buffer_u64(out, value);
        break;
    case CAIRN_KIND_UNSIGNED:
        cairn_buffer_u64(out, (uint32_t)value);
        break;
    case CAIRN_KIND_HEX32:
        cairn_buffer_printf(out, "0x%x", (uint32_t)value);
        break;
    case CAIRN_KIND_MODE:
        cairn_buffer_printf(out, "0%o", (uint32_t)value);
        break;
    case CAIRN_KIND_SIGNAL:
        name = cairn_signal_name((int)value);
        if (name)
            cairn_buffer_str(out, name);
        else
            cairn_buffer_printf(out, "%d", (int32_t)value);
        break;
    case CAIRN_KIND_FLOAT:
    case CAIRN_KIND_DOUBLE:
        put_real(out, kind, value);
        break;
    default:
        if (kind == CAIRN_KIND_POINTER && !value)
            cairn_buffer_str(out, "NULL");
        else
            cairn_buffer_printf(out, "0x%" PRIx64, value);
    }
}

static void put_enum(struct cairn_buffer *out, const struct cairn_call_arg *arg, uint32_t value)
{
    for (size_t i = 0; i < arg->n_values; i++)
        if ((uint32_t)arg->values[i].value == value) {
            cairn_buffer_str(out, arg->values[i].name);
            return;
        }
    put_number(out, CAIRN_KIND_INT, value);
}

static void put_field(struct cairn_decoder *d, int i)
{
    const struct cairn_call_arg *arg = &d->call.args[i];
    if (arg->kind == CAIRN_KIND_TEXT)
        put_quoted(&d->texts, d->words[i], strlen(d->words[i]), false);
    else if (arg->kind == CAIRN_KIND_FLAGS)
        cairn_flags_put(&d->texts, arg->names, d->args[i]);
    else
        put_number(&d->texts, arg->kind, d->args[i]);
}

static const char *const why_unread[] = {[CAIRN_TRACE_UNREAD_MEMORY] = "its memory cannot be read",
                                         [CAIRN_TRACE_UNREAD_OPERAND] =
                                             "the kernel cannot read its operand",
                                         [CAIRN_TRACE_UNREAD_ABSENT] = "this place has none"};

static void put_arg(struct cairn_decoder *d, const struct cairn_bpf_event *event, int i)
{
    struct cairn_buffer *out = &d->texts;
    const struct cairn_call_arg *arg = &d->call.args[i];
    const uint64_t value = event->args[i];
    bool cut = false;
    const char *text;
    const bool is_late = i < 8 && event->late >> i & 1;
    const uint32_t why = cairn_trace_why_unread(event->unread, (uint32_t)i);
    if (d->fields) {
        put_field(d, i);
        return;
    }
    if (why) {
        cairn_buffer_printf(out, "? (%s)", why_unread[why]);
        return;
    }
    const struct cairn_probe *memory = cairn_spec_memory(d->spec, event->row);
    if (memory) {
        cairn_memory_put(out, memory, d->args, i);
        return;
    }
    switch (arg->kind) {
    case CAIRN_KIND_TEXT:
        text = text_of(d, event, i, &cut);
        if (text)
            put_quoted(out, text, strlen(text), cut);
        if (text && is_late)
            cairn_buffer_str(out, " (read later)");
        if (!text)
            put_number(out, CAIRN_KIND_POINTER, value);
        break;
    case CAIRN_KIND_AT:
        if ((int32_t)value == -100)
            cairn_buffer_str(out, "AT_FDCWD");
        else
            put_fd(out, event->stack.pid, (int32_t)value);
        break;
    case CAIRN_KIND_FD:
        put_fd(out, event->stack.pid, (int32_t)value);
        break;
    case CAIRN_KIND_DATA:
    case CAIRN_KIND_FILLED:
        put_data(out, event, value);
        cairn_buffer_str(out, is_late ? " (read later)" : "");
        break;
    case CAIRN_KIND_FLAGS:
        cairn_flags_put(out, arg->names, (uint32_t)value);
        break;
    case CAIRN_KIND_ENUM:
        put_enum(out, arg, (uint32_t)value);
        break;
    default:
        put_number(out, arg->kind, value);
    }
}

static void put_result(struct cairn_decoder *d, const struct cairn_bpf_event *event,
                       const char *error)
{
    if (!event->has_ret)
        cairn_buffer_str(&d->texts, "?");
    else if (*error)
        cairn_buffer_printf(&d->texts, "-1 %s", error);
    else if (d->call.ret == CAIRN_KIND_FD)
        put_fd(&d->texts, event->stack.pid, (int32_t)event->ret);
    else
        put_number(&d->texts, d->call.ret, (uint64_t)event->ret);
}

static const char *error_of(const struct cairn_bpf_event *event)
{
    if (!event->has_ret || !cairn_trace_is_error(event->row, event->ret))
        return "";
    const char *name = cairn_error_name((int)-event->ret);
    return name ? name : "an error without a name";
}

bool cairn_decode(struct cairn_decoder *d, const struct cairn_bpf_event *event,
                  struct cairn_trace_event *ret_event)
{
    size_t at[CAIRN_CALL_ARGS + 1];
    /* what a function was given is not in its registers any more when it returns */
    const int unknown = event->row >= CAIRN_TRACE_CALLS && event->has_ret &&
                                !cairn_spec_is_pair(d->spec, event->row)
                            ? 0
                            : CAIRN_TRACE_ARGS;
    const int n = d->call.n_args < 0 ? unknown : d->call.n_args;
    static const char *const unnamed[] = {"arg0", "arg1", "arg2", "arg3", "arg4", "arg5"};
    cairn_buffer_clear(&d->texts);
    for (int i = 0; i < n; i++) {
        at[i] = d->texts.size;
        if (d->call.n_args < 0)
            cairn_buffer_printf(&d->texts, "0x%" PRIx64, (uint64_t)event->args[i]);
        else
            put_arg(d, event, i);
        cairn_buffer_char(&d->texts, '\0');
    }
    const char *error = error_of(event);
    at[n] = d->texts.size;
    put_result(d, event, error);
    cairn_buffer_char(&d->texts, '\0');
    if (d->texts.failed)
        return false;
    *ret_event = (struct cairn_trace_event){.size = sizeof *ret_event,
                                            .duration_ns = event->has_ret ? event->stack.value : 0,
                                            .pid = (int)event->stack.pid,
                                            .tid = (int)event->stack.tid,
                                            .cpu = event->cpu,
                                            .uid = event->uid,
                                            .comm = d->comm,
                                            .kind = cairn_spec_kind(d->spec, event->row),
                                            .name = cairn_spec_name(d->spec, event->row),
                                            .is_compat = event->row >= CAIRN_TRACE_NUMBERS &&
                                                         event->row < CAIRN_TRACE_CALLS,
                                            .has_result = event->has_ret,
                                            .is_gone = event->is_gone,
                                            .result = event->ret,
                                            .error = error,
                                            .n_args = (uint32_t)n};
    for (int i = 0; i < n; i++) {
        ret_event->arg_names[i] = d->call.n_args < 0 ? unnamed[i] : d->call.args[i].name;
        ret_event->arg_texts[i] = (const char *)d->texts.data + at[i];
    }
    ret_event->result_text = (const char *)d->texts.data + at[n];
    return true;
}
