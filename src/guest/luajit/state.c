/* SPDX-License-Identifier: MIT */
/* Offsets are those of lj_obj.h and lj_frame.h with LJ_GC64 on x86-64. */
#include "guest/luajit/luajit.h"
#include "guest/words.h"

enum {
    GCT = CAIRN_SKETCH_LJ_TYPE, /* of each collectable object: its type */
    GCT_THREAD = CAIRN_SKETCH_LJ_THREAD,
    GCT_PROTO = CAIRN_SKETCH_LJ_PROTO_TYPE,
    GCT_FUNCTION = CAIRN_SKETCH_LJ_FUNCTION_TYPE,
    /* lua_State */
    STATUS = 11,
    GLREF = CAIRN_SKETCH_LJ_GLOBAL,
    BASE = CAIRN_SKETCH_LJ_BASE,
    TOP = CAIRN_SKETCH_LJ_TOP,
    MAX_STACK = CAIRN_SKETCH_LJ_MAX_STACK,
    STACK = CAIRN_SKETCH_LJ_STACK,
    C_FRAME = 80,
    STATE_MIN =
        CAIRN_SKETCH_LJ_STATE, /* forks append to it; the global_State of the main one follows */
    STATE_MAX = CAIRN_SKETCH_LJ_STATE_MAX,
    /* global_State; the current state moves between versions */
    VM_STATE = CAIRN_SKETCH_LJ_VM_STATE,
    MAIN = CAIRN_SKETCH_LJ_MAIN,
    CUR_L_FROM = CAIRN_SKETCH_LJ_RUNS,
    CUR_L_TO = CUR_L_FROM + CAIRN_SKETCH_LJ_RUNS_BYTES - 16,
    /* the table before DISPATCH has the global_State so far below it */
    DISPATCH_FROM = 3000,
    DISPATCH_TO = 5400,
    /* a C frame */
    SAVED_L = 16,
    SAVED_PC = 24,
    PREVIOUS = 32,
    C_FRAME_BYTES = 80,
    FLAGS = 3,
    /* words that the assembler may have pushed below its C frame; the next one is further above */
    PUSHED_MAX = C_FRAME_BYTES / 8,
    PROTO = CAIRN_SKETCH_LJ_PROTO, /* sizeof(GCproto): byte code follows it */
    CODE_MAX = 1 << 26,
    BACK_MAX = 1 << 16 /* instructions from a pc to its function's first */
};

static bool is_thread_of(struct cairn_memory memory, uint64_t va, uint64_t global)
{
    uint8_t bytes[GLREF + 8];
    return va && va % 8 == 0 && memory.read(memory.ctx, va, bytes, sizeof bytes) &&
           bytes[GCT] == GCT_THREAD && cairn_guest_word(bytes, GLREF) == global;
}

/* Is it the globals' address? The main state lies just before them. */
static bool is_global(struct cairn_memory memory, uint64_t global)
{
    uint64_t main;
    return cairn_guest_u64(memory, global + MAIN, &main) && global - main >= STATE_MIN &&
           global - main <= STATE_MAX && is_thread_of(memory, main, global);
}

bool cairn_lj_state_read(struct cairn_memory memory, uint64_t va, struct cairn_lj_state *ret_state)
{
    uint8_t bytes[STATE_MIN];
    if (!va || va % 8 || !memory.read(memory.ctx, va, bytes, sizeof bytes) ||
        bytes[GCT] != GCT_THREAD)
        return false;
    *ret_state = (struct cairn_lj_state){
        .va = va,
        .global = cairn_guest_word(bytes, GLREF),
        .base = cairn_guest_word(bytes, BASE),
        .top = cairn_guest_word(bytes, TOP),
        .max_stack = cairn_guest_word(bytes, MAX_STACK),
        .stack = cairn_guest_word(bytes, STACK),
        .c_frame = cairn_guest_word(bytes, C_FRAME) & ~(uint64_t)FLAGS,
    };
    return ret_state->stack < ret_state->base && ret_state->base <= ret_state->max_stack + 4096 &&
           ret_state->stack % 8 == 0 && is_global(memory, ret_state->global);
}

/* By L->status and what is on the stack. One that a thread runs has a C frame. One that has ended
 * has nothing on its stack, or its results, or an error. */
static uint8_t rest_of(const uint8_t *bytes)
{
    enum { YIELDED = 1, BOTTOM = 16 /* two slots below the first base */ };
    const uint64_t base = cairn_guest_word(bytes, BASE), top = cairn_guest_word(bytes, TOP);
    const uint64_t stack = cairn_guest_word(bytes, STACK);
    if (bytes[GCT] != GCT_THREAD || cairn_guest_word(bytes, C_FRAME) || stack % 8 || base % 8 ||
        !stack || stack + BOTTOM > base || base > top ||
        top > cairn_guest_word(bytes, MAX_STACK) + 4096)
        return CAIRN_GUEST_RUNS;
    if (bytes[STATUS] == YIELDED && base > stack + BOTTOM)
        return CAIRN_GUEST_SUSPENDED;
    return !bytes[STATUS] && base == stack + BOTTOM && top > base ? CAIRN_GUEST_NOT_BEGUN
                                                                  : CAIRN_GUEST_RUNS;
}

bool cairn_lj_may_rest(const uint8_t *bytes, uint64_t va)
{
    (void)va;
    return rest_of(bytes) != CAIRN_GUEST_RUNS;
}

bool cairn_lj_resting_read(struct cairn_memory memory, uint64_t va,
                           struct cairn_lj_state *ret_state)
{
    uint8_t bytes[STATE_MIN];
    uint64_t main, bottom;
    /* A stack begins with its state (stack_init() in lj_state.c); most of those that were freed do
     * not any more. */
    if (!cairn_lj_state_read(memory, va, ret_state) ||
        !cairn_guest_u64(memory, ret_state->global + MAIN, &main) || main == va ||
        !cairn_guest_u64(memory, ret_state->stack, &bottom) || cairn_lj_pointer(bottom) != va ||
        !memory.read(memory.ctx, va, bytes, sizeof bytes))
        return false;
    ret_state->rest = rest_of(bytes);
    return ret_state->rest != CAIRN_GUEST_RUNS;
}

static bool is_global_at(struct cairn_memory memory, uint64_t dispatch, uint64_t distance,
                         uint64_t *ret_global)
{
    *ret_global = dispatch - distance;
    return distance <= dispatch && is_global(memory, *ret_global);
}

bool cairn_lj_global_of(struct cairn_memory memory, uint64_t dispatch, uint64_t *ret_global)
{
    static const uint16_t known[] = {3968, 4000, 4008}; /* 2022, 2026, OpenResty */
    if (dispatch % 8)
        return false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (is_global_at(memory, dispatch, known[i], ret_global))
            return true;
    for (uint64_t distance = DISPATCH_FROM; distance <= DISPATCH_TO; distance += 8)
        if (is_global_at(memory, dispatch, distance, ret_global))
            return true;
    return false;
}

bool cairn_lj_now_read(struct cairn_memory memory, uint64_t global, struct cairn_lj_now *ret_now)
{
    uint8_t bytes[CUR_L_TO - CUR_L_FROM + 16];
    uint32_t vm_state;
    if (!cairn_guest_u32(memory, global + VM_STATE, &vm_state) ||
        !memory.read(memory.ctx, global + CUR_L_FROM, bytes, sizeof bytes))
        return false;
    ret_now->vm_state = (int32_t)vm_state;
    for (size_t at = 0; at <= CUR_L_TO - CUR_L_FROM; at += 8) {
        uint64_t base = cairn_guest_word(bytes, at + 8);
        if (!is_thread_of(memory, cairn_guest_word(bytes, at), global) ||
            !cairn_lj_state_read(memory, cairn_guest_word(bytes, at), &ret_now->state))
            continue;
        if (base && (base <= ret_now->state.stack || base > ret_now->state.max_stack))
            continue;
        ret_now->jit_base = base;
        return true;
    }
    return false;
}

const char *cairn_lj_mode(int32_t vm_state)
{
    static const char *const modes[] = {"interpreted", "C",        "gc",      "exit",
                                        "record",      "optimize", "assemble"};
    if (vm_state >= 0)
        return "compiled";
    uint32_t number = ~(uint32_t)vm_state;
    return number < sizeof modes / sizeof *modes ? modes[number] : NULL;
}

bool cairn_lj_c_frame_read(struct cairn_memory memory, uint64_t va,
                           struct cairn_lj_c_frame *ret_frame)
{
    uint8_t bytes[C_FRAME_BYTES];
    if (!va || va % 8 || !memory.read(memory.ctx, va, bytes, sizeof bytes))
        return false;
    *ret_frame = (struct cairn_lj_c_frame){
        .va = va,
        .state = cairn_guest_word(bytes, SAVED_L),
        .pc = cairn_guest_word(bytes, SAVED_PC),
        .previous = cairn_guest_word(bytes, PREVIOUS) & ~(uint64_t)FLAGS,
    };
    return true;
}

bool cairn_lj_c_frame_above(struct cairn_memory memory, const struct cairn_lj_state *state,
                            uint64_t sp, struct cairn_lj_c_frame *ret_frame)
{
    uint64_t va = state->c_frame, before = 0;
    for (uint32_t i = 0; i < CAIRN_LJ_RUNS_MAX && va > before; i++) {
        if (!cairn_lj_c_frame_read(memory, va, ret_frame))
            return false;
        if (va >= sp)
            return true;
        before = va;
        va = ret_frame->previous;
    }
    return false;
}

bool cairn_lj_c_frame_at(struct cairn_memory memory, uint64_t sp,
                         struct cairn_lj_c_frame *ret_frame, struct cairn_lj_state *ret_state)
{
    for (uint64_t i = 0; i < PUSHED_MAX; i++) {
        struct cairn_lj_c_frame listed;
        if (cairn_lj_c_frame_read(memory, sp + 8 * i, ret_frame) &&
            cairn_lj_state_read(memory, ret_frame->state, ret_state) &&
            cairn_lj_c_frame_above(memory, ret_state, sp + 8 * i, &listed) &&
            listed.va == ret_frame->va)
            return true;
    }
    return false;
}

bool cairn_lj_proto_read(struct cairn_memory memory, uint64_t va, struct cairn_lj_proto *ret_proto)
{
    uint8_t bytes[PROTO];
    if (va % 8 || !memory.read(memory.ctx, va, bytes, sizeof bytes) || bytes[GCT] != GCT_PROTO)
        return false;
    *ret_proto = (struct cairn_lj_proto){
        .va = va,
        .code = va + PROTO,
        .n_code = cairn_guest_half(bytes, 12),
        .chunk = cairn_guest_word(bytes, 64),
        .first_line = cairn_guest_half(bytes, 72),
        .n_lines = cairn_guest_half(bytes, 76),
        .line_info = cairn_guest_word(bytes, 80),
    };
    return ret_proto->n_code && ret_proto->n_code <= CODE_MAX;
}

bool cairn_lj_proto_of_pc(struct cairn_memory memory, uint64_t pc, struct cairn_lj_proto *ret_proto)
{
    enum { PIECE = 1024 };
    uint8_t bytes[PIECE + PROTO];
    for (uint64_t back = 0; back < 4 * (uint64_t)BACK_MAX; back += PIECE) {
        uint64_t low = pc - back - PIECE;
        if (pc < back + PIECE + PROTO || !memory.read(memory.ctx, low - PROTO, bytes, sizeof bytes))
            return false;
        for (uint64_t at = PIECE + 4; at >= 4; at -= 4) { /* the first instruction's place */
            uint64_t va = low + at - 4 - PROTO;
            const uint8_t *header = bytes + (at - 4);
            if (va % 8 == 0 && header[GCT] == GCT_PROTO &&
                cairn_guest_half(header, 12) > (pc - va - PROTO) / 4 &&
                cairn_lj_proto_read(memory, va, ret_proto))
                return true;
        }
    }
    return false;
}

uint32_t cairn_lj_line(struct cairn_memory memory, const struct cairn_lj_proto *proto, uint64_t pc)
{
    uint64_t at = pc - proto->code;
    unsigned width = proto->n_lines < 256 ? 1 : proto->n_lines < 65536 ? 2 : 4;
    uint32_t line = 0;
    if (!proto->line_info || pc < proto->code || at % 4 || at / 4 > proto->n_code)
        return 0;
    if (at < 8)
        return proto->first_line;
    if (!memory.read(memory.ctx, proto->line_info + width * (at / 4 - 2), &line, width))
        return 0;
    return proto->first_line + line;
}

bool cairn_lj_function_read(struct cairn_memory memory, uint64_t va,
                            struct cairn_lj_function *ret_function)
{
    enum { FFID = CAIRN_SKETCH_LJ_FFID, PC = CAIRN_SKETCH_LJ_PC, F = 40 };
    uint8_t bytes[CAIRN_SKETCH_LJ_FUNCTION];
    if (!va || va % 8 || !memory.read(memory.ctx, va, bytes, sizeof bytes) ||
        bytes[GCT] != GCT_FUNCTION)
        return false;
    *ret_function = (struct cairn_lj_function){.va = va, .ffid = bytes[FFID]};
    ret_function->is_lua = bytes[FFID] == 0;
    if (!ret_function->is_lua) {
        ret_function->c_function = cairn_guest_word(bytes, F);
        return true;
    }
    return cairn_lj_proto_read(memory, cairn_guest_word(bytes, PC) - PROTO, &ret_function->proto);
}
