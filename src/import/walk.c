/* SPDX-License-Identifier: MIT */
#include "import/walk.h"

#include <stdio.h>

#include "rt/end_words.h"

static struct cairn_copied_file file_of(void *ctx, const struct cairn_stream_map *map)
{
    struct cairn_import_walker *walker = ctx;
    return cairn_import_files_get(&walker->files, walker->stream, map);
}

int cairn_import_walker_init(struct cairn_import_walker *walker,
                             const struct cairn_unwind_opts *opts, struct cairn_err *err)
{
    const struct cairn_copied_source source = {.ctx = walker, .file = file_of};
    int code = cairn_import_files_init(&walker->files, opts, err);
    return code < 0 ? code : cairn_copied_open(&walker->copied, &source, err);
}

void cairn_import_walker_done(struct cairn_import_walker *walker)
{
    cairn_copied_close(&walker->copied);
    cairn_import_files_done(&walker->files);
}

/* Base name of the module that holds the outermost frame. */
static const char *outermost_module(const struct cairn_import_walker *walker)
{
    const struct cairn_stream_map *map =
        walker->n ? cairn_stream_space_find(walker->copied.space, walker->frames[walker->n - 1].va)
                  : NULL;
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
    else if (walker->copied.is_beyond)
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
    if (cairn_cursor_init(&cursor, walker->copied.unwind, &walker->copy->regs, NULL) < 0) {
        walker->frames[walker->n++] = (struct cairn_stream_frame){
            .va = walker->copy->regs.ip, .how = CAIRN_HOW_START, .exact = true};
        return CAIRN_END_NO_REGISTER;
    }
    do {
        cairn_cursor_frame(&cursor, &frame);
        walker->frames[walker->n++] = cairn_copied_frame(&frame);
        walker->copied.is_beyond =
            false; /* what the step that ends the walk asks for is what counts */
    } while (walker->n < CAIRN_MAX_FRAMES && cairn_cursor_step(&cursor));
    return walker->n < CAIRN_MAX_FRAMES ? cairn_cursor_end(&cursor) : CAIRN_END_MAX_FRAMES;
}

int cairn_import_walk(void *ctx, const struct cairn_stream *stream,
                      const struct cairn_stream_space *space, const struct cairn_stream_copy *copy,
                      struct cairn_stream_walk *ret_walk)
{
    struct cairn_import_walker *walker = ctx;
    const struct cairn_target_copy stack = {.va = copy->sp, .bytes = copy->stack};
    walker->stream = stream;
    walker->copy = copy;
    walker->n = 0;
    if (walker->files.n >= CAIRN_IMPORT_FILES_MAX) {
        cairn_copied_forget(&walker->copied);
        cairn_import_files_forget(&walker->files);
    }
    cairn_copied_turn(&walker->copied, &stream->profile->strings, space, &stack, copy->goes_on);
    enum cairn_unwind_end end = walk_by_tables(walker);
    *ret_walk = (struct cairn_stream_walk){
        .frames = walker->frames, .n = walker->n, .cut = say_end(walker, end)};
    walker->copy = NULL;
    return end == CAIRN_END_BUSY ? CAIRN_E_NOMEM : CAIRN_OK;
}
