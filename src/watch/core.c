/* SPDX-License-Identifier: MIT */
#include "watch/core.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/foreign.h"
#include "base/log.h"
#include "proc/regs.h"
#include "watch/read_state.h"

/* Registers say of which machine it is; the arenas of 64-bit programs alone are known. */
static int check_machine(const struct cairn_heap_core *core, struct cairn_err *err)
{
    const struct cairn_core_notes *notes = &core->file->notes;
    struct cairn_regs regs;
    for (size_t i = 0; i < notes->n_threads; i++)
        if (cairn_regs_read(notes->threads[i].regs, &regs) && regs.width == sizeof(uint64_t))
            return CAIRN_OK;
    return cairn_fail(err, CAIRN_E_SUPPORT,
                      "is a core file of %s: heaps are read out of those of this machine, of "
                      "64-bit programs",
                      cairn_elf_machine_name(core->file->elf.machine));
}

static int open_core(const char *path, struct cairn_heap_core *core, struct cairn_err *err)
{
    int code = cairn_unwind_space_open_core(path, NULL, &core->space, err);
    if (code < 0)
        return code;
    core->file = cairn_core_target_of(core->space);
    code = check_machine(core, err);
    if (code == CAIRN_OK)
        code = cairn_core_memory_maps(core->file, &core->maps, err);
    return code < 0 ? cairn_fail_in(err, code, path) : CAIRN_OK;
}

int cairn_heap_core_open(const char *path, struct cairn_heap_core **ret_core, struct cairn_err *err)
{
    struct cairn_heap_core *core = cairn_alloc(1, sizeof *core);
    if (!core)
        return cairn_fail_memory(err);
    int code = open_core(path, core, err);
    if (code < 0)
        cairn_heap_core_close(core);
    else
        *ret_core = core;
    return code;
}

void cairn_heap_core_close(struct cairn_heap_core *core)
{
    if (!core)
        return;
    cairn_maps_free(core->maps);
    cairn_unwind_space_free(core->space);
    cairn_free(core);
}

int cairn_heap_core_pid(const struct cairn_heap_core *core)
{
    return core->file->notes.facts.pid;
}

int cairn_heap_is_core(const char *path)
{
    Elf64_Ehdr head;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    bool is_core = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
                   pread(fd, &head, sizeof head, 0) == (ssize_t)sizeof head &&
                   memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_type == ET_CORE;
    if (fd >= 0)
        close(fd);
    return is_core;
}

/* A state that the kernel wrote into the core. */
static bool copy_state(const struct cairn_heap_core *core, const struct cairn_map *map,
                       struct cairn_buffer *ret_bytes)
{
    size_t size = (size_t)(map->end - map->start);
    if (map->off || map->end - map->start > CAIRN_HEAP_STATES_MAX ||
        !cairn_buffer_reserve(ret_bytes, size))
        return false;
    ret_bytes->size = cairn_core_memory_read(core->file, map->start, ret_bytes->data, size);
    return cairn_heap_view_sniff(cairn_buffer_span(ret_bytes));
}

/* A state whose file is there still: its name says of which process it is. */
static bool read_state(const struct cairn_map *map, struct cairn_buffer *ret_bytes)
{
    struct cairn_err err;
    int fd;
    cairn_buffer_done(ret_bytes);
    if (cairn_foreign_open_path(map->path, &fd, NULL) < 0)
        return false;
    int code = cairn_heap_read_state(fd, map->path, true, ret_bytes, &err);
    close(fd);
    if (code < 0)
        cairn_log_err(CAIRN_LOG_INFO, &err);
    return code == CAIRN_OK;
}

static bool find_state(const struct cairn_heap_core *core, struct cairn_buffer *ret_bytes)
{
    for (size_t i = 0; i < cairn_maps_count(core->maps); i++) {
        const struct cairn_map *map = cairn_maps_get(core->maps, i);
        struct cairn_heap_header header;
        if (!(map->flags & CAIRN_MAP_FILE) || !cairn_heap_is_state_name(map->path) ||
            (!copy_state(core, map, ret_bytes) && !read_state(map, ret_bytes)))
            continue;
        if (ret_bytes->size >= sizeof header) {
            memcpy(&header, ret_bytes->data, sizeof header);
            if ((int)header.pid == cairn_heap_core_pid(core))
                return true;
        }
    }
    cairn_buffer_done(ret_bytes);
    return false;
}

int cairn_heap_core_read(struct cairn_heap_core *core, struct cairn_heap **ret_heap,
                         struct cairn_err *err)
{
    struct cairn_heap *heap = cairn_alloc(1, sizeof *heap);
    struct cairn_buffer bytes = {0};
    int code = heap ? CAIRN_OK : cairn_fail_memory(err);
    core->is_unseen = code == CAIRN_OK && !find_state(core, &bytes);
    if (core->is_unseen)
        code = cairn_heap_core_blocks(core, &bytes, err);
    if (code == CAIRN_OK)
        code = cairn_heap_take(heap, &bytes, 0, err);
    cairn_buffer_done(&bytes);
    if (code < 0)
        cairn_heap_free(heap);
    else
        *ret_heap = heap;
    return code;
}
