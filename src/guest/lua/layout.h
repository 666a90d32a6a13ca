/* SPDX-License-Identifier: MIT */
/*
 * Layouts of PUC Lua: where the fields lie that a reader needs, in bytes, for 64-bit CPUs (x86-64
 * and aarch64 agree). The source is lstate.h and lobject.h of each release. A new version is a row.
 *
 *     global_State ◄─────── lua_State ─► ci ─► CallInfo ─► previous ─► ... ─► base_ci
 *         └── mainthread ─►                      └ func ─► closure ─► Proto
 */
#ifndef CAIRN_GUEST_LUA_LAYOUT_H
#define CAIRN_GUEST_LUA_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a frame is known to be the outermost of a run: of those that one call of the loop runs. */
enum cairn_lua_run {
    CAIRN_LUA_RUN_BY_CALLER,   /* 5.1: by what its caller does */
    CAIRN_LUA_RUN_NOT_REENTRY, /* where a bit is not set */
    CAIRN_LUA_RUN_FRESH,       /* where a bit is set */
    CAIRN_LUA_RUN_EACH         /* each frame is a run of its own */
};

struct cairn_lua_layout {
    uint8_t minor;                /* of the version 5.minor */
    uint8_t patch_min, patch_max; /* of its releases */
    uint16_t state;               /* sizeof(lua_State); with `main_in_global` where main begins */
    bool main_in_global;          /* the main state is a part of global_State */
    bool has_ci_array;            /* CallInfos are an array, and base_ci points to it */
    uint16_t top, global, ci, stack_last, stack, base_ci, saved_pc; /* of lua_State */
    uint8_t status; /* of lua_State: 0, or why it does not run */
    uint16_t main;  /* of global_State: mainthread */
    uint16_t ci_size, ci_func, ci_previous, ci_saved_pc, ci_status; /* of CallInfo */
    uint16_t ci_extra; /* where a call of C that has yielded keeps its place; 0: it does not move */
    uint8_t ci_status_size;
    uint8_t is_lua_bit; /* number of a bit of the status */
    bool is_lua_inverted;
    uint8_t run;      /* enum cairn_lua_run, */
    uint8_t run_bit;  /* and its bit */
    uint8_t tail_bit; /* its caller made a tail call; 255: not told by a bit */
    uint8_t hook_bit,
        finalizer_bit; /* what it calls is a hook, a finalizer; 0: not told by a bit */
    uint16_t code, line_info, abs_line_info, source; /* of Proto */
    uint16_t n_code, n_line_info, n_abs_line_info, defined, defined_end;
    uint16_t constants, upvalues, locals, n_upvalues, n_locals;
    uint8_t closure;     /* of a closure: Proto or C function */
    uint8_t text;        /* of TString: its bytes, or in 5.5 of long ones their address */
    uint8_t opcode_call; /* OP_CALL; OP_TAILCALL is the next */
    bool lines_are_deltas;
    bool keeps_pc; /* the saved pc is that of the innermost frame, too */
};

/* The newest first; ends with one of minor 0. */
extern const struct cairn_lua_layout cairn_lua_layouts[];

#endif /* CAIRN_GUEST_LUA_LAYOUT_H */
