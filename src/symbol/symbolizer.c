/* SPDX-License-Identifier: MIT */
/* The public face: modules by name, look-ups, and the bound on memory. */
#include <elf.h>

#include <cairn/symbolizer.h>

#include "base/address.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "symbol/listed.h"

enum { RELOADS_TOLD = 1000 };

/* How a module was asked for. */
enum kind { KIND_PATH, KIND_FILE, KIND_BYTES, KIND_LIST };

/* One answer of open, good or bad. */
struct entry {
    struct cairn_module module; /* first: a module is its entry */
    enum kind kind;
    char *asked, *asked_id;   /* id: "" where none was given */
    uint64_t hash;            /* of the three above */
    struct cairn_err failure; /* code is CAIRN_OK where the module is sound */
};

struct cairn_symbolizer {
    struct cairn_debugfile_finder *finder;
    struct cairn_demangler demangler;
    struct entry **entries;
    size_t n, cap;
    struct cairn_frames frames;
    size_t memory_bytes; /* SIZE_MAX: no bound */
    uint64_t now;        /* counts look-ups */
    unsigned n_reloads;  /* modules dropped for the bound */
    bool no_inlines;
};

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
    };
    s->memory_bytes = o.memory_bytes ? o.memory_bytes : SIZE_MAX;
    s->no_inlines = o.no_inlines != 0;
    s->demangler.names = o.names;
    int code = cairn_debugfile_finder_new(&places, &s->finder, err);
    if (code < 0) {
        cairn_free(s);
        return code;
    }
    *ret_symbolizer = s;
    return CAIRN_OK;
}

static void free_entry(struct entry *e)
{
    cairn_module_close(&e->module);
    cairn_free(e->module.owned_bytes);
    cairn_symbol_list_done(&e->module.list);
    cairn_free(e->module.path);
    cairn_free(e->module.debug_path);
    cairn_free(e->module.build_id);
    cairn_free(e->module.machine);
    cairn_free(e->asked);
    cairn_free(e->asked_id);
    cairn_free(e);
}

void cairn_symbolizer_free(struct cairn_symbolizer *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n; i++)
        free_entry(s->entries[i]);
    cairn_free(s->entries);
    cairn_frames_done(&s->frames);
    cairn_demangler_done(&s->demangler);
    cairn_debugfile_finder_free(s->finder);
    cairn_free(s);
}

static uint64_t hash_of(enum kind kind, const char *asked, const char *id)
{
    return cairn_hash_bytes(asked, strlen(asked)) ^
           cairn_hash_u64(cairn_hash_bytes(id, strlen(id)) + kind);
}

static struct entry *find_entry(const struct cairn_symbolizer *s, enum kind kind, const char *asked,
                                const char *id)
{
    uint64_t hash = hash_of(kind, asked, id);
    for (size_t i = 0; i < s->n; i++) {
        struct entry *e = s->entries[i];
        if (e->hash == hash && e->kind == kind && !strcmp(e->asked, asked) &&
            !strcmp(e->asked_id, id))
            return e;
    }
    return NULL;
}

static int add_entry(struct cairn_symbolizer *s, enum kind kind, const char *asked, const char *id,
                     struct entry **ret_entry, struct cairn_err *err)
{
    if (cairn_grow((void **)&s->entries, &s->cap, s->n + 1, sizeof *s->entries) < 0)
        return cairn_fail_memory(err);
    struct entry *e = cairn_alloc(1, sizeof *e);
    if (!e)
        return cairn_fail_memory(err);
    e->kind = kind;
    e->asked = cairn_strdup(asked);
    e->asked_id = cairn_strdup(id);
    if (!e->asked || !e->asked_id) {
        free_entry(e);
        return cairn_fail_memory(err);
    }
    e->hash = hash_of(kind, asked, id);
    s->entries[s->n++] = e;
    *ret_entry = e;
    return CAIRN_OK;
}

/* Finds and opens the files of an entry the first time; later its contents alone were dropped. */
static int load(struct cairn_symbolizer *s, struct entry *e, struct cairn_err *err)
{
    if (e->module.image.bytes.size) {
        e->module.loaded = true;
        return CAIRN_OK;
    }
    struct cairn_debugfile_found found = {0};
    int code = e->kind == KIND_PATH
                   ? cairn_debugfile_find(s->finder, e->asked, e->asked_id, &found, err)
                   : cairn_debugfile_find_for(s->finder, e->asked, &found, err);
    if (code == CAIRN_OK)
        code = cairn_module_load(&e->module, &found, err);
    if (code == CAIRN_OK)
        cairn_log(CAIRN_LOG_INFO, "%s: names from %s%s", e->asked,
                  e->module.debug_path ? e->module.debug_path : e->module.path,
                  e->module.info.verified   ? ", build ID verified"
                  : e->module.info.mismatch ? ", of another build"
                                            : "");
    return code;
}

static int open_module(struct cairn_symbolizer *s, enum kind kind, const char *asked,
                       const char *id, struct cairn_module **ret_module, struct cairn_err *err)
{
    struct entry *e = find_entry(s, kind, asked, id);
    int code = CAIRN_OK;
    if (!e) {
        code = add_entry(s, kind, asked, id, &e, err);
        if (code == CAIRN_OK)
            code = load(s, e, &e->failure);
        else
            return code;
        if (code == CAIRN_OK)
            e->failure.code = CAIRN_OK;
    }
    if (e->failure.code != CAIRN_OK) {
        if (err)
            *err = e->failure;
        code = e->failure.code;
        if (code == CAIRN_E_NOMEM) { /* may pass: to be tried again */
            free_entry(e);
            s->n--;
        }
        return code;
    }
    *ret_module = &e->module;
    return CAIRN_OK;
}

int cairn_symbolizer_open(struct cairn_symbolizer *symbolizer, const char *path,
                          const char *build_id, struct cairn_module **ret_module,
                          struct cairn_err *err)
{
    return open_module(symbolizer, KIND_PATH, path, build_id ? build_id : "", ret_module, err);
}

int cairn_symbolizer_open_file(struct cairn_symbolizer *symbolizer, const char *file,
                               struct cairn_module **ret_module, struct cairn_err *err)
{
    return open_module(symbolizer, KIND_FILE, file, "", ret_module, err);
}

int cairn_symbolizer_open_bytes(struct cairn_symbolizer *symbolizer, const char *name,
                                const void *bytes, size_t size, struct cairn_module **ret_module,
                                struct cairn_err *err)
{
    struct entry *e;
    int code = add_entry(symbolizer, KIND_BYTES, name, "", &e, err);
    if (code < 0)
        return code;
    code = cairn_module_load_bytes(&e->module, name, bytes, size, err);
    if (code < 0) {
        free_entry(e);
        symbolizer->n--;
        return code;
    }
    *ret_module = &e->module;
    return CAIRN_OK;
}

static int take_list(struct cairn_module *m, const char *name, struct cairn_symbol_list *list,
                     struct cairn_err *err)
{
    m->is_listed = m->loaded = true;
    m->list = *list;
    *list = (struct cairn_symbol_list){0};
    m->path = cairn_strdup(name);
    m->info = (struct cairn_module_info){
        .path = m->path, .build_id = "", .machine = "", .has_symtab = 1, .way = CAIRN_WAY_SYMBOLS};
    return m->path ? CAIRN_OK : cairn_fail_memory(err);
}

int cairn_symbolizer_add_list(struct cairn_symbolizer *symbolizer, const char *name,
                              struct cairn_symbol_list *list, struct cairn_module **ret_module,
                              struct cairn_err *err)
{
    struct entry *e;
    int code = add_entry(symbolizer, KIND_LIST, name, "", &e, err);
    if (code < 0) {
        cairn_symbol_list_done(list);
        return code;
    }
    code = take_list(&e->module, name, list, err);
    if (code < 0) {
        free_entry(e);
        symbolizer->n--;
        return code;
    }
    *ret_module = &e->module;
    return CAIRN_OK;
}

const struct cairn_module_info *cairn_module_info(const struct cairn_module *module)
{
    return &module->info;
}

/* The granule in which a loader may map this machine's files; exact hits win over rounded ones, so
 * that the largest one does no harm. */
static uint64_t page_of(const struct cairn_module *m)
{
    return m->image.machine == EM_AARCH64 ? 65536 : 4096;
}

int cairn_module_vaddr_of_offset(const struct cairn_module *module, uint64_t off,
                                 uint64_t *ret_vaddr)
{
    return module->has_image &&
           cairn_elf_vaddr_of_off(&module->image, off, page_of(module), ret_vaddr);
}

int cairn_module_vaddr_of_rel(const struct cairn_module *module, uint64_t rel, uint64_t *ret_vaddr)
{
    uint64_t first;
    if (!cairn_elf_first_vaddr(&module->image, 4096, &first))
        return 0;
    /* The base of these is 0 to backtrace_symbols(), but their first page to dladdr(). */
    if (module->image.type == ET_EXEC && (rel >= first || cairn_module_holds(module, rel)))
        first = 0;
    if (rel + first < rel)
        return 0;
    *ret_vaddr = rel + first;
    return 1;
}

static size_t bytes_of_names(const struct cairn_symbolizer *s)
{
    return s->demangler.mangled.arena.used_bytes + s->demangler.plain.arena.used_bytes +
           s->demangler.cap * sizeof *s->demangler.plain_of;
}

static size_t bytes_held(const struct cairn_symbolizer *s)
{
    size_t bytes = bytes_of_names(s);
    for (size_t i = 0; i < s->n; i++)
        bytes += cairn_module_bytes(&s->entries[i]->module);
    return bytes;
}

/* The loaded module that was not used for longest, but not the one in use. */
static struct entry *find_oldest(const struct cairn_symbolizer *s)
{
    struct entry *oldest = NULL;
    for (size_t i = 0; i < s->n; i++) {
        struct entry *e = s->entries[i];
        if (e->module.loaded && e->kind < KIND_BYTES && e->module.used != s->now &&
            (!oldest || e->module.used < oldest->module.used))
            oldest = e;
    }
    return oldest;
}

/* Frees the unit table that was not used for longest in any module. False: there is none. */
static bool drop_oldest_table(const struct cairn_symbolizer *s)
{
    struct cairn_module *from = NULL;
    uint64_t oldest = UINT64_MAX;
    for (size_t i = 0; i < s->n; i++) {
        struct cairn_module *m = &s->entries[i]->module;
        uint64_t used = cairn_module_oldest_table(m, s->now);
        if (used < oldest) {
            oldest = used;
            from = m;
        }
    }
    if (from)
        cairn_module_drop_oldest(from, s->now);
    return from != NULL;
}

/* A bound that is too small for what is asked costs time without end; whoever set it should know.
 */
static void count_reload(struct cairn_symbolizer *s)
{
    if (++s->n_reloads != RELOADS_TOLD)
        return;
    cairn_log(CAIRN_LOG_WARNING,
              "the bound of %zu bytes is too small for these modules: contents were dropped and "
              "read again %d times; a larger one is faster",
              s->memory_bytes, RELOADS_TOLD);
}

/* Before a look-up: what the last answer pointed to may go now. First what is cheap to read again:
 * unit tables; then whole modules, whose sections and symbols must be unpacked and sorted; then the
 * demangled names. Least recently used ones first. */
static void keep_bound(struct cairn_symbolizer *s)
{
    struct entry *oldest;
    while (bytes_held(s) > s->memory_bytes && drop_oldest_table(s))
        ;
    while (bytes_held(s) > s->memory_bytes && (oldest = find_oldest(s)) != NULL) {
        cairn_module_unload(&oldest->module);
        count_reload(s);
    }
    if (bytes_held(s) <= s->memory_bytes || bytes_of_names(s) <= s->memory_bytes / 8)
        return;
    for (size_t i = 0; i < s->n; i++)
        cairn_module_forget_names(&s->entries[i]->module);
    enum cairn_names names = s->demangler.names;
    cairn_demangler_done(&s->demangler);
    s->demangler = (struct cairn_demangler){.names = names};
}

int cairn_symbolize(struct cairn_symbolizer *symbolizer, struct cairn_module *module,
                    uint64_t vaddr, struct cairn_symbol *ret_symbol, struct cairn_err *err)
{
    struct cairn_symbolizer *s = symbolizer;
    module->used = ++s->now;
    if (s->memory_bytes != SIZE_MAX)
        keep_bound(s);
    int code = module->loaded ? CAIRN_OK : load(s, (struct entry *)module, err);
    if (code < 0)
        return code;
    struct cairn_symbol answer = {.state = CAIRN_SYMBOL_OUTSIDE};
    if (module->is_listed || cairn_module_holds(module, vaddr)) {
        struct cairn_frames_request request = {.module = module,
                                               .demangler = &s->demangler,
                                               .vaddr = vaddr,
                                               .now = s->now,
                                               .no_inlines = s->no_inlines};
        code = module->is_listed ? cairn_listed_find(&request, &s->frames, err)
                                 : cairn_frames_find(&request, &s->frames, err);
        if (code < 0)
            return code;
        answer.state = CAIRN_SYMBOL_NO_SYMBOL;
        answer.frames = s->frames.frames;
        answer.n_frames = (uint32_t)s->frames.n;
        for (size_t i = 0; i < s->frames.n; i++)
            if (s->frames.frames[i].function)
                answer.state = CAIRN_SYMBOL_NAMED;
    }
    *ret_symbol = answer;
    return CAIRN_OK;
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
