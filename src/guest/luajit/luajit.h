/* SPDX-License-Identifier: MIT */
/*
 * LuaJIT 2.1 with 64-bit references (GC64), as a guest on x86-64:
 *
 *     look.c    what a file tells               state.c   states, their C frames, protos and lines
 *     frames.c  the Lua stack of a state        trace.c   functions inlined into compiled code
 *     step.c    from its code to its caller     luajit.c  all of it, for one thread
 *     allocator.c   was a state freed?
 *
 * The interpreter is one piece of assembler. Each call into it has a C frame on the native stack,
 * at the sp of the assembler's frame; a state has a list of its C frames, and a run of Lua
 * functions for each of them. So a run's place is told by an address (lj_frame.h, vm_x64.dasc).
 */
#ifndef CAIRN_GUEST_LUAJIT_LUAJIT_H
#define CAIRN_GUEST_LUAJIT_LUAJIT_H

#include "guest/guest.h"

enum {
    CAIRN_LJ_RUNS_MAX = 1024, /* C frames of one state, and of a stack: luaconf.h allows 200 */
    /* DWARF's numbers */
    CAIRN_LJ_RDX = 1,
    CAIRN_LJ_RBX = 3,
    CAIRN_LJ_RBP = 6,
    CAIRN_LJ_RSP = 7,
    CAIRN_LJ_R12 = 12,
    CAIRN_LJ_R13 = 13,
    CAIRN_LJ_R14 = 14,
    CAIRN_LJ_R15 = 15
};

/* The pointer in a tagged slot. */
static inline uint64_t cairn_lj_pointer(uint64_t slot)
{
    return slot & ((UINT64_C(1) << 47) - 1);
}

bool cairn_lj_look(const struct cairn_elf *elf, struct cairn_guest_file *ret_file);

/* A lua_State, proven by pointers that come back to it. */
struct cairn_lj_state {
    uint8_t rest; /* enum cairn_guest_rest; told by cairn_lj_resting_read() alone */
    uint64_t va, global, base, top, max_stack, stack, c_frame;
};
bool cairn_lj_state_read(struct cairn_memory memory, uint64_t va, struct cairn_lj_state *ret_state);

/* As struct cairn_guest wants it: by the first bytes alone. */
bool cairn_lj_may_rest(const uint8_t *bytes, uint64_t va);

/* A coroutine that no thread runs: `rest` says which kind. False: it is none. */
bool cairn_lj_resting_read(struct cairn_memory memory, uint64_t va,
                           struct cairn_lj_state *ret_state);

/* Does the state at `va` live, by the allocator's word? enum cairn_guest_life. */
uint8_t cairn_lj_life(struct cairn_memory memory, uint64_t va, struct cairn_guest_heap_walk *walk);

/* The global_State before DISPATCH, which is a register of the assembler and of compiled code. */
bool cairn_lj_global_of(struct cairn_memory memory, uint64_t dispatch, uint64_t *ret_global);

/* What runs: the current state, where compiled code began, and what the machine does. */
struct cairn_lj_now {
    struct cairn_lj_state state;
    uint64_t jit_base; /* 0: no compiled code runs */
    int32_t vm_state;  /* not negative: the number of the trace; else ~ of enum */
};
bool cairn_lj_now_read(struct cairn_memory memory, uint64_t global, struct cairn_lj_now *ret_now);

/* "interpreted", "compiled", "gc", ...; NULL: no such state of the machine. */
const char *cairn_lj_mode(int32_t vm_state);

/* C frames, innermost first. */
struct cairn_lj_c_frame {
    uint64_t va;
    uint64_t state, pc, previous; /* as it says; `previous` 0: none */
};
bool cairn_lj_c_frame_read(struct cairn_memory memory, uint64_t va,
                           struct cairn_lj_c_frame *ret_frame);

/* The innermost C frame of the state that lies at or above `sp`. */
bool cairn_lj_c_frame_above(struct cairn_memory memory, const struct cairn_lj_state *state,
                            uint64_t sp, struct cairn_lj_c_frame *ret_frame);

/* The C frame of an assembler's frame with that sp, which is it, or lies some words above where the
 * assembler called a part of its own. */
bool cairn_lj_c_frame_at(struct cairn_memory memory, uint64_t sp,
                         struct cairn_lj_c_frame *ret_frame, struct cairn_lj_state *ret_state);

/* A function of byte code. */
struct cairn_lj_proto {
    uint64_t va, code, line_info, chunk;
    uint32_t n_code, first_line, n_lines;
};
bool cairn_lj_proto_read(struct cairn_memory memory, uint64_t va, struct cairn_lj_proto *ret_proto);

/* The prototype that holds a pc, found backwards from it. */
bool cairn_lj_proto_of_pc(struct cairn_memory memory, uint64_t pc,
                          struct cairn_lj_proto *ret_proto);

/* The line of the instruction before `pc`; 0: not known. */
uint32_t cairn_lj_line(struct cairn_memory memory, const struct cairn_lj_proto *proto, uint64_t pc);

/* A function: byte code, or native code. */
struct cairn_lj_function {
    bool is_lua;
    uint8_t ffid; /* 1: a C function; above: one of the library's own */
    uint64_t va, c_function;
    struct cairn_lj_proto proto;
};
bool cairn_lj_function_read(struct cairn_memory memory, uint64_t va,
                            struct cairn_lj_function *ret_function);

/* A frame of a state's stack. */
struct cairn_lj_frame {
    struct cairn_lj_function function;
    uint64_t pc;      /* behind the current instruction; 0: not known */
    uint32_t run;     /* number of the C frame that it belongs to, */
    uint64_t c_frame; /* and its va */
};

/* Goes through the frames of a state, innermost first. */
struct cairn_lj_frames {
    struct cairn_memory memory, any; /* of the moment; and constant memory */
    struct cairn_lj_state state;
    uint64_t base, pc, c_frame;
    uint32_t run;
    bool skips;     /* the next one is no frame of its own */
    bool is_broken; /* what came next made no sense */
};
bool cairn_lj_frames_next(struct cairn_lj_frames *frames, struct cairn_lj_frame *ret_frame);

/* Compiled code at `ip`: adds its function and those inlined into it, innermost first, and goes on
 * from jit_base. `*ret_added` is 0 where it is not known where it is. CAIRN_E_NOMEM. */
struct cairn_lj_trace_place {
    const struct cairn_guest_thread *thread;
    struct cairn_memory any;
    const struct cairn_lj_now *now;
    uint64_t ip;
    uint32_t state, place; /* for the frames */
};
int cairn_lj_trace_read(const struct cairn_lj_trace_place *at, struct cairn_guest_result *result,
                        bool *ret_added);

/* Is it where the assembler is entered or left, so that no C frame is there yet, or any more? */
bool cairn_lj_is_border(struct cairn_memory memory, uint64_t ip);

bool cairn_lj_step(const struct cairn_guest_thread *thread, const struct cairn_guest_module *module,
                   const struct cairn_guest_regs *regs, struct cairn_guest_regs *ret_caller);

/* Fills chunk, line and definition. CAIRN_E_NOMEM. */
int cairn_lj_describe(struct cairn_memory memory, const struct cairn_lj_proto *proto, uint64_t pc,
                      struct cairn_guest_result *result, struct cairn_guest_frame *frame);

#endif /* CAIRN_GUEST_LUAJIT_LUAJIT_H */
