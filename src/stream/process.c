/* SPDX-License-Identifier: MIT */
#include "stream/process.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/module_kind.h"
#include "stream/module.h"
#include "stream/thread.h"

enum { BUILD_ID_MAX = 64 };

struct cairn_stream_space *cairn_stream_find_process(const struct cairn_stream *stream, int pid)
{
    uint32_t index;
    return cairn_table_find(&stream->by_pid, (uint32_t)pid, &index) ? stream->spaces[index] : NULL;
}

struct cairn_stream_space *cairn_stream_process(struct cairn_stream *stream, int pid)
{
    struct cairn_stream_space *space = cairn_stream_find_process(stream, pid);
    if (space)
        return space;
    if (stream->n_spaces == CAIRN_STREAM_PROCESSES_MAX ||
        cairn_grow((void **)&stream->spaces, &stream->cap_spaces, stream->n_spaces + 1,
                   sizeof *stream->spaces) < 0)
        return NULL;
    space = cairn_alloc(1, sizeof *space);
    if (!space || cairn_table_set(&stream->threads, (uint32_t)pid, stream->n_births + 1) < 0 ||
        cairn_table_set(&stream->by_pid, (uint32_t)pid, (uint32_t)stream->n_spaces) < 0) {
        cairn_free(space);
        return NULL;
    }
    space->pid = pid;
    space->birth = ++stream->n_births;
    space->n_threads = 1; /* the first one, which has the process's number */
    space->version = ++stream->n_versions;
    stream->spaces[stream->n_spaces++] = space;
    return space;
}

static bool put_hex(struct cairn_span bytes, char hex[2 * BUILD_ID_MAX + 1])
{
    bool any = false;
    hex[0] = 0;
    for (size_t i = 0; i < bytes.size && i < BUILD_ID_MAX; i++) {
        snprintf(hex + 2 * i, 3, "%02x", bytes.data[i]);
        any |= bytes.data[i] != 0;
    }
    return any;
}

/* The text of a build ID; one of zeros alone is none. */
static uint32_t build_id_text(struct cairn_stream *stream, struct cairn_span build_id)
{
    char hex[2 * BUILD_ID_MAX + 1];
    return put_hex(build_id, hex) ? cairn_profile_text(stream->profile, hex, strlen(hex)) : 0;
}

/* The image as a whole: perf calls it "[kernel.kallsyms]_text" after the symbol whose address it
 * stores in place of the offset. */
static bool take_image(struct cairn_stream *stream, const struct cairn_stream_mapping *mapping,
                       uint32_t build_id)
{
    static const char image[] = "[kernel.kallsyms]";
    if (strncmp(mapping->path, "[kernel", 7) != 0 && strncmp(mapping->path, "[guest.kernel", 13))
        return false;
    if (build_id)
        stream->kernel_build_id = build_id;
    if (strncmp(mapping->path, image, sizeof image - 1) == 0 &&
        strcmp(mapping->path + sizeof image - 1, "_text") == 0)
        stream->kernel_text = mapping->off;
    return true;
}

static int lay(struct cairn_stream *stream, struct cairn_stream_space *space,
               const struct cairn_stream_map *map)
{
    int code = cairn_stream_space_lay(space, map, &stream->load);
    stream->counts.n_mappings += code == 0;
    space->version = ++stream->n_versions;
    return code < 0 ? code : CAIRN_OK;
}

static void clear(struct cairn_stream *stream, struct cairn_stream_space *space)
{
    cairn_stream_space_clear(space, &stream->load);
    space->version = ++stream->n_versions;
}

int cairn_stream_map(struct cairn_stream *stream, const struct cairn_stream_mapping *mapping)
{
    size_t size = cairn_module_path_size(mapping->path);
    struct cairn_stream_map map = {
        .start = mapping->start,
        .off = mapping->off,
        .file = cairn_module_file_identity(mapping->build_id, mapping->dev, mapping->inode),
        .is_deleted = size != strlen(mapping->path),
        .path = cairn_profile_text(stream->profile, mapping->path, size),
        .build_id = build_id_text(stream, mapping->build_id),
        .kind = (uint8_t)cairn_module_kind_of(mapping->path, mapping->start),
    };
    if (map.path == UINT32_MAX || map.build_id == UINT32_MAX)
        return CAIRN_E_NOMEM;
    if (mapping->is_kernel && take_image(stream, mapping, map.build_id))
        return CAIRN_OK;
    if (__builtin_add_overflow(mapping->start, mapping->size, &map.end) || map.end == map.start)
        return CAIRN_OK;
    if (mapping->is_kernel)
        return lay(stream, &stream->kernel, &map);
    struct cairn_stream_space *space = cairn_stream_process(stream, mapping->pid);
    if (!space)
        return CAIRN_E_NOMEM;
    if (!space->program && mapping->path[0] == '/' && mapping->path[1] != '/')
        space->program = map.path; /* the kernel maps the program itself first */
    return lay(stream, space, &map);
}

int cairn_stream_symbol(struct cairn_stream *stream, uint64_t start, uint64_t size,
                        const char *name)
{
    struct cairn_stream_map map = {
        .start = start,
        .path = cairn_profile_text(stream->profile, name, strlen(name)),
        .is_symbol = true,
    };
    if (map.path == UINT32_MAX)
        return CAIRN_E_NOMEM;
    if (!*name || __builtin_add_overflow(start, size, &map.end) || map.end == map.start)
        return CAIRN_OK;
    return lay(stream, &stream->kernel, &map);
}

int cairn_stream_exec(struct cairn_stream *stream, int pid)
{
    struct cairn_stream_space *space = cairn_stream_process(stream, pid);
    if (!space)
        return CAIRN_E_NOMEM;
    cairn_stream_space_leave(space);
    return CAIRN_OK;
}

/* A thread that was not heard of before counts for its process. */
static int count_thread(struct cairn_stream *stream, struct cairn_stream_space *space, int tid)
{
    uint32_t birth;
    if (cairn_table_find(&stream->threads, (uint32_t)tid, &birth) && birth == space->birth)
        return CAIRN_OK;
    space->n_threads++;
    return cairn_table_set(&stream->threads, (uint32_t)tid, space->birth);
}

int cairn_stream_fork(struct cairn_stream *stream, const struct cairn_stream_birth *birth)
{
    struct cairn_stream_space *space = cairn_stream_process(stream, birth->pid), *parent;
    if (!space)
        return CAIRN_E_NOMEM;
    int code = CAIRN_OK;
    if (birth->pid != birth->parent_pid && !birth->is_bare) {
        parent = cairn_stream_find_process(stream, birth->parent_pid);
        clear(stream, space);
        code = parent ? cairn_stream_space_copy(space, parent, &stream->load) : 1;
        stream->counts.n_mappings += code == 0;
        space->n_threads = 0; /* threads that were told of before are another process's */
        space->birth = ++stream->n_births;
    }
    if (code >= 0)
        code = count_thread(stream, space, birth->tid);
    return code < 0 ? code : cairn_stream_inherit_name(stream, birth->parent_tid, birth->tid);
}

/* The mappings go with the last thread that was heard of. */
int cairn_stream_exit(struct cairn_stream *stream, int pid, int tid)
{
    uint32_t birth;
    struct cairn_stream_space *space = cairn_stream_find_process(stream, pid);
    if (!space || !cairn_table_find(&stream->threads, (uint32_t)tid, &birth) ||
        birth != space->birth)
        return CAIRN_OK;
    cairn_table_remove(&stream->threads, (uint32_t)tid);
    if (space->n_threads && --space->n_threads == 0)
        clear(stream, space);
    return CAIRN_OK;
}

int cairn_stream_build_id(struct cairn_stream *stream, const char *path, struct cairn_span build_id,
                          bool is_kernel)
{
    uint32_t known, text = build_id_text(stream, build_id);
    uint32_t key = cairn_profile_text(stream->profile, path, cairn_module_path_size(path));
    if (text == UINT32_MAX || key == UINT32_MAX)
        return CAIRN_E_NOMEM;
    if (is_kernel) {
        if (strncmp(path, "[kernel", 7) == 0)
            stream->kernel_build_id = text;
        return CAIRN_OK;
    }
    if (!key || !text)
        return CAIRN_OK;
    if (cairn_table_find(&stream->build_ids, key, &known) && known != text)
        text = 0; /* two files had this path: nobody knows which one a mapping means */
    return cairn_table_set(&stream->build_ids, key, text);
}
