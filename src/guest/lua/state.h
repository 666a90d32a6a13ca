/* SPDX-License-Identifier: MIT */
/*
 * A lua_State: proven by pointers that come back to it, and its CallInfos, innermost first. The
 * proof also tells which row of the layouts it is.
 */
#ifndef CAIRN_GUEST_LUA_STATE_H
#define CAIRN_GUEST_LUA_STATE_H

#include "base/memory.h"
#include "guest/lua/layout.h"
#include "guest/sketch.h"

enum {
    CAIRN_LUA_TT = 8, /* of each collectable object: its type */
    CAIRN_LUA_TYPE_THREAD = 8
};

struct cairn_lua_state {
    const struct cairn_lua_layout *layout;
    uint64_t va;
    bool is_main;
    uint8_t rest; /* enum cairn_guest_rest */
    uint64_t global, ci, stack, stack_last, top, saved_pc, base_ci;
};

/* `version`: CAIRN_LUA_VERSION() of the file; 0: not known, all rows are tried. False: there is no
 * such state. */
#define CAIRN_LUA_VERSION(minor, patch) ((uint32_t)(minor) << 8 | (uint32_t)(patch))
const struct cairn_lua_layout *cairn_lua_layout_of(uint32_t version); /* NULL: no row is of it */
bool cairn_lua_state_read(struct cairn_memory memory, uint64_t va, uint32_t version,
                          struct cairn_lua_state *ret_state);

/* As struct cairn_guest wants it: by the first bytes alone. `version` as above. */
bool cairn_lua_may_rest(const uint8_t *bytes, uint64_t va, uint32_t version);

/* A coroutine that no thread runs: `rest` says which kind. False: it is none. */
bool cairn_lua_resting_read(struct cairn_memory memory, uint64_t va, uint32_t version,
                            struct cairn_lua_state *ret_state);

/* What a function of the interpreter is, as its Proto says. */
struct cairn_lua_proto {
    uint64_t va, code, line_info, abs_line_info, source, constants, upvalues, locals;
    uint32_t n_code, n_line_info, n_abs_line_info, defined, defined_end, n_upvalues, n_locals;
};

bool cairn_lua_proto_read(struct cairn_memory memory, const struct cairn_lua_layout *layout,
                          uint64_t va, struct cairn_lua_proto *ret_proto);

struct cairn_lua_call {
    uint64_t va;
    bool is_lua;
    bool is_gone;   /* its Proto is not to be asked for names and lines */
    bool of_moment; /* its Proto is gone, but was copied with its chunk's name and lines */
    bool is_tail_called;
    bool starts_run;      /* a Lua function that a call of the loop began with */
    bool calls_hook;      /* the next inner call is debug.sethook()'s, */
    bool calls_finalizer; /* or an object's that is collected */
    uint64_t c_function;  /* va of its code; of a C function */
    uint64_t saved_pc;
    struct cairn_lua_proto proto;
};

/* Goes through the calls of a state. */
struct cairn_lua_calls {
    struct cairn_memory memory;
    const struct cairn_lua_state *state;
    uint64_t at; /* of the next one */
    uint64_t func_before;
    bool is_broken; /* what came next made no sense, and the calls ended early */
    bool is_first;
};

struct cairn_lua_calls cairn_lua_calls_of(struct cairn_memory memory,
                                          const struct cairn_lua_state *state);

/* The function that a coroutine will call when it begins. */
bool cairn_lua_first_call(struct cairn_memory memory, const struct cairn_lua_state *state,
                          struct cairn_lua_call *ret_call);

/* False: there are no more. `starts_run` is not told yet: cairn_lua_mark_runs() does it. */
bool cairn_lua_calls_next(struct cairn_lua_calls *calls, struct cairn_lua_call *ret_call);

/* Of n calls, innermost first, all of a state. `moment`: for those of_moment. */
void cairn_lua_mark_runs(struct cairn_memory memory, struct cairn_memory moment,
                         const struct cairn_lua_layout *layout, struct cairn_lua_call *calls,
                         size_t n);

/* The line of the instruction before `saved_pc`; 0: the chunk was stripped of its lines. */
uint32_t cairn_lua_line(struct cairn_memory memory, const struct cairn_lua_layout *layout,
                        const struct cairn_lua_proto *proto, uint64_t saved_pc);

/* Is it the address behind one of the function's instructions? */
static inline bool cairn_lua_is_pc(const struct cairn_lua_proto *proto, uint64_t pc)
{
    return pc > proto->code && pc - proto->code <= 4 * (uint64_t)proto->n_code && pc % 4 == 0;
}

#endif /* CAIRN_GUEST_LUA_STATE_H */
