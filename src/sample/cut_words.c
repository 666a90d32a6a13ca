/* SPDX-License-Identifier: MIT */
#include "sample/cut_words.h"

#include <stdio.h>

#include "rt/end_words.h"

/* Base name of the module that holds the outermost frame. */
static const char *outermost_module(struct cairn_collect *collect, struct cairn_space *space)
{
    const struct cairn_user_walk *walk = &collect->walk;
    const struct cairn_stream_map *map =
        walk->n ? cairn_stream_space_find(&space->code, walk->frames[walk->n - 1].va) : NULL;
    if (!map || !map->path)
        return "unknown code";
    const char *path = cairn_strings_get(&collect->profile->strings, map->path);
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* As CAIRN_PROFILE_GAP says. */
_Static_assert(CAIRN_WALK_FRAMES_MAX == 1024, "frames of a stack with a gap");

/* So many were walked when it was too much: those of a gap, too, which are not kept. */
static uint64_t frames_of(const struct cairn_collect *collect)
{
    if (collect->walk.n == CAIRN_WALK_FRAMES_MAX || !collect->frames_max)
        return CAIRN_WALK_FRAMES_MAX + collect->walk.n_missing;
    return collect->frames_max;
}

static void say_where(struct cairn_collect *collect, struct cairn_space *space, char *out,
                      size_t size)
{
    const struct cairn_end_words words = cairn_end_words((int)collect->walk.end);
    if (words.has_place)
        snprintf(out, size, "%s in %s", words.text, outermost_module(collect, space));
    else
        snprintf(out, size, "%s", words.text);
}

bool cairn_cut_words(struct cairn_collect *collect, struct cairn_space *space, char *out,
                     size_t size)
{
    const struct cairn_user_walk *walk = &collect->walk;
    if (walk->end == CAIRN_END_OUTERMOST) {
        if (walk->n_missing)
            snprintf(out, size, CAIRN_PROFILE_GAP);
        return walk->n_missing > 0;
    }
    if (walk->end == CAIRN_END_MAX_FRAMES)
        snprintf(out, size, "deeper than %llu frames", (unsigned long long)frames_of(collect));
    else if (walk->end == CAIRN_END_COPY && collect->stack_bytes)
        snprintf(out, size, "stack larger than the copied %.3g kB", collect->stack_bytes / 1000.0);
    else
        say_where(collect, space, out, size);
    return true;
}
