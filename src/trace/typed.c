/* SPDX-License-Identifier: MIT */
#include "trace/typed.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "bpf/trace.h"

enum { SHOWN = 64 };

static const char types_hint[] = "types are str, d, u and x of 64 bits, and d32, u32 and x32, such "
                                 "as uprobe:libc.so.6:fopen/arg0:str,arg1:str";

static const struct {
    const char *name;
    enum cairn_call_kind kind;
} types[] = {{"str", CAIRN_KIND_TEXT}, {"d", CAIRN_KIND_LONG},       {"d64", CAIRN_KIND_LONG},
             {"d32", CAIRN_KIND_INT},  {"u", CAIRN_KIND_SIZE},       {"u64", CAIRN_KIND_SIZE},
             {"x", CAIRN_KIND_HEX},    {"u32", CAIRN_KIND_UNSIGNED}, {"x64", CAIRN_KIND_HEX},
             {"x32", CAIRN_KIND_HEX32}};

/* Bytes of "arg12:"; 0: something else stands there. `*ret_number` may be any, if it is too large.
 */
static size_t read_name(const char *at, size_t size, unsigned *ret_number)
{
    size_t n = 3;
    *ret_number = 0;
    if (size < 5 || memcmp(at, "arg", 3) != 0 || !isdigit((unsigned char)at[3]))
        return 0;
    for (; n < size && isdigit((unsigned char)at[n]); n++)
        if (*ret_number < CAIRN_CALL_ARGS)
            *ret_number = *ret_number * 10 + (unsigned)(at[n] - '0');
    return n < size && at[n] == ':' ? n + 1 : 0;
}

static bool is_result(const char *at, size_t size)
{
    return size > 4 && memcmp(at, "ret:", 4) == 0;
}

/* "uprobe:./arg0:str" is a file: a list has its event's parts before it. */
static bool has_parts(const char *event, size_t size)
{
    const char *colon = memchr(event, ':', size);
    if (!colon || memcmp(event, "kprobe", 6) == 0 || memcmp(event, "kretprobe", 9) == 0)
        return colon != NULL;
    return memchr(colon + 1, ':', size - (size_t)(colon + 1 - event)) != NULL;
}

size_t cairn_typed_cut(const char *event, size_t size)
{
    unsigned number;
    for (size_t at = size; at-- > 0;)
        if (event[at] == '/')
            return size > 9 && has_parts(event, at) &&
                           (read_name(event + at + 1, size - at - 1, &number) ||
                            is_result(event + at + 1, size - at - 1))
                       ? at
                       : size;
    return size;
}

static const struct {
    const char *name;
    bool has_args, has_result;
} kinds[] = {{"uprobe:", true, false},         {"kprobe:", true, false},
             {"usdt:", true, false},           {"uretprobe:", false, true},
             {"kretprobe:", false, true},      {"uprobe+uretprobe:", true, true},
             {"kprobe+kretprobe:", true, true}};

static int fail_kind(const char *event, bool is_of_result, bool is_return, struct cairn_err *err)
{
    cairn_fail(err, CAIRN_E_ARG, "event \"%.64s\": has no %s", event,
               is_of_result ? "result with a type" : "arguments with types");
    if (is_return)
        cairn_hint(err, "when a function returns, its arguments are not in the registers any more; "
                        "uprobe: and kprobe: have them, uprobe+uretprobe: and kprobe+kretprobe: "
                        "have them and the result");
    else if (is_of_result)
        cairn_hint(err, "uretprobe:, kretprobe:, uprobe+uretprobe: and kprobe+kretprobe: have one");
    else
        cairn_hint(err, "uprobe:, kprobe: and usdt: have such, and uprobe+uretprobe: and "
                        "kprobe+kretprobe:");
    return CAIRN_E_ARG;
}

int cairn_typed_check(const char *event, const char *list, size_t size, struct cairn_err *err)
{
    size_t kind = 0;
    while (kind < sizeof kinds / sizeof *kinds &&
           strncmp(event, kinds[kind].name, strlen(kinds[kind].name)) != 0)
        kind++;
    const bool is_known = kind < sizeof kinds / sizeof *kinds;
    const bool has_args = is_known && kinds[kind].has_args;
    const bool has_result = is_known && kinds[kind].has_result;
    for (size_t at = 0; at < size;) {
        const char *comma = memchr(list + at, ',', size - at);
        const size_t n = comma ? (size_t)(comma - list) - at : size - at;
        const bool is_of_result = is_result(list + at, n);
        if (is_of_result ? !has_result : !has_args)
            return fail_kind(event, is_of_result, has_result && !is_of_result, err);
        at += n + 1;
    }
    return CAIRN_OK;
}

static int fail(const char *at, size_t size, const char *what, struct cairn_err *err)
{
    cairn_fail(err, CAIRN_E_ARG, "\"%.*s\": %s", size > SHOWN ? SHOWN : (int)size, at, what);
    cairn_hint(err, "%s", types_hint);
    return CAIRN_E_ARG;
}

static bool find_type(const char *name, size_t size, enum cairn_call_kind *ret_kind)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strlen(types[i].name) == size && memcmp(types[i].name, name, size) == 0) {
            *ret_kind = types[i].kind;
            return true;
        }
    return false;
}

static void set_arg(struct cairn_syscall *call, unsigned number, enum cairn_call_kind kind)
{
    if (call->n_args < 0)
        call->n_args = 0;
    for (; call->n_args <= (int)number; call->n_args++) {
        struct cairn_call_arg *arg = &call->args[call->n_args];
        *arg = (struct cairn_call_arg){.kind = CAIRN_KIND_HEX};
        snprintf(arg->name, sizeof arg->name, "arg%d", call->n_args);
    }
    call->args[number].kind = kind;
    call->args[number].names = NULL;
    call->args[number].values = NULL;
    call->args[number].n_values = 0;
}

/* Of the list, one argument of `size` bytes. */
static int read_arg(const char *at, size_t size, struct cairn_syscall *call, bool *ret_no_arg,
                    uint32_t *said, struct cairn_err *err)
{
    unsigned number;
    enum cairn_call_kind kind;
    const size_t n = is_result(at, size) ? 4 : read_name(at, size, &number);
    if (!n)
        return fail(at, size, "expected argN:TYPE or ret:TYPE", err);
    if (!find_type(at + n, size - n, &kind))
        return fail(at, size, "there is no such type", err);
    if (is_result(at, size)) {
        call->ret = kind;
        return kind == CAIRN_KIND_TEXT ? fail(at, size, "a result is a number", err) : CAIRN_OK;
    }
    const unsigned most = call->has_own_args ? (unsigned)call->n_args : CAIRN_TRACE_ARGS;
    if (number >= most) {
        *ret_no_arg = true;
        return cairn_fail(err, CAIRN_E_ARG, "%.64s: has no argument \"%.*s\": it has %u",
                          call->name, size > SHOWN ? SHOWN : (int)size, at, most);
    }
    set_arg(call, number, kind);
    *said |= 1u << number;
    return CAIRN_OK;
}

int cairn_typed_read(const char *list, size_t size, struct cairn_syscall *call, bool *ret_no_arg,
                     struct cairn_err *err)
{
    int n_texts = 0, code = CAIRN_OK;
    uint32_t said = 0;
    *ret_no_arg = false;
    for (size_t at = 0; at <= size && code == CAIRN_OK;) {
        const char *comma = memchr(list + at, ',', size - at);
        const size_t n = comma ? (size_t)(comma - list) - at : size - at;
        code = read_arg(list + at, n, call, ret_no_arg, &said, err);
        at += n + 1;
    }
    for (int i = 0; code == CAIRN_OK && i < call->n_args; i++)
        n_texts += call->args[i].kind == CAIRN_KIND_TEXT;
    for (int i = call->n_args; code == CAIRN_OK && n_texts > CAIRN_TRACE_TEXTS && i-- > 0;)
        if (call->args[i].kind == CAIRN_KIND_TEXT && !(said >> i & 1)) {
            call->args[i].kind = CAIRN_KIND_POINTER; /* a type that was found, not asked for */
            n_texts--;
        }
    if (n_texts > CAIRN_TRACE_TEXTS)
        return cairn_fail(err, CAIRN_E_ARG, "%.64s: has %d texts, and an event can have %d",
                          call->name, n_texts, CAIRN_TRACE_TEXTS);
    return code;
}
