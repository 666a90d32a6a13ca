/* SPDX-License-Identifier: MIT */
#include "guest/lua/lua.h"

#include "base/alloc.h"
#include "guest/words.h"

/* A native frame in the loop. */
struct loop {
    uint32_t native;
    bool is_read; /* its state is among the results */
    struct cairn_lua_state state;
};

/* One thread that is read. */
struct reading {
    const struct cairn_guest_thread *thread;
    struct cairn_guest_result *result;
    struct cairn_memory memory;
    struct cairn_lua_call *calls;
    size_t cap_calls;
    uint32_t *places, *natives, *loops;
    size_t cap_places, cap_natives, cap_loops;
    struct loop *found; /* innermost first */
    size_t n_found, cap_found;
    uint64_t n_looks; /* for C functions: so many native frames may be looked at yet */
};

static const char unreadable[] = "a call of the interpreter makes no sense";
static const char no_state[] = "the register that holds the interpreter's state does not hold one";
static const char too_deep[] = "more than 65,536 calls";
static const char is_gone[] = "a function was gone before its name was read";

/* The state that a frame of the loop runs: in its register, or, in the first instructions, still in
 * that of the first argument. */
static bool state_of_frame(struct reading *r, uint32_t native, struct cairn_lua_state *ret_state)
{
    enum { RDI = 5, X0 = 0, EM_AARCH64_NUMBER = 183 };
    const struct cairn_guest_native *frame = &r->thread->natives[native];
    const struct cairn_guest_file *file = r->thread->modules[frame->module].file;
    unsigned argument = r->thread->machine == EM_AARCH64_NUMBER ? X0 : RDI;
    if (frame->regs == CAIRN_GUEST_NONE)
        return false;
    const struct cairn_guest_regs *regs = &r->thread->regs[frame->regs];
    if (file->state_reg != CAIRN_GUEST_NO_REG && regs->known >> file->state_reg & 1 &&
        cairn_lua_state_read(r->memory, regs->value[file->state_reg], file->variant, ret_state))
        return true;
    if (native == 0 && regs->known >> argument & 1 &&
        cairn_lua_state_read(r->memory, regs->value[argument], file->variant, ret_state))
        return true;
    for (unsigned i = 0; i < CAIRN_GUEST_REGS; i++)
        if (regs->known >> i & 1 &&
            cairn_lua_state_read(r->memory, regs->value[i], file->variant, ret_state))
            return true;
    return false;
}

static bool is_loop(const struct cairn_guest_thread *thread, uint32_t native)
{
    uint32_t module = thread->natives[native].module;
    return module != CAIRN_GUEST_NONE && thread->modules[module].file->guest == &cairn_guest_lua &&
           cairn_guest_wants_regs(&thread->modules[module], thread->natives[native].ip);
}

/* Is the function that ran the one that constant memory has there? */
static bool is_there(const struct reading *r, const struct cairn_lua_placed *placed,
                     const struct cairn_lua_proto *then)
{
    const struct cairn_guest_constant *constant = &r->thread->constant;
    struct cairn_lua_proto now;
    for (unsigned tries = 0; constant->renew && tries < 2; tries++) {
        if (cairn_lua_proto_read(constant->memory, placed->state.layout, then->va, &now) &&
            now.code == then->code && now.n_code == then->n_code && now.source == then->source &&
            now.line_info == then->line_info && now.defined == then->defined)
            return true;
        constant->renew(constant->memory.ctx);
    }
    return !constant->renew;
}

/* Was its chunk's name copied with it, and before 5.3 what it calls by? */
static bool has_moment(const struct cairn_lua_placed *placed, const struct cairn_lua_call *call)
{
    char source[CAIRN_GUEST_NAME_MAX];
    size_t size;
    uint32_t insn;
    return (placed->state.layout->minor > 2 || !cairn_lua_is_pc(&call->proto, call->saved_pc) ||
            cairn_guest_u32(placed->thread->memory, call->saved_pc - 4, &insn)) &&
           cairn_guest_text(placed->thread->memory, call->proto.source + placed->state.layout->text,
                            source, sizeof source, &size);
}

static int add_call(struct reading *r, struct cairn_lua_placed *placed,
                    const struct cairn_lua_call *call)
{
    size_t n = placed->n_calls;
    if (cairn_grow((void **)&r->calls, &r->cap_calls, n + 1, sizeof *r->calls) < 0)
        return CAIRN_E_NOMEM;
    r->calls[placed->n_calls++] = *call;
    return CAIRN_OK;
}

static int read_calls(struct reading *r, struct cairn_lua_placed *placed)
{
    struct cairn_lua_calls calls = cairn_lua_calls_of(r->memory, &placed->state);
    struct cairn_lua_call call;
    while (placed->n_calls < CAIRN_LUA_CALLS_MAX && cairn_lua_calls_next(&calls, &call))
        if (add_call(r, placed, &call) < 0)
            return CAIRN_E_NOMEM;
    if (placed->n_calls == CAIRN_LUA_CALLS_MAX)
        placed->doubt = too_deep;
    if (calls.is_broken)
        placed->doubt = unreadable;
    return CAIRN_OK;
}

/* Room for the places of the calls; and are their functions still there? */
static int finish_calls(struct reading *r, struct cairn_lua_placed *placed)
{
    const size_t n = placed->n_calls;
    if (cairn_grow((void **)&r->places, &r->cap_places, n, sizeof *r->places) < 0 ||
        cairn_grow((void **)&r->natives, &r->cap_natives, n, sizeof *r->natives) < 0)
        return CAIRN_E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        if (!r->calls[i].is_lua || is_there(r, placed, &r->calls[i].proto))
            continue;
        r->calls[i].of_moment = has_moment(placed, &r->calls[i]);
        r->calls[i].is_gone = !r->calls[i].of_moment;
        if (r->calls[i].is_gone)
            placed->doubt = is_gone;
    }
    cairn_lua_mark_runs(placed->constant, r->memory, placed->state.layout, r->calls, n);
    placed->calls = r->calls;
    placed->places = r->places;
    placed->natives = r->natives;
    return CAIRN_OK;
}

/* Where the running function of the innermost loop is: since 5.4, and in 5.1, its pc is kept in a
 * register, and saved only before what may fail. */
static uint64_t running_pc(const struct cairn_lua_placed *placed, size_t call)
{
    const struct cairn_guest_thread *thread = placed->thread;
    const struct cairn_lua_call *of = &placed->calls[call];
    if (placed->state.layout->keeps_pc || !placed->n_loops ||
        placed->places[call] != placed->loops[0])
        return of->saved_pc;
    const struct cairn_guest_native *native = &thread->natives[placed->loops[0]];
    if (native->regs == CAIRN_GUEST_NONE)
        return of->saved_pc;
    const struct cairn_guest_regs *regs = &thread->regs[native->regs];
    for (unsigned i = 0; i < CAIRN_GUEST_REGS; i++)
        if (regs->known >> i & 1 && cairn_lua_is_pc(&of->proto, regs->value[i]))
            return regs->value[i];
    return of->saved_pc;
}

static enum cairn_guest_kind kind_of(const struct cairn_lua_placed *placed, size_t i)
{
    const struct cairn_lua_call *call = &placed->calls[i];
    const struct cairn_lua_call *caller = i + 1 < placed->n_calls ? call + 1 : NULL;
    if (!call->is_lua)
        return CAIRN_GUEST_C;
    if (!call->proto.defined)
        return CAIRN_GUEST_CHUNK;
    if (caller && caller->calls_hook)
        return CAIRN_GUEST_HOOK;
    return caller && caller->calls_finalizer ? CAIRN_GUEST_FINALIZER : CAIRN_GUEST_FUNCTION;
}

static int add_frame(struct cairn_lua_placed *placed, size_t i, struct cairn_guest_result *result,
                     uint32_t state)
{
    const struct cairn_lua_call *call = &placed->calls[i];
    enum cairn_guest_kind kind = kind_of(placed, i);
    struct cairn_guest_frame *frame = cairn_guest_add_frame(result, state, kind, placed->places[i]);
    if (!frame)
        return CAIRN_E_NOMEM;
    frame->is_tail_called = call->is_tail_called;
    frame->id = call->is_lua ? call->proto.va : call->c_function;
    if (call->is_lua && !call->is_gone) {
        uint64_t pc = i == 0 ? running_pc(placed, i) : call->saved_pc;
        frame->line = cairn_lua_line(cairn_lua_memory_of(placed, call), placed->state.layout,
                                     &call->proto, pc);
        frame->defined = call->proto.defined;
        frame->defined_end = call->proto.defined_end;
    }
    return call->is_gone ? CAIRN_OK : cairn_lua_name(placed, i, result, frame);
}

/* The frames of the loop that run the state, and where what lies outside of them is another's. */
static int collect_loops(struct reading *r, struct cairn_lua_placed *placed, size_t first)
{
    if (cairn_grow((void **)&r->loops, &r->cap_loops, r->n_found, sizeof *r->loops) < 0)
        return CAIRN_E_NOMEM;
    for (size_t i = first; i < r->n_found; i++) {
        if (r->found[i].state.va != placed->state.va) {
            if (placed->end == r->thread->n_natives)
                placed->end = r->found[i].native;
            continue;
        }
        placed->end = (uint32_t)r->thread->n_natives;
        r->loops[placed->n_loops++] = r->found[i].native;
        r->found[i].is_read = true;
    }
    placed->loops = r->loops;
    return CAIRN_OK;
}

static int read_state(struct reading *r, size_t first)
{
    struct cairn_lua_placed placed = {
        .thread = r->thread,
        .constant = r->thread->constant.memory,
        .state = r->found[first].state,
        .module = r->thread->natives[r->found[first].native].module,
        .end = (uint32_t)r->thread->n_natives,
        .n_looks = &r->n_looks,
    };
    int code = collect_loops(r, &placed, first);
    if (code == CAIRN_OK)
        code = read_calls(r, &placed);
    if (code == CAIRN_OK)
        code = finish_calls(r, &placed);
    if (code < 0)
        return code;
    cairn_lua_place(&placed);
    uint32_t number = (uint32_t)r->result->n_states;
    struct cairn_guest_state *of = cairn_guest_add_state(r->result, placed.module, placed.state.va);
    if (!of)
        return CAIRN_E_NOMEM;
    of->doubt = placed.doubt;
    for (size_t i = 0; i < placed.n_calls && code == CAIRN_OK; i++)
        code = add_frame(&placed, i, r->result, number);
    return code;
}

static int add_lost(struct reading *r, uint32_t native)
{
    struct cairn_guest_state *lost =
        cairn_guest_add_state(r->result, r->thread->natives[native].module, 0);
    if (!lost)
        return CAIRN_E_NOMEM;
    lost->doubt = no_state;
    return CAIRN_OK;
}

static int find_loops(struct reading *r)
{
    int code = CAIRN_OK;
    for (uint32_t i = 0;
         i < r->thread->n_natives && code == CAIRN_OK && r->n_found < CAIRN_LUA_LOOPS_MAX; i++) {
        struct loop loop = {.native = i};
        if (!is_loop(r->thread, i))
            continue;
        if (!state_of_frame(r, i, &loop.state)) {
            if (r->result->n_states < CAIRN_GUEST_STATES_MAX)
                code = add_lost(r, i);
            continue;
        }
        code = cairn_grow((void **)&r->found, &r->cap_found, r->n_found + 1, sizeof *r->found);
        if (code == CAIRN_OK)
            r->found[r->n_found++] = loop;
    }
    return code;
}

static int read_all(struct reading *r)
{
    int code = find_loops(r);
    for (size_t i = 0;
         i < r->n_found && code == CAIRN_OK && r->result->n_states < CAIRN_GUEST_STATES_MAX; i++)
        if (!r->found[i].is_read)
            code = read_state(r, i);
    return code;
}

static void done(struct reading *r)
{
    cairn_free(r->calls);
    cairn_free(r->places);
    cairn_free(r->natives);
    cairn_free(r->loops);
    cairn_free(r->found);
}

static int read_thread(const struct cairn_guest_thread *thread, struct cairn_guest_result *result)
{
    struct reading r = {.thread = thread,
                        .result = result,
                        .memory = thread->memory,
                        .n_looks = CAIRN_GUEST_LOOKS_MAX};
    int code = read_all(&r);
    done(&r);
    return code;
}

static bool may_rest(const struct cairn_guest_file *file, const uint8_t *bytes, uint64_t va)
{
    return cairn_lua_may_rest(bytes, va, file->variant);
}

/* The calls of a coroutine that no thread runs have no native frames. */
static int add_resting(struct reading *r, struct cairn_lua_placed *placed)
{
    struct cairn_lua_call first;
    int code = CAIRN_OK;
    if (placed->state.rest == CAIRN_GUEST_SUSPENDED)
        code = read_calls(r, placed);
    else if (!cairn_lua_first_call(r->memory, &placed->state, &first))
        return CAIRN_OK;
    else
        code = add_call(r, placed, &first);
    if (code == CAIRN_OK)
        code = finish_calls(r, placed);
    struct cairn_guest_state *state =
        code == CAIRN_OK ? cairn_guest_add_state(r->result, placed->module, placed->state.va)
                         : NULL;
    if (!state)
        return CAIRN_E_NOMEM;
    state->rest = placed->state.rest;
    state->doubt = placed->doubt;
    cairn_lua_place(placed);
    for (size_t i = 0; i < placed->n_calls && code == CAIRN_OK; i++)
        code = add_frame(placed, i, r->result, 0);
    return code;
}

static int read_resting(const struct cairn_guest_thread *thread, uint32_t module, uint64_t va,
                        struct cairn_guest_result *result)
{
    struct reading r = {.thread = thread, .result = result, .memory = thread->memory};
    struct cairn_lua_placed placed = {
        .thread = thread,
        .constant = thread->constant.memory,
        .module = module,
        .n_looks = &r.n_looks,
    };
    int code = CAIRN_OK;
    if (cairn_lua_resting_read(r.memory, va, thread->modules[module].file->variant, &placed.state))
        code = add_resting(&r, &placed);
    done(&r);
    return code;
}

/* A layout that is not known yet is found out by many reads, for which no moment is long enough. */
static bool sketch(const struct cairn_guest_file *file, struct cairn_guest_sketch *ret_sketch)
{
    const struct cairn_lua_layout *layout = cairn_lua_layout_of(file->variant);
    if (!layout || !cairn_guest_has_loop(file))
        return false;
    *ret_sketch = (struct cairn_guest_sketch){
        .loop = file->loop,
        .loop_end = file->loop_end,
        .kind = CAIRN_SKETCH_LUA,
        .flags = (layout->main_in_global ? CAIRN_SKETCH_MAIN_IN_GLOBAL : 0) |
                 (layout->has_ci_array ? CAIRN_SKETCH_CI_ARRAY : 0) |
                 (layout->minor == 1 ? CAIRN_SKETCH_TAGS_5_1 : 0) |
                 (layout->minor <= 2 ? CAIRN_SKETCH_RUN_BY_CALL : 0),
        .global = layout->global,
        .ci = layout->ci,
        .base_ci = layout->base_ci,
        .main = layout->main_in_global ? layout->state : layout->main,
        .main_to_global = layout->state,
        .ci_size = layout->ci_size,
        .ci_func = layout->ci_func,
        .ci_previous = layout->ci_previous,
        .ci_saved_pc = layout->ci_saved_pc,
        .saved_pc = layout->saved_pc,
        .closure = layout->closure,
        .code = layout->code,
        .source = layout->source,
        .line_info = layout->line_info,
        .line_bytes = layout->lines_are_deltas ? 1 : 4,
    };
    return true;
}

const struct cairn_guest cairn_guest_lua = {
    .language = CAIRN_LANGUAGE_LUA,
    .name = "Lua",
    .look = cairn_lua_look,
    .read = read_thread,
    .type_at = CAIRN_LUA_TT,
    .type = CAIRN_LUA_TYPE_THREAD,
    .may_rest = may_rest,
    .rest = read_resting,
    .sketch = sketch,
};
