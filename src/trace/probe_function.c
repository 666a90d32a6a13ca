/* SPDX-License-Identifier: MIT */
#include "trace/probe_function.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/symbolizer.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/escape.h"
#include "symbol/named_functions.h"
#include "symbol/named_line.h"
#include "trace/probe_arguments.h"
#include "trace/probe_file.h"

enum { LINE_DIGITS = 9 };

/* What one event adds. */
struct adding {
    struct cairn_probes *probes;
    const char *event; /* as the user wrote it */
    const char *file, *path, *function;
    struct cairn_module *module; /* of the file; NULL: an address is given */
    bool is_pattern;
    uint64_t off; /* behind the function's begin */
    struct cairn_err *err;
};

static bool is_return(const struct adding *to)
{
    return strncmp(to->event, "uretprobe:", 10) == 0 || cairn_probe_is_pair(to->event);
}

static int find(const struct adding *to, struct cairn_named_functions *ret_functions)
{
    return cairn_module_find_functions(to->module, to->function, to->is_pattern, ret_functions,
                                       to->err);
}

static int fail_none(const struct adding *to, size_t n_resolvers)
{
    if (n_resolvers) {
        cairn_fail(to->err, CAIRN_E_SUPPORT,
                   "%s: %s is one of several functions, of which the loader chooses (IFUNC)",
                   to->path, to->function);
        cairn_hint(to->err, "'*%.64s*' takes those whose names the file, or its debug file, has",
                   to->function);
        return CAIRN_E_SUPPORT;
    }
    cairn_fail(to->err, CAIRN_E_MISSING, "%s: no function %s \"%s\"", to->path,
               to->is_pattern ? "matches" : "is named", to->function);
    cairn_hint(to->err, "nm -D and nm list the functions of a file; one that is inlined everywhere "
                        "has none; 0xADDRESS works, too, and patterns with * and ?");
    return CAIRN_E_MISSING;
}

/* The event's name: of a pattern with the function's own. */
static void put_event(const struct adding *to, const char *name, struct cairn_buffer *out)
{
    if (!to->is_pattern) {
        cairn_buffer_str(out, to->event);
        return;
    }
    cairn_buffer_printf(out, "%.*s:%s:", (int)strcspn(to->event, ":"), to->event, to->file);
    cairn_escape_terminal(out, name, strlen(name));
}

/* The place of `vaddr`, `off` bytes behind a begin of a function; `*how` is that of the dearest. */
static int place(const struct adding *to, const char *name, uint64_t vaddr, uint64_t off,
                 struct cairn_usdt_place *ret_place, const char **how, struct cairn_err *err)
{
    const char *one;
    int code = cairn_probe_place(to->path, name, vaddr, off, &ret_place->off, &one, err);
    if (code == CAIRN_OK && !is_return(to) && (!*how || strstr(one, "single-step")))
        *how = one;
    return code;
}

/* Adds the event at `places`, which are taken over. */
static int append(const struct adding *to, const char *name, struct cairn_usdt_place *places,
                  size_t n_places, const char *how)
{
    struct cairn_buffer event = {0};
    struct cairn_probe *probe = NULL;
    int code = CAIRN_OK;
    put_event(to, name, &event);
    if (event.failed) {
        code = cairn_fail_memory(to->err);
    } else {
        probe = cairn_probes_append(to->probes, cairn_buffer_text(&event), to->path, name, to->err);
        code = probe ? CAIRN_OK : to->err ? (int)to->err->code : CAIRN_E_NOMEM;
    }
    cairn_buffer_done(&event);
    if (!probe) {
        cairn_free(places);
        return code;
    }
    probe->at.off = places->off;
    probe->how = how ? how : probe->how;
    probe->places = places;
    probe->n_places = n_places;
    return CAIRN_OK;
}

/* Did the compiler change what the function is given? */
static bool is_clone(const char *name)
{
    return strstr(name, ".isra") || strstr(name, ".constprop") || strstr(name, ".part");
}

/* The event that was added last. Behind a function's begin registers are other things; functions of
 * one name need not have the same arguments. */
static int describe(const struct adding *to, const struct cairn_named_function *copies, size_t n)
{
    if (!to->module || to->off || n != 1 || is_clone(copies->name))
        return CAIRN_OK;
    return cairn_probe_read_arguments(to->module, copies->vaddr,
                                      &to->probes->items[to->probes->n - 1], to->err);
}

/* One event at `n` copies. Of a pattern those that are no code are left out. */
static int add_event(const struct adding *to, const struct cairn_named_function *copies, size_t n)
{
    struct cairn_usdt_place *places = cairn_alloc(n, sizeof *places);
    const char *how = NULL;
    size_t n_places = 0;
    int code = places ? CAIRN_OK : cairn_fail_memory(to->err);
    for (size_t i = 0; i < n && code == CAIRN_OK; i++) {
        code = place(to, copies[i].name, copies[i].vaddr, to->off, &places[n_places], &how,
                     to->is_pattern ? NULL : to->err);
        n_places += code == CAIRN_OK;
        if (code < 0 && code != CAIRN_E_NOMEM && to->is_pattern)
            code = CAIRN_OK;
    }
    if (code != CAIRN_OK || !n_places) {
        cairn_free(places);
        return code;
    }
    code = append(to, copies->name, places, n_places, how);
    return code == CAIRN_OK ? describe(to, copies, n) : code;
}

/* How many functions from `first` on have its name. */
static size_t copies_at(const struct cairn_named_functions *functions, size_t first)
{
    size_t n = 1;
    while (first + n < functions->n &&
           strcmp(functions->items[first + n].name, functions->items[first].name) == 0)
        n++;
    return n;
}

static int add_all(const struct adding *to, const struct cairn_named_functions *functions)
{
    const size_t first = to->probes->n;
    size_t n_names = 0, n;
    int code = CAIRN_OK;
    for (size_t i = 0; i < functions->n; i += copies_at(functions, i))
        n_names++;
    if (n_names > CAIRN_TRACE_PROBES - first) {
        cairn_fail(to->err, CAIRN_E_LIMIT, "%s: %zu functions match, and %zu events can be added",
                   to->event, n_names, (size_t)CAIRN_TRACE_PROBES - first);
        cairn_hint(to->err, "a longer pattern matches fewer of them");
        return CAIRN_E_LIMIT;
    }
    for (size_t i = 0; i < functions->n && code == CAIRN_OK; i += n) {
        n = copies_at(functions, i);
        code = add_event(to, &functions->items[i], n);
    }
    if (code == CAIRN_OK && to->is_pattern && to->probes->n > first) {
        to->probes->items[first].pattern = cairn_strdup(to->event);
        to->probes->items[first].n_matched = to->probes->n - first;
    }
    return code == CAIRN_OK && to->probes->n == first ? fail_none(to, 0) : code;
}

static int add_address(const struct adding *to)
{
    char *end;
    struct cairn_named_function one = {.name = (char *)(uintptr_t)to->function};
    one.vaddr = strtoull(to->function, &end, 16);
    if (*end)
        return cairn_fail(to->err, CAIRN_E_ARG, "%s: is no address", to->function);
    return add_event(to, &one, 1);
}

/* "source.c:42": cuts it before the line. */
static bool cut_line(char *text, uint32_t *ret_line)
{
    char *colon = strrchr(text, ':');
    if (!colon || colon == text || colon[-1] == ':')
        return false;
    const size_t n = strspn(colon + 1, "0123456789");
    if (!n || n > LINE_DIGITS || colon[1 + n])
        return false;
    *ret_line = (uint32_t)strtoul(colon + 1, NULL, 10);
    *colon = '\0';
    return true;
}

static int fail_line(const struct adding *to, const struct cairn_named_line *found, uint32_t line)
{
    if (!found->n_files) {
        cairn_fail(to->err, CAIRN_E_MISSING, "%s: no source file is called \"%s\"", to->path,
                   to->function);
        cairn_hint(to->err,
                   "the end of its path is enough; readelf --debug-dump=line has the names");
        return CAIRN_E_MISSING;
    }
    cairn_fail(to->err, CAIRN_E_MISSING, "%s: line %" PRIu32 " of %s has no code", to->path, line,
               to->function);
    if (found->before && found->behind)
        cairn_hint(to->err, "the nearest lines that have are %" PRIu32 " and %" PRIu32,
                   found->before, found->behind);
    else if (found->before || found->behind)
        cairn_hint(to->err, "the nearest line that has is %" PRIu32,
                   found->before ? found->before : found->behind);
    return CAIRN_E_MISSING;
}

/* An instruction begins there, if it does so counted from the function's begin: a debug file of
 * another build must not break the target. */
static int place_line(const struct adding *to, struct cairn_module *module,
                      const struct cairn_named_line *found, uint32_t line)
{
    struct cairn_usdt_place *places = cairn_alloc(found->n, sizeof *places);
    const char *how = NULL;
    int code = places ? CAIRN_OK : cairn_fail_memory(to->err);
    for (size_t i = 0; i < found->n && code == CAIRN_OK; i++) {
        const uint64_t vaddr = found->vaddrs[i];
        uint64_t from = vaddr, end;
        code = cairn_module_find_function(module, vaddr, &from, &end, to->err);
        if (code == 0)
            code = cairn_fail(to->err, CAIRN_E_SUPPORT,
                              "%s: line %" PRIu32 " of %s is in code without unwind tables: where "
                              "its instructions begin is not known",
                              to->path, line, to->function);
        else if (code > 0)
            code = place(to, to->function, from, vaddr - from, &places[i], &how, to->err);
    }
    if (code == CAIRN_OK) {
        code = append(to, to->function, places, found->n, how);
        if (code == CAIRN_OK)
            to->probes->items[to->probes->n - 1].is_line = true;
        return code;
    }
    cairn_free(places);
    return code;
}

static int add_line(const struct adding *to, uint32_t line)
{
    const struct cairn_symbolizer_opts opts = {.size = sizeof opts};
    struct cairn_symbolizer *symbolizer;
    struct cairn_module *module;
    struct cairn_named_line found = {0};
    if (is_return(to))
        return cairn_fail(to->err, CAIRN_E_ARG, "%s: a line does not return; uprobe: has lines",
                          to->event);
    int code = cairn_symbolizer_new(&opts, &symbolizer, to->err);
    if (code < 0)
        return code;
    code = cairn_symbolizer_open_file(symbolizer, to->path, &module, to->err);
    if (code == CAIRN_OK)
        code = cairn_module_find_line(module, to->function, line, &found, to->err);
    if (code == CAIRN_E_MISSING)
        cairn_hint(to->err, "it was built without -g, and its debug file is not here");
    if (code == CAIRN_OK)
        code = found.n ? place_line(to, module, &found, line) : fail_line(to, &found, line);
    cairn_named_line_done(&found);
    cairn_symbolizer_free(symbolizer);
    return code;
}

static int add_found(struct adding *to)
{
    struct cairn_named_functions functions = {0};
    int code = find(to, &functions);
    if (code == CAIRN_OK && !functions.n && strpbrk(to->function, "*?")) { /* operator* is a name */
        to->is_pattern = true;
        cairn_named_functions_done(&functions);
        code = to->off ? cairn_fail(to->err, CAIRN_E_ARG,
                                    "%s: an offset needs the name of one function", to->event)
                       : find(to, &functions);
    }
    if (code == CAIRN_OK)
        code = functions.n ? add_all(to, &functions) : fail_none(to, functions.n_resolvers);
    cairn_named_functions_done(&functions);
    return code;
}

static int add_named(struct adding *to)
{
    const struct cairn_symbolizer_opts opts = {.size = sizeof opts};
    struct cairn_symbolizer *symbolizer;
    int code = cairn_symbolizer_new(&opts, &symbolizer, to->err);
    if (code < 0)
        return code;
    code = cairn_symbolizer_open_file(symbolizer, to->path, &to->module, to->err);
    if (code == CAIRN_OK)
        code = add_found(to);
    cairn_symbolizer_free(symbolizer);
    return code;
}

int cairn_probes_add_functions(struct cairn_probes *probes, const char *event, char *file,
                               char *function, struct cairn_err *err)
{
    struct cairn_buffer path = {0};
    uint32_t line;
    struct adding to = {
        .probes = probes, .event = event, .file = file, .function = function, .err = err};
    int code = cairn_probe_cut_offset(event, function, &to.off, err);
    if (code == CAIRN_OK && to.off && is_return(&to))
        code = cairn_fail(err, CAIRN_E_ARG, "%s: a function returns from no offset", event);
    if (code == CAIRN_OK)
        code = cairn_probe_find_file(probes, file, &path, err);
    if (code == CAIRN_OK) {
        to.path = cairn_buffer_text(&path);
        if (strncmp(function, "0x", 2) == 0)
            code = add_address(&to);
        else
            code = cut_line(function, &line) ? add_line(&to, line) : add_named(&to);
    }
    cairn_buffer_done(&path);
    return code;
}
