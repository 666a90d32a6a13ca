/* SPDX-License-Identifier: MIT */
/*
 * Modules: the files with code that a process has mapped, and what each has to unwind by and to
 * name with. Everything is read as captures and names would be: the file that is mapped, whatever
 * became of its path, and its debug file by build ID or debuglink.
 */
#include <stdio.h>
#include <unistd.h>

#include <cairn/maps.h>

#include "base/alloc.h"
#include "base/foreign.h"
#include "base/module_kind.h"
#include "debugfile/debugfile.h"
#include "doctor/file.h"
#include "doctor/report.h"
#include "doctor/runtimes.h"
#include "proc/mapped_file.h"
#include "proc/mem.h"
#include "proc/perf_map.h"
#include "target/memory_image.h"

/* LOOK_BACK: mappings of one module lie together. */
enum { MODULES_MAX = 4096, LOOK_BACK = 32, VDSO_BYTES_MAX = 1 << 20 };

struct list {
    struct cairn_doctor *d;
    int pid;
    const struct cairn_maps *maps;
    struct cairn_debugfile_finder *finder;
    struct cairn_mem mem;
    bool has_mem;
    uint64_t nameless_bytes; /* of code that no file has */
    size_t n_left_out;
};

static bool is_same_file(const struct cairn_map *a, const struct cairn_map *b)
{
    return a->inode == b->inode && a->dev_major == b->dev_major && a->dev_minor == b->dev_minor &&
           strcmp(a->path, b->path) == 0;
}

static bool is_code(const struct cairn_map *map)
{
    return map->flags & CAIRN_MAP_EXEC;
}

/* The bytes that are mapped executable of the file of mapping `first`; 0 where an earlier mapping
 * stands for it. */
static uint64_t sum_code(const struct cairn_maps *maps, size_t first)
{
    const struct cairn_map *map = cairn_maps_get(maps, first);
    uint64_t sum = 0;
    for (size_t i = first; i-- > 0 && first - i <= LOOK_BACK;)
        if (is_code(cairn_maps_get(maps, i)) && is_same_file(cairn_maps_get(maps, i), map))
            return 0;
    for (size_t i = first; i < cairn_maps_count(maps) && i - first <= LOOK_BACK; i++) {
        const struct cairn_map *at = cairn_maps_get(maps, i);
        if (is_code(at) && is_same_file(at, map))
            sum += at->end - at->start;
    }
    return sum;
}

static bool read_memory(void *ctx, uint64_t va, void *to, size_t size)
{
    struct list *list = ctx;
    return cairn_mem_read(&list->mem, va, to, size) == size;
}

/* Where its ELF header is in memory, which the mapping of the file's beginning holds; 0: not told.
 */
static uint64_t find_header(const struct list *list, size_t first)
{
    const struct cairn_map *map = cairn_maps_get(list->maps, first);
    for (size_t i = first + 1; i-- > 0 && first - i <= LOOK_BACK;) {
        const struct cairn_map *at = cairn_maps_get(list->maps, i);
        if (!is_same_file(at, map) || at->off)
            continue;
        return at->start;
    }
    return 0;
}

/* A mapping whose file is searched. */
struct wanted {
    const struct list *list;
    const struct cairn_map *map;
    const char *build_id; /* "": unknown */
    struct cairn_debugfile_found *found;
};

static bool open_link(void *ctx, enum cairn_mapped_by by, const char *link)
{
    const struct wanted *w = ctx;
    struct cairn_doctor_file file;
    bool is_exe = by == CAIRN_MAPPED_BY_EXE;
    int fd;
    if ((is_exe && (!(w->map->flags & CAIRN_MAP_DELETED) || !*w->build_id)) ||
        cairn_foreign_open_path(link, &fd, NULL) < 0)
        return false;
    int code = cairn_debugfile_find_fd(w->list->finder, w->map->path, fd, w->found, NULL);
    close(fd);
    if (code < 0 || !is_exe)
        return code == CAIRN_OK;
    cairn_doctor_read_file(w->found->image.bytes, w->found->debug.bytes, &file);
    if (strcmp(file.build_id, w->build_id) == 0)
        return true;
    cairn_debugfile_found_done(w->found); /* it is a library that was deleted */
    return false;
}

/* The file that is mapped, whatever became of its path. */
static bool open_mapped(const struct list *list, const struct cairn_map *map, const char *build_id,
                        struct cairn_debugfile_found *ret_found)
{
    static const enum cairn_mapped_by order[] = {CAIRN_MAPPED_BY_LINK, CAIRN_MAPPED_BY_EXE,
                                                 CAIRN_MAPPED_BY_NONE};
    const struct cairn_mapped_file file = {list->pid, map->start, map->end, map->path};
    struct wanted w = {list, map, build_id, ret_found};
    return cairn_mapped_find(&file, order, open_link, &w) != CAIRN_MAPPED_BY_NONE;
}

/* What stacks are walked by where there is no file any more. */
static bool read_in_memory(const struct cairn_memory *memory, uint64_t header,
                           struct cairn_doctor_file *ret_file)
{
    struct cairn_span image;
    if (!header || cairn_memory_image(memory, header, &image, NULL) < 0)
        return false;
    cairn_doctor_read_file(image, (struct cairn_span){0}, ret_file);
    cairn_free((void *)(uintptr_t)image.data);
    ret_file->why = "its file was deleted or replaced: stacks are walked by what is in memory, "
                    "names need the file";
    snprintf(ret_file->fix, sizeof ret_file->fix,
             "run it with sudo, or give the folder of that build with --symbols DIR");
    return true;
}

static void add_file(struct list *list, size_t number, uint64_t code_bytes)
{
    const struct cairn_map *map = cairn_maps_get(list->maps, number);
    const struct cairn_memory memory = {.read = read_memory, .ctx = list};
    uint64_t header = list->has_mem ? find_header(list, number) : 0;
    char build_id[CAIRN_IMAGE_BUILD_ID_MAX] = "";
    struct cairn_debugfile_found found = {0};
    struct cairn_err why = {0};
    struct cairn_doctor_file file = {.covered_percent = -1};
    bool is_deleted = map->flags & CAIRN_MAP_DELETED;
    if (header)
        cairn_memory_build_id(&memory, header, build_id);
    bool ok = open_mapped(list, map, build_id, &found);
    if (!ok && (!is_deleted || *build_id))
        ok = cairn_debugfile_find(list->finder, map->path, build_id, &found, &why) == CAIRN_OK;
    else if (!ok)
        snprintf(why.msg, sizeof why.msg, "its file was deleted, and cannot be told from others");
    if (ok)
        cairn_doctor_read_file(found.image.bytes, found.debug.bytes, &file);
    else if (is_deleted)
        ok = read_in_memory(&memory, header, &file);
    if (*file.build_id)
        snprintf(build_id, sizeof build_id, "%s", file.build_id);
    cairn_doctor_add_module(list->d, &(struct cairn_doctor_module){
                                         .path = map->path,
                                         .code_bytes = code_bytes,
                                         .build_id = build_id,
                                         .tables = file.tables,
                                         .covered_percent = file.covered_percent,
                                         .derived_percent = file.derived_percent,
                                         .symbols = file.symbols,
                                         .has_lines = file.has_lines,
                                         .has_inlines = file.has_inlines,
                                         .is_deleted = is_deleted,
                                         .debug_path = found.debug_path,
                                         .why = ok ? file.why : why.msg,
                                         .fix = ok ? file.fix : why.hint,
                                     });
    cairn_debugfile_found_done(&found);
}

/* It lies in no file, but its memory is one. */
static void add_vdso(struct list *list, const struct cairn_map *map)
{
    uint64_t size = map->end - map->start;
    struct cairn_doctor_file file = {.covered_percent = -1};
    uint8_t *bytes = list->has_mem && size <= VDSO_BYTES_MAX ? cairn_alloc((size_t)size, 1) : NULL;
    if (bytes && cairn_mem_read(&list->mem, map->start, bytes, (size_t)size) == size)
        cairn_doctor_read_file((struct cairn_span){bytes, (size_t)size}, (struct cairn_span){0},
                               &file);
    cairn_doctor_add_module(list->d, &(struct cairn_doctor_module){
                                         .path = map->path,
                                         .code_bytes = size,
                                         .build_id = file.build_id,
                                         .tables = file.tables,
                                         .covered_percent = file.covered_percent,
                                         .derived_percent = file.derived_percent,
                                         .symbols = file.symbols,
                                         .why = list->has_mem ? "" : "its memory cannot be read",
                                     });
    cairn_free(bytes);
}

static void add_map(struct list *list, size_t number)
{
    const struct cairn_map *map = cairn_maps_get(list->maps, number);
    const enum cairn_module_kind kind = cairn_module_kind_of(map->path, map->start);
    if (!is_code(map) || kind == CAIRN_MODULE_VSYSCALL)
        return;
    if (list->d->n_modules >= MODULES_MAX) {
        list->n_left_out++;
    } else if (kind == CAIRN_MODULE_VDSO) {
        add_vdso(list, map);
    } else if (map->flags & CAIRN_MAP_FILE && map->inode) {
        uint64_t code_bytes = sum_code(list->maps, number);
        if (code_bytes)
            add_file(list, number, code_bytes);
    } else {
        list->nameless_bytes += map->end - map->start;
    }
}

/* What a JIT compiler made, if it left a map of it. */
static void add_nameless(struct list *list, const char *map_path)
{
    bool has = *map_path;
    cairn_doctor_add_module(
        list->d, &(struct cairn_doctor_module){
                     .path = "",
                     .code_bytes = list->nameless_bytes,
                     .covered_percent = -1,
                     .symbols = has ? "perf map" : "",
                     .debug_path = map_path,
                     .why = has ? "no unwind tables: frame pointers are believed"
                                : "code of no file, as JIT compilers make it, without a perf map",
                     .fix = has ? ""
                                : "java: jcmd PID Compiler.perfmap; node: --perf-basic-prof; "
                                  "python3.12: -X perf; .NET: DOTNET_PerfMapEnabled=1",
                 });
}

static void add_run_time_code(struct list *list)
{
    struct cairn_buffer text = {0}, path = {0};
    struct cairn_err why = {0};
    bool has = cairn_perf_map_read(list->pid, &text, &path, &why) == CAIRN_OK;
    const char *map_path = has ? cairn_buffer_text(&path) : "";
    if (list->nameless_bytes)
        add_nameless(list, map_path);
    cairn_doctor_add_runtimes(list->d, list->pid, list->maps, map_path);
    cairn_buffer_done(&text);
    cairn_buffer_done(&path);
}

static void add_all(struct list *list)
{
    char text[96];
    for (size_t i = 0; i < cairn_maps_count(list->maps); i++)
        add_map(list, i);
    add_run_time_code(list);
    snprintf(text, sizeof text, "%zu more mappings with code", list->n_left_out);
    if (list->n_left_out)
        cairn_doctor_add(list->d, &(struct cairn_doctor_finding){
                                      .group = CAIRN_DOCTOR_PROCESS,
                                      .level = CAIRN_DOCTOR_PART,
                                      .key = "process.modules",
                                      .name = "modules",
                                      .value = text,
                                      .why = "only the first 4096 modules are looked at",
                                  });
}

static void add_refusal(struct cairn_doctor *d, const struct cairn_err *why)
{
    cairn_doctor_add(d, &(struct cairn_doctor_finding){.group = CAIRN_DOCTOR_PROCESS,
                                                       .level = CAIRN_DOCTOR_NO,
                                                       .key = "process.modules",
                                                       .name = "modules (/proc/PID/maps)",
                                                       .why = why->msg,
                                                       .fix = why->hint});
}

int cairn_doctor_add_modules(struct cairn_doctor *d, int pid, struct cairn_err *err)
{
    char root[32];
    struct cairn_maps *maps;
    struct cairn_err why = {0};
    struct list list = {.d = d, .pid = pid, .mem.fd = -1};
    int code = cairn_maps_read_pid(pid, &maps, &why);
    if (code == CAIRN_E_NOMEM) {
        *err = why;
        return code;
    }
    if (code < 0) {
        add_refusal(d, &why);
        return CAIRN_OK;
    }
    snprintf(root, sizeof root, "/proc/%d/root", pid);
    const struct cairn_debugfile_places places = {.root = root};
    code = cairn_debugfile_finder_new(&places, &list.finder, err);
    if (code == CAIRN_OK) {
        list.maps = maps;
        list.has_mem = cairn_mem_open(pid, &list.mem, NULL) == CAIRN_OK;
        add_all(&list);
        if (list.has_mem)
            cairn_mem_close(&list.mem);
    }
    cairn_debugfile_finder_free(list.finder);
    cairn_maps_free(maps);
    return code;
}
