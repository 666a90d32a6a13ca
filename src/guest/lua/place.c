/* SPDX-License-Identifier: MIT */
/*
 * Place: which native frame runs which calls of a state. Each frame of the loop has one run of Lua
 * functions; between two of them are C functions, which have native frames of their own, unless
 * they ended with a jump.
 *
 *     natives, innermost first   f2   loop   luaD_call  lua_call  f1   precall  loop   ...  main
 *     calls,   innermost first   f2   b  a                        f1            y  x
 */
#include "guest/lua/lua.h"

static const char too_few[] = "more runs of Lua functions than frames of the interpreter's loop";
static const char too_many[] = "more frames of the interpreter's loop than runs of Lua functions";

static size_t count_runs(const struct cairn_lua_placed *placed)
{
    size_t n = 0;
    for (size_t i = 0; i < placed->n_calls; i++)
        n += placed->calls[i].starts_run;
    return n;
}

/* The native frame of a C function between two others, seen from the outermost. */
static uint32_t find_inward(const struct cairn_lua_placed *placed, uint64_t function, uint32_t from,
                            uint32_t to)
{
    return cairn_guest_find_function(placed->thread, function, from, to, placed->n_looks);
}

static uint32_t find_outward(const struct cairn_lua_placed *placed, uint64_t function,
                             uint32_t from, uint32_t to)
{
    for (; from < to && *placed->n_looks; from++, --*placed->n_looks)
        if (placed->thread->natives[from].function == function)
            return from;
    return CAIRN_GUEST_NONE;
}

/* What lies outside of the outermost frame of the loop: C functions that called it, and what of a
 * coroutine has no native frames since it yielded. Calls [first, n_calls). */
static void place_outside(struct cairn_lua_placed *placed, size_t first)
{
    uint32_t at = placed->n_loops ? placed->loops[placed->n_loops - 1] + 1 : 0;
    for (size_t i = first; i < placed->n_calls; i++) {
        uint32_t found = placed->calls[i].is_lua
                             ? CAIRN_GUEST_NONE
                             : find_outward(placed, placed->calls[i].c_function, at, placed->end);
        placed->natives[i] = found;
        if (found != CAIRN_GUEST_NONE)
            at = found + 1;
        placed->places[i] = at;
    }
}

/* The C functions of calls [first, last) are between the natives from `from` on and the frame of
 * the loop `loop` that called the outermost of them. */
static void place_between(struct cairn_lua_placed *placed, size_t first, size_t last, uint32_t from,
                          uint32_t loop)
{
    uint32_t limit = loop;
    while (last-- > first) {
        uint32_t found = find_inward(placed, placed->calls[last].c_function, from, limit);
        placed->natives[last] = found;
        placed->places[last] = found == CAIRN_GUEST_NONE ? limit : found + 1;
        if (found != CAIRN_GUEST_NONE)
            limit = found;
    }
}

/* Of the runs, the outermost that a frame of the loop has, or none: a coroutine that yielded lost
 * the native frames of its outer part; and a function is entered, or was left, a moment before or
 * after its frame is there. */
static size_t runs_without_frame(struct cairn_lua_placed *placed, size_t n_runs)
{
    size_t without = n_runs > placed->n_loops ? n_runs - placed->n_loops : 0;
    if (without && placed->state.is_main && without > 1)
        placed->doubt = too_few;
    if (placed->n_loops > n_runs + 1)
        placed->doubt = too_many;
    return without;
}

/* The first call outside of the run that begins, innermost, at `at`. */
static size_t behind_run(const struct cairn_lua_placed *placed, size_t at)
{
    while (at < placed->n_calls && !placed->calls[at].starts_run)
        at++;
    return at < placed->n_calls ? at + 1 : at;
}

static void place_at(struct cairn_lua_placed *placed, size_t first, size_t last, uint32_t place)
{
    for (size_t i = first; i < last; i++) {
        placed->places[i] = place;
        placed->natives[i] = CAIRN_GUEST_NONE;
    }
}

void cairn_lua_place(struct cairn_lua_placed *placed)
{
    size_t n_runs = count_runs(placed), without = runs_without_frame(placed, n_runs);
    /* Of a main state the innermost run is the one that is being entered. */
    bool is_entering = without && placed->state.is_main;
    size_t at = 0, n_loops = placed->n_loops, loop = 0;
    uint32_t from = 0;
    if (n_loops > n_runs) /* the innermost frames are being entered or left */
        loop = n_loops - n_runs;
    while (at < placed->n_calls && loop < n_loops) {
        size_t first = at;
        while (at < placed->n_calls && !placed->calls[at].is_lua)
            at++;
        if (at == placed->n_calls) { /* only C functions are left: they lie outside */
            at = first;
            break;
        }
        if (is_entering) {
            is_entering = false;
            at = behind_run(placed, at);
            place_at(placed, first, at, from);
            continue;
        }
        place_between(placed, first, at, from, placed->loops[loop]);
        first = at;
        at = behind_run(placed, at);
        place_at(placed, first, at, placed->loops[loop]);
        from = placed->loops[loop++] + 1;
    }
    place_outside(placed, at);
}
