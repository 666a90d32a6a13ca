/* SPDX-License-Identifier: MIT */
/*
 * The near side of names (ask.c has the bytes): what is asked becomes a profile of frames without
 * samples, which a resolver names like any other. It is said to be of another host, so that nothing
 * that runs here is taken for the far end's.
 */
#include <ctype.h>
#include <string.h>

#include <cairn/remote.h>
#include <cairn/resolve.h>

#include "base/buffer.h"
#include "base/module_kind.h"
#include "base/reader.h"
#include "profile/profile.h"
#include "remote/names.h"

/* A name that no host has. */
#define FAR_HOST "-"

/* By less than a whole build ID no file is taken. */
static bool is_build_id(const char *text)
{
    enum { LEAST_DIGITS = 8, MOST_DIGITS = 128 };
    size_t n = 0;
    while (isxdigit((unsigned char)text[n]))
        n++;
    return !text[n] && n >= LEAST_DIGITS && n <= MOST_DIGITS;
}

static int read_module(struct cairn_reader *in, struct cairn_profile *p, uint32_t *ret_module,
                       struct cairn_err *err)
{
    const char *path = cairn_reader_str(in), *build_id = cairn_reader_str(in);
    struct cairn_profile_module module = {0};
    module.start = cairn_reader_uleb(in);
    module.end = cairn_reader_uleb(in);
    module.off = cairn_reader_uleb(in);
    if (in->failed || !is_build_id(build_id) || module.end < module.start)
        return cairn_remote_bad_names(err, in->pos);
    module.path = cairn_profile_text(p, path, strlen(path));
    module.build_id = cairn_profile_text(p, build_id, strlen(build_id));
    if (module.path == UINT32_MAX || module.build_id == UINT32_MAX)
        return cairn_fail_memory(err);
    *ret_module = cairn_profile_add_module(p, &module);
    return *ret_module == UINT32_MAX ? cairn_fail_memory(err) : CAIRN_OK;
}

/* Its frame in the profile; 0 where it is of no file. */
static int read_address(struct cairn_reader *in, struct cairn_profile *p, const uint32_t *modules,
                        uint64_t n_modules, uint32_t *ret_frame, struct cairn_err *err)
{
    uint64_t module = cairn_reader_uleb(in), address = cairn_reader_uleb(in);
    if (in->failed || module >= n_modules || !address)
        return cairn_remote_bad_names(err, in->pos);
    struct cairn_profile_frame frame = {.address = address, .module = modules[module]};
    *ret_frame = 0;
    if (!cairn_module_is_file((enum cairn_module_kind)p->modules[frame.module].kind))
        return CAIRN_OK;
    *ret_frame = cairn_profile_add_frame(p, &frame, NULL, 0);
    return *ret_frame == UINT32_MAX ? cairn_fail_memory(err) : CAIRN_OK;
}

static int read_ask(struct cairn_span ask, struct cairn_profile *p,
                    uint32_t frames[CAIRN_REMOTE_ASK_MAX], uint32_t *ret_n, struct cairn_err *err)
{
    uint32_t modules[CAIRN_REMOTE_MODULES_MAX];
    struct cairn_reader in = cairn_reader_of(ask, false);
    int code = CAIRN_OK;
    uint64_t n_modules = cairn_reader_uleb(&in);
    if (in.failed || n_modules > CAIRN_REMOTE_MODULES_MAX)
        return cairn_remote_bad_names(err, in.pos);
    for (uint64_t i = 0; i < n_modules && code == CAIRN_OK; i++)
        code = read_module(&in, p, &modules[i], err);
    uint64_t n = code == CAIRN_OK ? cairn_reader_uleb(&in) : 0;
    if (code == CAIRN_OK && (in.failed || n > CAIRN_REMOTE_ASK_MAX))
        return cairn_remote_bad_names(err, in.pos);
    for (uint64_t i = 0; i < n && code == CAIRN_OK; i++)
        code = read_address(&in, p, modules, n_modules, &frames[i], err);
    *ret_n = (uint32_t)n;
    return code;
}

static void put_text(struct cairn_buffer *out, const char *text)
{
    cairn_buffer_add(out, text, strlen(text) + 1);
}

static void put_frame(struct cairn_buffer *out, const struct cairn_profile *p, uint32_t number)
{
    const struct cairn_profile_frame *frame = &p->frames[number];
    uint32_t n = frame->n_lines < CAIRN_REMOTE_LINES_MAX ? frame->n_lines : 0;
    cairn_buffer_uleb(out, n);
    cairn_buffer_uleb(out, frame->folded);
    for (uint32_t i = 0; i < n; i++) {
        const struct cairn_profile_line *line = &p->lines[frame->lines + i];
        const struct cairn_profile_function *function = &p->functions[line->function];
        bool same = function->system_name == function->name;
        put_text(out, cairn_strings_get(&p->strings, function->name));
        put_text(out, same ? "" : cairn_strings_get(&p->strings, function->system_name));
        put_text(out, cairn_strings_get(&p->strings, function->file));
        cairn_buffer_uleb(out, function->start_line);
        cairn_buffer_uleb(out, line->line);
    }
}

/* A function that is known by its start alone has no name here; the far end may have one. */
static bool has_name(const struct cairn_profile *p, uint32_t number)
{
    return number && p->frames[number].n_lines && !cairn_profile_is_function_start(p, number, NULL);
}

/* What no frame of the protocol could hold is left to the far end. */
static int put_answer(struct cairn_buffer *out, const struct cairn_profile *p,
                      const uint32_t *frames, uint32_t n, struct cairn_remote_count *count,
                      struct cairn_err *err)
{
    enum { NONE_BYTES = 2 };
    cairn_buffer_uleb(out, n);
    for (uint32_t i = 0; i < n; i++) {
        size_t before = out->size;
        bool named = has_name(p, frames[i]);
        if (named)
            put_frame(out, p, frames[i]);
        if (out->failed)
            return cairn_fail_memory(err);
        if (out->size + (n - i) * NONE_BYTES > CAIRN_REMOTE_FRAME_MAX) {
            out->size = before;
            named = false;
        }
        if (!named)
            cairn_buffer_add(out, "\0\0", NONE_BYTES);
        count->n_asked++;
        count->n_named += named;
    }
    return out->failed ? cairn_fail_memory(err) : CAIRN_OK;
}

int cairn_remote_answer_names(struct cairn_resolver *resolver, const void *ask, size_t size,
                              cairn_write_fn write, void *ctx, struct cairn_remote_count *ret_count,
                              struct cairn_err *err)
{
    uint32_t frames[CAIRN_REMOTE_ASK_MAX], n = 0;
    struct cairn_remote_count count = {.size = ret_count->size};
    struct cairn_profile *p;
    struct cairn_buffer out = {0};
    int code = cairn_profile_new(&p, err);
    if (code < 0)
        return code;
    code = cairn_profile_add_note(p, CAIRN_NOTE_HOST, FAR_HOST);
    if (code < 0)
        code = cairn_fail_memory(err);
    if (code == CAIRN_OK)
        code = read_ask((struct cairn_span){ask, size}, p, frames, &n, err);
    if (code == CAIRN_OK)
        code = cairn_resolve_profile(resolver, p, err);
    if (code == CAIRN_OK)
        code = put_answer(&out, p, frames, n, &count, err);
    if (code == CAIRN_OK && write(ctx, out.data, out.size) != 0)
        code = cairn_fail(err, CAIRN_E_IO, "names: the answer cannot be written");
    if (code == CAIRN_OK)
        *ret_count = count;
    cairn_buffer_done(&out);
    cairn_profile_free(p);
    return code;
}
