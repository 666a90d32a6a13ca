/* SPDX-License-Identifier: MIT */
#include "guest/lua/lua.h"

#include "base/alloc.h"

/* One thread that is read. */
struct reading {
    const struct cairn_guest_thread *thread;
    struct cairn_guest_result *result;
    struct cairn_memory memory;
    struct cairn_lua_call *calls;
    size_t cap_calls;
    uint32_t *places, *natives, *loops;
    size_t cap_places, cap_natives, cap_loops;
    uint64_t states[CAIRN_GUEST_STATES_MAX];
    size_t n_states;
};

static const char unreadable[] = "a call of the interpreter makes no sense";
static const char no_state[] = "the register that holds the interpreter's state does not hold one";
static const char too_deep[] = "more than 65,536 calls";

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

static int read_calls(struct reading *r, struct cairn_lua_placed *placed)
{
    struct cairn_lua_calls calls = cairn_lua_calls_of(r->memory, &placed->state);
    struct cairn_lua_call call;
    size_t n = 0;
    while (n < CAIRN_LUA_CALLS_MAX && cairn_lua_calls_next(&calls, &call)) {
        if (cairn_grow((void **)&r->calls, &r->cap_calls, n + 1, sizeof *r->calls) < 0)
            return CAIRN_E_NOMEM;
        r->calls[n++] = call;
    }
    if (n == CAIRN_LUA_CALLS_MAX)
        placed->doubt = too_deep;
    if (calls.is_broken)
        placed->doubt = unreadable;
    if (cairn_grow((void **)&r->places, &r->cap_places, n, sizeof *r->places) < 0 ||
        cairn_grow((void **)&r->natives, &r->cap_natives, n, sizeof *r->natives) < 0)
        return CAIRN_E_NOMEM;
    cairn_lua_mark_runs(r->memory, placed->state.layout, r->calls, n);
    placed->calls = r->calls;
    placed->n_calls = n;
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

static int add_frame(struct cairn_lua_placed *placed, size_t i, struct cairn_guest_result *result,
                     uint32_t state)
{
    const struct cairn_lua_call *call = &placed->calls[i];
    enum cairn_guest_kind kind = !call->is_lua         ? CAIRN_GUEST_C
                                 : call->proto.defined ? CAIRN_GUEST_FUNCTION
                                                       : CAIRN_GUEST_CHUNK;
    struct cairn_guest_frame *frame = cairn_guest_add_frame(result, state, kind, placed->places[i]);
    if (!frame)
        return CAIRN_E_NOMEM;
    frame->is_tail_called = call->is_tail_called;
    frame->id = call->is_lua ? call->proto.va : call->c_function;
    if (call->is_lua) {
        uint64_t pc = i == 0 ? running_pc(placed, i) : call->saved_pc;
        frame->line = cairn_lua_line(placed->memory, placed->state.layout, &call->proto, pc);
        frame->defined = call->proto.defined;
        frame->defined_end = call->proto.defined_end;
    }
    return cairn_lua_name(placed, i, result, frame);
}

static int read_state(struct reading *r, const struct cairn_lua_state *state, uint32_t first_loop)
{
    const struct cairn_guest_thread *thread = r->thread;
    struct cairn_lua_placed placed = {
        .thread = thread,
        .memory = r->memory,
        .state = *state,
        .module = thread->natives[first_loop].module,
        .end = (uint32_t)thread->n_natives,
    };
    for (uint32_t i = first_loop; i < thread->n_natives; i++) {
        struct cairn_lua_state other;
        if (!is_loop(thread, i) || !state_of_frame(r, i, &other))
            continue;
        if (other.va != state->va) {
            placed.end = placed.end == thread->n_natives ? i : placed.end;
            continue;
        }
        placed.end = (uint32_t)thread->n_natives;
        if (cairn_grow((void **)&r->loops, &r->cap_loops, placed.n_loops + 1, sizeof *r->loops) < 0)
            return CAIRN_E_NOMEM;
        r->loops[placed.n_loops++] = i;
    }
    placed.loops = r->loops;
    int code = read_calls(r, &placed);
    if (code < 0)
        return code;
    cairn_lua_place(&placed);
    uint32_t number = (uint32_t)r->result->n_states;
    struct cairn_guest_state *of = cairn_guest_add_state(r->result, placed.module, state->va);
    if (!of)
        return CAIRN_E_NOMEM;
    of->doubt = placed.doubt;
    for (size_t i = 0; i < placed.n_calls && code == CAIRN_OK; i++)
        code = add_frame(&placed, i, r->result, number);
    return code;
}

static bool is_read(struct reading *r, uint64_t va)
{
    for (size_t i = 0; i < r->n_states; i++)
        if (r->states[i] == va)
            return true;
    if (r->n_states < CAIRN_GUEST_STATES_MAX)
        r->states[r->n_states++] = va;
    return false;
}

static int read_all(struct reading *r)
{
    struct cairn_lua_state state;
    int code = CAIRN_OK;
    for (uint32_t i = 0; i < r->thread->n_natives && code == CAIRN_OK; i++) {
        if (!is_loop(r->thread, i))
            continue;
        if (state_of_frame(r, i, &state)) {
            if (!is_read(r, state.va))
                code = read_state(r, &state, i);
            continue;
        }
        struct cairn_guest_state *lost =
            cairn_guest_add_state(r->result, r->thread->natives[i].module, 0);
        if (!lost)
            return CAIRN_E_NOMEM;
        lost->doubt = no_state;
    }
    return code;
}

static int read_thread(const struct cairn_guest_thread *thread, struct cairn_guest_cache *cache,
                       struct cairn_guest_result *result)
{
    (void)cache;
    struct reading *r = cairn_alloc(1, sizeof *r);
    if (!r)
        return CAIRN_E_NOMEM;
    r->thread = thread;
    r->result = result;
    r->memory = thread->memory;
    int code = read_all(r);
    cairn_free(r->calls);
    cairn_free(r->places);
    cairn_free(r->natives);
    cairn_free(r->loops);
    cairn_free(r);
    return code;
}

const struct cairn_guest cairn_guest_lua = {
    .number = 0,
    .language = CAIRN_LANGUAGE_LUA,
    .name = "Lua",
    .look = cairn_lua_look,
    .read = read_thread,
};
