/* SPDX-License-Identifier: MIT */
#include "guest/luajit/luajit.h"

#include "base/alloc.h"
#include "guest/chunk.h"
#include "guest/words.h"

/* A native frame in the assembler or in compiled code, with its C frame. */
struct anchor {
    uint32_t native;
    bool is_trace;
    uint64_t c_frame, state;
};

struct reading {
    const struct cairn_guest_thread *thread;
    struct cairn_guest_result *result;
    struct cairn_memory memory, any; /* of the moment; and constant memory */
    struct anchor *anchors;          /* innermost first */
    size_t n_anchors, cap_anchors;
    struct cairn_lj_now now; /* of the innermost globals */
    bool has_now;
    uint32_t module;
    uint64_t n_looks; /* as for cairn_guest_find_function() */
};

static const char no_c_frame[] = "a C frame of the state is not on the native stack";
static const char broken[] = "a frame of the Lua stack makes no sense";
static const char no_state[] = "the assembler runs no state that makes sense";
static const char moved[] = "the compiled code has left the function that it began in";
static const char is_gone[] = "a function was gone before its name was read";
static const char no_place[] = "it is not known where the compiled code is";

int cairn_lj_describe(struct cairn_memory memory, const struct cairn_lj_proto *proto, uint64_t pc,
                      struct cairn_guest_result *result, struct cairn_guest_frame *frame)
{
    enum { TEXT = 24 };
    char source[CAIRN_GUEST_NAME_MAX + 1];
    size_t size;
    frame->id = proto->va;
    frame->line = pc ? cairn_lj_line(memory, proto, pc) : 0;
    frame->defined = proto->first_line;
    frame->defined_end = proto->first_line + proto->n_lines;
    if (!proto->chunk ||
        !cairn_guest_text(memory, proto->chunk + TEXT, source, CAIRN_GUEST_NAME_MAX, &size))
        return CAIRN_OK;
    return cairn_guest_chunk(result, source, size, frame);
}

static const struct cairn_guest_regs *regs_of(const struct reading *r, uint32_t native)
{
    uint32_t regs = r->thread->natives[native].regs;
    return regs == CAIRN_GUEST_NONE ? NULL : &r->thread->regs[regs];
}

static bool is_assembler(const struct reading *r, uint32_t native)
{
    const struct cairn_guest_native *of = &r->thread->natives[native];
    return of->module != CAIRN_GUEST_NONE &&
           r->thread->modules[of->module].file->guest == &cairn_guest_luajit &&
           cairn_guest_wants_regs(&r->thread->modules[of->module], of->ip);
}

/* Reads what runs, by a register of a frame in the assembler or in compiled code. */
static bool read_now(struct reading *r, uint32_t native)
{
    const struct cairn_guest_regs *regs = regs_of(r, native);
    uint64_t global;
    r->has_now = r->has_now || (regs && regs->known >> CAIRN_LJ_R14 & 1 &&
                                cairn_lj_global_of(r->memory, regs->value[CAIRN_LJ_R14], &global) &&
                                cairn_lj_now_read(r->memory, global, &r->now));
    return r->has_now;
}

static bool find_anchor(struct reading *r, uint32_t native, struct anchor *ret_anchor)
{
    const struct cairn_guest_native *of = &r->thread->natives[native];
    struct cairn_lj_c_frame frame;
    struct cairn_lj_state state;
    *ret_anchor = (struct anchor){.native = native};
    if (is_assembler(r, native)) {
        if (!cairn_lj_c_frame_at(r->memory, of->sp, &frame, &state)) {
            if (!read_now(r, native) ||
                !cairn_lj_c_frame_above(r->memory, &r->now.state, of->sp, &frame))
                return false;
            state = r->now.state;
        }
    } else {
        if (of->module != CAIRN_GUEST_NONE || of->function || of->regs == CAIRN_GUEST_NONE ||
            !read_now(r, native) || !r->now.jit_base ||
            !cairn_lj_c_frame_above(r->memory, &r->now.state, of->sp, &frame))
            return false;
        state = r->now.state;
        ret_anchor->is_trace = true;
    }
    ret_anchor->c_frame = frame.va;
    ret_anchor->state = state.va;
    return true;
}

/* A frame of the assembler whose state cannot be told, as while a stack is moved. */
static bool add_lost(struct reading *r, uint32_t native)
{
    struct cairn_guest_state *lost;
    if (r->result->n_states == CAIRN_GUEST_STATES_MAX)
        return true;
    if (native == 0 && cairn_lj_is_border(r->memory, r->thread->natives[0].ip))
        return true;
    lost = cairn_guest_add_state(r->result, r->thread->natives[native].module, 0);
    if (lost)
        lost->doubt = no_state;
    return lost != NULL;
}

static int find_anchors(struct reading *r)
{
    struct anchor anchor;
    for (uint32_t i = 0; i < r->thread->n_natives && r->n_anchors < CAIRN_LJ_RUNS_MAX; i++) {
        if (!find_anchor(r, i, &anchor)) {
            if (is_assembler(r, i) && !add_lost(r, i))
                return CAIRN_E_NOMEM;
            continue;
        }
        if (is_assembler(r, i))
            r->module = r->thread->natives[i].module;
        if (r->n_anchors && r->anchors[r->n_anchors - 1].c_frame == anchor.c_frame &&
            !r->anchors[r->n_anchors - 1].is_trace) {
            r->anchors[r->n_anchors - 1].native = i;
            continue;
        }
        if (cairn_grow((void **)&r->anchors, &r->cap_anchors, r->n_anchors + 1,
                       sizeof *r->anchors) < 0)
            return CAIRN_E_NOMEM;
        r->anchors[r->n_anchors++] = anchor;
    }
    return CAIRN_OK;
}

/* The native frame of the state's C frame; CAIRN_GUEST_NONE: it has none. */
static uint32_t native_of(const struct reading *r, uint64_t c_frame)
{
    for (size_t i = 0; i < r->n_anchors; i++)
        if (r->anchors[i].c_frame == c_frame)
            return r->anchors[i].native;
    return CAIRN_GUEST_NONE;
}

/* Is `base` one of a frame of the state? */
static bool is_base(const struct reading *r, const struct cairn_lj_state *state, uint64_t base)
{
    struct cairn_lj_function function;
    uint64_t va;
    return base > state->stack && base <= state->max_stack && base % 8 == 0 &&
           cairn_guest_u64(r->memory, base - 16, &va) &&
           cairn_lj_function_read(r->any, cairn_lj_pointer(va), &function);
}

/* Where the innermost frame of the state is: in the assembler its base and pc are registers, else
 * they were saved. */
static void find_top(const struct reading *r, const struct anchor *anchor,
                     struct cairn_lj_frames *frames)
{
    const struct cairn_guest_regs *regs = regs_of(r, anchor->native);
    struct cairn_lj_c_frame frame;
    frames->base = frames->state.base;
    frames->c_frame = frames->state.c_frame;
    if (cairn_lj_c_frame_read(r->memory, frames->c_frame, &frame))
        frames->pc = frame.pc;
    if (anchor->is_trace || !regs || anchor->native != 0 || !(regs->known >> CAIRN_LJ_RDX & 1) ||
        !(regs->known >> CAIRN_LJ_RBX & 1) ||
        !is_base(r, &frames->state, regs->value[CAIRN_LJ_RDX]))
        return;
    frames->base = regs->value[CAIRN_LJ_RDX];
    frames->pc = regs->value[CAIRN_LJ_RBX];
}

/* Is the function that ran the one that constant memory has there? */
static bool is_there(const struct reading *r, const struct cairn_lj_proto *then)
{
    const struct cairn_guest_constant *constant = &r->thread->constant;
    struct cairn_lj_proto now;
    for (unsigned tries = 0; constant->renew && tries < 2; tries++) {
        if (cairn_lj_proto_read(constant->memory, then->va, &now) && now.n_code == then->n_code &&
            now.chunk == then->chunk && now.line_info == then->line_info &&
            now.first_line == then->first_line)
            return true;
        constant->renew(constant->memory.ctx);
    }
    return !constant->renew;
}

static int add_frame(struct reading *r, const struct cairn_lj_frame *from, uint32_t state,
                     uint32_t inner, uint32_t place)
{
    bool is_lua = from->function.is_lua;
    enum cairn_guest_kind kind = !is_lua                           ? CAIRN_GUEST_C
                                 : from->function.proto.first_line ? CAIRN_GUEST_FUNCTION
                                                                   : CAIRN_GUEST_CHUNK;
    if (!is_lua) {
        uint32_t native = cairn_guest_find_function(r->thread, from->function.c_function, inner,
                                                    place, &r->n_looks);
        place = native == CAIRN_GUEST_NONE ? place : native + 1;
    }
    struct cairn_guest_frame *frame = cairn_guest_add_frame(r->result, state, kind, place);
    if (!frame)
        return CAIRN_E_NOMEM;
    frame->id = from->function.c_function;
    if (is_lua && !is_there(r, &from->function.proto)) {
        r->result->states[state].doubt = is_gone;
        return CAIRN_OK;
    }
    return is_lua ? cairn_lj_describe(r->any, &from->function.proto, from->pc, r->result, frame)
                  : CAIRN_OK;
}

/* The functions that compiled code runs, and where on the Lua stack it goes on. `*ret_doubt` is
 * NULL if all fits: the outermost of those that were told is the frame at jit_base. */
static int read_trace(struct reading *r, const struct anchor *anchor, uint32_t state,
                      struct cairn_lj_frames *frames, const char **ret_doubt)
{
    const struct cairn_lj_trace_place at = {
        .thread = r->thread,
        .any = r->any,
        .now = &r->now,
        .ip = r->thread->natives[anchor->native].ip,
        .state = state,
        .place = anchor->native,
    };
    struct cairn_lj_frame first;
    bool added;
    size_t before = r->result->n_frames;
    int code = cairn_lj_trace_read(&at, r->result, &added);
    frames->base = r->now.jit_base;
    frames->pc = 0;
    *ret_doubt = NULL;
    if (code < 0)
        return code;
    if (!added)
        *ret_doubt = no_place;
    else if (!cairn_lj_frames_next(frames, &first) || r->result->n_frames == before ||
             first.function.proto.va != r->result->frames[r->result->n_frames - 1].id)
        *ret_doubt = moved;
    return CAIRN_OK;
}

/* What is known of compiled code may be of what was there before: then it is read anew. */
static int add_trace(struct reading *r, const struct anchor *anchor, uint32_t state,
                     struct cairn_lj_frames *frames)
{
    const struct cairn_lj_frames begin = *frames;
    const size_t before = r->result->n_frames;
    const char *doubt;
    int code = read_trace(r, anchor, state, frames, &doubt);
    if (code == CAIRN_OK && doubt && r->thread->constant.renew) {
        r->thread->constant.renew(r->thread->constant.memory.ctx);
        r->result->n_frames = before;
        *frames = begin;
        code = read_trace(r, anchor, state, frames, &doubt);
    }
    r->result->states[state].doubt = doubt;
    return code;
}

static int read_state(struct reading *r, size_t first)
{
    const struct anchor *anchor = &r->anchors[first];
    struct cairn_lj_frames frames = {.memory = r->memory, .any = r->any};
    struct cairn_lj_frame frame;
    uint32_t number = (uint32_t)r->result->n_states, inner = 0, run = 0;
    if (!cairn_lj_state_read(r->memory, anchor->state, &frames.state))
        return CAIRN_OK;
    struct cairn_guest_state *state = cairn_guest_add_state(r->result, r->module, anchor->state);
    if (!state)
        return CAIRN_E_NOMEM;
    bool is_now = r->has_now && r->now.state.va == anchor->state;
    state->mode = is_now ? cairn_lj_mode(r->now.vm_state) : NULL;
    find_top(r, anchor, &frames);
    int code = anchor->is_trace ? add_trace(r, anchor, number, &frames) : CAIRN_OK;
    uint32_t place = anchor->native;
    while (code == CAIRN_OK && cairn_lj_frames_next(&frames, &frame)) {
        if (frame.run != run || !inner) {
            uint32_t native = native_of(r, frame.c_frame);
            inner = run == frame.run ? 0 : place + 1;
            run = frame.run;
            if (native == CAIRN_GUEST_NONE)
                r->result->states[number].doubt = no_c_frame;
            else
                place = native;
        }
        code = add_frame(r, &frame, number, inner, place);
    }
    if (frames.is_broken)
        r->result->states[number].doubt = broken;
    return code;
}

static int read_states(struct reading *r)
{
    int code = CAIRN_OK;
    for (size_t i = 0; i < r->n_anchors && code == CAIRN_OK; i++) {
        bool is_read = false;
        for (size_t k = 0; k < i && !is_read; k++)
            is_read = r->anchors[k].state == r->anchors[i].state;
        if (!is_read && r->result->n_states < CAIRN_GUEST_STATES_MAX)
            code = read_state(r, i);
        if (r->anchors[i].is_trace)
            cairn_guest_mark_own(r->result, r->anchors[i].native);
    }
    return code;
}

static int read_thread(const struct cairn_guest_thread *thread, struct cairn_guest_result *result)
{
    struct reading r = {.thread = thread,
                        .result = result,
                        .memory = thread->memory,
                        .any = cairn_guest_any(thread),
                        .n_looks = CAIRN_GUEST_LOOKS_MAX};
    for (uint32_t i = 0; i < thread->n_modules; i++)
        if (thread->modules[i].file->guest == &cairn_guest_luajit)
            r.module = i;
    for (uint32_t i = 0; i < thread->n_natives && !r.has_now; i++)
        if (is_assembler(&r, i))
            (void)read_now(&r, i);
    int code = find_anchors(&r);
    if (code == CAIRN_OK)
        code = read_states(&r);
    cairn_free(r.anchors);
    return code;
}

static bool may_rest(const struct cairn_guest_file *file, const uint8_t *bytes, uint64_t va)
{
    (void)file;
    return cairn_lj_may_rest(bytes, va);
}

static int add_suspended(struct reading *r, const struct cairn_lj_state *state)
{
    struct cairn_lj_frames frames = {
        .memory = r->memory, .any = r->any, .state = *state, .base = state->base};
    struct cairn_lj_frame frame;
    int code = CAIRN_OK;
    while (code == CAIRN_OK && cairn_lj_frames_next(&frames, &frame))
        code = add_frame(r, &frame, 0, 0, 0);
    if (frames.is_broken)
        r->result->states[0].doubt = broken;
    return code;
}

static int add_resting(struct reading *r, const struct cairn_lj_state *state)
{
    struct cairn_lj_frame first = {0};
    uint64_t slot;
    bool is_begun = state->rest == CAIRN_GUEST_SUSPENDED;
    if (!is_begun && (!cairn_guest_u64(r->memory, state->base, &slot) ||
                      !cairn_lj_function_read(r->any, cairn_lj_pointer(slot), &first.function)))
        return CAIRN_OK;
    struct cairn_guest_state *added = cairn_guest_add_state(r->result, r->module, state->va);
    if (!added)
        return CAIRN_E_NOMEM;
    added->rest = state->rest;
    return is_begun ? add_suspended(r, state) : add_frame(r, &first, 0, 0, 0);
}

static int read_resting(const struct cairn_guest_thread *thread, uint32_t module, uint64_t va,
                        struct cairn_guest_result *result)
{
    struct reading r = {.thread = thread,
                        .result = result,
                        .memory = thread->memory,
                        .any = cairn_guest_any(thread),
                        .module = module};
    struct cairn_lj_state state;
    return cairn_lj_resting_read(r.memory, va, &state) ? add_resting(&r, &state) : CAIRN_OK;
}

static bool sketch(const struct cairn_guest_file *file, struct cairn_guest_sketch *ret_sketch)
{
    *ret_sketch = (struct cairn_guest_sketch){
        .loop = file->loop,
        .loop_end = file->loop_end,
        .kind = CAIRN_SKETCH_LUAJIT,
        .global = CAIRN_SKETCH_LJ_GLOBAL,
    };
    return cairn_guest_has_loop(file);
}

const struct cairn_guest cairn_guest_luajit = {
    .language = CAIRN_LANGUAGE_LUA,
    .name = "LuaJIT",
    .look = cairn_lj_look,
    .read = read_thread,
    .type_at = CAIRN_SKETCH_LJ_TYPE,
    .type = CAIRN_SKETCH_LJ_THREAD,
    .may_rest = may_rest,
    .rest = read_resting,
    .life = cairn_lj_life,
    .step = cairn_lj_step,
    .sketch = sketch,
};
