/* SPDX-License-Identifier: MIT */
#include "trace/spec.h"

#include <fnmatch.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "trace/alias.h"
#include "trace/known.h"
#include "trace/typed.h"

enum { WORD_BYTES = 128, FILTER_BYTES = 1024, FILTERS_MAX = UINT16_MAX };

static int init(struct cairn_spec *spec, struct cairn_err *err)
{
    if (spec->calls)
        return CAIRN_OK;
    spec->calls = cairn_alloc(CAIRN_TRACE_ROWS, sizeof *spec->calls);
    spec->filter_of = cairn_alloc(2 * (size_t)CAIRN_TRACE_ROWS, sizeof *spec->filter_of);
    return spec->calls && spec->filter_of ? CAIRN_OK : cairn_fail_memory(err);
}

void cairn_spec_done(struct cairn_spec *spec)
{
    cairn_free(spec->calls);
    cairn_free(spec->filter_of);
    cairn_free(spec->filters);
    cairn_probes_done(&spec->probes);
    *spec = (struct cairn_spec){0};
}

static const struct cairn_probe *probe_of(const struct cairn_spec *spec, uint32_t row)
{
    return row >= CAIRN_TRACE_CALLS && row - CAIRN_TRACE_CALLS < spec->probes.n
               ? &spec->probes.items[row - CAIRN_TRACE_CALLS]
               : NULL;
}

/* What a function returns is no error, and only a pair knows how long it took. */
static unsigned lacks_of(const struct cairn_probe *probe)
{
    if (cairn_trace_is_pair(probe->at.place))
        return CAIRN_CALL_LACKS_ERRNO;
    return probe->at.at_return ? CAIRN_CALL_LACKS_ERRNO | CAIRN_CALL_LACKS_DURATION
                               : CAIRN_CALL_LACKS_RESULT;
}

bool cairn_spec_call(const struct cairn_spec *spec, uint32_t row, struct cairn_syscall *ret_call)
{
    const struct cairn_probe *probe = probe_of(spec, row);
    if (probe) {
        *ret_call = probe->call;
        ret_call->lacks = lacks_of(probe);
        return true;
    }
    const char *name = row < CAIRN_TRACE_CALLS ? cairn_call_name(row) : NULL;
    const bool is_known = cairn_call_find(name ? name : "?", ret_call);
    if (spec->enter_only || ret_call->no_return)
        ret_call->lacks = CAIRN_CALL_LACKS_RESULT;
    return is_known;
}

const struct cairn_fields *cairn_spec_fields(const struct cairn_spec *spec, uint32_t row)
{
    const struct cairn_probe *probe = probe_of(spec, row);
    return probe && probe->at.place == CAIRN_TRACE_POINT ? &probe->fields : NULL;
}

const struct cairn_probe *cairn_spec_memory(const struct cairn_spec *spec, uint32_t row)
{
    const struct cairn_probe *probe = probe_of(spec, row);
    return probe && probe->at.place == CAIRN_TRACE_MEMORY ? probe : NULL;
}

bool cairn_spec_is_pair(const struct cairn_spec *spec, uint32_t row)
{
    const struct cairn_probe *probe = probe_of(spec, row);
    return probe && cairn_trace_is_pair(probe->at.place);
}

bool cairn_spec_is_in_kernel(const struct cairn_spec *spec, uint32_t row)
{
    const struct cairn_probe *probe = probe_of(spec, row);
    return probe &&
           (probe->at.place == CAIRN_TRACE_POINT || cairn_trace_is_in_kernel(probe->at.place));
}

const char *cairn_spec_kind(const struct cairn_spec *spec, uint32_t row)
{
    const struct cairn_probe *probe = probe_of(spec, row);
    return probe ? cairn_probe_kind(probe) : "syscall";
}

const char *cairn_spec_name(const struct cairn_spec *spec, uint32_t row)
{
    const struct cairn_probe *probe = probe_of(spec, row);
    const char *name = probe ? probe->event : cairn_call_name(row);
    return name ? name : "?";
}

bool cairn_spec_matches(const char *word, const char *name)
{
    if (*word == '%')
        return cairn_call_sets(name) & cairn_call_set_of(word + 1, strlen(word + 1));
    return strcmp(word, "all") == 0 || cairn_call_is_named(name, word) ||
           fnmatch(word, name, 0) == 0;
}

static int add_filter(struct cairn_spec *spec, const struct cairn_trace_filter *filter,
                      uint16_t *ret_number, struct cairn_err *err)
{
    if (spec->n_filters >= FILTERS_MAX - 1 ||
        cairn_grow((void **)&spec->filters, &spec->cap_filters, spec->n_filters + 1,
                   sizeof *spec->filters) < 0)
        return cairn_fail_memory(err);
    spec->filters[spec->n_filters++] = *filter;
    *ret_number = (uint16_t)spec->n_filters;
    return CAIRN_OK;
}

/* Of a list, calls that lack a field are left out, if any call has it. */
struct adding {
    struct cairn_spec *spec;
    const char *word, *filter;
    size_t n_matched, n_added;
    struct cairn_err refusal;
};

static int add_row(struct adding *to, uint32_t row, struct cairn_err *err)
{
    struct cairn_syscall call;
    struct cairn_trace_filter filter;
    bool no_field;
    uint16_t number = 0;
    (void)cairn_spec_call(to->spec, row, &call);
    int code = cairn_trace_filter_parse(to->filter, &call, &filter, &no_field, &to->refusal);
    if (code < 0 && no_field)
        return CAIRN_OK;
    if (code == CAIRN_OK && !filter.is_empty)
        code = add_filter(to->spec, &filter, &number, &to->refusal);
    if (code < 0) {
        if (err)
            *err = to->refusal;
        return code;
    }
    to->spec->calls[row].is_wanted = 1;
    to->spec->filter_of[2 * row] = number;
    to->n_added++;
    return CAIRN_OK;
}

static int add_word(struct cairn_spec *spec, const char *word, const char *filter,
                    struct cairn_err *err)
{
    const bool is_not = *word == '!';
    struct adding to = {.spec = spec, .word = word + is_not, .filter = filter};
    int code = CAIRN_OK;
    if (*to.word == '%' && !cairn_call_set_of(to.word + 1, strlen(to.word + 1))) {
        cairn_fail(err, CAIRN_E_ARG, "%s: there is no such set of system calls", to.word);
        cairn_hint(err, "the sets are %%file, %%desc, %%net, %%process, %%memory, %%signal, %%ipc");
        return CAIRN_E_ARG;
    }
    for (uint32_t row = 0; row < CAIRN_TRACE_CALLS && code == CAIRN_OK; row++) {
        const char *name = cairn_call_name(row);
        if (!name || !cairn_spec_matches(to.word, name))
            continue;
        to.n_matched++;
        if (is_not)
            spec->calls[row].is_wanted = 0;
        else
            code = add_row(&to, row, err);
    }
    if (code < 0)
        return code;
    if (!to.n_matched) {
        cairn_fail(err, CAIRN_E_ARG, "syscall:%s: no system call has that name", to.word);
        cairn_hint(err, "cairn trace --list 'syscall:*%s*'", to.word);
        return CAIRN_E_ARG;
    }
    if (!to.n_added && !is_not) {
        if (err)
            *err = to.refusal;
        return CAIRN_E_ARG;
    }
    return CAIRN_OK;
}

/* "word,word" before a filter. Where only "!name" is said, all others are meant. */
static int add_list(struct cairn_spec *spec, const char *list, size_t size, const char *filter,
                    struct cairn_err *err)
{
    char word[WORD_BYTES];
    int code = CAIRN_OK;
    if (*list == '!')
        code = add_word(spec, "all", filter, err);
    for (size_t at = 0; at <= size && code == CAIRN_OK;) {
        size_t n = 0;
        while (at + n < size && list[at + n] != ',')
            n++;
        const char *start = list + at;
        size_t length = n;
        if (length > 8 && memcmp(start, "syscall:", 8) == 0)
            start += 8, length -= 8;
        if (length == 0 || length >= sizeof word)
            return cairn_fail(err, CAIRN_E_ARG, "syscall:%.*s: column %zu: expected a name",
                              (int)(size < 64 ? size : 64), list, at + 1);
        memcpy(word, start, length);
        word[length] = '\0';
        code = add_word(spec, word, filter, err);
        at += n + 1;
    }
    return code;
}

/* "[FILTER]" behind an event, of `size` bytes without it. */
static int cut_filter(const char *text, char filter[FILTER_BYTES], size_t *ret_size,
                      struct cairn_err *err)
{
    const char *bracket = strchr(text, '[');
    filter[0] = '\0';
    *ret_size = bracket ? (size_t)(bracket - text) : strlen(text);
    if (!bracket)
        return CAIRN_OK;
    const size_t length = strlen(bracket);
    if (bracket[length - 1] != ']')
        return cairn_fail(err, CAIRN_E_ARG, "event \"%.64s\": the filter has no closing ]", text);
    if (length - 2 >= FILTER_BYTES)
        return cairn_fail(err, CAIRN_E_LIMIT, "event \"%.64s\": the filter is longer than %d bytes",
                          text, FILTER_BYTES - 1);
    memcpy(filter, bracket + 1, length - 2);
    filter[length - 2] = '\0';
    return CAIRN_OK;
}

/* One probe, with its arguments as the event, or a table, says. One that lacks an argument is left
 * out, as one that lacks a field of the filter. */
static int add_probe(struct adding *to, size_t number, struct cairn_span types,
                     struct cairn_err *err)
{
    struct cairn_probe *probe = &to->spec->probes.items[number];
    bool no_arg;
    cairn_alias_describe(probe->event, &probe->call);
    cairn_known_describe(probe->event, &probe->call);
    if (types.size) {
        int code = cairn_typed_read((const char *)types.data + 1, types.size - 1, &probe->call,
                                    &no_arg, &to->refusal);
        if (code < 0 && !no_arg && err)
            *err = to->refusal;
        if (code < 0)
            return no_arg ? CAIRN_OK : code;
    }
    return add_row(to, CAIRN_TRACE_CALLS + (uint32_t)number, err);
}

/* What a probe's event means, and the filter of each. */
static int add_probes(struct cairn_spec *spec, const char *text, size_t size, const char *filter,
                      struct cairn_err *err)
{
    struct adding to = {.spec = spec, .filter = filter};
    const size_t first = spec->probes.n, n = cairn_typed_cut(text, size);
    const struct cairn_span types = {(const uint8_t *)text + n, size - n};
    int code = types.size
                   ? cairn_typed_check(text, (const char *)types.data + 1, types.size - 1, err)
                   : CAIRN_OK;
    char *event = code == CAIRN_OK ? cairn_alloc(n + 1, 1) : NULL;
    if (!event)
        return code < 0 ? code : cairn_fail_memory(err);
    memcpy(event, text, n);
    code = cairn_probes_add(&spec->probes, event, err);
    cairn_free(event);
    for (size_t i = first; i < spec->probes.n && code == CAIRN_OK; i++)
        code = add_probe(&to, i, types, err);
    if (code == CAIRN_OK && !to.n_added) {
        if (err)
            *err = to.refusal;
        code = CAIRN_E_ARG;
    }
    return code;
}

static int add_event(void *ctx, const char *event, struct cairn_err *err)
{
    return cairn_spec_add(ctx, event, err);
}

int cairn_spec_add(struct cairn_spec *spec, const char *text, struct cairn_err *err)
{
    static const char kind[] = "syscall:";
    char filter[FILTER_BYTES];
    size_t size = 0;
    int code = init(spec, err);
    if (code == CAIRN_OK)
        code = cut_filter(text, filter, &size, err);
    if (code < 0)
        return code;
    if (cairn_alias_is(text))
        return cairn_alias_each(&spec->probes, text, size, filter, add_event, spec, err);
    if (cairn_probe_is(text))
        return add_probes(spec, text, size, filter, err);
    if (strncmp(text, kind, sizeof kind - 1) != 0) {
        cairn_fail(err, CAIRN_E_ARG, "event \"%.64s\": expected syscall:NAME", text);
        cairn_hint(err,
                   "or uprobe:FILE:FUNCTION, kprobe:FUNCTION (uretprobe, kretprobe; both by +), "
                   "tracepoint:GROUP:NAME, usdt:[FILE:]PROVIDER:NAME, mem:VARIABLE:w, "
                   "signal:NAME, page-fault, exec, fork, exit, malloc; cairn trace --list '*' "
                   "prints them all");
        return CAIRN_E_ARG;
    }
    return add_list(spec, text + sizeof kind - 1, size - (sizeof kind - 1), filter, err);
}

/* The kernel compares what it can; what is left makes each event cross. */
static void write_terms(struct cairn_bpf_call *call, struct cairn_trace_filter *filter)
{
    size_t n = call->n_terms;
    n += cairn_trace_filter_terms(filter, !call->record_bytes, call->terms + n,
                                  CAIRN_TRACE_TERMS_MAX - n);
    call->n_terms = (uint8_t)n;
    if (cairn_trace_filter_has_rest(filter))
        call->flags |= CAIRN_TRACE_EACH;
}

/* Texts behind pointers, and bytes. */
static void describe(struct cairn_bpf_call *row, const struct cairn_syscall *call)
{
    size_t n_texts = 0;
    for (int i = 0; i < call->n_args; i++) {
        const enum cairn_call_kind kind = call->args[i].kind;
        if (kind == CAIRN_KIND_TEXT && n_texts < CAIRN_TRACE_TEXTS)
            row->text[n_texts++] = (uint8_t)(i + 1);
        if (kind == CAIRN_KIND_DATA || kind == CAIRN_KIND_FILLED) {
            row->data = (uint8_t)(i + 1);
            row->data_size = kind == CAIRN_KIND_DATA ? (uint8_t)(i + 2) : CAIRN_TRACE_DATA_BY_RET;
        }
    }
    row->flags |= call->no_return ? CAIRN_TRACE_NO_RETURN : 0;
    row->flags |= call->ret == CAIRN_KIND_SIZE ? CAIRN_TRACE_SIZE : 0;
}

static void describe_probe(struct cairn_bpf_call *row, const struct cairn_probe *probe)
{
    if (probe->at.place != CAIRN_TRACE_POINT) /* whose texts are in its record */
        describe(row, &probe->call);
    row->flags |= probe->at.at_return ? CAIRN_TRACE_AT_RETURN : 0;
    row->record_bytes = probe->fields.record_bytes;
    /* Whoever sends a signal may be any process: the record names the target. */
    if (strcmp(probe->event, "tracepoint:signal:signal_generate") != 0)
        return;
    for (int i = 0; i < probe->fields.n; i++)
        if (strcmp(probe->call.args[i].name, "pid") == 0) {
            row->flags |= CAIRN_TRACE_NAMES_PID;
            row->record_pid = probe->fields.fields[i].off;
        }
}

static bool has_field(const struct cairn_syscall *call, const char *name)
{
    static const char *const common[] = {"pid", "event_pid", "tid",  "event_tid",
                                         "uid", "cpu",       "comm", "event"};
    const bool has_result = !(call->lacks & CAIRN_CALL_LACKS_RESULT);
    for (int i = 0; i < call->n_args; i++)
        if (strcmp(call->args[i].name, name) == 0)
            return true;
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        if (strcmp(common[i], name) == 0)
            return true;
    if (call->n_args < 0 && strncmp(name, "arg", 3) == 0 && name[3] >= '0' && name[3] <= '5')
        return !name[4];
    return has_result && (strcmp(name, "ret") == 0 ||
                          (strcmp(name, "errno") == 0 && !(call->lacks & CAIRN_CALL_LACKS_ERRNO)));
}

bool cairn_spec_has_field(const struct cairn_spec *spec, const char *name)
{
    struct cairn_syscall call;
    for (uint32_t row = 0; row < CAIRN_TRACE_ROWS; row++) {
        if (!spec->calls[row].is_wanted)
            continue;
        (void)cairn_spec_call(spec, row, &call);
        if (has_field(&call, name))
            return true;
    }
    return false;
}

/* A 32-bit program's results that are no int are addresses and sizes. */
static uint8_t ret_width_of(uint32_t row, enum cairn_call_kind ret)
{
    const enum cairn_trace_width width = cairn_trace_width_of(ret);
    const bool is_compat = row >= CAIRN_TRACE_NUMBERS && row < CAIRN_TRACE_CALLS;
    return (uint8_t)(is_compat && width != CAIRN_TRACE_S32 ? CAIRN_TRACE_U32 : width);
}

/* The filter of all events asks for a field that this one lacks. Of a list of calls that is usual.
 */
static void leave_out(struct cairn_spec *spec, uint32_t row, const struct cairn_err *refusal)
{
    spec->calls[row].is_wanted = 0;
    cairn_log(row < CAIRN_TRACE_CALLS ? CAIRN_LOG_INFO : CAIRN_LOG_WARNING, "%s: left out: %s",
              cairn_spec_name(spec, row), refusal->msg);
}

int cairn_spec_finish(struct cairn_spec *spec, const char *text, struct cairn_err *err)
{
    struct cairn_err refusal = {0};
    size_t n = 0;
    for (uint32_t row = 0; row < CAIRN_TRACE_ROWS; row++) {
        struct cairn_bpf_call *to = &spec->calls[row];
        struct cairn_syscall call;
        struct cairn_trace_filter filter;
        bool no_field;
        if (!to->is_wanted)
            continue;
        (void)cairn_spec_call(spec, row, &call);
        int code = cairn_trace_filter_parse(text ? text : "", &call, &filter, &no_field, &refusal);
        if (code < 0 && no_field) {
            leave_out(spec, row, &refusal);
            continue;
        }
        n++;
        if (code == CAIRN_OK && !filter.is_empty)
            code = add_filter(spec, &filter, &spec->filter_of[2 * row + 1], err);
        if (code < 0) {
            if (err)
                *err = refusal;
            return code;
        }
        to->ret_width = ret_width_of(row, call.ret);
        if (row < CAIRN_TRACE_CALLS)
            describe(to, &call);
        else
            describe_probe(to, probe_of(spec, row));
        for (size_t i = 0; i < 2; i++)
            if (spec->filter_of[2 * row + i])
                write_terms(to, &spec->filters[spec->filter_of[2 * row + i] - 1]);
    }
    if (!n && *refusal.msg && err)
        *err = refusal;
    else if (!n)
        cairn_fail(err, CAIRN_E_ARG, "no event is left to trace");
    return n ? CAIRN_OK : CAIRN_E_ARG;
}

bool cairn_spec_holds(const struct cairn_spec *spec, uint32_t row,
                      const struct cairn_trace_filter_subject *subject)
{
    for (size_t i = 0; i < 2; i++) {
        uint16_t number = spec->filter_of[2 * row + i];
        if (number && !cairn_trace_filter_holds(&spec->filters[number - 1], subject))
            return false;
    }
    return true;
}
