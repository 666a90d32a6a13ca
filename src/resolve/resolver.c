/* SPDX-License-Identifier: MIT */
#include "resolve/resolver.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "resolve/klog_spaces.h"

enum { TEXTS_SHARE = 2, TEXTS_LEAST = 16 << 20 };

const char *cairn_cause_text(enum cairn_cause cause)
{
    static const char *const texts[CAIRN_N_CAUSES] = {
        [CAIRN_CAUSE_NO_MAPPING] = "no mapping",
        [CAIRN_CAUSE_NOT_A_FILE] = "mapping is no file",
        [CAIRN_CAUSE_ANONYMOUS] = "anonymous memory",
        [CAIRN_CAUSE_NO_KERNEL] = "no kernel symbols",
        [CAIRN_CAUSE_KERNEL_HIDDEN] = "kernel symbols are hidden",
        [CAIRN_CAUSE_BEFORE_SEGMENT] = "in no segment",
        [CAIRN_CAUSE_NO_BINARY] = "no binary",
        [CAIRN_CAUSE_MISMATCH] = "build ID mismatch",
        [CAIRN_CAUSE_NO_SYMBOL] = "no symbol",
    };
    return (unsigned)cause < CAIRN_N_CAUSES ? texts[cause] : "named";
}

static int set_up(struct cairn_resolver *resolver, const struct cairn_resolve_opts *opts,
                  struct cairn_err *err)
{
    struct cairn_symbolizer_opts symbols = opts->symbols;
    symbols.size = sizeof symbols;
    if (symbols.memory_bytes) {
        size_t share = symbols.memory_bytes / TEXTS_SHARE;
        resolver->names.max_bytes = share < TEXTS_LEAST ? TEXTS_LEAST : share;
        symbols.memory_bytes -= share; /* at least one byte, and 0 would mean no bound */
    }
    resolver->leaf = opts->leaf;
    resolver->offsets = opts->offsets;
    resolver->lines = opts->lines;
    resolver->modules.pid = opts->pid;
    if (symbols.root) {
        uint32_t root = cairn_strings_add_str(&resolver->modules.strings, symbols.root);
        if (root == UINT32_MAX)
            return cairn_fail_memory(err);
        resolver->modules.root = cairn_strings_get(&resolver->modules.strings, root);
    }
    resolver->modules.is_live = opts->live != 0;
    resolver->files = opts->module_files;
    resolver->n_files = opts->module_files ? opts->n_module_files : 0;
    int result = cairn_symbolizer_new(&symbols, &resolver->modules.symbolizer, err);
    if (result == CAIRN_OK && opts->build_ids)
        result = cairn_modules_read_build_ids(&resolver->modules, opts->build_ids, err);
    if (result == CAIRN_OK)
        result = cairn_kernel_sources_open(&resolver->modules.kernel, resolver->modules.symbolizer,
                                           opts, err);
    if (result == CAIRN_OK)
        result = cairn_jit_init(&resolver->jit, &resolver->modules, opts, err);
    if (result == CAIRN_OK && opts->maps)
        result = cairn_address_space_of_maps(&resolver->space, &resolver->modules, opts->maps, err);
    return result;
}

int cairn_resolver_new(const struct cairn_resolve_opts *opts, struct cairn_resolver **ret_resolver,
                       struct cairn_err *err)
{
    struct cairn_resolve_opts known = {0};
    if (opts)
        memcpy(&known, opts, opts->size < sizeof known ? opts->size : sizeof known);
    struct cairn_resolver *resolver = cairn_alloc(1, sizeof *resolver);
    if (!resolver)
        return cairn_fail_memory(err);
    resolver->n_words = 1;
    int result = set_up(resolver, &known, err);
    if (result < 0)
        cairn_resolver_free(resolver);
    else
        *ret_resolver = resolver;
    return result;
}

void cairn_resolver_next(struct cairn_resolver *resolver, const int *module_files,
                         size_t n_module_files)
{
    resolver->files = module_files;
    resolver->n_files = module_files ? n_module_files : 0;
    cairn_jit_renew(&resolver->jit);
}

void cairn_resolver_free(struct cairn_resolver *resolver)
{
    if (!resolver)
        return;
    cairn_klog_spaces_free(resolver->klog);
    cairn_name_cache_done(&resolver->names);
    cairn_address_space_done(&resolver->space);
    cairn_jit_done(&resolver->jit);
    cairn_table_done(&resolver->words);
    cairn_free(resolver->by_word);
    cairn_modules_done(&resolver->modules);
    cairn_free(resolver);
}

static int add_word(struct cairn_resolver *resolver, uint32_t text, struct cairn_err *err)
{
    struct cairn_modules *modules = &resolver->modules;
    const char *name = cairn_strings_get(&modules->strings, text);
    if (resolver->n_words == CAIRN_WORDS_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT, "more than %d different modules", CAIRN_WORDS_MAX);
    uint32_t path =
        strchr(name, '/') ? 0 : cairn_address_space_find_name(&resolver->space, modules, name);
    if (cairn_grow((void **)&resolver->by_word, &resolver->cap_words, resolver->n_words + 1,
                   sizeof(void *)) < 0)
        return cairn_fail_memory(err);
    int result = cairn_modules_get(modules, path ? path : text, 0,
                                   &resolver->by_word[resolver->n_words], err);
    if (result < 0)
        return result;
    if (cairn_table_set(&resolver->words, text, (uint32_t)resolver->n_words) < 0)
        return cairn_fail_memory(err);
    resolver->n_words++;
    return CAIRN_OK;
}

int cairn_resolver_word(struct cairn_resolver *resolver, const char *module, size_t size,
                        uint32_t *ret_word, struct cairn_err *err)
{
    uint32_t text = cairn_strings_add(&resolver->modules.strings, module, size);
    if (text == UINT32_MAX)
        return cairn_fail_memory(err);
    if (cairn_table_find(&resolver->words, text, ret_word))
        return CAIRN_OK;
    int result = add_word(resolver, text, err);
    if (result == CAIRN_OK)
        *ret_word = (uint32_t)(resolver->n_words - 1);
    return result;
}

/* A function without a name is known by where it begins. */
static int find_start(struct cairn_resolve_place *place, struct cairn_err *err)
{
    uint64_t end;
    if (place->module->kind != CAIRN_KNOWN_FILE)
        return CAIRN_OK;
    int code =
        cairn_module_find_function(place->module->module, place->vaddr, &place->start, &end, err);
    place->has_start = code > 0;
    return code < 0 ? code : CAIRN_OK;
}

int cairn_resolver_symbolize(struct cairn_resolver *resolver, struct cairn_resolve_place *place,
                             struct cairn_symbol *ret_symbol, struct cairn_err *err)
{
    struct cairn_known_module *known = place->module;
    struct cairn_err why = {0};
    struct cairn_symbolizer *symbolizer = resolver->modules.symbolizer;
    int result =
        known->kind == CAIRN_KNOWN_KERNEL
            ? cairn_kernel_symbolize(&known->kernel, symbolizer, place->vaddr, ret_symbol, &why)
            : cairn_symbolize(symbolizer, known->module, place->vaddr, ret_symbol, &why);
    if (result == CAIRN_E_NOMEM)
        return cairn_fail_memory(err);
    if (result < 0) {
        cairn_log_err(CAIRN_LOG_WARNING, &why);
        known->missing = CAIRN_CAUSE_NO_BINARY;
        place->cause = CAIRN_CAUSE_NO_BINARY;
    } else if (ret_symbol->state == CAIRN_SYMBOL_OUTSIDE) {
        place->cause = CAIRN_CAUSE_BEFORE_SEGMENT;
    } else if (ret_symbol->state != CAIRN_SYMBOL_NAMED || !ret_symbol->n_frames) {
        place->cause = CAIRN_CAUSE_NO_SYMBOL;
        return find_start(place, err);
    }
    return CAIRN_OK;
}

int cairn_resolver_place(struct cairn_resolver *resolver, int pid, uint64_t va,
                         struct cairn_resolve_place *ret_place, struct cairn_err *err)
{
    struct cairn_modules *modules = &resolver->modules;
    struct cairn_region *region = cairn_address_space_find(&resolver->space, va);
    bool found = false;
    int code = CAIRN_OK;
    if (!region || cairn_module_is_made(region->kind))
        code = cairn_jit_find(&resolver->jit, modules, pid, va, ret_place, &found, err);
    if (found || code < 0)
        return code;
    struct cairn_region beyond = {.start = va, .end = va, .executable = true};
    const char *name = cairn_kernel_owns(va) ? "[kernel.kallsyms]" : "[vsyscall]";
    if (region || va < cairn_upper_half) {
        if (region)
            return cairn_address_space_place(&resolver->space, modules, region, va, ret_place, err);
        *ret_place = (struct cairn_resolve_place){.cause = CAIRN_CAUSE_NO_MAPPING};
        return CAIRN_OK;
    }
    beyond.path = cairn_strings_add_str(&modules->strings, name);
    if (beyond.path == UINT32_MAX)
        return cairn_fail_memory(err);
    beyond.off = cairn_upper_half;
    beyond.kind = cairn_module_kind_of(name, va);
    return cairn_address_space_place(&resolver->space, modules, &beyond, va, ret_place, err);
}

enum cairn_frame_what cairn_resolver_what(const struct cairn_resolve_place *place,
                                          const struct cairn_symbol *symbol)
{
    if (place->module && place->module->kind == CAIRN_KNOWN_KERNEL)
        return CAIRN_WHAT_KERNEL;
    bool jit = symbol->n_frames && symbol->frames[0].source == CAIRN_SOURCE_JIT;
    return jit ? CAIRN_WHAT_JIT : CAIRN_WHAT_NATIVE;
}

void cairn_resolver_count(struct cairn_resolver *resolver, const struct cairn_resolve_place *place)
{
    struct cairn_resolve_summary *summary = &resolver->summary;
    summary->n_unique++;
    if (place->cause == CAIRN_CAUSE_NONE)
        summary->n_unique_named++;
    else
        summary->unique_by_cause[place->cause]++;
    if (place->module)
        cairn_modules_count(place->module, place->cause);
}

/* Addresses that no mapping holds. */
static void report_unmapped(struct cairn_resolver *resolver, bool named_modules)
{
    uint64_t unmapped = resolver->summary.unique_by_cause[CAIRN_CAUSE_NO_MAPPING];
    if (!unmapped || resolver->warned_no_mapping)
        return;
    resolver->warned_no_mapping = true;
    const unsigned long long n = unmapped;
    const char *many = n == 1 ? "" : "es";
    if (named_modules)
        cairn_log(CAIRN_LOG_WARNING,
                  "%llu address%s in no module: code made while the program ran, or a library "
                  "closed since",
                  n, many);
    else if (resolver->space.n)
        cairn_log(CAIRN_LOG_WARNING, "no mapping for %llu address%s: of another process?", n, many);
    else
        cairn_log(CAIRN_LOG_WARNING,
                  "no mapping for %llu address%s (give a copy of /proc/PID/maps with --maps FILE)",
                  n, many);
}

void cairn_resolver_report(struct cairn_resolver *resolver, bool named_modules)
{
    cairn_modules_report(&resolver->modules);
    report_unmapped(resolver, named_modules);
    cairn_modules_report_stripped(&resolver->modules);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

void cairn_resolver_summary(const struct cairn_resolver *resolver,
                            struct cairn_resolve_summary *summary)
{
    struct cairn_resolve_summary full = resolver->summary;
    for (size_t i = 0; i < resolver->modules.n; i++) {
        const struct cairn_known_module *known = resolver->modules.list[i];
        if (known->missing == CAIRN_CAUSE_NOT_A_FILE || known->missing == CAIRN_CAUSE_ANONYMOUS)
            continue;
        if (known->missing == CAIRN_CAUSE_NONE) {
            full.n_modules_found++;
            full.n_modules_unverified +=
                known->kind == CAIRN_KNOWN_FILE && !cairn_module_info(known->module)->verified;
        } else {
            full.n_modules_missing++;
        }
    }
    full.size = summary->size;
    memcpy(summary, &full, (size_t)least(summary->size, sizeof full));
}

int cairn_resolver_module(const struct cairn_resolver *resolver, size_t index,
                          struct cairn_resolved_module *module)
{
    if (index >= resolver->modules.n)
        return 0;
    const struct cairn_known_module *known = resolver->modules.list[index];
    struct cairn_resolved_module row = {
        .size = module->size,
        .path = known->path,
        .build_id = known->build_id,
        .missing = known->missing,
        .n_unique = known->n_unique,
        .n_unique_named = known->n_unique_named,
    };
    memcpy(row.unique_by_cause, known->unique_by_cause, sizeof row.unique_by_cause);
    if (known->missing == CAIRN_CAUSE_NONE) {
        const struct cairn_module_info *info = cairn_module_info(known->module);
        row.file = info->path;
        row.debug_file = info->debug_path;
        row.verified = info->verified;
        row.mismatch = info->mismatch;
    }
    memcpy(module, &row, (size_t)least(module->size, sizeof row));
    return 1;
}
