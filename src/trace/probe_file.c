/* SPDX-License-Identifier: MIT */
#include "trace/probe_file.h"

#include <elf.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cairn/maps.h>

#include "base/error.h"
#include "base/file.h"
#include "code/insn_x86_64.h"
#include "elf/image.h"
#include "proc/mapped_file.h"
#include "rt/program.h"
#include "target/library.h"

enum { ENDBR_BYTES = 4, PUSH = 0x50, PUSH_END = 0x58, REX_B = 0x41 };

static const char emulated[] =
    "uprobe on an instruction that the kernel emulates: some 0.7 us a hit";
static const char stepped[] =
    "uprobe on an instruction that the kernel single-steps: some 10 us a hit";
static const char other_cpu[] = "uprobe";

static bool is_file(struct cairn_buffer *path)
{
    struct stat st;
    return !path->failed && cairn_file_stat(cairn_buffer_text(path), &st) && S_ISREG(st.st_mode);
}

static bool try_path(struct cairn_buffer *path, const char *folder, const char *file)
{
    cairn_buffer_clear(path);
    cairn_buffer_printf(path, "%s%s", folder, file);
    return is_file(path);
}

bool cairn_probe_is_called(const char *path, const char *file)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const size_t size = strlen(file);
    if (strncmp(name, file, size) != 0)
        return false;
    return !name[size] || strncmp(name + size, ".so", 3) == 0;
}

bool cairn_probe_mapped_path(int pid, const struct cairn_map *map, struct cairn_buffer *ret_path)
{
    if (!(map->flags & CAIRN_MAP_FILE) || !(map->flags & CAIRN_MAP_EXEC))
        return false;
    const struct cairn_mapped_file mapped = {pid, map->start, map->end, map->path};
    if (!cairn_mapped_name(
            &mapped, map->flags & CAIRN_MAP_DELETED ? CAIRN_MAPPED_BY_LINK : CAIRN_MAPPED_BY_ROOT,
            ret_path))
        return false;
    return is_file(ret_path);
}

static bool find_mapped(int pid, const char *file, struct cairn_buffer *path)
{
    struct cairn_maps *maps;
    bool found = false;
    if (cairn_maps_read_pid(pid, &maps, NULL) < 0)
        return false;
    for (size_t i = 0; i < cairn_maps_count(maps) && !found; i++) {
        const struct cairn_map *map = cairn_maps_get(maps, i);
        found = cairn_probe_is_called(map->path, file) && cairn_probe_mapped_path(pid, map, path);
    }
    cairn_maps_free(maps);
    return found;
}

struct named {
    const char *file;
    struct cairn_buffer *path;
};

static int take_named(void *ctx, const struct cairn_library_file *file)
{
    struct named *named = ctx;
    return cairn_probe_is_called(file->path, named->file) && try_path(named->path, "", file->path);
}

/* The command's program, or one of the libraries that it will have. */
static bool find_in_command(const char *command, const char *file, struct cairn_buffer *path)
{
    struct named named = {.file = file, .path = path};
    char found[PATH_MAX];
    const char *program = cairn_program_find_mapped(command, getenv("PATH"), found, sizeof found);
    return program && cairn_library_each_file(program, take_named, &named);
}

static bool find_in_folders(const char *file, struct cairn_buffer *path)
{
    char found[PATH_MAX];
    if (cairn_library_find(file, NULL, path))
        return true;
    const char *program = cairn_program_find(file, getenv("PATH"), found, sizeof found);
    return program && try_path(path, "", program);
}

static bool find_beside(const char *command, const char *file, struct cairn_buffer *path)
{
    const char *slash = strrchr(command, '/');
    if (!slash)
        return false;
    cairn_buffer_clear(path);
    cairn_buffer_printf(path, "%.*s%s", (int)(slash + 1 - command), command, file);
    return is_file(path);
}

int cairn_probe_find_file(const struct cairn_probes *probes, const char *file,
                          struct cairn_buffer *ret_path, struct cairn_err *err)
{
    char root[64];
    const bool has_folder = strchr(file, '/') != NULL;
    for (size_t i = 0; i < probes->n_pids; i++) {
        snprintf(root, sizeof root, "/proc/%d/root", probes->pids[i]);
        if (has_folder ? file[0] == '/' && try_path(ret_path, root, file)
                       : find_mapped(probes->pids[i], file, ret_path))
            return CAIRN_OK;
    }
    if (!has_folder && probes->command && find_in_command(probes->command, file, ret_path))
        return CAIRN_OK;
    if (has_folder ? try_path(ret_path, "", file) : find_in_folders(file, ret_path))
        return CAIRN_OK;
    if (!has_folder && probes->command && find_beside(probes->command, file, ret_path))
        return CAIRN_OK;
    cairn_fail(err, CAIRN_E_MISSING, "%s: there is no such file", file);
    cairn_hint(err, has_folder ? "the path is as the target sees it"
                               : "no target has it mapped, and no folder of libraries nor PATH has "
                                 "it; give its path");
    return CAIRN_E_MISSING;
}

bool cairn_probe_find_code(const struct cairn_elf *elf, uint64_t vaddr, uint64_t *ret_off,
                           struct cairn_span *ret_code)
{
    struct cairn_elf_segment s;
    for (uint32_t i = 0; i < elf->n_segments; i++)
        if (cairn_elf_segment(elf, i, &s) && s.type == PT_LOAD && s.flags & PF_X &&
            vaddr >= s.vaddr && vaddr - s.vaddr < s.file_size) {
            *ret_off = vaddr - s.vaddr + s.off;
            return cairn_elf_bytes_at(elf, vaddr, ret_code);
        }
    return false;
}

static bool is_push(struct cairn_span code)
{
    const size_t at = code.size > 1 && code.data[0] == REX_B;
    return code.size > at && code.data[at] >= PUSH && code.data[at] < PUSH_END;
}

/* Does an instruction begin there? */
static bool is_begin(struct cairn_span code, uint64_t off)
{
    struct cairn_x86_64_insn insn;
    uint64_t at = 0;
    while (at < off) {
        const size_t size = cairn_x86_64_insn_take(
            &insn, (struct cairn_span){code.data + at, code.size - (size_t)at});
        if (!size)
            return false;
        at += size;
    }
    return at == off;
}

static int place_x86_64(const char *function, struct cairn_span code, uint64_t off,
                        uint64_t *ret_off, const char **ret_how, struct cairn_err *err)
{
    static const uint8_t endbr64[ENDBR_BYTES] = {0xf3, 0x0f, 0x1e, 0xfa};
    if (off >= code.size || !is_begin(code, off)) {
        cairn_fail(err, CAIRN_E_ARG, "%s+%#" PRIx64 ": no instruction begins there", function, off);
        cairn_hint(err, "objdump -d shows where the instructions of the function begin");
        return CAIRN_E_ARG;
    }
    code = (struct cairn_span){code.data + off, code.size - (size_t)off};
    const bool has_endbr =
        code.size > ENDBR_BYTES && memcmp(code.data, endbr64, sizeof endbr64) == 0;
    if (!off && has_endbr &&
        is_push((struct cairn_span){code.data + ENDBR_BYTES, code.size - ENDBR_BYTES})) {
        *ret_off += ENDBR_BYTES;
        *ret_how = emulated;
    } else {
        *ret_how = is_push(code) ? emulated : stepped;
    }
    return CAIRN_OK;
}

static int place_in(const struct cairn_file *file, const char *path, const char *function,
                    uint64_t vaddr, uint64_t off, uint64_t *ret_off, const char **ret_how,
                    struct cairn_err *err)
{
    struct cairn_elf elf;
    struct cairn_span code;
    int code_of = cairn_elf_open(file->bytes, &elf, err);
    if (code_of < 0)
        return code_of;
    if (!cairn_probe_find_code(&elf, vaddr, ret_off, &code))
        return cairn_fail(err, CAIRN_E_MISSING, "%s: %s is no code of this file", path, function);
    *ret_off += off;
    *ret_how = other_cpu;
    if (elf.machine == EM_X86_64)
        return place_x86_64(function, code, off, ret_off, ret_how, err);
    if (off % 4 != 0)
        return cairn_fail(err, CAIRN_E_ARG, "%s+%#" PRIx64 ": no instruction begins there",
                          function, off);
    return CAIRN_OK;
}

int cairn_probe_place(const char *path, const char *function, uint64_t vaddr, uint64_t off,
                      uint64_t *ret_off, const char **ret_how, struct cairn_err *err)
{
    struct cairn_file file;
    int code = cairn_file_open(path, &file, err);
    if (code < 0)
        return code;
    code = place_in(&file, path, function, vaddr, off, ret_off, ret_how, err);
    cairn_file_close(&file);
    return code;
}
