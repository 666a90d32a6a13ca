/* SPDX-License-Identifier: MIT */
#include "trace/names.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"

enum { PATH_BYTES = 64 };

void cairn_trace_names_done(struct cairn_trace_names *frames)
{
    cairn_resolver_free(frames->resolver);
    cairn_profile_free(frames->named);
    cairn_table_done(&frames->by_frame);
    *frames = (struct cairn_trace_names){0};
}

/* Both profiles number their modules alike. */
static int copy_modules(struct cairn_trace_names *frames, const struct cairn_profile *raw)
{
    struct cairn_profile *p = frames->named;
    for (size_t i = p->n_modules; i < raw->n_modules; i++) {
        struct cairn_profile_module module = raw->modules[i];
        const char *path = cairn_strings_get(&raw->strings, module.path);
        const char *build_id = cairn_strings_get(&raw->strings, module.build_id);
        module.path = cairn_profile_text(p, path, strlen(path));
        module.build_id = cairn_profile_text(p, build_id, strlen(build_id));
        if (module.path == UINT32_MAX || module.build_id == UINT32_MAX ||
            cairn_profile_add_module(p, &module) == UINT32_MAX)
            return CAIRN_E_NOMEM;
    }
    return CAIRN_OK;
}

/* Lines of frames that are no addresses: of interpreters, and of gaps. */
static int copy_lines(struct cairn_profile *p, const struct cairn_profile *raw,
                      const struct cairn_profile_frame *frame,
                      struct cairn_profile_line **ret_lines)
{
    struct cairn_profile_line *lines = cairn_alloc(frame->n_lines + 1, sizeof *lines);
    for (uint32_t i = 0; lines && i < frame->n_lines; i++) {
        const struct cairn_profile_line *line = &raw->lines[frame->lines + i];
        struct cairn_profile_function function = raw->functions[line->function];
        uint32_t *const texts[] = {&function.name, &function.system_name, &function.file};
        bool ok = true;
        for (size_t k = 0; k < 3; k++) {
            const char *text = cairn_strings_get(&raw->strings, *texts[k]);
            *texts[k] = cairn_profile_text(p, text, strlen(text));
            ok = ok && *texts[k] != UINT32_MAX;
        }
        lines[i] = (struct cairn_profile_line){
            ok ? cairn_profile_add_function(p, &function) : UINT32_MAX, line->line};
        if (lines[i].function == UINT32_MAX) {
            cairn_free(lines);
            return CAIRN_E_NOMEM;
        }
    }
    *ret_lines = lines;
    return lines ? CAIRN_OK : CAIRN_E_NOMEM;
}

static int copy_frame(struct cairn_trace_names *frames, const struct cairn_profile *raw,
                      uint32_t number)
{
    const struct cairn_profile_frame *frame = &raw->frames[number];
    struct cairn_profile_line *lines;
    if (copy_modules(frames, raw) < 0 || copy_lines(frames->named, raw, frame, &lines) < 0)
        return CAIRN_E_NOMEM;
    uint32_t copy = cairn_profile_add_frame(frames->named, frame, lines, frame->n_lines);
    cairn_free(lines);
    return copy == UINT32_MAX ? CAIRN_E_NOMEM : cairn_table_set(&frames->by_frame, number, copy);
}

int cairn_trace_names_add(struct cairn_trace_names *frames, const struct cairn_profile *raw,
                          uint32_t stack)
{
    uint32_t copy;
    if (!frames->named && cairn_profile_new(&frames->named, NULL) < 0)
        return CAIRN_E_NOMEM;
    for (; stack; stack = raw->stacks[stack].parent) {
        const uint32_t number = raw->stacks[stack].frame;
        if (!cairn_table_find(&frames->by_frame, number, &copy) &&
            copy_frame(frames, raw, number) < 0)
            return CAIRN_E_NOMEM;
    }
    return CAIRN_OK;
}

int cairn_trace_names_open_resolver(const struct cairn_trace_names *frames, const int *fds,
                                    size_t n_fds, struct cairn_resolver **ret_resolver,
                                    struct cairn_err *err)
{
    char root[PATH_BYTES];
    struct cairn_resolve_opts opts = {.size = sizeof opts,
                                      .live = 1,
                                      .pid = frames->pid,
                                      .module_files = fds,
                                      .n_module_files = n_fds};
    if (frames->symbols)
        opts.symbols = *frames->symbols;
    opts.symbols.size = sizeof opts.symbols;
    snprintf(root, sizeof root, "/proc/%d/root", frames->pid);
    if (frames->pid > 0)
        opts.symbols.root = root;
    return cairn_resolver_new(&opts, ret_resolver, err);
}

/* Another resolver where files came: it borrows their list. */
int cairn_trace_names_name(struct cairn_trace_names *frames, const int *fds, size_t n_fds,
                           struct cairn_err *err)
{
    int code = CAIRN_OK;
    if (!frames->named || frames->named->n_frames == frames->n_named)
        return CAIRN_OK;
    if (!frames->resolver || frames->n_files != n_fds) {
        cairn_resolver_free(frames->resolver);
        frames->resolver = NULL;
        code = cairn_trace_names_open_resolver(frames, fds, n_fds, &frames->resolver, err);
        frames->n_files = n_fds;
    }
    if (code == CAIRN_OK)
        code = cairn_resolve_profile(frames->resolver, frames->named, err);
    frames->n_named = frames->named->n_frames;
    return code;
}
