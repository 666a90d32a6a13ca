/* SPDX-License-Identifier: MIT */
/*
 * PUC Lua, as a guest:
 *
 *     look.c    what a file tells            state.c   a lua_State, its calls, their runs
 *     place.c   runs to native frames        line.c    a pc to a line
 *     names.c   what frames are called       called.c  the name by which they are called
 *     lua.c     all of it, for one thread
 */
#ifndef CAIRN_GUEST_LUA_LUA_H
#define CAIRN_GUEST_LUA_LUA_H

#include "guest/guest.h"
#include "guest/lua/state.h"

/* The frames of the loop on one stack: luaconf.h lets a state have 200 calls from C. */
enum { CAIRN_LUA_CALLS_MAX = 1 << 16, CAIRN_LUA_LOOPS_MAX = 1 << 12 };

bool cairn_lua_look(const struct cairn_elf *elf, struct cairn_guest_file *ret_file);

/* What is at work on one state, and where it stands. */
struct cairn_lua_placed {
    const struct cairn_guest_thread *thread;
    struct cairn_memory constant;
    struct cairn_lua_state state;
    uint32_t module;       /* of thread->modules */
    const uint32_t *loops; /* native frames in the loop that run this state, innermost first */
    size_t n_loops;
    uint32_t end;                 /* native frame where what lies outside is another state's */
    struct cairn_lua_call *calls; /* innermost first */
    size_t n_calls;
    uint32_t *places;  /* of each call: as cairn_guest_frame.place */
    uint32_t *natives; /* of each call of C: its native frame; CAIRN_GUEST_NONE */
    const char *doubt; /* NULL: all fits */
    uint64_t *n_looks; /* as for cairn_guest_find_function() */
};

/* Where names and lines of the call are read. */
static inline struct cairn_memory cairn_lua_memory_of(const struct cairn_lua_placed *placed,
                                                      const struct cairn_lua_call *call)
{
    return call->of_moment ? placed->thread->memory : placed->constant;
}

/* Fills places, natives and doubt. */
void cairn_lua_place(struct cairn_lua_placed *placed);

/* Names the function of a call and its chunk. CAIRN_E_NOMEM. */
int cairn_lua_name(const struct cairn_lua_placed *placed, size_t call,
                   struct cairn_guest_result *result, struct cairn_guest_frame *frame);

#endif /* CAIRN_GUEST_LUA_LUA_H */
