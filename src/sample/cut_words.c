/* SPDX-License-Identifier: MIT */
#include "sample/cut_words.h"

#include <stdio.h>

/* Base name of the module that holds the outermost frame. */
static const char *outermost_module(struct cairn_collect *collect, struct cairn_space *space)
{
    const struct cairn_user_walk *walk = &collect->walk;
    const struct cairn_space_map *map =
        walk->n ? cairn_space_find(space, walk->addresses[walk->n - 1]) : NULL;
    if (!map || !map->path)
        return "unknown code";
    const char *path = cairn_strings_get(&collect->profile->strings, map->path);
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Those of a walk by tables. */
static void table_reason(struct cairn_collect *collect, struct cairn_space *space, char *out,
                         size_t size)
{
    const char *module = outermost_module(collect, space);
    switch (collect->walk.end) {
    case CAIRN_WALK_NO_RULE:
        snprintf(out, size, "no unwind rule in %s", module);
        break;
    case CAIRN_WALK_HARD_RULE:
        snprintf(out, size, "a rule of %s needs more registers", module);
        break;
    case CAIRN_WALK_UNREADABLE:
        snprintf(out, size, "stack not in %s, below %s",
                 collect->stack_bytes ? "the copy" : "memory", module);
        break;
    case CAIRN_WALK_FALLING:
        snprintf(out, size, "stack does not rise in %s", module);
        break;
    case CAIRN_WALK_NO_CODE:
        snprintf(out, size, "address outside of known code");
        break;
    case CAIRN_WALK_NO_ROOM:
        snprintf(out, size, "no room for the table of %s", module);
        break;
    case CAIRN_WALK_SIGNAL:
        snprintf(out, size, "the handler of a signal has a stack of its own");
        break;
    case CAIRN_WALK_NOT_COPIED:
        snprintf(out, size, "too many stacks to copy at once");
        break;
    case CAIRN_WALK_SPENT:
        snprintf(out, size, "copy not walked, to keep the recorder below a fifth of a CPU");
        break;
    case CAIRN_WALK_SWITCHED:
        snprintf(out, size, "called on another stack in %s", module);
        break;
    case CAIRN_WALK_32:
        snprintf(out, size, "32-bit program");
        break;
    default:
        snprintf(out, size, "program not known yet");
        break;
    }
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

bool cairn_cut_words(struct cairn_collect *collect, struct cairn_space *space, char *out,
                     size_t size)
{
    switch (collect->walk.end) {
    case CAIRN_WALK_WHOLE:
        if (collect->walk.n_missing)
            snprintf(out, size, CAIRN_PROFILE_GAP);
        return collect->walk.n_missing > 0;
    case CAIRN_WALK_OUTSIDE:
        snprintf(out, size, "frame pointer leads outside code");
        break;
    case CAIRN_WALK_DEEP:
        snprintf(out, size, "deeper than %llu frames", (unsigned long long)frames_of(collect));
        break;
    case CAIRN_WALK_COPY:
        if (collect->stack_bytes)
            snprintf(out, size, "the stack is deeper than the copied %.3g kB",
                     collect->stack_bytes / 1000.0);
        else
            snprintf(out, size, "stack larger than the copy");
        break;
    case CAIRN_WALK_NOTHING:
        snprintf(out, size, "no user stack");
        break;
    case CAIRN_WALK_NO_POINTER:
        snprintf(out, size, "no frame pointer in %s", outermost_module(collect, space));
        break;
    default:
        table_reason(collect, space, out, size);
        break;
    }
    return true;
}
