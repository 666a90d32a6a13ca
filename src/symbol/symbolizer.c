/* SPDX-License-Identifier: MIT */
/* The public face: a symbolizer and its look-ups. */
#include "symbol/symbolizer.h"

#include "base/address.h"
#include "base/alloc.h"
#include "base/budget.h"
#include "base/error.h"
#include "symbol/frames.h"
#include "symbol/listed.h"

int cairn_symbolizer_new(const struct cairn_symbolizer_opts *opts,
                         struct cairn_symbolizer **ret_symbolizer, struct cairn_err *err)
{
    struct cairn_symbolizer_opts o = {0};
    if (opts)
        memcpy(&o, opts, opts->size < sizeof o ? opts->size : sizeof o);
    if (opts && opts->size < offsetof(struct cairn_symbolizer_opts, names))
        return cairn_fail(err, CAIRN_E_ARG, "options of the symbolizer have size %zu", opts->size);
    struct cairn_symbolizer *s = cairn_alloc(1, sizeof *s);
    if (!s)
        return cairn_fail_memory(err);
    struct cairn_debugfile_places places = {
        .symbol_dirs = o.symbol_dirs,
        .n_symbol_dirs = o.n_symbol_dirs,
        .debug_dir = o.debug_dir,
        .root = o.root,
        .allow_mismatch = o.allow_mismatch != 0,
        .no_local_files = o.no_local_files != 0,
        .fetches = true,
    };
    cairn_budget_renew();
    s->memory_bytes = o.memory_bytes ? o.memory_bytes : SIZE_MAX;
    s->no_inlines = o.no_inlines != 0;
    s->no_debug_info = o.no_debug_info != 0;
    s->discriminators = o.discriminators != 0;
    s->symbol_files = o.symbol_files != 0;
    s->demangler.names = o.names;
    s->way = (struct cairn_way_settings){.use = o.index,
                                         .n_threads = o.n_threads,
                                         .memory_bytes = s->memory_bytes,
                                         .small_bytes = CAIRN_WAY_SMALL_BYTES};
    int code = cairn_debugfile_finder_new(&places, &s->finder, err);
    if (code == CAIRN_OK && o.use_cache && !o.no_debug_info)
        code = cairn_cache_new(o.cache_dir, o.cache_max_bytes, &s->way.cache, err);
    if (code < 0) {
        cairn_symbolizer_free(s);
        return code;
    }
    *ret_symbolizer = s;
    return CAIRN_OK;
}

void cairn_symbolizer_free(struct cairn_symbolizer *s)
{
    if (!s)
        return;
    cairn_symbolizer_close_all(s);
    cairn_cache_free(s->way.cache);
    cairn_frames_done(&s->frames);
    cairn_demangler_done(&s->demangler);
    cairn_debugfile_finder_free(s->finder);
    cairn_free(s);
}

/* What reads as zeros gives wrong answers, not none: the module is lost. */
static int check_cut(const struct cairn_module *module, struct cairn_err *err)
{
    bool image = cairn_file_was_cut(&module->found.image);
    if (!image && !cairn_file_was_cut(&module->found.debug))
        return CAIRN_OK;
    cairn_fail(err, CAIRN_E_IO, "%s: was shortened while it was read",
               image || !module->debug_path ? module->path : module->debug_path);
    cairn_hint(err, "run again when nobody writes to it; copy over it with install(1) or mv(1), "
                    "which put a new file in its place");
    return CAIRN_E_IO;
}

/* The first frame that was found has a line of its own, and not that of a call. */
static bool tells_discriminator(const struct cairn_symbolizer *s, const struct cairn_module *module)
{
    return s->discriminators && !s->no_inlines && !module->is_listed && s->frames.n &&
           s->frames.frames[0].file;
}

/* A frame that came out of the symbol table alone. */
static bool wants_symbol_file(const struct cairn_symbolizer *s, const struct cairn_module *module)
{
    const struct cairn_symbol_frame *frame = s->frames.frames;
    return s->symbol_files && !module->is_listed && s->frames.n == 1 && !frame->file &&
           frame->source == CAIRN_SOURCE_SYMTAB;
}

int cairn_symbolizer_look_up(struct cairn_symbolizer *s, struct cairn_module *module,
                             uint64_t vaddr, struct cairn_symbol *ret_symbol, struct cairn_err *err)
{
    struct cairn_symbol answer = {.state = CAIRN_SYMBOL_OUTSIDE};
    struct cairn_frames_request request = {.module = module,
                                           .demangler = &s->demangler,
                                           .vaddr = vaddr,
                                           .now = s->now,
                                           .no_inlines = s->no_inlines};
    if (module->is_listed || cairn_module_holds(module, vaddr)) {
        int code = module->is_listed ? cairn_listed_find(&request, &s->frames, err)
                                     : cairn_frames_find(&request, &s->frames, err);
        if (code < 0)
            return code;
        answer.state = CAIRN_SYMBOL_NO_SYMBOL;
        answer.frames = s->frames.frames;
        answer.n_frames = (uint32_t)s->frames.n;
        if (tells_discriminator(s, module))
            s->frames.frames[0].discriminator = cairn_module_find_discriminator(module, vaddr);
        if (wants_symbol_file(s, module))
            s->frames.frames[0].file =
                cairn_module_file_of_symbol(module, vaddr, s->frames.frames[0].linkage);
        for (size_t i = 0; i < s->frames.n; i++)
            if (s->frames.frames[i].function)
                answer.state = CAIRN_SYMBOL_NAMED;
    }
    if (cairn_file_any_cut()) {
        int code = check_cut(module, err);
        if (code < 0)
            return code;
    }
    *ret_symbol = answer;
    return CAIRN_OK;
}

int cairn_symbolizer_prepare(struct cairn_symbolizer *s, struct cairn_module *module,
                             struct cairn_err *err)
{
    module->used = ++s->now;
    if (s->memory_bytes != SIZE_MAX)
        cairn_symbolizer_keep_bound(s);
    return module->loaded ? CAIRN_OK
                          : cairn_symbolizer_load(s, (struct cairn_symbolizer_entry *)module, err);
}

int cairn_symbolize(struct cairn_symbolizer *symbolizer, struct cairn_module *module,
                    uint64_t vaddr, struct cairn_symbol *ret_symbol, struct cairn_err *err)
{
    int code = cairn_symbolizer_prepare(symbolizer, module, err);
    if (code == CAIRN_OK && cairn_module_has_choice(module))
        code = cairn_module_choose_way(module, &symbolizer->way, err);
    return code < 0 ? code : cairn_symbolizer_look_up(symbolizer, module, vaddr, ret_symbol, err);
}

uint64_t cairn_return_address(uint64_t ret)
{
    return cairn_lookup_address(ret, CAIRN_ADDRESS_RETURN);
}

const char *cairn_symbol_state_text(enum cairn_symbol_state state)
{
    switch (state) {
    case CAIRN_SYMBOL_NAMED:
        return "named";
    case CAIRN_SYMBOL_NO_SYMBOL:
        return "no symbol";
    case CAIRN_SYMBOL_OUTSIDE:
        return "outside the module";
    }
    return "unknown";
}
