/* SPDX-License-Identifier: MIT */
/* The modules of a symbolizer: opened once each, by path, file, descriptor, bytes or list. */
#include <elf.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "symbol/code_mapping.h"
#include "symbol/listed.h"
#include "symbol/symbolizer.h"

static void free_entry(struct cairn_symbolizer_entry *e)
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

void cairn_symbolizer_close_all(struct cairn_symbolizer *s)
{
    for (size_t i = 0; i < s->n; i++) {
        cairn_module_end_way(&s->entries[i]->module, &s->way);
        free_entry(s->entries[i]);
    }
    cairn_free(s->entries);
}

static uint64_t hash_of(enum cairn_asked kind, const char *asked, const char *id)
{
    return cairn_hash_bytes(asked, strlen(asked)) ^
           cairn_hash_u64(cairn_hash_bytes(id, strlen(id)) + kind);
}

static struct cairn_symbolizer_entry *find_entry(const struct cairn_symbolizer *s,
                                                 enum cairn_asked kind, const char *asked,
                                                 const char *id)
{
    uint64_t hash = hash_of(kind, asked, id);
    for (size_t i = 0; i < s->n; i++) {
        struct cairn_symbolizer_entry *e = s->entries[i];
        if (e->hash == hash && e->kind == kind && !strcmp(e->asked, asked) &&
            !strcmp(e->asked_id, id))
            return e;
    }
    return NULL;
}

static int add_entry(struct cairn_symbolizer *s, enum cairn_asked kind, const char *asked,
                     const char *id, struct cairn_symbolizer_entry **ret_entry,
                     struct cairn_err *err)
{
    if (cairn_grow((void **)&s->entries, &s->cap, s->n + 1, sizeof *s->entries) < 0)
        return cairn_fail_memory(err);
    struct cairn_symbolizer_entry *e = cairn_alloc(1, sizeof *e);
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
    e->module.memory_bytes = s->memory_bytes == SIZE_MAX ? 0 : s->memory_bytes;
    s->entries[s->n++] = e;
    *ret_entry = e;
    return CAIRN_OK;
}

static void tell_files(const struct cairn_symbolizer_entry *e)
{
    const struct cairn_module *m = &e->module;
    cairn_log(CAIRN_LOG_INFO, "%s: names from %s%s", e->asked,
              m->debug_path ? m->debug_path : m->path,
              m->info.verified   ? ", build ID verified"
              : m->info.mismatch ? ", of another build"
                                 : "");
}

int cairn_symbolizer_load(struct cairn_symbolizer *s, struct cairn_symbolizer_entry *e,
                          struct cairn_err *err)
{
    if (e->module.image.bytes.size) {
        e->module.loaded = true;
        return CAIRN_OK;
    }
    struct cairn_debugfile_found found = {0};
    int code = e->kind == CAIRN_ASKED_PATH
                   ? cairn_debugfile_find(s->finder, e->asked, e->asked_id, &found, err)
                   : cairn_debugfile_find_for(s->finder, e->asked, &found, err);
    if (code == CAIRN_OK)
        code = cairn_module_load(&e->module, &found, err);
    e->module.finder = s->finder;
    e->module.no_debug_info = s->no_debug_info;
    if (code == CAIRN_OK)
        tell_files(e);
    return code;
}

static int open_module(struct cairn_symbolizer *s, enum cairn_asked kind, const char *asked,
                       const char *id, struct cairn_module **ret_module, struct cairn_err *err)
{
    struct cairn_symbolizer_entry *e = find_entry(s, kind, asked, id);
    int code = CAIRN_OK;
    if (!e) {
        code = add_entry(s, kind, asked, id, &e, err);
        if (code == CAIRN_OK)
            code = cairn_symbolizer_load(s, e, &e->failure);
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
    return open_module(symbolizer, CAIRN_ASKED_PATH, path, build_id ? build_id : "", ret_module,
                       err);
}

int cairn_symbolizer_open_file(struct cairn_symbolizer *symbolizer, const char *file,
                               struct cairn_module **ret_module, struct cairn_err *err)
{
    return open_module(symbolizer, CAIRN_ASKED_FILE, file, "", ret_module, err);
}

/* Such a module is nobody else's: what is asked for is not what its name says. */
static int finish_unshared(struct cairn_symbolizer *s, struct cairn_symbolizer_entry *e, int code,
                           struct cairn_module **ret_module)
{
    if (code < 0) {
        free_entry(e);
        s->n--;
        return code;
    }
    *ret_module = &e->module;
    return CAIRN_OK;
}

int cairn_symbolizer_open_bytes(struct cairn_symbolizer *symbolizer, const char *name,
                                const void *bytes, size_t size, struct cairn_module **ret_module,
                                struct cairn_err *err)
{
    struct cairn_symbolizer_entry *e = NULL;
    int code = add_entry(symbolizer, CAIRN_ASKED_BYTES, name, "", &e, err);
    if (code < 0)
        return code;
    code = cairn_module_load_bytes(&e->module, name, bytes, size, err);
    return finish_unshared(symbolizer, e, code, ret_module);
}

int cairn_symbolizer_open_fd(struct cairn_symbolizer *symbolizer, const char *name, int fd,
                             struct cairn_module **ret_module, struct cairn_err *err)
{
    struct cairn_symbolizer_entry *e = NULL;
    struct cairn_debugfile_found found = {0};
    int code = add_entry(symbolizer, CAIRN_ASKED_FD, name, "", &e, err);
    if (code < 0)
        return code;
    code = cairn_debugfile_find_fd(symbolizer->finder, name, fd, &found, err);
    if (code == CAIRN_OK)
        code = cairn_module_load(&e->module, &found, err);
    e->module.finder = symbolizer->finder;
    e->module.no_debug_info = symbolizer->no_debug_info;
    if (code == CAIRN_OK)
        tell_files(e);
    return finish_unshared(symbolizer, e, code, ret_module);
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
    struct cairn_symbolizer_entry *e;
    int code = add_entry(symbolizer, CAIRN_ASKED_LIST, name, "", &e, err);
    if (code < 0) {
        cairn_symbol_list_done(list);
        return code;
    }
    code = take_list(&e->module, name, list, err);
    return finish_unshared(symbolizer, e, code, ret_module);
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

/* The one segment with code; false: there is none, or several. */
static bool find_code(const struct cairn_elf *elf, struct cairn_elf_segment *ret_code)
{
    struct cairn_elf_segment segment;
    bool found = false;
    for (uint32_t i = 0; i < elf->n_segments; i++) {
        if (!cairn_elf_segment(elf, i, &segment) || segment.type != PT_LOAD ||
            !(segment.flags & PF_X))
            continue;
        if (found)
            return false;
        *ret_code = segment;
        found = true;
    }
    return found;
}

/* What a loader maps begins with a whole page, at which offset and vaddr agree modulo the
 * alignment: so the page of the first byte of code is known, if this mapping is all of it. */
int cairn_module_vaddr_of_code(const struct cairn_module *module,
                               const struct cairn_code_mapping *mapping, uint64_t va,
                               uint64_t *ret_vaddr)
{
    struct cairn_elf_segment code = {0};
    if (!find_code(&module->image, &code))
        return 0;
    uint64_t align = code.align > 1 && !(code.align & (code.align - 1)) ? code.align : 4096;
    uint64_t before = (code.vaddr - mapping->off) & (align - 1);
    uint64_t size = mapping->end - mapping->start, at = va - mapping->start;
    bool is_all = size >= before && size - before >= code.mem_size &&
                  size - before - code.mem_size < page_of(module);
    if (!is_all || at < before || at - before >= code.mem_size)
        return 0;
    *ret_vaddr = code.vaddr - before + at;
    return 1;
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
