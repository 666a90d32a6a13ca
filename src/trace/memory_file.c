/* SPDX-License-Identifier: MIT */
#include "trace/memory_file.h"

#include <elf.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/hw_breakpoint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cairn/maps.h>
#include <cairn/symbolizer.h>

#include "base/error.h"
#include "base/file.h"
#include "elf/image.h"
#include "proc/mapped_file.h"
#include "proc/process.h"
#include "rt/program.h"
#include "symbol/named_variable.h"
#include "trace/probe_file.h"

/* The path of the mapping's file as we open it. */
static void put_path(struct cairn_buffer *out, int pid, const struct cairn_map *map, bool is_main)
{
    const struct cairn_mapped_file file = {pid, map->start, map->end, map->path};
    struct stat st;
    if (!(map->flags & CAIRN_MAP_DELETED) && cairn_mapped_name(&file, CAIRN_MAPPED_BY_ROOT, out) &&
        cairn_file_stat(cairn_buffer_text(out), &st) && S_ISREG(st.st_mode))
        return;
    (void)cairn_mapped_name(&file, is_main ? CAIRN_MAPPED_BY_EXE : CAIRN_MAPPED_BY_LINK, out);
}

/* The first mapping of a file; `file` NULL: of the program. */
static int find_file(const char *event, int pid, const char *file, const struct cairn_maps *maps,
                     const struct cairn_map **ret_map, struct cairn_err *err)
{
    struct cairn_buffer exe = {0};
    bool is_deleted;
    int code = file ? CAIRN_OK : cairn_process_exe(pid, &exe, &is_deleted, err);
    if (code < 0)
        return cairn_fail_in(err, code, event);
    const char *wanted = file ? file : cairn_buffer_text(&exe);
    code = CAIRN_E_MISSING;
    for (size_t i = 0; i < cairn_maps_count(maps) && code < 0; i++) {
        const struct cairn_map *map = cairn_maps_get(maps, i);
        if (!(map->flags & CAIRN_MAP_FILE) ||
            (strchr(wanted, '/') ? strcmp(map->path, wanted) != 0
                                 : !cairn_probe_is_called(map->path, wanted)))
            continue;
        *ret_map = map;
        code = CAIRN_OK;
    }
    cairn_buffer_done(&exe);
    if (code < 0) {
        cairn_fail(err, code, "%s: pid %d has no file %s mapped", event, pid,
                   file ? file : "of its program");
        cairn_hint(err,
                   "cat /proc/%d/maps has the files; for C++, a name of a namespace is "
                   "written with two colons",
                   pid);
    }
    return code;
}

/* Bytes from the begin of the file's first mapping to a vaddr. */
static int from_first(const char *path, uint64_t vaddr, uint64_t *ret_rel, struct cairn_err *err)
{
    struct cairn_file file;
    struct cairn_elf elf;
    uint64_t first = 0;
    int code = cairn_file_open(path, &file, err);
    if (code < 0)
        return code;
    code = cairn_elf_open(file.bytes, &elf, err);
    if (code == CAIRN_OK && !elf.is64)
        code = cairn_fail(err, CAIRN_E_SUPPORT, "%s: 32-bit programs are not watched", path);
    if (code == CAIRN_OK && !cairn_elf_first_vaddr(&elf, (uint64_t)sysconf(_SC_PAGESIZE), &first))
        code = cairn_fail(err, CAIRN_E_FORMAT, "%s: has no segment that is loaded", path);
    cairn_file_close(&file);
    if (code == CAIRN_OK)
        *ret_rel = vaddr - first;
    return code;
}

static int look_up(const char *path, const char *symbol, struct cairn_named_variable *ret_variable,
                   struct cairn_err *err)
{
    const struct cairn_symbolizer_opts opts = {.size = sizeof opts};
    struct cairn_symbolizer *symbolizer;
    struct cairn_module *module;
    int code = cairn_symbolizer_new(&opts, &symbolizer, err);
    if (code < 0)
        return code;
    code = cairn_symbolizer_open_file(symbolizer, path, &module, err);
    if (code == CAIRN_OK)
        code = cairn_module_find_variable(module, symbol, ret_variable, err);
    cairn_symbolizer_free(symbolizer);
    return code;
}

static int check_variable(const char *event, const struct cairn_named_variable *variable,
                          const struct cairn_memory_spec *spec, struct cairn_err *err)
{
    if (variable->is_thread_local) {
        cairn_fail(err, CAIRN_E_ARG, "%s: each thread has its own: it has no one address", event);
        cairn_hint(err, "in gdb, print &%.64s has the address of one thread's", spec->symbol);
        return CAIRN_E_ARG;
    }
    if (variable->is_function && spec->type == HW_BREAKPOINT_W) {
        cairn_fail(err, CAIRN_E_ARG, "%s: is a function", event);
        cairn_hint(err, ":x traces when it is called, uprobe: with its arguments");
        return CAIRN_E_ARG;
    }
    if (spec->type == HW_BREAKPOINT_X || spec->bytes)
        return CAIRN_OK;
    if (!variable->size || spec->off)
        return cairn_fail(err, CAIRN_E_ARG, "%s: how many bytes? Give +OFFSET/BYTES, such as %s/8",
                          event, spec->symbol);
    return CAIRN_OK;
}

/* `rel` and the number of bytes, by the file. */
static int measure(const char *event, const char *path, const struct cairn_memory_spec *spec,
                   struct cairn_memory_found *found, struct cairn_err *err)
{
    struct cairn_named_variable variable = {.vaddr = spec->address, .size = sizeof(long)};
    int code = CAIRN_OK;
    if (spec->symbol) {
        code = look_up(path, spec->symbol, &variable, err);
        if (code == CAIRN_OK)
            code = check_variable(event, &variable, spec, err);
    }
    if (code == CAIRN_OK)
        code = from_first(path, variable.vaddr + spec->off, &found->rel, err);
    found->bytes = spec->bytes ? spec->bytes : variable.size;
    return code;
}

/* Can the access be made? Else the event would never come. */
static int check_mapping(const char *event, int pid, uint64_t va, uint32_t type,
                         const struct cairn_map *map, struct cairn_err *err)
{
    if (!map) {
        cairn_fail(err, CAIRN_E_MISSING, "%s: pid %d has nothing mapped at 0x%" PRIx64, event, pid,
                   va);
        cairn_hint(err, "cat /proc/%d/maps has what is mapped", pid);
        return CAIRN_E_MISSING;
    }
    if (type == HW_BREAKPOINT_X && !(map->flags & CAIRN_MAP_EXEC))
        return cairn_fail(err, CAIRN_E_ARG, "%s: 0x%" PRIx64 " is no code: it is not executable",
                          event, va);
    if (type == HW_BREAKPOINT_W && !(map->flags & CAIRN_MAP_WRITE)) {
        cairn_fail(err, CAIRN_E_ARG, "%s: 0x%" PRIx64 " is %s: nothing writes there", event, va,
                   map->flags & CAIRN_MAP_EXEC ? "code" : "read-only");
        cairn_hint(err, map->flags & CAIRN_MAP_EXEC
                            ? ":x traces when the instruction is executed"
                            : ":rw traces reads; what is written before the loader protects it "
                              "needs -- COMMAND");
        return CAIRN_E_ARG;
    }
    return CAIRN_OK;
}

static int find_in(const char *event, int pid, const struct cairn_memory_spec *spec,
                   struct cairn_memory_found *found, struct cairn_err *err)
{
    const struct cairn_map *map;
    struct cairn_buffer path = {0};
    if (!spec->file && !spec->symbol) {
        found->va = spec->address + spec->off;
        found->bytes = spec->bytes ? spec->bytes : sizeof(long);
        return CAIRN_OK;
    }
    int code = find_file(event, pid, spec->file, found->maps, &map, err);
    if (code < 0)
        return code;
    put_path(&path, pid, map, !spec->file);
    code = path.failed ? cairn_fail_memory(err)
                       : measure(event, cairn_buffer_text(&path), spec, found, err);
    cairn_buffer_done(&path);
    found->va = map->start + found->rel;
    return code;
}

static int check_width(const char *event, int pid, struct cairn_err *err)
{
    struct cairn_file file;
    struct cairn_elf elf;
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    int code = cairn_file_open(path, &file, err);
    if (code < 0)
        return cairn_fail_in(err, code, event);
    code = cairn_elf_open(file.bytes, &elf, err);
    if (code == CAIRN_OK && !elf.is64)
        code = cairn_fail(err, CAIRN_E_SUPPORT,
                          "%s: pid %d is a 32-bit program: these are not "
                          "watched",
                          event, pid);
    cairn_file_close(&file);
    return code;
}

int cairn_memory_find(const char *event, int pid, const struct cairn_memory_spec *spec,
                      struct cairn_memory_found *ret_found, struct cairn_err *err)
{
    *ret_found = (struct cairn_memory_found){
        .pid = pid, .stack_start = cairn_process_stack_start(pid), .mapping = ""};
    int code = check_width(event, pid, err);
    if (code == CAIRN_OK)
        code = cairn_maps_read_pid(pid, &ret_found->maps, err);
    if (code == CAIRN_OK)
        code = find_in(event, pid, spec, ret_found, err);
    if (code < 0)
        return code;
    const struct cairn_map *map = cairn_maps_find(ret_found->maps, ret_found->va);
    if (map)
        ret_found->mapping = map->path;
    code = check_mapping(event, pid, ret_found->va, spec->type, map, err);
    if (code == CAIRN_OK && !ret_found->stack_start)
        code =
            cairn_fail(err, CAIRN_E_MISSING, "%s: pid %d has ended, or has no program", event, pid);
    return code;
}

void cairn_memory_found_done(struct cairn_memory_found *found)
{
    cairn_maps_free(found->maps);
    found->maps = NULL;
    found->mapping = "";
}

/* Is the file that the event names the program itself? */
static bool is_program(const struct cairn_probes *probes, const char *program, const char *file)
{
    struct cairn_buffer path = {0};
    struct stat a, b;
    const bool is_same =
        cairn_probe_is_called(program, file) ||
        (cairn_probe_find_file(probes, file, &path, NULL) == CAIRN_OK &&
         cairn_file_stat(cairn_buffer_text(&path), &a) && cairn_file_stat(program, &b) &&
         a.st_dev == b.st_dev && a.st_ino == b.st_ino);
    cairn_buffer_done(&path);
    return is_same;
}

int cairn_memory_find_ahead(const struct cairn_probes *probes, const char *event,
                            const struct cairn_memory_spec *spec,
                            struct cairn_memory_found *ret_found, struct cairn_err *err)
{
    char found[PATH_MAX];
    const char *program =
        cairn_program_find_mapped(probes->command, getenv("PATH"), found, sizeof found);
    *ret_found = (struct cairn_memory_found){.mapping = ""};
    if (!program)
        return cairn_fail(err, CAIRN_E_MISSING, "%s: there is no such program", probes->command);
    if (!spec->symbol && !spec->file) {
        cairn_fail(err, CAIRN_E_ARG, "%s: an address is known when the command runs", event);
        cairn_hint(err, "start it, and give --pid PID; or name a variable");
        return CAIRN_E_ARG;
    }
    if (!spec->file || is_program(probes, program, spec->file))
        return measure(event, program, spec, ret_found, err);
    struct cairn_buffer path = {0};
    int code = cairn_probe_find_file(probes, spec->file, &path, err);
    if (code == CAIRN_OK)
        code = measure(event, cairn_buffer_text(&path), spec, ret_found, err);
    ret_found->is_of_library = true;
    cairn_buffer_done(&path);
    return code;
}

int cairn_memory_find_late(const char *event, int pid, uint64_t rel, uint32_t type,
                           uint64_t *ret_va, struct cairn_err *err)
{
    struct cairn_maps *maps;
    const struct cairn_map *map;
    int code = cairn_maps_read_pid(pid, &maps, err);
    if (code < 0)
        return cairn_fail_in(err, code, event);
    code = find_file(event, pid, NULL, maps, &map, err);
    const uint64_t va = code == CAIRN_OK ? map->start + rel : 0;
    if (code == CAIRN_OK)
        code = check_mapping(event, pid, va, type, cairn_maps_find(maps, va), err);
    cairn_maps_free(maps);
    if (code == CAIRN_OK)
        *ret_va = va;
    return code;
}
