/* SPDX-License-Identifier: MIT */
/* Plans for the functions of a running process: code from its memory, symbols and the unpatched
 * bytes from the files that it has mapped. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cairn/maps.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "plans/mapped.h"
#include "plans/piece.h"
#include "proc/free_space.h"
#include "proc/mem.h"

enum { CODE_MAX = 512 << 20, WHERE_BYTES = 32 };

struct process {
    struct cairn_plans_run run;
    int pid;
    struct cairn_maps *maps;
    struct cairn_mem mem;
    uint64_t page;
    unsigned n_read;
};

static uint64_t find_free(void *context, uint64_t low, uint64_t high, uint64_t n_bytes)
{
    const struct process *p = context;
    return cairn_free_space_find(p->maps, p->page, low, high, n_bytes);
}

static bool is_same_file(const struct cairn_map *a, const struct cairn_map *b)
{
    return a->inode == b->inode && a->dev_major == b->dev_major && a->dev_minor == b->dev_minor;
}

/* The mappings of the file that lie side by side. */
static void span_module(const struct process *p, size_t index, struct cairn_plans_piece *piece)
{
    const struct cairn_map *map = cairn_maps_get(p->maps, index);
    size_t low = index, high = index;
    while (low > 0 && is_same_file(cairn_maps_get(p->maps, low - 1), map))
        low--;
    while (high + 1 < cairn_maps_count(p->maps) &&
           is_same_file(cairn_maps_get(p->maps, high + 1), map))
        high++;
    piece->module_low = cairn_maps_get(p->maps, low)->start;
    piece->module_high = cairn_maps_get(p->maps, high)->end;
}

static int plan_mapping(struct process *p, size_t index, const struct cairn_elf *elf,
                        uint8_t *memory, struct cairn_err *err)
{
    const struct cairn_map *map = cairn_maps_get(p->maps, index);
    struct cairn_plans_piece piece = {
        .path = map->path, .elf = elf, .find_free = find_free, .free_context = p};
    uint64_t vaddr;
    struct cairn_span unpatched;
    if (cairn_plans_cpu(elf) == CAIRN_HOOK_CPU_NONE)
        return cairn_fail(err, CAIRN_E_SUPPORT,
                          "code for %s, but plans are made for x86-64 and aarch64",
                          cairn_elf_machine_name(elf->machine));
    if (!cairn_elf_vaddr_of_mapping(elf, map->off, p->page, true, &vaddr))
        return cairn_fail(err, CAIRN_E_FORMAT, "no segment is at offset 0x%llx, as it is mapped",
                          (unsigned long long)map->off);
    const size_t size = (size_t)(map->end - map->start);
    const size_t n = cairn_mem_read(&p->mem, map->start, memory, size);
    if (!n)
        return cairn_fail(err, CAIRN_E_ACCESS, "its memory cannot be read at 0x%llx",
                          (unsigned long long)map->start);
    piece.load_base = map->start - vaddr;
    piece.code_va = map->start;
    piece.code = (struct cairn_span){memory, n};
    if (cairn_span_slice(elf->bytes, map->off, n, &unpatched))
        piece.unpatched = unpatched.data;
    span_module(p, index, &piece);
    p->n_read++;
    return cairn_plans_piece_each(&p->run, &piece, err);
}

static int read_mapping(void *context, size_t index, struct cairn_err *err)
{
    struct process *p = context;
    const struct cairn_map *map = cairn_maps_get(p->maps, index);
    struct cairn_file file;
    struct cairn_elf elf;
    if (map->end - map->start > CODE_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT, "%llu bytes of code, at most %d are read",
                          (unsigned long long)(map->end - map->start), CODE_MAX);
    int code = cairn_plans_open_mapped(p->pid, map, &file, err);
    if (code < 0)
        return code;
    uint8_t *memory = cairn_alloc((size_t)(map->end - map->start), 1);
    code = memory ? cairn_elf_open(file.bytes, &elf, err) : cairn_fail_memory(err);
    if (code == CAIRN_OK)
        code = plan_mapping(p, index, &elf, memory, err);
    cairn_free(memory);
    cairn_file_close(&file);
    return code;
}

static int each_mapping(struct process *p, struct cairn_err *err)
{
    int code = cairn_plans_each_mapping(p->maps, read_mapping, p, err);
    return code < 0 || p->n_read
               ? code
               : cairn_fail(err, CAIRN_E_MISSING, "pid %d: no code of a file can be read", p->pid);
}

int cairn_plans_of_pid(int pid, const struct cairn_plans_opts *opts, cairn_planned_fn *fn,
                       void *context, struct cairn_err *err)
{
    struct process p = {.pid = pid, .page = (uint64_t)sysconf(_SC_PAGESIZE)};
    char where[WHERE_BYTES] = "pid ";
    int code = cairn_plans_run_init(&p.run, opts, fn, context, err);
    if (code == CAIRN_OK)
        code = cairn_maps_read_pid(pid, &p.maps, err);
    if (code == CAIRN_OK) {
        code = cairn_mem_open(pid, &p.mem, err);
        if (code == CAIRN_OK) {
            code = each_mapping(&p, err);
            cairn_mem_close(&p.mem);
        }
        cairn_maps_free(p.maps);
    }
    if (code == CAIRN_OK) {
        snprintf(where + strlen(where), sizeof where - strlen(where), "%d", pid);
        code = cairn_plans_run_check(&p.run, where, err);
    }
    cairn_plans_run_done(&p.run);
    return code;
}
