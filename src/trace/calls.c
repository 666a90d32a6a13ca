/* SPDX-License-Identifier: MIT */
#include "trace/calls.h"

#include <stdio.h>
#include <string.h>

#include "bpf/trace.h"
#include "trace/call_forms.h"

struct row {
    const char *name;
    int number;
};

/* By number; the files are made from headers (meson.build). */
static const struct row native[] = {
#include "trace/call_names.h"
};
static const struct row compat[] = {
#include "trace/compat_names.h"
    {NULL, -1}};
static const struct row errors[] = {
#include "trace/error_names.h"
};
static const struct row signals[] = {
#include "trace/signal_names.h"
};

static const struct {
    const char *name;
    enum cairn_call_set set;
} sets[] = {{"file", CAIRN_CALL_FILE},       {"desc", CAIRN_CALL_DESC},
            {"net", CAIRN_CALL_NET},         {"network", CAIRN_CALL_NET},
            {"process", CAIRN_CALL_PROCESS}, {"memory", CAIRN_CALL_MEMORY},
            {"signal", CAIRN_CALL_SIGNAL},   {"ipc", CAIRN_CALL_IPC}};

static const char *name_in(const struct row *rows, size_t n, long number)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i].number == number)
            return rows[i].name;
    return NULL;
}

static int number_in(const struct row *rows, size_t n, const char *name, size_t size)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i].name && strlen(rows[i].name) == size && memcmp(rows[i].name, name, size) == 0)
            return rows[i].number;
    return -1;
}

const char *cairn_call_name(uint32_t row)
{
    if (row < CAIRN_TRACE_NUMBERS)
        return name_in(native, sizeof native / sizeof *native, row);
    return name_in(compat, sizeof compat / sizeof *compat, row - CAIRN_TRACE_NUMBERS);
}

bool cairn_call_is_named(const char *name, const char *by)
{
    if (strcmp(name, by) == 0)
        return true;
    const char *const *family = cairn_call_family(by);
    return family && family == cairn_call_family(name);
}

unsigned cairn_call_sets(const char *name)
{
    const struct cairn_call_form *form = cairn_call_form(name);
    const char *const *family = form ? NULL : cairn_call_family(name);
    if (family)
        form = cairn_call_form(family[0]);
    return form ? form->sets : 0;
}

unsigned cairn_call_set_of(const char *text, size_t size)
{
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (strlen(sets[i].name) == size && memcmp(sets[i].name, text, size) == 0)
            return sets[i].set;
    return 0;
}

/* One "name:kind" of the form above. */
static void read_arg(const char *word, size_t size, struct cairn_call_arg *arg)
{
    const char *colon = memchr(word, ':', size);
    size_t length = (size_t)(colon - word);
    memcpy(arg->name, word, length);
    arg->name[length] = '\0';
    arg->kind = (enum cairn_call_kind)colon[1];
    arg->names = arg->kind == CAIRN_KIND_FLAGS ? colon + 2 : NULL;
}

void cairn_call_read_form(const char *form, struct cairn_syscall *call)
{
    for (const char *at = form;; at++) {
        size_t size = strcspn(at, " ");
        if (*at == '=') {
            call->no_return = size == 1;
            call->ret = size == 1 ? CAIRN_KIND_INT : (enum cairn_call_kind)at[1];
            return;
        }
        read_arg(at, size, &call->args[call->n_args++]);
        at += size;
    }
}

bool cairn_call_find(const char *name, struct cairn_syscall *ret_call)
{
    *ret_call = (struct cairn_syscall){.name = name, .ret = CAIRN_KIND_LONG, .n_args = -1};
    const struct cairn_call_form *form = cairn_call_form(name);
    if (!form)
        return false;
    ret_call->n_args = 0;
    ret_call->sets = form->sets;
    cairn_call_read_form(form->form, ret_call);
    return true;
}

/* Results inside the kernel (include/linux/errno.h): a signal ended the call, which is begun again
 * if the thread goes on. */
static const struct row restarts[] = {{"ERESTARTSYS", 512},
                                      {"ERESTARTNOINTR", 513},
                                      {"ERESTARTNOHAND", 514},
                                      {"ERESTART_RESTARTBLOCK", 516}};

const char *cairn_error_name(int number)
{
    if (number >= restarts[0].number)
        return name_in(restarts, sizeof restarts / sizeof *restarts, number);
    return name_in(errors, sizeof errors / sizeof *errors, number);
}

const char *cairn_signal_name(int number)
{
    return name_in(signals, sizeof signals / sizeof *signals, number);
}

int cairn_error_of(const char *name, size_t size)
{
    return number_in(errors, sizeof errors / sizeof *errors, name, size);
}

int cairn_signal_of(const char *name, size_t size)
{
    return number_in(signals, sizeof signals / sizeof *signals, name, size);
}
