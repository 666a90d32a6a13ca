/* SPDX-License-Identifier: MIT */
#include "guest/lua/state.h"

#include "guest/guest.h"
#include "guest/words.h"

enum {
    TT = CAIRN_LUA_TT,
    TYPE_THREAD = CAIRN_LUA_TYPE_THREAD,
    TVALUE = 16, /* sizeof; the tag is in the middle */
    STATE_BYTES = CAIRN_SKETCH_STATE,
    CI_BYTES = 80,
    STACK_MAX = 1 << 24, /* slots: luaconf.h lets a stack have a million */
    CODE_MAX = 1 << 27,  /* instructions: the 5.4's limit of what a jump reaches */
    SLACK = 64,          /* slots behind stack_last: EXTRA_STACK, and what an error may use */
};

/* Does the state that these bytes would be lead to a main state which leads to the same globals? */
static bool leads_back(struct cairn_memory memory, const struct cairn_lua_layout *layout,
                       uint64_t global, uint64_t *ret_main)
{
    uint64_t main, again;
    uint8_t tt;
    if (layout->main_in_global)
        main = global + layout->state;
    else if (!cairn_guest_u64(memory, global + layout->main, &main) ||
             main + layout->state != global)
        return false;
    *ret_main = main;
    return memory.read(memory.ctx, main + TT, &tt, 1) && (tt & 0x0f) == TYPE_THREAD &&
           cairn_guest_u64(memory, main + layout->global, &again) && again == global;
}

/* What the bytes tell, if they are those of a state. */
static bool is_sane(const struct cairn_lua_layout *layout, uint64_t va, const uint8_t *bytes,
                    struct cairn_lua_state *state)
{
    *state = (struct cairn_lua_state){
        .layout = layout,
        .va = va,
        .global = cairn_guest_word(bytes, layout->global),
        .ci = cairn_guest_word(bytes, layout->ci),
        .stack = cairn_guest_word(bytes, layout->stack),
        .stack_last = cairn_guest_word(bytes, layout->stack_last),
        .top = cairn_guest_word(bytes, layout->top),
        .saved_pc = layout->saved_pc ? cairn_guest_word(bytes, layout->saved_pc) : 0,
        .base_ci =
            layout->has_ci_array ? cairn_guest_word(bytes, layout->base_ci) : va + layout->base_ci,
    };
    uint64_t size = state->stack_last - state->stack;
    return state->global % 8 == 0 && state->global && size % TVALUE == 0 &&
           size / TVALUE <= STACK_MAX && state->top >= state->stack &&
           state->top <= state->stack_last + SLACK * TVALUE;
}

static bool fits(struct cairn_memory memory, const struct cairn_lua_layout *layout, uint64_t va,
                 const uint8_t *bytes, struct cairn_lua_state *state)
{
    uint64_t main;
    if (!is_sane(layout, va, bytes, state) || !leads_back(memory, layout, state->global, &main))
        return false;
    state->is_main = main == va;
    return true;
}

static bool is_row_of(const struct cairn_lua_layout *row, uint32_t version)
{
    uint32_t patch = version & 0xff;
    return row->minor == version >> 8 && patch >= row->patch_min && patch <= row->patch_max;
}

const struct cairn_lua_layout *cairn_lua_layout_of(uint32_t version)
{
    for (const struct cairn_lua_layout *row = cairn_lua_layouts; row->minor; row++)
        if (is_row_of(row, version))
            return row;
    return NULL;
}

bool cairn_lua_state_read(struct cairn_memory memory, uint64_t va, uint32_t version,
                          struct cairn_lua_state *ret_state)
{
    uint8_t bytes[STATE_BYTES];
    if (va % 8 || !memory.read(memory.ctx, va, bytes, sizeof bytes) ||
        (bytes[TT] & 0x0f) != TYPE_THREAD)
        return false;
    for (const struct cairn_lua_layout *row = cairn_lua_layouts; row->minor; row++)
        if ((!version || is_row_of(row, version)) && fits(memory, row, va, bytes, ret_state))
            return true;
    return false;
}

/* A coroutine that has yielded has a call; one that was collected has none left. One that has not
 * begun has its function on the stack; one that has ended, nothing or its results. */
static bool rests(const struct cairn_lua_layout *layout, const uint8_t *bytes,
                  struct cairn_lua_state *state)
{
    enum { YIELDED = 1 };
    const uint8_t status = bytes[layout->status];
    if (status == YIELDED && state->ci != state->base_ci)
        state->rest = CAIRN_GUEST_SUSPENDED;
    else if (!status && state->ci == state->base_ci && state->top >= state->stack + 2 * TVALUE)
        state->rest = CAIRN_GUEST_NOT_BEGUN;
    return state->rest != CAIRN_GUEST_RUNS;
}

bool cairn_lua_may_rest(const uint8_t *bytes, uint64_t va, uint32_t version)
{
    struct cairn_lua_state state;
    for (const struct cairn_lua_layout *row = cairn_lua_layouts; row->minor; row++)
        if ((!version || is_row_of(row, version)) && is_sane(row, va, bytes, &state) &&
            rests(row, bytes, &state))
            return true;
    return false;
}

bool cairn_lua_resting_read(struct cairn_memory memory, uint64_t va, uint32_t version,
                            struct cairn_lua_state *ret_state)
{
    uint8_t bytes[CAIRN_GUEST_RESTING_BYTES];
    return cairn_lua_state_read(memory, va, version, ret_state) && !ret_state->is_main &&
           memory.read(memory.ctx, va, bytes, sizeof bytes) &&
           rests(ret_state->layout, bytes, ret_state);
}

struct cairn_lua_calls cairn_lua_calls_of(struct cairn_memory memory,
                                          const struct cairn_lua_state *state)
{
    return (struct cairn_lua_calls){.memory = memory,
                                    .state = state,
                                    .at = state->ci,
                                    .func_before = state->stack_last + SLACK * TVALUE,
                                    .is_first = true};
}

bool cairn_lua_proto_read(struct cairn_memory memory, const struct cairn_lua_layout *layout,
                          uint64_t va, struct cairn_lua_proto *ret_proto)
{
    uint8_t bytes[CAIRN_SKETCH_PROTO];
    if (!va || !memory.read(memory.ctx, va, bytes, sizeof bytes))
        return false;
    *ret_proto = (struct cairn_lua_proto){
        .va = va,
        .code = cairn_guest_word(bytes, layout->code),
        .line_info = cairn_guest_word(bytes, layout->line_info),
        .abs_line_info =
            layout->lines_are_deltas ? cairn_guest_word(bytes, layout->abs_line_info) : 0,
        .source = cairn_guest_word(bytes, layout->source),
        .n_code = cairn_guest_half(bytes, layout->n_code),
        .n_line_info = cairn_guest_half(bytes, layout->n_line_info),
        .n_abs_line_info =
            layout->lines_are_deltas ? cairn_guest_half(bytes, layout->n_abs_line_info) : 0,
        .defined = cairn_guest_half(bytes, layout->defined),
        .defined_end = cairn_guest_half(bytes, layout->defined_end),
        .constants = cairn_guest_word(bytes, layout->constants),
        .upvalues = cairn_guest_word(bytes, layout->upvalues),
        .locals = cairn_guest_word(bytes, layout->locals),
        .n_upvalues = cairn_guest_half(bytes, layout->n_upvalues),
        .n_locals = cairn_guest_half(bytes, layout->n_locals),
    };
    return ret_proto->n_code && ret_proto->n_code <= CODE_MAX &&
           ret_proto->n_line_info <= ret_proto->n_code &&
           ret_proto->n_abs_line_info <= ret_proto->n_code && ret_proto->code % 4 == 0;
}

/* What the slot that a CallInfo calls its function holds. */
static bool read_function(struct cairn_memory memory, const struct cairn_lua_layout *layout,
                          uint64_t func, struct cairn_lua_call *call)
{
    enum { FUNCTION_5_1 = 6, IS_C_5_1 = 10, LUA = 0x46, C = 0x66, LIGHT_C = 0x16 };
    uint8_t slot[TVALUE], closure[CAIRN_SKETCH_CLOSURE];
    if (!memory.read(memory.ctx, func, slot, sizeof slot))
        return false;
    uint64_t value = cairn_guest_word(slot, 0);
    uint32_t tag = layout->minor == 1 ? cairn_guest_half(slot, 8) : slot[8];
    if (layout->minor > 1 && tag == LIGHT_C) {
        call->c_function = value;
        return true;
    }
    if (!memory.read(memory.ctx, value, closure, sizeof closure))
        return false;
    if (layout->minor == 1) {
        if (tag != FUNCTION_5_1)
            return false;
        call->is_lua = !closure[IS_C_5_1];
    } else if (tag == LUA || tag == C) {
        call->is_lua = tag == LUA;
    } else {
        return false;
    }
    uint64_t of = cairn_guest_word(closure, layout->closure);
    if (!call->is_lua)
        call->c_function = of;
    return !call->is_lua || cairn_lua_proto_read(memory, layout, of, &call->proto);
}

static uint32_t status_of(const struct cairn_lua_layout *layout, const uint8_t *ci)
{
    uint32_t status = cairn_guest_half(ci, layout->ci_status & ~3U);
    if (layout->ci_status_size == 2)
        status = layout->ci_status % 4 ? status >> 16 : status & 0xffff;
    return status;
}

bool cairn_lua_first_call(struct cairn_memory memory, const struct cairn_lua_state *state,
                          struct cairn_lua_call *ret_call)
{
    const struct cairn_lua_layout *layout = state->layout;
    uint8_t slot[TVALUE];
    uint64_t func;
    uint32_t tag;
    *ret_call = (struct cairn_lua_call){0};
    /* In a state that lives the stack begins with nil, which is the function of the base. An
     * allocator writes over the beginning of most of what is freed. */
    if (!memory.read(memory.ctx, state->stack, slot, sizeof slot) ||
        !cairn_guest_u64(memory, state->base_ci + layout->ci_func, &func) || func != state->stack)
        return false;
    tag = layout->minor < 4 ? cairn_guest_half(slot, 8) : slot[8];
    return tag == 0 && read_function(memory, layout, state->stack + TVALUE, ret_call);
}

/* Where the function of a call is. A call of C that yields is moved below its results. */
static uint64_t function_of(const struct cairn_lua_calls *calls, const uint8_t *ci)
{
    const struct cairn_lua_layout *layout = calls->state->layout;
    bool is_lua = (status_of(layout, ci) >> layout->is_lua_bit & 1) != layout->is_lua_inverted;
    if (calls->is_first && calls->state->rest == CAIRN_GUEST_SUSPENDED && layout->ci_extra &&
        !is_lua)
        return calls->state->stack + cairn_guest_word(ci, layout->ci_extra);
    return cairn_guest_word(ci, layout->ci_func);
}

static bool read_call(struct cairn_lua_calls *calls, struct cairn_lua_call *call)
{
    const struct cairn_lua_layout *layout = calls->state->layout;
    const struct cairn_lua_state *state = calls->state;
    uint8_t ci[CI_BYTES];
    *call = (struct cairn_lua_call){.va = calls->at};
    if (!calls->memory.read(calls->memory.ctx, calls->at, ci, layout->ci_size))
        return false;
    uint64_t func = function_of(calls, ci);
    /* Calls lie on the stack one above the other, so that no ring of them can be followed. */
    if (func < state->stack || func >= calls->func_before || (func - state->stack) % TVALUE ||
        !read_function(calls->memory, layout, func, call))
        return false;
    uint32_t status = status_of(layout, ci);
    if (layout->minor == 1) {
        call->is_tail_called = call->is_lua && status != 0;
    } else {
        call->is_tail_called = layout->tail_bit < 32 && status >> layout->tail_bit & 1;
        bool is_lua = status >> layout->is_lua_bit & 1;
        if ((is_lua != layout->is_lua_inverted) != call->is_lua)
            return false;
    }
    call->starts_run = layout->run == CAIRN_LUA_RUN_EACH ||
                       (status >> layout->run_bit & 1) == (layout->run == CAIRN_LUA_RUN_FRESH);
    call->calls_hook = layout->hook_bit && status >> layout->hook_bit & 1;
    call->calls_finalizer = layout->finalizer_bit && status >> layout->finalizer_bit & 1;
    call->saved_pc = cairn_guest_word(ci, layout->ci_saved_pc);
    if (calls->is_first && state->saved_pc && call->is_lua)
        call->saved_pc = state->saved_pc;
    calls->is_first = false;
    calls->func_before = func;
    calls->at = layout->has_ci_array ? calls->at - layout->ci_size
                                     : cairn_guest_word(ci, layout->ci_previous);
    return true;
}

bool cairn_lua_calls_next(struct cairn_lua_calls *calls, struct cairn_lua_call *ret_call)
{
    if (calls->is_broken || calls->at == calls->state->base_ci)
        return false;
    calls->is_broken = !read_call(calls, ret_call);
    return !calls->is_broken;
}

/* Is the instruction before `saved_pc` a call? */
static bool is_calling(struct cairn_memory memory, const struct cairn_lua_layout *layout,
                       const struct cairn_lua_call *call)
{
    uint32_t insn;
    return cairn_lua_is_pc(&call->proto, call->saved_pc) &&
           cairn_guest_u32(memory, call->saved_pc - 4, &insn) &&
           ((insn & 0x3f) == layout->opcode_call || (insn & 0x3f) == layout->opcode_call + 1u);
}

void cairn_lua_mark_runs(struct cairn_memory memory, struct cairn_memory moment,
                         const struct cairn_lua_layout *layout, struct cairn_lua_call *calls,
                         size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!calls[i].is_lua) {
            calls[i].starts_run = false;
            continue;
        }
        const struct cairn_lua_call *caller = i + 1 < n ? &calls[i + 1] : NULL;
        const struct cairn_memory of = caller && caller->of_moment ? moment : memory;
        if (!caller || !caller->is_lua)
            calls[i].starts_run = true;
        else if (layout->run == CAIRN_LUA_RUN_BY_CALLER)
            calls[i].starts_run = !is_calling(of, layout, caller);
        else if (layout->minor == 2 && calls[i].starts_run)
            /* The mark is made after a step of the collector that may run in between. */
            calls[i].starts_run = !is_calling(of, layout, caller);
    }
}
