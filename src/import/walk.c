/* SPDX-License-Identifier: MIT */
#include "import/walk.h"

#include <stdio.h>

#include "rt/end_words.h"
#include "unwind/space.h"

/* What is farther from the copy than a stack is long is no part of the stack. */
enum { STACK_MAX = 8 << 20 };

static bool read_code(struct cairn_import_walker *walker, uint64_t va, void *to, size_t size)
{
    const struct cairn_stream_map *map = cairn_stream_space_find(walker->space, va);
    struct cairn_span bytes;
    if (!map || size > map->end - va)
        return false;
    struct cairn_span image = cairn_import_files_get(&walker->files, walker->stream, map).image;
    if (!cairn_span_slice(image, va - map->start + map->off, size, &bytes))
        return false;
    memcpy(to, bytes.data, size);
    return true;
}

/* The stack, or code, which is there as it was. */
static int accessor_read(void *ctx, uint64_t va, void *to, size_t size)
{
    struct cairn_import_walker *walker = ctx;
    const struct cairn_stream_copy *copy = walker->copy;
    struct cairn_span bytes;
    if (va >= copy->sp && cairn_span_slice(copy->stack, va - copy->sp, size, &bytes)) {
        memcpy(to, bytes.data, size);
        return 0;
    }
    if (read_code(walker, va, to, size))
        return 0;
    if (copy->goes_on && va >= copy->sp && va - copy->sp < STACK_MAX)
        walker->is_beyond = true;
    return 1;
}

static int accessor_find(void *ctx, uint64_t va, struct cairn_unwind_region *ret_region)
{
    struct cairn_import_walker *walker = ctx;
    const struct cairn_stream_map *map = cairn_stream_space_find(walker->space, va);
    if (!map)
        return 1;
    struct cairn_import_bytes file = cairn_import_files_get(&walker->files, walker->stream, map);
    *ret_region = (struct cairn_unwind_region){
        .start = map->start,
        .end = map->end,
        .off = map->off,
        .flags = CAIRN_MAP_READ | CAIRN_MAP_EXEC,
        .path = cairn_strings_get(&walker->stream->profile->strings, map->path),
        .file = file.image.data,
        .file_size = file.image.size,
        .debug_file = file.debug.data,
        .debug_file_size = file.debug.size,
    };
    return 0;
}

int cairn_import_walker_init(struct cairn_import_walker *walker,
                             const struct cairn_unwind_opts *opts, struct cairn_err *err)
{
    const struct cairn_unwind_accessors accessors = {
        .size = sizeof accessors, .ctx = walker, .read = accessor_read, .find = accessor_find};
    walker->unwind = NULL;
    walker->version = 0;
    int code = cairn_import_files_init(&walker->files, opts, err);
    return code < 0 ? code : cairn_unwind_space_new(&accessors, &walker->unwind, err);
}

void cairn_import_walker_done(struct cairn_import_walker *walker)
{
    cairn_unwind_space_free(walker->unwind);
    walker->unwind = NULL;
    cairn_import_files_done(&walker->files);
}

/* Another process, or other mappings: what lies where is asked anew, the tables stay. */
static void turn_to(struct cairn_import_walker *walker, const struct cairn_stream_space *space)
{
    if (walker->files.n >= CAIRN_IMPORT_FILES_MAX) {
        cairn_unwind_space_refresh(walker->unwind);
        cairn_import_files_forget(&walker->files);
    }
    if (walker->version != space->version)
        cairn_space_move(walker->unwind);
    walker->space = space;
    walker->version = space->version;
}

/* Base name of the module that holds the outermost frame. */
static const char *outermost_module(const struct cairn_import_walker *walker)
{
    const struct cairn_stream_map *map =
        walker->n ? cairn_stream_space_find(walker->space, walker->frames[walker->n - 1].va) : NULL;
    if (!map || !map->path)
        return "unknown code";
    const char *path = cairn_strings_get(&walker->stream->profile->strings, map->path);
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Why the stack ends early, in the words of recordings of our own; NULL: it is whole. */
static const char *say_end(struct cairn_import_walker *walker, enum cairn_unwind_end end)
{
    const size_t size = sizeof walker->cut;
    const struct cairn_end_words words = cairn_end_words((int)end);
    if (end == CAIRN_END_OUTERMOST)
        return NULL;
    if (end == CAIRN_END_MAX_FRAMES)
        snprintf(walker->cut, size, "deeper than %d frames", CAIRN_MAX_FRAMES);
    else if (walker->is_beyond)
        snprintf(walker->cut, size, "stack larger than the copied %.3g kB",
                 (double)walker->copy->stack.size / 1000.0);
    else if (words.has_place)
        snprintf(walker->cut, size, "%s in %s", words.text, outermost_module(walker));
    else
        snprintf(walker->cut, size, "%s", words.text);
    return walker->cut;
}

static enum cairn_unwind_end walk_by_tables(struct cairn_import_walker *walker)
{
    struct cairn_cursor cursor;
    struct cairn_cursor_frame frame;
    if (cairn_cursor_init(&cursor, walker->unwind, &walker->copy->regs, NULL) < 0) {
        walker->frames[walker->n++] = (struct cairn_stream_frame){
            .va = walker->copy->regs.ip, .how = CAIRN_HOW_START, .exact = true};
        return CAIRN_END_NO_REGISTER;
    }
    do {
        cairn_cursor_frame(&cursor, &frame);
        /* Nothing has called a signal's frame. */
        walker->frames[walker->n++] = (struct cairn_stream_frame){
            .va = frame.ip, .how = (uint8_t)frame.how, .exact = frame.exact || frame.signal};
        walker->is_beyond = false; /* what the step that ends the walk asks for is what counts */
    } while (walker->n < CAIRN_MAX_FRAMES && cairn_cursor_step(&cursor));
    return walker->n < CAIRN_MAX_FRAMES ? cairn_cursor_end(&cursor) : CAIRN_END_MAX_FRAMES;
}

int cairn_import_walk(void *ctx, const struct cairn_stream *stream,
                      const struct cairn_stream_space *space, const struct cairn_stream_copy *copy,
                      struct cairn_stream_walk *ret_walk)
{
    struct cairn_import_walker *walker = ctx;
    walker->stream = stream;
    walker->copy = copy;
    walker->n = 0;
    walker->is_beyond = false;
    turn_to(walker, space);
    enum cairn_unwind_end end = walk_by_tables(walker);
    *ret_walk = (struct cairn_stream_walk){
        .frames = walker->frames, .n = walker->n, .cut = say_end(walker, end)};
    walker->copy = NULL;
    return end == CAIRN_END_BUSY ? CAIRN_E_NOMEM : CAIRN_OK;
}
