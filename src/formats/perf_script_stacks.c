/* SPDX-License-Identifier: MIT */
/*
 * Most lines of such a text were there before, so that each is parsed once, and a frame made of it
 * once. Inlined functions come before the function that holds them, with the same address:
 *
 *     7f1230 inner (inlined)         one frame with two lines: inner is inlined into outer
 *     7f1230 outer (/lib/libx.so)
 */
#include <stdio.h>

#include "base/address.h"
#include "base/alloc.h"
#include "base/module_kind.h"
#include "formats/perf_script.h"

enum { MODULE_BYTES = 256, INLINED_MAX = 64 };

static const uint64_t upper_half = UINT64_C(1) << 63;

void cairn_perf_stacks_done(struct cairn_perf_stacks *stacks)
{
    cairn_strings_done(&stacks->lines);
    cairn_free(stacks->known);
    cairn_table_done(&stacks->placed);
    cairn_free(stacks->steps);
    cairn_free(stacks->frames);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Bytes of "nf_tables" in "nf_tables.ko.xz"; 0: it is no module's file. */
static size_t kernel_object(const char *name)
{
    const char *end = strstr(name, ".ko");
    return end && (!end[3] || end[3] == '.') ? (size_t)(end - name) : 0;
}

/* Of the files of the kernel addresses may be counted from their own beginning. */
static bool is_kernel_file(const char *path)
{
    const char *name = base_name(path);
    return cairn_module_kind_of(path, upper_half) == CAIRN_MODULE_KERNEL ||
           strncmp(name, "vmlinux", 7) == 0 || kernel_object(name);
}

static bool is_perf_map(const char *path)
{
    size_t size = strlen(path);
    return size > 4 && strcmp(path + size - 4, ".map") == 0 && strstr(path, "/perf-");
}

/* "/lib/modules/.../nf-tables.ko.xz" is "[nf_tables]", as the kernel's own list has it. */
static uint32_t kernel_module(struct cairn_profile *p, const char *path)
{
    char text[MODULE_BYTES];
    size_t size = kernel_object(base_name(path));
    if (!*path || cairn_module_kind_of(path, upper_half) == CAIRN_MODULE_KERNEL)
        return cairn_profile_add_kernel(p, 0, "");
    if (size && size < sizeof text - sizeof "[]") {
        snprintf(text, sizeof text, "[%.*s]", (int)size, base_name(path));
        for (char *at = text; *at; at++)
            *at = *at == '-' ? '_' : *at;
        path = text;
    }
    const struct cairn_profile_module module = {.start = upper_half,
                                                .end = UINT64_MAX,
                                                .off = upper_half,
                                                .path = cairn_profile_text(p, path, strlen(path))};
    return module.path == UINT32_MAX ? UINT32_MAX : cairn_profile_add_module(p, &module);
}

/* Where the module lies is not said: it has no range. */
static uint32_t user_module(struct cairn_profile *p, const char *path)
{
    if (cairn_module_kind_of(path, 0) == CAIRN_MODULE_ANONYMOUS || is_perf_map(path))
        return CAIRN_PROFILE_NO_MODULE;
    const struct cairn_profile_module module = {.path = cairn_profile_text(p, path, strlen(path))};
    return module.path == UINT32_MAX ? UINT32_MAX : cairn_profile_add_module(p, &module);
}

static uint32_t text_of(struct cairn_profile *p, struct cairn_span text)
{
    return text.size ? cairn_profile_text(p, (const char *)text.data, text.size) : 0;
}

static bool learn(struct cairn_perf_stacks *stacks, struct cairn_span line,
                  struct cairn_perf_known *known)
{
    struct cairn_profile *p = stacks->p;
    struct cairn_perf_frame frame;
    *known = (struct cairn_perf_known){0};
    if (!cairn_perf_frame_parse(line, &frame))
        return true;
    uint32_t text = text_of(p, frame.module);
    if (text == UINT32_MAX)
        return false;
    const char *path = cairn_strings_get(&p->strings, text);
    bool is_kernel = frame.address >= upper_half || is_kernel_file(path);
    known->is_frame = true;
    known->address = frame.address;
    known->is_inlined = frame.is_inlined;
    known->what = (uint8_t)(is_kernel           ? CAIRN_WHAT_KERNEL
                            : is_perf_map(path) ? CAIRN_WHAT_JIT
                                                : CAIRN_WHAT_NATIVE);
    known->name = text_of(p, frame.name);
    known->module = is_kernel ? kernel_module(p, path) : user_module(p, path);
    return known->name != UINT32_MAX && known->module != UINT32_MAX;
}

/* The number of the line, known from now on; UINT32_MAX: memory is gone. */
static uint32_t number_of(struct cairn_perf_stacks *stacks, struct cairn_span line)
{
    size_t before = stacks->lines.n, old = stacks->cap_known;
    uint32_t number = cairn_strings_add(&stacks->lines, (const char *)line.data, line.size);
    if (number == UINT32_MAX || cairn_grow((void **)&stacks->known, &stacks->cap_known, number + 1,
                                           sizeof *stacks->known) < 0)
        return UINT32_MAX;
    memset(stacks->known + old, 0, (stacks->cap_known - old) * sizeof *stacks->known);
    if (stacks->lines.n != before && !learn(stacks, line, &stacks->known[number]))
        return UINT32_MAX;
    return number;
}

enum cairn_perf_took cairn_perf_stacks_add(struct cairn_perf_stacks *stacks, struct cairn_span line)
{
    uint32_t number = number_of(stacks, line);
    if (number == UINT32_MAX)
        return CAIRN_PERF_NOMEM;
    if (!stacks->known[number].is_frame)
        return CAIRN_PERF_NO_FRAME;
    if (stacks->n_steps == CAIRN_PROFILE_DEPTH_MAX)
        return CAIRN_PERF_TOO_DEEP;
    if (cairn_grow((void **)&stacks->steps, &stacks->cap_steps, stacks->n_steps + 1,
                   sizeof *stacks->steps) < 0)
        return CAIRN_PERF_NOMEM;
    stacks->steps[stacks->n_steps++] = (struct cairn_perf_step){.line = number};
    return CAIRN_PERF_FRAME;
}

void cairn_perf_stacks_drop_first(struct cairn_perf_stacks *stacks)
{
    if (!stacks->n_steps)
        return;
    stacks->n_steps--;
    memmove(stacks->steps, stacks->steps + 1, stacks->n_steps * sizeof *stacks->steps);
}

bool cairn_perf_stacks_place(struct cairn_perf_stacks *stacks, struct cairn_span line)
{
    struct cairn_span file;
    uint32_t number;
    if (!stacks->n_steps || !cairn_perf_place_parse(line, &file, &number))
        return true;
    uint32_t place = number_of(stacks, line);
    if (place != UINT32_MAX)
        stacks->steps[stacks->n_steps - 1].place = place;
    return place != UINT32_MAX;
}

/* A source frame of a step; its function is UINT32_MAX where memory is gone. */
static struct cairn_profile_line line_of(struct cairn_perf_stacks *stacks,
                                         const struct cairn_perf_step *step)
{
    struct cairn_profile *p = stacks->p;
    const struct cairn_perf_known *known = &stacks->known[step->line];
    struct cairn_profile_function function = {.name = known->name, .system_name = known->name};
    struct cairn_profile_line line = {.function = UINT32_MAX};
    if (!known->name) {
        function.name = cairn_profile_text(p, "[unknown]", 9);
        function.system_name = function.name;
    }
    if (step->place) {
        const char *text = cairn_strings_get(&stacks->lines, step->place);
        struct cairn_span all = {(const uint8_t *)text,
                                 cairn_strings_size(&stacks->lines, step->place)};
        struct cairn_span file = {0};
        (void)cairn_perf_place_parse(all, &file, &line.line);
        function.file = text_of(p, file);
    }
    if (function.name != UINT32_MAX && function.file != UINT32_MAX)
        line.function = cairn_profile_add_function(p, &function);
    return line;
}

/* The frame of `n` steps with one address, of which all but the last are inlined. */
static uint32_t make_frame(struct cairn_perf_stacks *stacks, const struct cairn_perf_step *steps,
                           uint32_t n, bool is_leaf)
{
    const struct cairn_perf_known *known = &stacks->known[steps[n - 1].line];
    struct cairn_profile_line lines[INLINED_MAX];
    const struct cairn_profile_frame frame = {
        .address = cairn_lookup_address(known->address,
                                        is_leaf ? CAIRN_ADDRESS_EXACT : CAIRN_ADDRESS_RETURN),
        .module = known->module,
        .what = known->is_inlined ? CAIRN_WHAT_INLINED : known->what,
        .how = CAIRN_HOW_TEXT,
    };
    /* Of no module and no name: its address alone, which a perf map may name later. */
    bool is_bare = n == 1 && !known->name && !steps[0].place && !known->module;
    for (uint32_t i = 0; i < n && !is_bare; i++) {
        lines[i] = line_of(stacks, &steps[i]);
        if (lines[i].function == UINT32_MAX)
            return UINT32_MAX;
    }
    return cairn_profile_add_frame(stacks->p, &frame, is_bare ? NULL : lines, is_bare ? 0 : n);
}

static uint32_t frame_of(struct cairn_perf_stacks *stacks, const struct cairn_perf_step *steps,
                         uint32_t n, bool is_leaf)
{
    struct cairn_perf_known *known = &stacks->known[steps[0].line];
    uint32_t number;
    if (n == 1 && !steps[0].place) {
        if (!known->frame[is_leaf])
            known->frame[is_leaf] = make_frame(stacks, steps, n, is_leaf);
        return known->frame[is_leaf];
    }
    uint64_t key = cairn_hash_bytes(steps, n * sizeof *steps) ^ is_leaf;
    if (cairn_table_find(&stacks->placed, key, &number))
        return number;
    number = make_frame(stacks, steps, n, is_leaf);
    return number != UINT32_MAX && cairn_table_set(&stacks->placed, key, number) < 0 ? UINT32_MAX
                                                                                     : number;
}

/* How many steps from `at` on are one frame. */
static uint32_t steps_of_frame(const struct cairn_perf_stacks *stacks, size_t at)
{
    const struct cairn_perf_known *first = &stacks->known[stacks->steps[at].line];
    uint32_t n = 1;
    for (const struct cairn_perf_known *last = first; last->is_inlined && n < INLINED_MAX; n++) {
        if (at + n == stacks->n_steps)
            return 1;
        last = &stacks->known[stacks->steps[at + n].line];
        if (last->address != first->address)
            return 1;
    }
    return n;
}

uint32_t cairn_perf_stacks_make(struct cairn_perf_stacks *stacks)
{
    size_t n = 0;
    uint32_t stack = 0;
    if (cairn_grow((void **)&stacks->frames, &stacks->cap_frames, stacks->n_steps + 1,
                   sizeof *stacks->frames) < 0)
        return UINT32_MAX;
    bool was_kernel = false;
    for (size_t at = 0; at < stacks->n_steps;) {
        uint32_t n_lines = steps_of_frame(stacks, at);
        bool is_kernel = stacks->known[stacks->steps[at].line].what == CAIRN_WHAT_KERNEL;
        /* Where the kernel was entered, the address is that of the instruction, too. */
        bool is_exact = at == 0 || (was_kernel && !is_kernel);
        was_kernel = is_kernel;
        stacks->frames[n] = frame_of(stacks, &stacks->steps[at], n_lines, is_exact);
        if (stacks->frames[n++] == UINT32_MAX)
            return UINT32_MAX;
        at += n_lines;
    }
    while (n-- > 0 && stack != UINT32_MAX)
        stack = cairn_profile_add_stack(stacks->p, stack, stacks->frames[n]);
    stacks->n_steps = 0;
    return stack;
}
