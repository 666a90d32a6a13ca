/* SPDX-License-Identifier: MIT */
#include "trace/probe_arguments.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

enum { HALF = 4 };

static enum cairn_call_kind kind_of(const struct cairn_named_argument *argument)
{
    switch (argument->what) {
    case CAIRN_NAMED_SIGNED:
        return argument->bytes > HALF ? CAIRN_KIND_LONG : CAIRN_KIND_INT;
    case CAIRN_NAMED_UNSIGNED:
        return argument->bytes > HALF ? CAIRN_KIND_SIZE : CAIRN_KIND_UNSIGNED;
    case CAIRN_NAMED_POINTER:
        return CAIRN_KIND_POINTER;
    case CAIRN_NAMED_TEXT:
        return CAIRN_KIND_TEXT;
    case CAIRN_NAMED_ENUM:
        return argument->bytes > HALF ? CAIRN_KIND_LONG : CAIRN_KIND_ENUM;
    default:
        return CAIRN_KIND_HEX;
    }
}

/* Names that each event has, or may have. */
static bool is_taken(const char *name)
{
    static const char *const taken[] = {"cpu", "uid", "comm", "ret", "errno", "duration", "event"};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (strcmp(taken[i], name) == 0)
            return true;
    return false;
}

/* A name may be cut. */
static void set_name(struct cairn_call_arg *arg, unsigned reg, const char *name)
{
    if (!name)
        snprintf(arg->name, sizeof arg->name, "arg%u", reg);
    else
        snprintf(arg->name, sizeof arg->name, "%.25s%s", name, is_taken(name) ? "_" : "");
}

static void set_arg(struct cairn_call_arg *arg, const struct cairn_named_argument *argument,
                    int *n_texts)
{
    *arg = (struct cairn_call_arg){
        .kind = kind_of(argument), .values = argument->values, .n_values = argument->n_values};
    if (arg->kind == CAIRN_KIND_TEXT && ++*n_texts > CAIRN_TRACE_TEXTS)
        arg->kind = CAIRN_KIND_POINTER;
    set_name(arg, argument->reg, argument->name);
}

static void set_args(struct cairn_syscall *call, const struct cairn_named_arguments *named)
{
    int n_texts = 0;
    call->n_args = 0;
    for (size_t i = 0; i < named->n && named->items[i].reg < CAIRN_TRACE_ARGS; i++) {
        for (; call->n_args < (int)named->items[i].reg; call->n_args++) {
            call->args[call->n_args] = (struct cairn_call_arg){.kind = CAIRN_KIND_HEX};
            set_name(&call->args[call->n_args], (unsigned)call->n_args, NULL);
        }
        set_arg(&call->args[call->n_args++], &named->items[i], &n_texts);
    }
}

static void set_result(struct cairn_syscall *call, const struct cairn_named_argument *result)
{
    const enum cairn_call_kind kind = kind_of(result);
    if (kind == CAIRN_KIND_TEXT)
        call->ret = CAIRN_KIND_POINTER;
    else if (kind == CAIRN_KIND_ENUM)
        call->ret = CAIRN_KIND_INT;
    else if (kind != CAIRN_KIND_HEX)
        call->ret = kind;
}

int cairn_probe_read_arguments(struct cairn_module *module, uint64_t vaddr,
                               struct cairn_probe *probe, struct cairn_err *err)
{
    const bool is_pair = cairn_trace_is_pair(probe->at.place);
    const int found = cairn_module_find_arguments(module, vaddr, &probe->named, NULL);
    if (found == CAIRN_E_NOMEM)
        return cairn_fail_memory(err);
    if (found <= 0)
        return CAIRN_OK;
    if (is_pair || !probe->at.at_return)
        set_args(&probe->call, &probe->named);
    if (is_pair || probe->at.at_return)
        set_result(&probe->call, &probe->named.result);
    return CAIRN_OK;
}
