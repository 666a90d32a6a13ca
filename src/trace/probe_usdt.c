/* SPDX-License-Identifier: MIT */
#include "trace/probe_usdt.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "trace/probe_file.h"
#include "trace/usdt_files.h"

enum { PARTS_MAX = 3 };

/* What is looked for; `file` NULL: in all files that targets show. */
struct wanted {
    const char *file, *provider, *name;
};

/* A search in one file or several. */
struct search {
    struct cairn_probes *probes;
    struct wanted wanted;
    bool is_wide;                /* files that have no probes, or damaged ones, are passed over */
    size_t n;                    /* probes that were found */
    cairn_trace_list_usdt_fn fn; /* NULL: they are added */
    void *ctx;
    struct cairn_err *err;
};

static bool is_file_name(const char *text)
{
    return strchr(text, '/') || strstr(text, ".so");
}

static bool has_targets(const struct cairn_probes *probes)
{
    return probes->n_pids || probes->command;
}

/* The parts between colons; more than PARTS_MAX: PARTS_MAX + 1. */
static size_t split(char *text, char *parts[PARTS_MAX])
{
    size_t n = 0;
    for (char *at = text; at; n++) {
        char *colon = strchr(at, ':');
        if (n == PARTS_MAX)
            return n + 1;
        parts[n] = at;
        if (colon)
            *colon++ = '\0';
        at = colon;
    }
    return n;
}

/* Of two parts the first is a file if it looks like one, or no target shows any. */
static bool understand(const struct cairn_probes *probes, char *text, bool is_list,
                       struct wanted *ret_wanted)
{
    char *parts[PARTS_MAX] = {0};
    const size_t n = split(text, parts);
    struct wanted wanted = {NULL, "*", "*"};
    if (n > PARTS_MAX)
        return false;
    const bool has_file =
        n == PARTS_MAX || is_file_name(parts[0]) || (is_list && *parts[0] && !has_targets(probes));
    if (has_file && strcmp(parts[0], "*") != 0)
        wanted.file = parts[0];
    if (n == PARTS_MAX || (n == 2 && !has_file))
        wanted.provider = parts[n - 2];
    else if (n == 1 && !has_file && *parts[0])
        wanted.provider = parts[0];
    if (n > 1)
        wanted.name = parts[n - 1];
    *ret_wanted = wanted;
    return is_list || (n > 1 && *parts[0] && *wanted.provider && *wanted.name);
}

static int make_places(struct cairn_usdt_file *file, const struct cairn_usdt_probe *from,
                       struct cairn_usdt_place **ret_places, size_t *ret_n, struct cairn_err *err)
{
    struct cairn_usdt_place *places;
    size_t n = 0;
    int code = CAIRN_OK;
    if (from->n > CAIRN_TRACE_PLACES)
        return cairn_fail(err, CAIRN_E_LIMIT, "%s:%s has %zu places, at most %d can be attached to",
                          from->notes->provider, from->notes->name, from->n, CAIRN_TRACE_PLACES);
    places = cairn_alloc(from->n, sizeof *places);
    if (!places)
        return cairn_fail_memory(err);
    for (size_t i = 0; i < from->n && code == CAIRN_OK; i++)
        if (!i || from->notes[i].vaddr != from->notes[i - 1].vaddr)
            code = cairn_usdt_place(file, &from->notes[i], &places[n++], err);
    if (code < 0) {
        cairn_free(places);
        return code;
    }
    *ret_places = places;
    *ret_n = n;
    return CAIRN_OK;
}

static int add_probe(struct search *search, struct cairn_usdt_file *file, const char *path,
                     const char *shown, const struct cairn_usdt_probe *from, struct cairn_err *err)
{
    struct cairn_buffer event = {0};
    struct cairn_usdt_place *places = NULL;
    size_t n = 0;
    int code = make_places(file, from, &places, &n, err);
    if (code < 0)
        return cairn_fail_in(err, code, shown);
    cairn_buffer_printf(&event, "usdt:%s:%s:%s", shown, from->notes->provider, from->notes->name);
    struct cairn_probe *probe = event.failed
                                    ? NULL
                                    : cairn_probes_append(search->probes, cairn_buffer_text(&event),
                                                          path, from->notes->name, err);
    cairn_buffer_done(&event);
    if (!probe) {
        cairn_free(places);
        return err && err->code ? err->code : CAIRN_E_NOMEM;
    }
    probe->places = places;
    probe->n_places = n;
    cairn_usdt_describe(places, n, &probe->call);
    return CAIRN_OK;
}

static int show_probe(const struct search *search, const char *shown,
                      const struct cairn_usdt_probe *from)
{
    struct cairn_trace_usdt probe = {.size = sizeof probe,
                                     .file = shown,
                                     .provider = from->notes->provider,
                                     .name = from->notes->name,
                                     .args = from->notes->args,
                                     .has_semaphore = from->notes->semaphore != 0};
    for (size_t i = 0; i < from->n; i++)
        probe.n_places += !i || from->notes[i].vaddr != from->notes[i - 1].vaddr;
    return search->fn(search->ctx, &probe);
}

/* Of a search in many files one that is damaged loses its own probes. */
static bool is_passed_over(const struct search *search, int code)
{
    return search->is_wide && code < 0 && code != CAIRN_E_NOMEM && code != CAIRN_E_LIMIT;
}

static int search_file(void *ctx, const char *path, const char *shown)
{
    struct search *search = ctx;
    struct cairn_usdt_file file = {0};
    struct cairn_usdt_probe probe;
    struct cairn_err err = {0};
    size_t at = 0, before = search->n;
    int code = cairn_usdt_open(path, &file, &err);
    if (is_passed_over(search, code)) {
        if (code != CAIRN_E_MISSING)
            cairn_log_err(CAIRN_LOG_WARNING, &err);
        return CAIRN_OK;
    }
    while (code == CAIRN_OK &&
           cairn_usdt_next(&file, search->wanted.provider, search->wanted.name, &at, &probe)) {
        code = search->fn ? show_probe(search, shown, &probe)
                          : add_probe(search, &file, path, shown, &probe, &err);
        search->n += code == CAIRN_OK;
        if (!search->fn && is_passed_over(search, code)) {
            cairn_log_err(CAIRN_LOG_WARNING, &err);
            code = CAIRN_OK;
        }
    }
    if (code == CAIRN_OK && search->n == before && !search->is_wide) {
        const struct cairn_elf_usdt_note *nearest =
            cairn_usdt_nearest(&file, search->wanted.provider, search->wanted.name);
        code = cairn_fail(
            &err, CAIRN_E_MISSING, "%s: has no static probe %s:%s; the most like it is %s:%s",
            shown, search->wanted.provider, search->wanted.name, nearest->provider, nearest->name);
        cairn_hint(&err, "cairn trace --list 'usdt:%s:*' prints all of them", shown);
    }
    if (code < 0 && search->err && err.code)
        *search->err = err;
    cairn_usdt_close(&file);
    return code;
}

static int search_named(struct search *search)
{
    struct cairn_buffer path = {0};
    int code = cairn_probe_find_file(search->probes, search->wanted.file, &path, search->err);
    if (code == CAIRN_OK)
        code = search_file(search, cairn_buffer_text(&path), search->wanted.file);
    cairn_buffer_done(&path);
    return code;
}

static int search_all(struct search *search)
{
    if (!has_targets(search->probes)) {
        cairn_fail(search->err, CAIRN_E_ARG, "usdt: in which file? No process or command shows it");
        cairn_hint(search->err, "usdt:FILE:PROVIDER:NAME names it; or give --pid PID");
        return CAIRN_E_ARG;
    }
    search->is_wide = true;
    int code = cairn_usdt_each_file(search->probes, search_file, search, search->err);
    if (code || search->n)
        return code;
    cairn_fail(search->err, CAIRN_E_MISSING,
               "usdt:%s:%s: no file of the target has such a static probe", search->wanted.provider,
               search->wanted.name);
    cairn_hint(search->err, search->probes->command
                                ? "a library that the command loads later has to be named: "
                                  "usdt:FILE:PROVIDER:NAME"
                                : "cairn trace --list usdt: --pid PID prints all of them");
    return CAIRN_E_MISSING;
}

int cairn_probes_add_static(struct cairn_probes *probes, const char *event, char *rest,
                            struct cairn_err *err)
{
    struct search search = {.probes = probes, .err = err};
    if (!understand(probes, rest, false, &search.wanted))
        return cairn_fail(err, CAIRN_E_ARG,
                          "event \"%.128s\": expected usdt:FILE:PROVIDER:NAME or "
                          "usdt:PROVIDER:NAME",
                          event);
    return search.wanted.file ? search_named(&search) : search_all(&search);
}

int cairn_probes_list_static(const struct cairn_probes *probes, const char *pattern,
                             cairn_trace_list_usdt_fn fn, void *ctx, struct cairn_err *err)
{
    struct cairn_probes targets = *probes;
    struct search search = {.probes = &targets, .fn = fn, .ctx = ctx, .err = err};
    char *text = cairn_strdup(pattern);
    int code = CAIRN_OK;
    if (!text)
        return cairn_fail_memory(err);
    if (!understand(&targets, text, true, &search.wanted))
        code =
            cairn_fail(err, CAIRN_E_ARG, "usdt:%.128s: expected usdt:FILE:PROVIDER:NAME", pattern);
    if (code == CAIRN_OK)
        code = search.wanted.file ? search_named(&search) : search_all(&search);
    cairn_free(text);
    return code;
}
