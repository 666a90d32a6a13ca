/* SPDX-License-Identifier: MIT */
#include "watch/variables.h"

#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cairn/maps.h>

#include "base/alloc.h"
#include "base/below.h"
#include "base/error.h"
#include "base/file.h"
#include "base/foreign.h"
#include "elf/image.h"
#include "elf/symbol_names.h"
#include "proc/mapped_file.h"
#include "unwind/space.h"

enum { SEGMENTS_MAX = 64, BSS_BACK = 4, LOOK_BACK = 16, MODULES_MAX = 4096 };

struct symbol {
    uint64_t vaddr, size;
    const char *name;
    bool is_thread_local;
};

/* A file that is mapped. */
struct module {
    const char *path; /* borrowed from the mappings */
    struct cairn_file file;
    struct cairn_elf elf;
    bool is_open;
    struct symbol *symbols; /* by vaddr; thread-local ones behind the others */
    size_t n, cap, n_plain;
    bool failed; /* memory is gone */
};

struct cairn_variables {
    int pid;
    struct cairn_unwind_space *core; /* borrowed, with its mappings; NULL: of a process */
    struct cairn_maps *maps;
    struct module **modules;
    size_t n, cap;
};

int cairn_variables_new(int pid, struct cairn_variables **ret_variables, struct cairn_err *err)
{
    struct cairn_variables *v = cairn_alloc(1, sizeof *v);
    if (!v)
        return cairn_fail_memory(err);
    v->pid = pid;
    int code = cairn_maps_read_pid(pid, &v->maps, err);
    if (code < 0) {
        cairn_variables_free(v);
        return code;
    }
    *ret_variables = v;
    return CAIRN_OK;
}

int cairn_variables_of_core(struct cairn_unwind_space *core, struct cairn_maps *maps,
                            struct cairn_variables **ret_variables, struct cairn_err *err)
{
    struct cairn_variables *v = cairn_alloc(1, sizeof *v);
    if (!v)
        return cairn_fail_memory(err);
    v->core = core;
    v->maps = maps;
    *ret_variables = v;
    return CAIRN_OK;
}

void cairn_variables_free(struct cairn_variables *variables)
{
    if (!variables)
        return;
    for (size_t i = 0; i < variables->n; i++) {
        struct module *m = variables->modules[i];
        cairn_free(m->symbols);
        if (m->is_open && !variables->core)
            cairn_file_close(&m->file);
        cairn_free(m);
    }
    cairn_free(variables->modules);
    if (!variables->core)
        cairn_maps_free(variables->maps);
    cairn_free(variables);
}

static int add_symbol(void *ctx, const struct cairn_elf_named *named)
{
    struct module *m = ctx;
    if (named->type != STT_OBJECT && named->type != STT_TLS)
        return 0;
    if (cairn_grow((void **)&m->symbols, &m->cap, m->n + 1, sizeof *m->symbols) < 0) {
        m->failed = true;
        return 1;
    }
    m->symbols[m->n++] = (struct symbol){named->vaddr, named->size ? named->size : 1, named->name,
                                         named->type == STT_TLS};
    return 0;
}

static int compare_symbols(const void *x, const void *y)
{
    const struct symbol *a = x, *b = y;
    return a->is_thread_local != b->is_thread_local ? (a->is_thread_local ? 1 : -1)
           : a->vaddr != b->vaddr                   ? (a->vaddr < b->vaddr ? -1 : 1)
                                                    : (a->size < b->size) - (a->size > b->size);
}

static void read_symbols(struct module *m)
{
    (void)cairn_elf_named_each(&m->elf, CAIRN_ELF_SYMTAB, add_symbol, m, NULL);
    if (!m->n)
        (void)cairn_elf_named_each(&m->elf, CAIRN_ELF_DYNSYM, add_symbol, m, NULL);
    if (m->n)
        qsort(m->symbols, m->n, sizeof *m->symbols, compare_symbols);
    while (m->n_plain < m->n && !m->symbols[m->n_plain].is_thread_local)
        m->n_plain++;
}

static bool open_by(void *ctx, enum cairn_mapped_by by, const char *name)
{
    struct module *m = ctx;
    int fd;
    (void)by;
    if (cairn_foreign_open_path(name, &fd, NULL) < 0)
        return false;
    bool done = cairn_file_open_fd(fd, m->path, &m->file, NULL) == CAIRN_OK;
    close(fd);
    if (!done)
        return false;
    m->is_open = cairn_elf_open(m->file.bytes, &m->elf, NULL) == CAIRN_OK;
    if (!m->is_open)
        cairn_file_close(&m->file);
    return m->is_open;
}

/* The file of the build that the core is of, which is looked for where its code is mapped. */
static void open_of_core(struct cairn_variables *v, struct module *m)
{
    const struct cairn_unwind_accessors *of = &v->core->accessors;
    struct cairn_unwind_region region = {0};
    for (size_t i = 0; !region.file && i < cairn_maps_count(v->maps); i++) {
        const struct cairn_map *map = cairn_maps_get(v->maps, i);
        if (map->flags & CAIRN_MAP_EXEC && strcmp(map->path, m->path) == 0 &&
            of->find(of->ctx, map->start, &region) != 0)
            region.file = NULL;
    }
    if (!region.file)
        return;
    m->file.bytes = (struct cairn_span){region.file, region.file_size};
    m->is_open = cairn_elf_open(m->file.bytes, &m->elf, NULL) == CAIRN_OK;
}

static struct module *module_of(struct cairn_variables *v, const struct cairn_map *map)
{
    static const enum cairn_mapped_by order[] = {CAIRN_MAPPED_BY_LINK, CAIRN_MAPPED_BY_ROOT,
                                                 CAIRN_MAPPED_BY_NONE};
    const struct cairn_mapped_file file = {v->pid, map->start, map->end, map->path};
    for (size_t i = 0; i < v->n; i++)
        if (strcmp(v->modules[i]->path, map->path) == 0)
            return v->modules[i];
    struct module *m = v->n < MODULES_MAX ? cairn_alloc(1, sizeof *m) : NULL;
    if (!m || cairn_grow((void **)&v->modules, &v->cap, v->n + 1, sizeof *v->modules) < 0) {
        cairn_free(m);
        return NULL;
    }
    m->path = map->path;
    v->modules[v->n++] = m;
    if (v->core)
        open_of_core(v, m);
    else
        (void)cairn_mapped_find(&file, order, open_by, m);
    if (m->is_open)
        read_symbols(m);
    return m;
}

/* The mapping of a file that `va` is in, or that its zeroed data follow. */
static const struct cairn_map *map_of(const struct cairn_variables *v, uint64_t va)
{
    const struct cairn_map *map = cairn_maps_find(v->maps, va);
    for (int i = 0; map && !(map->flags & CAIRN_MAP_FILE) && !*map->path && i < BSS_BACK; i++)
        map = cairn_maps_find(v->maps, map->start - 1);
    return map && (map->flags & CAIRN_MAP_FILE) && !(map->flags & CAIRN_MAP_SHARED) ? map : NULL;
}

bool cairn_variables_is_data(const struct cairn_variables *variables, uint64_t va)
{
    return map_of(variables, va) != NULL;
}

static const struct symbol *find(const struct symbol *symbols, size_t n, uint64_t vaddr)
{
    const size_t n_below = CAIRN_COUNT_BELOW(symbols, n, vaddr, vaddr);
    for (size_t i = n_below; i > 0 && n_below - i < LOOK_BACK; i--)
        if (vaddr - symbols[i - 1].vaddr < symbols[i - 1].size)
            return &symbols[i - 1];
    return NULL;
}

static void add_name(struct cairn_buffer *out, const struct symbol *symbol, uint64_t off,
                     const char *path)
{
    cairn_buffer_str(out, symbol->name);
    if (off)
        cairn_buffer_printf(out, "+%" PRIu64, off);
    cairn_buffer_printf(out, " in %s", path);
}

/* The kernel may join what the program maps with the zeroed data before it. */
static bool is_loaded(const struct cairn_elf *elf, uint64_t vaddr)
{
    struct cairn_elf_segment load;
    for (uint32_t i = 0; cairn_elf_segment(elf, i, &load); i++)
        if (load.type == PT_LOAD && vaddr >= load.vaddr && vaddr - load.vaddr < load.mem_size)
            return true;
    return false;
}

/* Where the file begins in memory. Two segments may share a page of it, which is mapped twice then;
 * its first page is not. */
static const struct cairn_map *first_of(const struct cairn_variables *v,
                                        const struct cairn_map *map)
{
    const struct cairn_map *at = map;
    for (int i = 0; at && at->off && i < SEGMENTS_MAX; i++) {
        const struct cairn_map *before = cairn_maps_find(v->maps, at->start - 1);
        if (!before || strcmp(before->path, map->path) != 0)
            break;
        at = before;
    }
    return at && !at->off ? at : map;
}

/* False: no data of the file are there, or it does not say where it is loaded. */
static bool vaddr_of(const struct cairn_variables *v, const struct module *m,
                     const struct cairn_map *map, uint64_t va, uint64_t *ret_vaddr)
{
    uint64_t vaddr;
    map = first_of(v, map);
    if (!m || !m->is_open ||
        !cairn_elf_vaddr_of_mapping(&m->elf, map->off, (uint64_t)sysconf(_SC_PAGESIZE),
                                    map->flags & CAIRN_MAP_EXEC, &vaddr))
        return false;
    *ret_vaddr = va - map->start + vaddr;
    return is_loaded(&m->elf, *ret_vaddr);
}

bool cairn_variables_name(struct cairn_variables *variables, uint64_t va, bool with_off,
                          struct cairn_buffer *out)
{
    const struct cairn_map *map = map_of(variables, va);
    const struct module *m = map ? module_of(variables, map) : NULL;
    uint64_t vaddr;
    if (!vaddr_of(variables, m, map, va, &vaddr))
        return false;
    const struct symbol *symbol = find(m->symbols, m->n_plain, vaddr);
    if (symbol)
        add_name(out, symbol, with_off ? vaddr - symbol->vaddr : 0, map->path);
    else if (with_off)
        cairn_buffer_printf(out, "%s+0x%" PRIx64, map->path, vaddr);
    else
        cairn_buffer_str(out, map->path);
    return true;
}

/* The program comes first among the mappings of files, but for one that the loader was started
 * with by hand. */
static struct module *program_of(struct cairn_variables *v)
{
    for (size_t i = 0; i < cairn_maps_count(v->maps); i++) {
        const struct cairn_map *map = cairn_maps_get(v->maps, i);
        if ((map->flags & CAIRN_MAP_FILE) && !(map->flags & CAIRN_MAP_SHARED))
            return module_of(v, map);
    }
    return NULL;
}

/* ELF Handling For Thread-Local Storage (Drepper), 3: in variant II the program's block ends at the
 * thread pointer; in variant I it begins 16 bytes behind it. */
bool cairn_variables_thread_local(struct cairn_variables *variables, uint64_t tp, uint64_t va,
                                  struct cairn_buffer *out)
{
    struct cairn_elf_segment tls;
    const struct module *m = program_of(variables);
    if (!m || !m->is_open)
        return false;
    for (uint32_t i = 0; cairn_elf_segment(&m->elf, i, &tls); i++) {
        uint64_t align = tls.align ? tls.align : 1, head = 16;
        if (tls.type != PT_TLS || (align & (align - 1)) || tls.mem_size > INT32_MAX)
            continue;
        uint64_t size = (tls.mem_size + align - 1) & ~(align - 1);
        uint64_t start =
            m->elf.machine == EM_X86_64 ? tp - size : tp + ((head + align - 1) & ~(align - 1));
        const struct symbol *symbol =
            va - start < tls.mem_size ? find(m->symbols + m->n_plain, m->n - m->n_plain, va - start)
                                      : NULL;
        if (!symbol)
            return false;
        add_name(out, symbol, va - start - symbol->vaddr, m->path);
        return true;
    }
    return false;
}

const char *cairn_variables_class(struct cairn_variables *variables, uint64_t va)
{
    static const char head[] = "_ZTV"; /* Itanium C++ ABI, 5.1.4 */
    const struct cairn_map *map = va % 8 == 0 ? map_of(variables, va) : NULL;
    const struct module *m = map ? module_of(variables, map) : NULL;
    uint64_t vaddr;
    if (!m || !vaddr_of(variables, m, map, va, &vaddr))
        return NULL;
    const struct symbol *symbol = find(m->symbols, m->n_plain, vaddr);
    return symbol && strncmp(symbol->name, head, strlen(head)) == 0 ? symbol->name + strlen(head)
                                                                    : NULL;
}
