/* SPDX-License-Identifier: MIT */
/*
 * Names in place: a frame that has an address and no lines gets lines. Its module is the one that
 * the profile says; a frame in none is looked for in the maps. Stacks and samples stay as they are.
 */
#include "profile/profile.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/function_start.h"
#include "proc/kernel.h"
#include "resolve/frame_pids.h"
#include "resolve/lacking.h"
#include "resolve/resolver.h"

enum { PATH_BYTES = 256 };

/* Of the whole program, as the log's sink is: what knows names is beside all resolvers. */
static cairn_names_fn first_asked;
static void *first_ctx;

struct naming {
    struct cairn_resolver *resolver;
    struct cairn_profile *profile;
    struct cairn_address_space space; /* region i - 1 is module i of the profile */
    int32_t *pids;                    /* by frame; NULL: nothing depends on them */
    struct cairn_err *err;
};

static int add_regions(struct naming *n)
{
    struct cairn_strings *strings = &n->resolver->modules.strings;
    for (size_t i = 1; i < n->profile->n_modules; i++) {
        const struct cairn_profile_module *module = &n->profile->modules[i];
        struct cairn_region region = {
            .start = module->start,
            .end = module->end,
            .off = module->off,
            .kind = (enum cairn_module_kind)module->kind,
            .executable = true,
            .path = cairn_strings_add_str(strings,
                                          cairn_strings_get(&n->profile->strings, module->path)),
            .build_id = cairn_strings_add_str(
                strings, cairn_strings_get(&n->profile->strings, module->build_id)),
        };
        if (region.path == UINT32_MAX || region.build_id == UINT32_MAX)
            return cairn_fail_memory(n->err);
        region.has_fd = i < n->resolver->n_files && n->resolver->files[i] >= 0;
        region.fd = region.has_fd ? n->resolver->files[i] : -1;
        int result = cairn_address_space_add(&n->space, &region, n->err);
        if (result < 0)
            return result;
    }
    return cairn_address_space_finish(&n->space, &n->resolver->modules, n->err);
}

/* A profile whose mapping has no range counts its addresses from the module's load base. */
static int place_in_rangeless(struct naming *n, struct cairn_region *region, uint64_t rel,
                              struct cairn_resolve_place *ret_place)
{
    int result = cairn_modules_get(&n->resolver->modules, region->path, region->build_id,
                                   &region->module, n->err);
    if (result < 0)
        return result;
    struct cairn_resolve_place place = {.module = region->module, .cause = region->module->missing};
    if (place.cause == CAIRN_CAUSE_NONE &&
        !cairn_module_vaddr_of_rel(region->module->module, rel, &place.vaddr))
        place.cause = CAIRN_CAUSE_BEFORE_SEGMENT;
    *ret_place = place;
    return CAIRN_OK;
}

static bool holds(const struct cairn_region *region, uint64_t va)
{
    return region->start <= va && va < region->end;
}

/* What several processes have at one address may be other code in each of them: then no map of one
 * of them is asked. */
static int pid_of(const struct naming *n, const struct cairn_profile_frame *frame)
{
    int32_t pid = n->pids ? n->pids[frame - n->profile->frames] : CAIRN_FRAME_PID_NONE;
    return pid == CAIRN_FRAME_PID_MANY ? CAIRN_FRAME_PID_NONE : pid;
}

/* Code made at run time lies in memory that a profile may have as a module. */
static int find_in_maps(struct naming *n, const struct cairn_profile_frame *frame,
                        const struct cairn_region *region, struct cairn_resolve_place *ret_place,
                        bool *ret_found)
{
    struct cairn_resolver *r = n->resolver;
    *ret_found = false;
    if (!cairn_module_is_made(region->kind))
        return CAIRN_OK;
    return cairn_jit_find(&r->jit, &r->modules, pid_of(n, frame), frame->address, ret_place,
                          ret_found, n->err);
}

static int find_place(struct naming *n, const struct cairn_profile_frame *frame,
                      struct cairn_resolve_place *ret_place)
{
    struct cairn_resolver *resolver = n->resolver;
    struct cairn_region *region = NULL;
    struct cairn_address_space *space = &n->space;
    if (frame->module > 0 && frame->module <= space->n) {
        bool found;
        region = &space->regions[frame->module - 1];
        int code = find_in_maps(n, frame, region, ret_place, &found);
        if (found || code < 0)
            return code;
        if (!region->start && !region->end)
            return place_in_rangeless(n, region, frame->address, ret_place);
        /* One mapping may stand for all of a module's segments. */
        for (size_t i = 0; !holds(region, frame->address) && i < space->n; i++)
            if (space->regions[i].path == region->path && holds(&space->regions[i], frame->address))
                region = &space->regions[i];
        if (!cairn_module_is_file(region->kind) || holds(region, frame->address))
            return cairn_address_space_place(space, &resolver->modules, region, frame->address,
                                             ret_place, n->err);
    }
    return cairn_resolver_place(resolver, pid_of(n, frame), frame->address, ret_place, n->err);
}

int cairn_resolver_frame_vaddr(struct cairn_resolver *resolver,
                               const struct cairn_frame_info *frame, uint64_t *ret_vaddr,
                               struct cairn_err *err)
{
    struct cairn_strings *strings = &resolver->modules.strings;
    struct cairn_resolve_place place;
    struct cairn_region region = {
        .start = frame->module_start,
        .end = frame->module_end,
        .off = frame->module_off,
        .base = frame->module_start - frame->module_off,
        .executable = true,
        .path = cairn_strings_add_str(strings, frame->module),
        .build_id = cairn_strings_add_str(strings, frame->build_id),
    };
    if (region.path == UINT32_MAX || region.build_id == UINT32_MAX)
        return cairn_fail_memory(err);
    int result = cairn_address_space_place(&resolver->space, &resolver->modules, &region,
                                           frame->address, &place, err);
    if (result < 0)
        return result;
    if (place.cause != CAIRN_CAUSE_NONE || place.module->kind != CAIRN_KNOWN_FILE)
        return 0;
    *ret_vaddr = place.vaddr;
    return 1;
}

static uint32_t text_number(struct cairn_profile *p, const char *text)
{
    return text ? cairn_profile_text(p, text, strlen(text)) : 0;
}

/* A line of that function. */
static int add_function(struct naming *n, const struct cairn_profile_function *function,
                        uint32_t line)
{
    struct cairn_profile *p = n->profile;
    if (function->name == UINT32_MAX || function->system_name == UINT32_MAX ||
        function->file == UINT32_MAX)
        return cairn_fail_memory(n->err);
    uint32_t number = cairn_profile_add_function(p, function);
    if (number == UINT32_MAX || p->n_lines >= UINT32_MAX ||
        cairn_grow((void **)&p->lines, &p->cap_lines, p->n_lines + 1, sizeof *p->lines) < 0)
        return cairn_fail_memory(n->err);
    p->lines[p->n_lines++] = (struct cairn_profile_line){number, line};
    return CAIRN_OK;
}

/* One line of the frame; innermost first, as the symbolizer has them. */
static int add_line(struct naming *n, const struct cairn_symbol_frame *from)
{
    struct cairn_profile *p = n->profile;
    struct cairn_profile_function function = {
        .name = text_number(p, from->function ? from->function : "??"),
        .system_name = text_number(p, from->linkage ? from->linkage : from->function),
        .file = text_number(p, from->file),
        .start_line = from->start_line,
    };
    return add_function(n, &function, from->line);
}

/* A function without a name: all of its addresses have one row, named by where it begins. */
static int add_function_start(struct naming *n, struct cairn_profile_frame *frame,
                              const struct cairn_resolve_place *place)
{
    struct cairn_profile *p = n->profile;
    const struct cairn_profile_module *module = &p->modules[frame->module];
    const char *name = cairn_profile_module_name(p, frame->module);
    uint64_t off = frame->address - (place->vaddr - place->start) - module->start + module->off;
    struct cairn_buffer text = {0};
    if (!*name)
        return CAIRN_OK;
    cairn_function_start_put(&text, name, off);
    const char *start = cairn_buffer_text(&text);
    size_t size = cairn_function_start_bare(start, text.size);
    struct cairn_profile_function function = {
        .name = text.failed ? UINT32_MAX : cairn_profile_text(p, start, text.size),
        .system_name = text.failed ? UINT32_MAX : cairn_profile_text(p, start, size),
    };
    cairn_buffer_done(&text);
    uint32_t first = (uint32_t)p->n_lines;
    int result = add_function(n, &function, 0);
    if (result < 0)
        return result;
    frame->lines = first;
    frame->n_lines = 1;
    return CAIRN_OK;
}

static int add_lines(struct naming *n, struct cairn_profile_frame *frame,
                     const struct cairn_symbol *symbol)
{
    struct cairn_profile_module *module = &n->profile->modules[frame->module];
    size_t first = n->profile->n_lines;
    bool files = false, lines = false, folded = false;
    for (uint32_t i = 0; i < symbol->n_frames; i++) {
        int result = add_line(n, &symbol->frames[i]);
        if (result < 0) {
            n->profile->n_lines = first;
            return result;
        }
        files |= symbol->frames[i].file != NULL;
        lines |= symbol->frames[i].line != 0;
        folded |= symbol->frames[i].folded;
    }
    frame->lines = (uint32_t)first;
    frame->n_lines = symbol->n_frames;
    frame->folded |= folded;
    if (frame->module != CAIRN_PROFILE_NO_MODULE) {
        module->has_functions = true;
        module->has_files |= files;
        module->has_lines |= lines;
        module->has_inlines |= lines; /* whoever knows lines knows what was inlined */
    }
    return CAIRN_OK;
}

/* A function of a kernel module lies in that, and not in the kernel at large. */
static int move_to_kernel_module(struct naming *n, struct cairn_profile_frame *frame,
                                 const char *name)
{
    char path[PATH_BYTES];
    struct cairn_profile *p = n->profile;
    struct cairn_profile_module module = p->modules[frame->module];
    snprintf(path, sizeof path, "[%s]", name);
    module.path = cairn_profile_text(p, path, strlen(path));
    uint32_t number = module.path == UINT32_MAX ? UINT32_MAX : cairn_profile_add_module(p, &module);
    if (number == UINT32_MAX)
        return cairn_fail_memory(n->err);
    frame->module = number;
    return CAIRN_OK;
}

/* How it was found stays as the capture says. */
static int set_what(struct naming *n, struct cairn_profile_frame *frame,
                    const struct cairn_resolve_place *place, const struct cairn_symbol *symbol)
{
    enum cairn_frame_what what = cairn_resolver_what(place, symbol);
    if (what != CAIRN_WHAT_NATIVE)
        frame->what = (uint8_t)what;
    if (what == CAIRN_WHAT_KERNEL && symbol->frames[0].module && frame->module)
        return move_to_kernel_module(n, frame, symbol->frames[0].module);
    return CAIRN_OK;
}

static int name_frame(struct naming *n, struct cairn_profile_frame *frame)
{
    struct cairn_resolve_summary *summary = &n->resolver->summary;
    struct cairn_resolve_place place;
    struct cairn_symbol symbol = {0};
    int result = find_place(n, frame, &place);
    if (result == CAIRN_OK && place.cause == CAIRN_CAUSE_NONE)
        result = cairn_resolver_symbolize(n->resolver, &place, &symbol, n->err);
    if (result == CAIRN_OK && place.cause == CAIRN_CAUSE_NONE)
        result = add_lines(n, frame, &symbol);
    if (result == CAIRN_OK && place.cause == CAIRN_CAUSE_NONE)
        result = set_what(n, frame, &place, &symbol);
    if (result == CAIRN_OK && place.has_start)
        result = add_function_start(n, frame, &place);
    if (result < 0)
        return result;
    cairn_resolver_count(n->resolver, &place);
    if (place.cause == CAIRN_CAUSE_NONE)
        summary->n_named++;
    else
        summary->frames_by_cause[place.cause]++;
    return CAIRN_OK;
}

/* Symbols may name later what an earlier run knew by its start alone. */
static bool is_named(const struct cairn_profile *p, size_t frame)
{
    return p->frames[frame].n_lines && !cairn_profile_is_function_start(p, (uint32_t)frame, NULL);
}

/* Frames that no sample has, as of stacks that were walked in vain, need no names; where there are
 * no samples, all do. */
/* Code that an interpreter compiled, whose own frames tell what it is. */
static bool is_made_by_guest(const struct cairn_profile *p, const struct cairn_profile_frame *frame)
{
    return frame->own &&
           (!frame->module || p->modules[frame->module].kind == CAIRN_MODULE_ANONYMOUS);
}

static int name_frames(struct naming *n)
{
    struct cairn_profile *p = n->profile;
    struct cairn_profile_reach reach;
    int result = CAIRN_OK;
    if (!cairn_profile_reach(p, &reach))
        return cairn_fail_memory(n->err);
    for (size_t i = 0; i < p->n_samples; i++)
        n->resolver->summary.n_samples += cairn_profile_weight(p, i);
    for (size_t i = 1; i < p->n_frames && result == CAIRN_OK; i++) {
        if ((p->n_samples && !reach.frames[i]) || is_made_by_guest(p, &p->frames[i]))
            continue;
        n->resolver->summary.n_frames++;
        if (p->frames[i].address && !is_named(p, i))
            result = name_frame(n, &p->frames[i]);
    }
    cairn_profile_reach_done(&reach);
    return result;
}

/* The module that lacks the name of a frame; NULL: it has one, or lies in no module. */
static struct cairn_known_module *lacking(const struct naming *n, uint32_t frame)
{
    uint32_t module = n->profile->frames[frame].module;
    return module && module <= n->space.n && !is_named(n->profile, frame)
               ? n->space.regions[module - 1].module
               : NULL;
}

/* What each module's missing names cost the reader: each sample counts for the module of its
 * innermost frame without a name. Without memory the modules are listed in another order. */
static void weigh_modules(struct naming *n)
{
    struct cairn_profile *p = n->profile;
    size_t type = cairn_profile_default_value(p);
    struct cairn_known_module **by_stack = cairn_alloc(p->n_stacks, sizeof(void *));
    for (size_t i = 1; by_stack && i < p->n_stacks; i++) {
        struct cairn_known_module *known = lacking(n, p->stacks[i].frame);
        by_stack[i] = known ? known : by_stack[p->stacks[i].parent];
    }
    for (size_t i = 0; by_stack && i < p->n_samples; i++) {
        int64_t value = p->n_types ? p->values[i * p->n_types + type] : 1;
        struct cairn_known_module *known = by_stack[p->samples[i].stack];
        if (known && value > 0)
            known->weight += (uint64_t)value;
    }
    cairn_free(by_stack);
}

void cairn_resolve_ask_first(cairn_names_fn ask, void *ctx)
{
    first_asked = ask;
    first_ctx = ctx;
}

int cairn_resolve_profile(struct cairn_resolver *resolver, struct cairn_profile *profile,
                          struct cairn_err *err)
{
    if (first_asked) {
        int code = first_asked(first_ctx, profile, err);
        if (code < 0)
            return code;
    }
    struct naming naming = {.resolver = resolver, .profile = profile, .err = err};
    int result = cairn_lacking_fetch(resolver, profile, err);
    if (result < 0)
        return result;
    resolver->modules.kernel_release = cairn_profile_note(profile, CAIRN_NOTE_KERNEL, 0);
    const char *host = cairn_profile_note(profile, CAIRN_NOTE_HOST, 0);
    resolver->modules.is_elsewhere = cairn_host_is_other(host);
    resolver->modules.is_of_here = host && !resolver->modules.is_elsewhere;
    result = add_regions(&naming);
    if (result == CAIRN_OK && cairn_jit_knows_any(&resolver->jit))
        result = cairn_frame_pids(profile, &naming.pids, err);
    if (result == CAIRN_OK)
        result = name_frames(&naming);
    if (result == CAIRN_OK && cairn_modules_want_weights(&resolver->modules))
        weigh_modules(&naming);
    cairn_address_space_done(&naming.space);
    cairn_free(naming.pids);
    resolver->modules.kernel_release = NULL;
    resolver->modules.is_elsewhere = resolver->modules.is_of_here = false;
    /* Frames were made unique by what they held before. */
    cairn_profile_drop_index(profile);
    if (result == CAIRN_OK)
        cairn_resolver_report(resolver, profile->n_modules > 1);
    return result;
}
