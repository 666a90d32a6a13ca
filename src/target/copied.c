/* SPDX-License-Identifier: MIT */
#include "target/copied.h"

#include "unwind/space.h"

/* What is farther from the copy than a stack is long is no part of the stack. */
enum { STACK_MAX = 8 << 20 };

static bool read_code(const struct cairn_copied *copied, const struct cairn_stream_map *map,
                      uint64_t va, void *to, size_t size)
{
    const struct cairn_copied_source *source = &copied->source;
    struct cairn_span bytes, image = source->file(source->ctx, map).image;
    if (!cairn_span_slice(image, va - map->start + map->off, size, &bytes))
        return source->read && source->read(source->ctx, va, to, size);
    memcpy(to, bytes.data, size);
    return true;
}

static void note_read(struct cairn_copied_reads *reads, uint64_t at, size_t size)
{
    const uint64_t last = (at + size - 1) / CAIRN_COPIED_WORD;
    if (!reads || !size)
        return;
    for (uint64_t word = at / CAIRN_COPIED_WORD; word <= last && !reads->is_over; word++) {
        if (reads->n == CAIRN_COPIED_READS_MAX || word > UINT16_MAX)
            reads->is_over = true;
        else if (!reads->n || reads->word[reads->n - 1] != word)
            reads->word[reads->n++] = (uint16_t)word;
    }
}

/* The stack, or code, which is there as it was. */
static int accessor_read(void *ctx, uint64_t va, void *to, size_t size)
{
    struct cairn_copied *copied = ctx;
    if (cairn_target_copy_read(&copied->stack, va, to, size)) {
        note_read(copied->reads, va - copied->stack.va, size);
        return 0;
    }
    const struct cairn_stream_map *map = cairn_stream_space_find(copied->space, va);
    if (map)
        return size > map->end - va || !read_code(copied, map, va, to, size);
    if (copied->reads)
        copied->reads->is_over = true; /* what is read there is not noted */
    if (copied->more && copied->more(copied->more_ctx, va, to, size))
        return 0;
    if (copied->goes_on && va >= copied->stack.va && va - copied->stack.va < STACK_MAX)
        copied->is_beyond = true;
    return 1;
}

static int accessor_find(void *ctx, uint64_t va, struct cairn_unwind_region *ret_region)
{
    const struct cairn_copied *copied = ctx;
    const struct cairn_stream_map *map = cairn_stream_space_find(copied->space, va);
    if (!map)
        return 1;
    const struct cairn_copied_file file = copied->source.file(copied->source.ctx, map);
    *ret_region = (struct cairn_unwind_region){
        .start = map->start,
        .end = map->end,
        .off = map->off,
        .flags = CAIRN_MAP_READ | CAIRN_MAP_EXEC,
        .path = cairn_strings_get(copied->texts, map->path),
        .file = file.image.data,
        .file_size = file.image.size,
        .debug_file = file.debug.data,
        .debug_file_size = file.debug.size,
    };
    return 0;
}

int cairn_copied_open(struct cairn_copied *copied, const struct cairn_copied_source *source,
                      struct cairn_err *err)
{
    const struct cairn_unwind_accessors accessors = {
        .size = sizeof accessors, .ctx = copied, .read = accessor_read, .find = accessor_find};
    *copied = (struct cairn_copied){.source = *source};
    return cairn_unwind_space_new(&accessors, &copied->unwind, err);
}

void cairn_copied_close(struct cairn_copied *copied)
{
    cairn_unwind_space_free(copied->unwind);
    *copied = (struct cairn_copied){0};
}

void cairn_copied_forget(struct cairn_copied *copied)
{
    cairn_unwind_space_refresh(copied->unwind);
}

void cairn_copied_turn(struct cairn_copied *copied, const struct cairn_strings *texts,
                       const struct cairn_stream_space *space,
                       const struct cairn_target_copy *stack, bool goes_on)
{
    if (copied->version != space->version)
        cairn_space_move(copied->unwind);
    copied->version = space->version;
    copied->texts = texts;
    copied->space = space;
    copied->stack = *stack;
    copied->goes_on = goes_on;
    copied->is_beyond = false;
}
