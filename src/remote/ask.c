/* SPDX-License-Identifier: MIT */
/*
 * Names by asking: the far end says which bytes of which build it means, and the near end, which
 * has the symbols, says what they are called.
 *
 *     ASK     n, n times: path\0 build-id\0 start end off     the modules
 *             n, n times: module address                      module counts from 0
 *     ANSWER  n, n times: n_lines folded, n_lines times: name\0 linkage\0 file\0 start_line line
 *
 * All numbers are ULEB128. A frame without lines has no name there. An empty answer names nothing.
 */
#include <string.h>

#include <cairn/remote.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/module_kind.h"
#include "base/reader.h"
#include "profile/profile.h"
#include "remote/names.h"

struct asking {
    struct cairn_profile *profile;
    uint32_t *numbers; /* by module: its number in this ASK, from 1; 0: it is not in it */
    uint32_t *frames;  /* that are asked now */
    uint32_t n_frames, n_modules;
    struct cairn_buffer modules, addresses, ask;
    struct cairn_err *err;
};

/* Frames of files alone, for their bytes are known by the build ID; all others are named where they
 * are. A function that is known by its start alone may get a name. */
static bool wants_name(const struct cairn_profile *p, uint32_t number)
{
    const struct cairn_profile_frame *frame = &p->frames[number];
    const struct cairn_profile_module *module = &p->modules[frame->module];
    return frame->address && frame->module && module->build_id &&
           cairn_module_is_file((enum cairn_module_kind)module->kind) &&
           (!frame->n_lines || cairn_profile_is_function_start(p, number, NULL));
}

static void add_module(struct asking *a, const struct cairn_profile_module *module)
{
    const struct cairn_strings *strings = &a->profile->strings;
    const char *texts[] = {cairn_strings_get(strings, module->path),
                           cairn_strings_get(strings, module->build_id)};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        cairn_buffer_add(&a->modules, texts[i], strlen(texts[i]) + 1);
    cairn_buffer_uleb(&a->modules, module->start);
    cairn_buffer_uleb(&a->modules, module->end);
    cairn_buffer_uleb(&a->modules, module->off);
}

static void add_frame(struct asking *a, uint32_t number)
{
    const struct cairn_profile_frame *frame = &a->profile->frames[number];
    if (!a->numbers[frame->module]) {
        a->numbers[frame->module] = ++a->n_modules;
        add_module(a, &a->profile->modules[frame->module]);
    }
    cairn_buffer_uleb(&a->addresses, a->numbers[frame->module] - 1);
    cairn_buffer_uleb(&a->addresses, frame->address);
    a->frames[a->n_frames++] = number;
}

static uint32_t take_text(struct cairn_profile *p, struct cairn_reader *in)
{
    const char *text = cairn_reader_str(in);
    return cairn_profile_text(p, text, strlen(text));
}

static int read_line(struct asking *a, struct cairn_reader *in, struct cairn_profile_line *ret_line)
{
    struct cairn_profile *p = a->profile;
    struct cairn_profile_function function = {.name = take_text(p, in)};
    function.system_name = take_text(p, in);
    function.file = take_text(p, in);
    uint64_t start_line = cairn_reader_uleb(in), line = cairn_reader_uleb(in);
    if (in->failed || !function.name || start_line > UINT32_MAX || line > UINT32_MAX)
        return cairn_remote_bad_names(a->err, in->pos);
    function.start_line = (uint32_t)start_line;
    if (!function.system_name)
        function.system_name = function.name;
    if (function.name == UINT32_MAX || function.system_name == UINT32_MAX ||
        function.file == UINT32_MAX)
        return cairn_fail_memory(a->err);
    *ret_line =
        (struct cairn_profile_line){cairn_profile_add_function(p, &function), (uint32_t)line};
    return ret_line->function == UINT32_MAX ? cairn_fail_memory(a->err) : CAIRN_OK;
}

static void mark_module(struct cairn_profile *p, uint32_t module, uint32_t first, uint32_t n)
{
    for (uint32_t i = first; i < first + n; i++) {
        p->modules[module].has_functions = true;
        p->modules[module].has_files |= p->functions[p->lines[i].function].file != 0;
        p->modules[module].has_lines |= p->lines[i].line != 0;
        p->modules[module].has_inlines |= p->lines[i].line != 0;
    }
}

static int read_frame(struct asking *a, struct cairn_reader *in, uint32_t number)
{
    struct cairn_profile *p = a->profile;
    uint64_t n = cairn_reader_uleb(in), folded = cairn_reader_uleb(in);
    size_t first = p->n_lines;
    if (in->failed || n > CAIRN_REMOTE_LINES_MAX || folded > 1)
        return cairn_remote_bad_names(a->err, in->pos);
    if (first + n > UINT32_MAX ||
        cairn_grow((void **)&p->lines, &p->cap_lines, first + (size_t)n, sizeof *p->lines) < 0)
        return cairn_fail_memory(a->err);
    for (uint64_t i = 0; i < n; i++) {
        int code = read_line(a, in, &p->lines[first + i]);
        if (code < 0)
            return code;
    }
    if (!n)
        return CAIRN_OK;
    p->n_lines = first + (size_t)n;
    p->frames[number].lines = (uint32_t)first;
    p->frames[number].n_lines = (uint32_t)n;
    p->frames[number].folded |= folded != 0;
    mark_module(p, p->frames[number].module, (uint32_t)first, (uint32_t)n);
    return CAIRN_OK;
}

static int read_answer(struct asking *a, struct cairn_span answer)
{
    struct cairn_reader in = cairn_reader_of(answer, false);
    if (!answer.size)
        return CAIRN_OK;
    uint64_t n = cairn_reader_uleb(&in);
    if (in.failed || n != a->n_frames)
        return cairn_remote_bad_names(a->err, in.pos);
    for (uint32_t i = 0; i < a->n_frames; i++) {
        int code = read_frame(a, &in, a->frames[i]);
        if (code < 0)
            return code;
    }
    return CAIRN_OK;
}

static void forget(struct asking *a)
{
    memset(a->numbers, 0, a->profile->n_modules * sizeof *a->numbers);
    a->n_frames = a->n_modules = 0;
    cairn_buffer_clear(&a->modules);
    cairn_buffer_clear(&a->addresses);
    cairn_buffer_clear(&a->ask);
}

static int exchange_some(struct asking *a, cairn_remote_exchange_fn exchange, void *ctx)
{
    const void *answer = NULL;
    size_t size = 0;
    cairn_buffer_uleb(&a->ask, a->n_modules);
    cairn_buffer_add(&a->ask, a->modules.data, a->modules.size);
    cairn_buffer_uleb(&a->ask, a->n_frames);
    cairn_buffer_add(&a->ask, a->addresses.data, a->addresses.size);
    if (a->modules.failed || a->addresses.failed || a->ask.failed)
        return cairn_fail_memory(a->err);
    int code = CAIRN_OK; /* paths beyond all measure are named where they are */
    if (a->ask.size <= CAIRN_REMOTE_FRAME_MAX)
        code = exchange(ctx, a->ask.data, a->ask.size, &answer, &size, a->err);
    if (code == CAIRN_OK)
        code = read_answer(a, (struct cairn_span){answer, size});
    forget(a);
    return code;
}

int cairn_remote_ask_names(struct cairn_profile *profile, cairn_remote_exchange_fn exchange,
                           void *ctx, struct cairn_err *err)
{
    struct asking a = {.profile = profile, .err = err};
    struct cairn_profile_reach reach = {0};
    int code = CAIRN_OK;
    a.numbers = cairn_alloc(profile->n_modules + 1, sizeof *a.numbers);
    a.frames = cairn_alloc(CAIRN_REMOTE_ASK_MAX, sizeof *a.frames);
    if (!a.numbers || !a.frames || !cairn_profile_reach(profile, &reach))
        code = cairn_fail_memory(err);
    for (uint32_t i = 1; i < profile->n_frames && code == CAIRN_OK; i++) {
        if ((profile->n_samples && !reach.frames[i]) || !wants_name(profile, i))
            continue;
        add_frame(&a, i);
        if (a.n_frames == CAIRN_REMOTE_ASK_MAX)
            code = exchange_some(&a, exchange, ctx);
    }
    if (code == CAIRN_OK && a.n_frames)
        code = exchange_some(&a, exchange, ctx);
    cairn_profile_drop_index(profile); /* frames were made unique by what they held before */
    cairn_profile_reach_done(&reach);
    cairn_free(a.numbers);
    cairn_free(a.frames);
    cairn_buffer_done(&a.modules);
    cairn_buffer_done(&a.addresses);
    cairn_buffer_done(&a.ask);
    return code;
}
