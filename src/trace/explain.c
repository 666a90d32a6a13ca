/* SPDX-License-Identifier: MIT */
/* Explain: where each event would be attached, and what a hit would cost. Nothing is attached. */
#include <elf.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "code/insn_x86_64.h"
#include "elf/image.h"
#include "trace/trace_state.h"

enum { INSN_MAX = 15, INSN_AARCH64 = 4 };

struct explaining {
    const struct cairn_trace *trace;
    cairn_trace_explain_fn fn;
    void *ctx;
};

static const char *call_cost(const struct cairn_trace *t)
{
    if (t->opts.way == CAIRN_TRACE_WAY_BPF || t->opts.way == CAIRN_TRACE_WAY_AUTO)
        return t->opts.enter_only
                   ? "tp_btf at sys_enter: some 0.7 us a hit, 0.1 us every other call of every "
                     "process"
                   : "tp_btf at sys_enter and sys_exit: some 0.9 us a hit, 0.1 us every other call "
                     "of every process";
    if (t->opts.way == CAIRN_TRACE_WAY_PERF)
        return "perf events at sys_enter and sys_exit: some microseconds a hit, for the copy of "
               "the stack, and 0.1 us every other call of every process";
    return t->opts.argv
               ? "seccomp and ptrace: some 10 us where the call begins, and where it ends"
               : "ptrace: some 10 us at the begin and the end of every call, traced or not";
}

static int explain_calls(const struct explaining *e)
{
    int answer = 0;
    for (uint32_t row = 0; row < CAIRN_TRACE_NUMBERS && !answer; row++) {
        if (!e->trace->spec.calls[row].is_wanted)
            continue;
        const struct cairn_trace_spot place = {.size = sizeof place,
                                               .kind = "syscall",
                                               .event = cairn_spec_name(&e->trace->spec, row),
                                               .file = "",
                                               .cost = call_cost(e->trace)};
        answer = e->fn(e->ctx, &place);
    }
    return answer;
}

/* The instruction at that place of a file; its length, 0: it cannot be read. */
static size_t read_insn(const char *path, uint64_t off, uint8_t ret_insn[INSN_MAX])
{
    struct cairn_file file;
    struct cairn_elf elf;
    struct cairn_span code;
    struct cairn_x86_64_insn insn;
    size_t n = 0;
    if (cairn_file_open(path, &file, NULL) < 0)
        return 0;
    if (off < file.bytes.size && cairn_elf_open(file.bytes, &elf, NULL) == CAIRN_OK) {
        const size_t left = file.bytes.size - (size_t)off;
        code = (struct cairn_span){file.bytes.data + off, left < INSN_MAX ? left : INSN_MAX};
        if (elf.machine == EM_X86_64)
            n = cairn_x86_64_insn_take(&insn, code);
        else if (elf.machine == EM_AARCH64 && code.size >= INSN_AARCH64)
            n = INSN_AARCH64;
        if (n > code.size)
            n = 0;
        memcpy(ret_insn, code.data, n);
    }
    cairn_file_close(&file);
    return n;
}

static int explain_probe(const struct explaining *e, const struct cairn_trace_probe_at *at)
{
    uint8_t insn[INSN_MAX];
    const bool is_of_file = cairn_trace_is_of_file(at->place);
    struct cairn_trace_spot place = {
        .size = sizeof place,
        .kind = cairn_spec_kind(&e->trace->spec, CAIRN_TRACE_CALLS + at->number),
        .event = at->event,
        .file = is_of_file && at->path ? at->path : "",
        .off = at->off,
        .insn = insn,
        .cost = cairn_spec_cost(&e->trace->spec, at)};
    if (*place.file)
        place.n_insn = read_insn(place.file, at->off, insn);
    return e->fn(e->ctx, &place);
}

static int explain(struct cairn_trace *t, const struct cairn_trace_opts *opts, struct explaining *e,
                   struct cairn_err *err)
{
    int code = cairn_trace_take_opts(opts, t, err);
    if (code == CAIRN_OK)
        code = cairn_places_list(&t->spec, &t->places, err);
    if (code == CAIRN_OK)
        code = explain_calls(e);
    for (size_t i = 0; i < t->places.n && code == CAIRN_OK; i++)
        if (!cairn_trace_is_end(t->places.items[i].place)) /* it is where it begins */
            code = explain_probe(e, &t->places.items[i]);
    return code;
}

int cairn_trace_explain(const struct cairn_trace_opts *opts, cairn_trace_explain_fn fn, void *ctx,
                        struct cairn_err *err)
{
    struct cairn_trace *t = cairn_alloc(1, sizeof *t);
    struct explaining e = {t, fn, ctx};
    if (!t)
        return cairn_fail_memory(err);
    int code = explain(t, opts, &e, err);
    cairn_trace_free(t);
    return code;
}
