/* SPDX-License-Identifier: MIT */
#include "trace/usdt_files.h"

#include <elf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/maps.h>

#include "base/alloc.h"
#include "base/error.h"
#include "elf/image.h"
#include "rt/program.h"
#include "trace/probe_file.h"

enum { LIBRARIES_MAX = 256, NEEDED_MAX = 256 };

static int each_mapped(int pid, cairn_usdt_file_fn fn, void *ctx, struct cairn_err *err)
{
    struct cairn_maps *maps;
    struct cairn_buffer path = {0};
    const char *last = "";
    int code = cairn_maps_read_pid(pid, &maps, err);
    if (code < 0)
        return code;
    for (size_t i = 0; i < cairn_maps_count(maps) && !code; i++) {
        const struct cairn_map *map = cairn_maps_get(maps, i);
        /* a file's mappings stand beside each other */
        if (strcmp(map->path, last) == 0 || !cairn_probe_mapped_path(pid, map, &path))
            continue;
        last = map->path;
        code = fn(ctx, cairn_buffer_text(&path), map->path);
    }
    cairn_buffer_done(&path);
    cairn_maps_free(maps);
    return code;
}

/* Files by path, each once, in the order in which they were asked for. */
struct libraries {
    const struct cairn_probes *probes;
    char *paths[LIBRARIES_MAX];
    size_t n;
};

static void add_path(struct libraries *to, const char *path)
{
    for (size_t i = 0; i < to->n; i++)
        if (strcmp(to->paths[i], path) == 0)
            return;
    if (to->n < LIBRARIES_MAX && (to->paths[to->n] = cairn_strdup(path)))
        to->n++;
}

static void add_library(struct libraries *to, const char *name)
{
    struct cairn_buffer path = {0};
    if (cairn_probe_find_file(to->probes, name, &path, NULL) == CAIRN_OK)
        add_path(to, cairn_buffer_text(&path));
    cairn_buffer_done(&path);
}

/* The dynamic section (gABI); false: there is none, or the file is not of 64 bits. */
static bool find_dynamic(const struct cairn_elf *elf, struct cairn_span *ret_entries,
                         struct cairn_span *ret_names)
{
    struct cairn_elf_segment s;
    Elf64_Dyn entry;
    for (uint32_t i = 0; elf->is64 && !elf->swap && cairn_elf_segment(elf, i, &s); i++) {
        if (s.type != PT_DYNAMIC || !cairn_span_slice(elf->bytes, s.off, s.file_size, ret_entries))
            continue;
        for (size_t at = 0; at + sizeof entry <= ret_entries->size; at += sizeof entry) {
            memcpy(&entry, ret_entries->data + at, sizeof entry);
            if (entry.d_tag == DT_STRTAB)
                return cairn_elf_bytes_at(elf, entry.d_un.d_val, ret_names);
        }
    }
    return false;
}

static void add_needed(struct libraries *to, const char *path)
{
    struct cairn_file file;
    struct cairn_elf elf;
    struct cairn_span entries, names;
    Elf64_Dyn entry;
    if (cairn_file_open(path, &file, NULL) < 0)
        return;
    if (cairn_elf_open(file.bytes, &elf, NULL) == CAIRN_OK &&
        find_dynamic(&elf, &entries, &names)) {
        size_t n = 0;
        for (size_t at = 0; at + sizeof entry <= entries.size && n < NEEDED_MAX;
             at += sizeof entry) {
            memcpy(&entry, entries.data + at, sizeof entry);
            if (entry.d_tag == DT_NULL)
                break;
            const char *name =
                entry.d_tag == DT_NEEDED ? cairn_span_str(names, entry.d_un.d_val) : NULL;
            n += name != NULL;
            if (name && *name)
                add_library(to, name);
        }
    }
    cairn_file_close(&file);
}

static int each_asked_for(const struct cairn_probes *probes, cairn_usdt_file_fn fn, void *ctx,
                          struct cairn_err *err)
{
    struct libraries all = {.probes = probes};
    char path[PATH_MAX];
    const char *program = cairn_program_find(probes->command, getenv("PATH"), path, sizeof path);
    int code = CAIRN_OK;
    if (!program)
        return cairn_fail(err, CAIRN_E_MISSING, "%s: there is no such program", probes->command);
    add_path(&all, program);
    for (size_t i = 0; i < all.n && !code; i++) { /* `n` grows */
        code = fn(ctx, all.paths[i], all.paths[i]);
        add_needed(&all, all.paths[i]);
    }
    for (size_t i = 0; i < all.n; i++)
        cairn_free(all.paths[i]);
    return code;
}

int cairn_usdt_each_file(const struct cairn_probes *probes, cairn_usdt_file_fn fn, void *ctx,
                         struct cairn_err *err)
{
    int code = CAIRN_OK;
    for (size_t i = 0; i < probes->n_pids && !code; i++)
        code = each_mapped(probes->pids[i], fn, ctx, err);
    if (!code && probes->command)
        code = each_asked_for(probes, fn, ctx, err);
    return code;
}
