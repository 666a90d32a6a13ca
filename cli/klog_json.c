/* SPDX-License-Identifier: MIT */
/* A dump as one JSON object on one line: docs/formats/klog-json.md. */
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "cli/klog.h"

static void add_number(struct cairn_json *json, const char *name, int value)
{
    if (value >= 0)
        cairn_json_i64(json, name, value);
    else
        cairn_json_str(json, name, NULL);
}

static void add_text(struct cairn_json *json, const char *name, const char *text)
{
    cairn_json_str(json, name, *text ? text : NULL);
}

static void add_head(struct cairn_json *json, const struct cairn_klog_dump *dump)
{
    static const char *const kinds[] = {"capture", "trace", "fault", "proc"};
    cairn_json_str(json, "kind", kinds[dump->kind]);
    add_text(json, "trigger", dump->title);
    add_text(json, "section", dump->section);
    add_number(json, "pid", dump->pid);
    add_number(json, "process", dump->tgid);
    add_text(json, "comm", dump->comm);
    add_number(json, "cpu", dump->cpu);
    if (dump->is_32_bit)
        cairn_json_u64(json, "bits", 32);
    add_text(json, "time", dump->time);
    cairn_json_u64(json, "boot", dump->boot);
    cairn_json_u64(json, "line", dump->line);
    if (dump->printed)
        cairn_json_u64(json, "number", dump->printed);
    if (dump->same_as)
        cairn_json_u64(json, "same_as", dump->same_as);
    add_text(json, "kernel_build_id", dump->build_id);
    cairn_json_bool(json, "headless", dump->is_headless);
    cairn_json_bool(json, "cut_short", dump->is_cut_short);
    cairn_json_bool(json, "user_supported", dump->is_user_supported);
    add_text(json, "no_user", dump->no_user);
    cairn_json_bool(json, "thread_unknown", dump->is_whose);
    cairn_json_bool(json, "mixed", dump->is_mixed);
    cairn_json_bool(json, "open_ended", dump->is_open_ended);
    cairn_json_open(json, "others", '[');
    for (size_t i = 0; i < dump->n_others && i < CAIRN_KLOG_OTHERS_MAX; i++)
        add_number(json, NULL, dump->others[i]);
    cairn_json_close(json, ']');
}

static void add_line(struct cairn_json *json, const struct cairn_symbol_frame *line)
{
    cairn_json_open(json, NULL, '{');
    cairn_json_str(json, "function", line->function);
    cairn_json_str(json, "file", line->file);
    if (line->line)
        cairn_json_u64(json, "line", line->line);
    else
        cairn_json_str(json, "line", NULL);
    cairn_json_close(json, '}');
}

static void add_frame(struct cairn_json *json, const struct cairn_klog_frame *frame,
                      const struct cairn_resolved_frame *found)
{
    static const struct {
        enum cairn_klog_mark mark;
        const char *name;
    } marks[] = {{CAIRN_KLOG_UNPROVEN, "unproven"}, {CAIRN_KLOG_EXACT, "exact"},
                 {CAIRN_KLOG_INLINED, "inlined"},   {CAIRN_KLOG_HOLE, "hole"},
                 {CAIRN_KLOG_CUT, "cut"},           {CAIRN_KLOG_MAYBE, "maybe"},
                 {CAIRN_KLOG_NO_CODE, "no_code"}};
    bool is_user = frame->part == CAIRN_KLOG_USER;
    cairn_json_open(json, NULL, '{');
    cairn_json_str(json, "part", is_user ? "user" : "kernel");
    cairn_json_u64(json, "index", frame->index);
    if (frame->va) {
        cairn_json_hex(json, "address", found->va ? found->va : frame->va);
        cairn_json_hex(json, "printed", frame->va);
    }
    add_text(json, "text", frame->text);
    if (found->has_place) {
        cairn_json_str(json, "path", found->path);
        cairn_json_hex(json, "offset", found->off);
    }
    cairn_json_str(json, "unnamed",
                   found->cause == CAIRN_CAUSE_NONE ? NULL
                   : found->is_garbage              ? "no executable mapping"
                                                    : cairn_cause_text(found->cause));
    cairn_json_open(json, "marks", '[');
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (frame->marks & marks[i].mark)
            cairn_json_str(json, NULL, marks[i].name);
    cairn_json_close(json, ']');
    cairn_json_open(json, "frames", '[');
    for (uint32_t i = 0; i < found->n_lines; i++)
        add_line(json, &found->lines[i]);
    cairn_json_close(json, ']');
    cairn_json_close(json, '}');
}

int cli_klog_put_json(struct cli_klog *klog, const struct cairn_klog_dump *dump, int space,
                      struct cairn_err *err)
{
    struct cairn_json json = {.out = &klog->out, .compact = true};
    size_t n, left;
    int code = cli_klog_usable(klog, dump, space, &n, &left, err);
    cairn_json_open(&json, NULL, '{');
    add_head(&json, dump);
    cairn_json_open(&json, "stack", '[');
    n += left > 0; /* with the value that is no address */
    for (size_t i = 0; i < n && code == CAIRN_OK; i++) {
        struct cairn_resolved_frame found = {.size = sizeof found};
        code = cairn_resolver_klog_frame(klog->resolver, dump, i, space, &found, err);
        if (code == CAIRN_OK)
            add_frame(&json, &dump->frames[i], &found);
    }
    cairn_json_close(&json, ']');
    cairn_json_u64(&json, "left_out", dump->n_frames - n);
    cairn_json_close(&json, '}'); /* with a line break */
    return code;
}
