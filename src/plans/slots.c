/* SPDX-License-Identifier: MIT */
/* The slots of a file or of a process: relocations from files, values from memory. */
#include "hook/slots.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cairn/maps.h>
#include <cairn/slots.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "elf/image.h"
#include "plans/mapped.h"
#include "proc/mem.h"

enum { MOST_SEGMENTS = 64, WHERE_BYTES = 32 };

struct run {
    const char *const *names;
    size_t n_names;
    bool *found; /* by number of the name */
    cairn_slot_found_fn *fn;
    void *context;
    /* The module at hand. */
    const char *path;
    const struct cairn_slots_image *image;
    uint64_t load_base;
    /* Of a process; 0 and NULL of a file. */
    int pid;
    unsigned n_read; /* mappings */
    const struct cairn_maps *maps;
    struct cairn_mem *mem;
};

static bool is_named(const char *wanted, const struct cairn_slot *slot)
{
    const char *at = strchr(wanted, '@');
    size_t n = at ? (size_t)(at - wanted) : strlen(wanted);
    if (strncmp(wanted, slot->name, n) != 0 || slot->name[n])
        return false;
    while (at && *at == '@')
        at++;
    return !at || (slot->version && strcmp(at, slot->version) == 0);
}

static bool is_wanted(struct run *run, const struct cairn_slot *slot)
{
    bool wanted = false;
    for (size_t i = 0; i < run->n_names; i++)
        if (is_named(run->names[i], slot))
            wanted = run->found[i] = true;
    return wanted;
}

static void read_value(const struct run *run, const struct cairn_slot *slot,
                       struct cairn_slot_found *found)
{
    uint8_t word[8] = {0};
    size_t n = run->image->is_64 ? 8 : 4;
    found->has_value = run->mem && cairn_mem_read(run->mem, found->va, word, n) == n;
    if (!found->has_value)
        return;
    for (size_t i = n; i-- > 0;)
        found->value = found->value << 8 | word[i];
    const struct cairn_map *map = cairn_maps_find(run->maps, found->value);
    found->leads_into = map && *map->path ? map->path : NULL;
    found->is_bound =
        slot->is_defined || !cairn_slots_is_code(run->image, found->value - run->load_base);
}

static int report(void *context, const struct cairn_slot *slot)
{
    struct run *run = context;
    if (!is_wanted(run, slot))
        return 0;
    struct cairn_slot_found found = {.size = sizeof found,
                                     .module = run->path,
                                     .name = slot->name,
                                     .version = slot->version,
                                     .relocation =
                                         cairn_slots_type_name(run->image->machine, slot->type),
                                     .va = run->load_base + slot->vaddr,
                                     .is_pointer = slot->kind == CAIRN_SLOTS_POINTER};
    read_value(run, slot, &found);
    return run->fn(run->context, &found);
}

static void describe(const struct cairn_elf *elf, struct cairn_slots_segment *segments,
                     struct cairn_slots_image *ret)
{
    struct cairn_elf_segment s;
    *ret = (struct cairn_slots_image){
        .segments = segments, .machine = elf->machine, .is_64 = elf->is64};
    for (uint32_t i = 0; cairn_elf_segment(elf, i, &s); i++) {
        struct cairn_span bytes = {0};
        if (s.type == PT_DYNAMIC) {
            ret->dynamic_vaddr = s.vaddr;
            ret->n_dynamic = s.mem_size;
        }
        if (s.type != PT_LOAD || ret->n_segments == MOST_SEGMENTS)
            continue;
        (void)cairn_span_slice(elf->bytes, s.off, s.file_size, &bytes);
        segments[ret->n_segments++] = (struct cairn_slots_segment){.vaddr = s.vaddr,
                                                                   .bytes = bytes.data,
                                                                   .n_bytes = bytes.size,
                                                                   .n_memory = s.mem_size,
                                                                   .is_executable = s.flags & PF_X};
    }
}

static int each_slot(struct run *run, const struct cairn_elf *elf, struct cairn_err *err)
{
    struct cairn_slots_segment segments[MOST_SEGMENTS];
    struct cairn_slots_image image;
    struct cairn_slots_result result;
    if (elf->swap)
        return cairn_fail(err, CAIRN_E_SUPPORT, "big endian, but slots are read of little endian");
    describe(elf, segments, &image);
    run->image = &image;
    if (!cairn_slots_each(&image, report, run, &result)) {
        if (result.reason == CAIRN_SLOTS_STOPPED)
            return cairn_fail(err, CAIRN_E_STOPPED, "stopped");
        if (result.reason == CAIRN_SLOTS_NO_DYNAMIC)
            return cairn_fail(err, CAIRN_E_MISSING, "%s", cairn_slots_reason_text(result.reason));
        if (result.reason == CAIRN_SLOTS_MACHINE)
            return cairn_fail(err, CAIRN_E_SUPPORT, "relocations for %s are not known",
                              cairn_elf_machine_name(elf->machine));
        return cairn_fail(err, CAIRN_E_FORMAT, "%s (at 0x%llx)",
                          cairn_slots_reason_text(result.reason), (unsigned long long)result.vaddr);
    }
    if (result.n_left)
        cairn_log(CAIRN_LOG_WARNING, "%s: %u relocations lie outside of its segments, or in code",
                  run->path, result.n_left);
    return CAIRN_OK;
}

static int check_found(const struct run *run, const char *where, struct cairn_err *err)
{
    for (size_t i = 0; i < run->n_names; i++)
        if (!run->found[i])
            return cairn_fail(err, CAIRN_E_MISSING, "%s: no slot of %s", where, run->names[i]);
    return CAIRN_OK;
}

static int begin(struct run *run, struct cairn_err *err)
{
    if (run->n_names == 0)
        return cairn_fail(err, CAIRN_E_ARG, "no names to look for");
    run->found = cairn_alloc(run->n_names, sizeof *run->found);
    return run->found ? CAIRN_OK : cairn_fail_memory(err);
}

static int read_file(struct run *run, struct cairn_span bytes, struct cairn_err *err)
{
    struct cairn_elf elf;
    int code = cairn_elf_open(bytes, &elf, err);
    return code < 0 ? code : each_slot(run, &elf, err);
}

int cairn_slots_of_file(const char *path, const char *const *names, size_t n_names,
                        cairn_slot_found_fn *fn, void *context, struct cairn_err *err)
{
    struct run run = {
        .names = names, .n_names = n_names, .fn = fn, .context = context, .path = path};
    struct cairn_file file;
    int code = begin(&run, err);
    if (code == CAIRN_OK)
        code = cairn_file_open(path, &file, err);
    if (code == CAIRN_OK) {
        code = cairn_fail_in(err, read_file(&run, file.bytes, err), path);
        cairn_file_close(&file);
        if (code == CAIRN_OK)
            code = check_found(&run, path, err);
    }
    cairn_free(run.found);
    return code;
}

/* The base that the loader has added, by the mapping's place in the file. */
static int read_mapped(struct run *run, const struct cairn_map *map, struct cairn_span bytes,
                       struct cairn_err *err)
{
    struct cairn_elf elf;
    uint64_t vaddr, page = (uint64_t)sysconf(_SC_PAGESIZE);
    int code = cairn_elf_open(bytes, &elf, err);
    if (code < 0)
        return code;
    if (!cairn_elf_vaddr_of_mapping(&elf, map->off, page, true, &vaddr))
        return cairn_fail(err, CAIRN_E_FORMAT, "no segment is at offset 0x%llx, as it is mapped",
                          (unsigned long long)map->off);
    /* A second mapping of code of the same module. */
    if (run->path && run->load_base == map->start - vaddr && strcmp(run->path, map->path) == 0)
        return CAIRN_OK;
    run->load_base = map->start - vaddr;
    run->path = map->path;
    return each_slot(run, &elf, err);
}

static int read_mapping(void *context, size_t index, struct cairn_err *err)
{
    struct run *run = context;
    const struct cairn_map *map = cairn_maps_get(run->maps, index);
    struct cairn_file file;
    int code = cairn_plans_open_mapped(run->pid, map, &file, err);
    if (code < 0)
        return code;
    code = read_mapped(run, map, file.bytes, err);
    cairn_file_close(&file);
    run->n_read += code == CAIRN_OK;
    return code;
}

static int each_module(struct run *run, struct cairn_err *err)
{
    int code = cairn_plans_each_mapping(run->maps, read_mapping, run, err);
    return code < 0 || run->n_read
               ? code
               : cairn_fail(err, CAIRN_E_MISSING, "pid %d: no module with slots can be read",
                            run->pid);
}

int cairn_slots_of_pid(int pid, const char *const *names, size_t n_names, cairn_slot_found_fn *fn,
                       void *context, struct cairn_err *err)
{
    struct run run = {.names = names, .n_names = n_names, .fn = fn, .context = context, .pid = pid};
    struct cairn_maps *maps = NULL;
    struct cairn_mem mem;
    char where[WHERE_BYTES];
    int code = begin(&run, err);
    if (code == CAIRN_OK)
        code = cairn_maps_read_pid(pid, &maps, err);
    if (code == CAIRN_OK)
        code = cairn_mem_open(pid, &mem, err);
    if (code == CAIRN_OK) {
        run.maps = maps;
        run.mem = &mem;
        code = each_module(&run, err);
        cairn_mem_close(&mem);
        snprintf(where, sizeof where, "pid %d", pid);
        if (code == CAIRN_OK)
            code = check_found(&run, where, err);
    }
    cairn_maps_free(maps);
    cairn_free(run.found);
    return code;
}
