/* SPDX-License-Identifier: MIT */
/*
 * Sketch: as much of an interpreter as a program in the kernel has to know, to copy at one moment
 * what the frames of a thread are made of. Who reads the copy knows the rest.
 *
 *     lua_State ─► global_State ─► main state
 *         └─ ci ─► CallInfo ─► func ─► closure ─► Proto
 *                      └─ previous ─► ...
 *
 *     LuaJIT: lua_State ─► global_State ─► main state, state that runs
 *                 └─ stack ─► slots ─► functions ─► prototypes
 *
 * Compiled into both: plain types alone.
 */
#ifndef CAIRN_GUEST_SKETCH_H
#define CAIRN_GUEST_SKETCH_H

#include <stdint.h>

enum cairn_guest_sketch_kind {
    CAIRN_SKETCH_NONE, /* it cannot be copied that way */
    CAIRN_SKETCH_LUA,
    CAIRN_SKETCH_LUAJIT /* with 64-bit references; of it the loop alone counts, the rest is below */
};

enum {
    CAIRN_SKETCH_MAIN_IN_GLOBAL = 1, /* `main` is where the main state lies in global_State; else
                                        where its address does */
    CAIRN_SKETCH_CI_ARRAY = 2,       /* CallInfos are an array: the previous one lies below */
    CAIRN_SKETCH_TAGS_5_1 = 4,       /* tags of values as Lua 5.1 has them */
    CAIRN_SKETCH_RUN_BY_CALL = 8     /* the instruction that calls says where a run begins */
};

struct cairn_guest_sketch {
    uint64_t loop, loop_end; /* code of the loop; a frame of it has a state */
    uint8_t kind, flags;
    uint16_t global, ci, base_ci; /* of lua_State, in bytes */
    uint16_t main,
        main_to_global; /* of global_State; how far behind the main state it lies, or 0 */
    uint16_t saved_pc;  /* of lua_State; 0: only CallInfos have it */
    uint16_t ci_size, ci_func, ci_previous, ci_saved_pc; /* of CallInfo */
    uint16_t closure;                                    /* of a closure: its Proto */
    uint16_t code, source, line_info;                    /* of a Proto */
    uint16_t line_bytes;                                 /* of line_info, for each instruction */
};

/* A piece of the memory that was copied. Its bytes follow. */
struct cairn_guest_piece {
    uint64_t va, size; /* a multiple of 8 */
};

/* How many bytes of each are read. */
enum {
    CAIRN_SKETCH_STATE = 208,
    CAIRN_SKETCH_SLOT = 16,
    CAIRN_SKETCH_CLOSURE = 40,
    CAIRN_SKETCH_PROTO = 128,
    CAIRN_SKETCH_SOURCE = 128,
    CAIRN_SKETCH_LINES = 256,
    CAIRN_SKETCH_LINES_BEFORE = 160, /* of them: before that of the instruction */
    /* Types and tags, since 5.2 and before */
    CAIRN_SKETCH_TYPE = 8, /* where they lie in an object and in a slot */
    CAIRN_SKETCH_THREAD = 8,
    CAIRN_SKETCH_LUA_CLOSURE = 0x46,
    CAIRN_SKETCH_C_CLOSURE = 0x66,
    CAIRN_SKETCH_FUNCTION_5_1 = 6,
    CAIRN_SKETCH_IS_C_5_1 = 10 /* of a closure */
};

/* LuaJIT's, in bytes (lj_obj.h, lj_frame.h, with LJ_GC64). */
enum {
    CAIRN_SKETCH_LJ_TYPE = 9, /* of each collectable object */
    CAIRN_SKETCH_LJ_THREAD = 6,
    CAIRN_SKETCH_LJ_PROTO_TYPE = 7,
    CAIRN_SKETCH_LJ_FUNCTION_TYPE = 8,
    CAIRN_SKETCH_LJ_STATE = 96, /* lua_State: so much is read; forks append to it */
    CAIRN_SKETCH_LJ_STATE_MAX = 160,
    CAIRN_SKETCH_LJ_GLOBAL = 16,
    CAIRN_SKETCH_LJ_BASE = 32,
    CAIRN_SKETCH_LJ_TOP = 40,
    CAIRN_SKETCH_LJ_MAX_STACK = 48,
    CAIRN_SKETCH_LJ_STACK = 56,
    CAIRN_SKETCH_LJ_VM_STATE = 184, /* global_State; the main state's address follows */
    CAIRN_SKETCH_LJ_MAIN = 192,
    CAIRN_SKETCH_LJ_RUNS = 320, /* the state that runs, and jit_base, are somewhere from here */
    CAIRN_SKETCH_LJ_RUNS_BYTES = 112,
    CAIRN_SKETCH_LJ_FUNCTION = 48,
    CAIRN_SKETCH_LJ_FFID = 10, /* of a function: 0 for byte code, */
    CAIRN_SKETCH_LJ_PC = 32,   /* which is there, behind its prototype */
    CAIRN_SKETCH_LJ_PROTO = 104,
    CAIRN_SKETCH_LJ_CALL = 4,       /* a call, before where its caller goes on */
    CAIRN_SKETCH_LJ_TAG_SHIFT = 47, /* of a slot */
    CAIRN_SKETCH_LJ_TAG_FUNCTION = 0x1fff7
};

#endif /* CAIRN_GUEST_SKETCH_H */
