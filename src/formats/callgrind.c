/* SPDX-License-Identifier: MIT */
/*
 * A profile for callgrind_annotate and kcachegrind, as text. Source: valgrind,
 * callgrind/docs/cl-format.xml.
 *
 *     ob=(1) /bin/prog     library, file and function; a number alone once it was named
 *     fl=(1) prog.c
 *     fn=(1) main
 *     12 5 50              line, values of its own
 *     cob=(1)
 *     cfi=(1)
 *     cfn=(2) work
 *     calls=3 20           a number of calls, the line where work() begins
 *     14 7 70              line of the call, values of work() and all that it calls
 */
#include "formats/callgrind.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

#include <cairn/version.h>

#include "base/alloc.h"
#include "base/error.h"
#include "formats/format.h"

enum { FLUSH_BYTES = 1 << 18 };

struct writing {
    const struct cairn_profile *p;
    cairn_write_fn write;
    void *ctx;
    struct cairn_err *err;
    struct cairn_buffer out;
    struct cairn_callgrind graph;
    size_t shown;                                 /* the value type that comes first */
    bool *named_libs, *named_files, *named_nodes; /* by number: its text is written already */
};

/* A text ends with its line. */
static void put_text(struct writing *w, const char *text)
{
    for (; *text; text++)
        cairn_buffer_char(&w->out, (unsigned char)*text < ' ' || *text == 0x7f ? ' ' : *text);
}

/* "fl=(3) file.c", and "fl=(3)" from then on. */
static void put_place(struct writing *w, const char *key, uint32_t number, const char *text,
                      bool *named)
{
    cairn_buffer_str(&w->out, key);
    cairn_buffer_char(&w->out, '(');
    cairn_buffer_u64(&w->out, (uint64_t)number + 1);
    cairn_buffer_char(&w->out, ')');
    if (!*named) {
        cairn_buffer_char(&w->out, ' ');
        put_text(w, text);
    }
    *named = true;
}

static void put_function(struct writing *w, uint32_t node, bool called)
{
    const struct cairn_viewer *v = &w->graph.viewer;
    struct cairn_buffer name = {0};
    uint32_t lib = (uint32_t)v->n_libs, file = 0; /* one more than there are: "???" */
    const char *lib_text = "???", *file_text = "???";
    if (node == CAIRN_CALLGRIND_ALL) {
        cairn_buffer_str(&name, "[all]");
    } else {
        const struct cairn_viewer_function *function = &v->functions[w->graph.nodes[node].function];
        cairn_buffer_str(&name, cairn_strings_get(&v->texts, function->name));
        if (w->graph.nodes[node].level > 1)
            cairn_buffer_printf(&name, "'%u", w->graph.nodes[node].level);
        if (function->lib != CAIRN_VIEWER_NONE) {
            lib = function->lib;
            lib_text = cairn_strings_get(&w->p->strings, v->libs[lib].path);
        }
        if (function->file) {
            file = function->file;
            file_text = cairn_strings_get(&v->texts, file);
        }
    }
    put_place(w, called ? "cob=" : "ob=", lib, lib_text, &w->named_libs[lib]);
    put_place(w, called ? "\ncfi=" : "\nfl=", file, file_text, &w->named_files[file]);
    put_place(w, called ? "\ncfn=" : "\nfn=", node, cairn_buffer_text(&name),
              &w->named_nodes[node]);
    cairn_buffer_char(&w->out, '\n');
    w->out.failed |= name.failed;
    cairn_buffer_done(&name);
}

/* The value that is shown first leads. */
static size_t type_at(const struct writing *w, size_t column)
{
    return column == 0 ? w->shown : column <= w->shown ? column - 1 : column;
}

static void put_values(struct writing *w, const int64_t *values)
{
    for (size_t i = 0; i < w->p->n_types; i++) {
        cairn_buffer_char(&w->out, ' ');
        cairn_buffer_u64(&w->out, (uint64_t)values[type_at(w, i)]);
    }
    cairn_buffer_char(&w->out, '\n');
}

static void put_cost(struct writing *w, const struct cairn_callgrind_cost *cost, bool starts)
{
    if (starts) {
        cairn_buffer_char(&w->out, '\n');
        put_function(w, cost->node, false);
    }
    if (cost->callee != CAIRN_CALLGRIND_ALL) {
        uint32_t function = w->graph.nodes[cost->callee].function;
        put_function(w, cost->callee, true);
        cairn_buffer_printf(&w->out, "calls=%" PRIu32 " %" PRIu32 "\n", cost->n,
                            w->graph.viewer.functions[function].line);
    }
    cairn_buffer_u64(&w->out, cost->line);
    put_values(w, w->graph.sums + cost->at);
}

/* Names of events are words. */
static void put_word(struct writing *w, const char *text)
{
    for (; *text; text++)
        cairn_buffer_char(&w->out, isalnum((unsigned char)*text) ? *text : '_');
}

/* "events: samples cpu_nanoseconds" */
static void put_events(struct writing *w)
{
    cairn_buffer_str(&w->out, "events:");
    for (size_t i = 0; i < w->p->n_types; i++) {
        const struct cairn_value_type *type = &w->p->public_types[type_at(w, i)];
        cairn_buffer_char(&w->out, ' ');
        put_word(w, *type->type ? type->type : "values");
        if (*type->unit && strcmp(type->unit, "count") != 0) {
            cairn_buffer_char(&w->out, '_');
            put_word(w, type->unit);
        }
    }
    cairn_buffer_char(&w->out, '\n');
}

static void put_head(struct writing *w)
{
    const struct cairn_profile *p = w->p;
    cairn_buffer_printf(&w->out, "# callgrind format\nversion: 1\ncreator: cairn %s\n",
                        cairn_version());
    for (size_t i = 0; i < p->n_notes; i++) {
        bool is_command = p->notes[i].kind == CAIRN_NOTE_COMMAND;
        cairn_buffer_str(&w->out, is_command ? "cmd: " : "desc: ");
        put_text(w, is_command ? cairn_strings_get(&p->strings, p->notes[i].text)
                               : p->public_comments[i]);
        cairn_buffer_char(&w->out, '\n');
    }
    cairn_buffer_str(&w->out, "positions: line\n");
    put_events(w);
}

static int flush(struct writing *w)
{
    if (w->out.failed)
        return cairn_fail_memory(w->err);
    if (w->out.size && w->write(w->ctx, w->out.data, w->out.size) != 0)
        return cairn_fail(w->err, CAIRN_E_IO, "the output could not be written");
    cairn_buffer_clear(&w->out);
    return CAIRN_OK;
}

static int put_all(struct writing *w)
{
    int64_t whole[CAIRN_PROFILE_TYPES_MAX] = {0};
    int result = CAIRN_OK;
    for (size_t i = 0; i < w->p->n_samples * w->p->n_types; i++)
        whole[i % w->p->n_types] =
            cairn_profile_add_clamped(whole[i % w->p->n_types], w->p->values[i]);
    put_head(w);
    for (size_t i = 0; i < w->graph.n_costs && result == CAIRN_OK; i++) {
        put_cost(w, &w->graph.costs[i],
                 i == 0 || w->graph.costs[i].node != w->graph.costs[i - 1].node);
        if (w->out.size >= FLUSH_BYTES)
            result = flush(w);
    }
    if (result < 0)
        return result;
    cairn_buffer_str(&w->out, "\ntotals:");
    put_values(w, whole);
    return flush(w);
}

static int check_signs(const struct writing *w, struct cairn_err *err)
{
    for (size_t type = 0; type < w->p->n_types; type++) {
        if (!cairn_tracks_goes_below_zero(w->p, type))
            continue;
        cairn_fail(err, CAIRN_E_ARG,
                   "the values \"%s\" go below zero, and callgrind has none that do",
                   w->p->public_types[type].type);
        cairn_hint(err, "the Firefox Profiler shows them: --to firefox");
        return CAIRN_E_ARG;
    }
    return CAIRN_OK;
}

static int prepare(struct writing *w, struct cairn_err *err)
{
    w->shown = cairn_profile_default_value(w->p);
    int result = check_signs(w, err);
    if (result == CAIRN_OK)
        result = cairn_callgrind_build(w->p, &w->graph, err);
    if (result < 0)
        return result;
    const struct cairn_viewer *v = &w->graph.viewer;
    w->named_libs = cairn_alloc(v->n_libs + 1, sizeof *w->named_libs);
    w->named_files = cairn_alloc(v->texts.n + 1, sizeof *w->named_files);
    w->named_nodes = cairn_alloc(w->graph.n_nodes + 1, sizeof *w->named_nodes);
    return w->named_libs && w->named_files && w->named_nodes ? CAIRN_OK : cairn_fail_memory(err);
}

static int write_callgrind(const struct cairn_profile *profile, cairn_write_fn write, void *ctx,
                           struct cairn_err *err)
{
    struct writing w = {.p = profile, .write = write, .ctx = ctx, .err = err};
    int result = prepare(&w, err);
    if (result == CAIRN_OK)
        result = put_all(&w);
    cairn_buffer_done(&w.out);
    cairn_callgrind_done(&w.graph);
    cairn_free(w.named_libs);
    cairn_free(w.named_files);
    cairn_free(w.named_nodes);
    return result;
}

const struct cairn_format_row cairn_format_callgrind = {
    .format = CAIRN_FORMAT_CALLGRIND,
    .name = "callgrind",
    .endings = (const char *const[]){".callgrind", NULL},
    .start = "callgrind.out",
    .write = write_callgrind,
};
