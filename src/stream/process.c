/* SPDX-License-Identifier: MIT */
#include "stream/process.h"

#include "base/alloc.h"
#include "base/module_kind.h"
#include "stream/thread.h"

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
    space->birth = ++stream->n_births;
    space->n_threads = 1; /* the first one, which has the process's number */
    cairn_stream_space_touch(space, &stream->load);
    stream->spaces[stream->n_spaces++] = space;
    return space;
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

/* `code` is what laying a mapping returned. */
static int count(struct cairn_stream *stream, int code)
{
    stream->counts.n_mappings += code == 0;
    return code < 0 ? code : CAIRN_OK;
}

static int map_kernel(struct cairn_stream *stream, const struct cairn_stream_mapping *mapping)
{
    struct cairn_stream_map map;
    if (cairn_stream_mapping_take(stream->profile, mapping, &map) < 0)
        return CAIRN_E_NOMEM;
    if (take_image(stream, mapping, map.build_id))
        return CAIRN_OK;
    return count(stream, cairn_stream_space_lay(&stream->kernel, &map, &stream->load));
}

int cairn_stream_map(struct cairn_stream *stream, const struct cairn_stream_mapping *mapping)
{
    if (mapping->is_kernel)
        return map_kernel(stream, mapping);
    struct cairn_stream_space *space = cairn_stream_process(stream, mapping->pid);
    return space ? count(stream,
                         cairn_stream_space_map(space, stream->profile, mapping, &stream->load))
                 : CAIRN_E_NOMEM;
}

int cairn_stream_symbol(struct cairn_stream *stream, uint64_t start, uint64_t size,
                        const char *name)
{
    struct cairn_stream_map map = {
        .start = start,
        .end = start + size,
        .path = cairn_profile_text(stream->profile, name, strlen(name)),
        .is_symbol = true,
    };
    if (map.path == UINT32_MAX)
        return CAIRN_E_NOMEM;
    return *name ? count(stream, cairn_stream_space_lay(&stream->kernel, &map, &stream->load))
                 : CAIRN_OK;
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
        cairn_stream_space_clear(space, &stream->load);
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
        cairn_stream_space_clear(space, &stream->load);
    return CAIRN_OK;
}

int cairn_stream_build_id(struct cairn_stream *stream, const char *path, struct cairn_span build_id,
                          bool is_kernel)
{
    uint32_t known, text = cairn_stream_build_id_text(stream->profile, build_id);
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
