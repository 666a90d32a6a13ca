/* SPDX-License-Identifier: MIT */
#include "guest/guest.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "guest/definition.h"

static const struct cairn_guest *const guests[] = {&cairn_guest_lua, &cairn_guest_luajit};
enum { N_GUESTS = sizeof guests / sizeof *guests };

_Static_assert((int)N_GUESTS <= (int)CAIRN_GUEST_OF_FILE_MAX, "a file may have each of them");

size_t cairn_guest_look(const struct cairn_elf *elf,
                        struct cairn_guest_file ret_files[CAIRN_GUEST_OF_FILE_MAX])
{
    size_t n = 0;
    for (size_t i = 0; i < N_GUESTS; i++) {
        ret_files[n] = (struct cairn_guest_file){.state_reg = CAIRN_GUEST_NO_REG};
        if (guests[i]->look(elf, &ret_files[n]))
            ret_files[n++].guest = guests[i];
    }
    return n;
}

void cairn_guest_file_done(struct cairn_guest_file *file)
{
    cairn_own_done(&file->own);
}

static void begin(const struct cairn_guest_thread *thread, struct cairn_guest_result *result)
{
    result->n_frames = result->n_states = 0;
    result->n_own = thread->n_natives;
    if (result->n_own)
        memset(result->own, 0, result->n_own);
}

/* Where the frames of each place begin, in order: `at` has room for one place more than there are
 * native frames, and a place behind them counts as theirs. */
static void count_places(const struct cairn_guest_result *result, uint32_t *at, size_t n_natives)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < result->n_frames; i++)
        at[result->frames[i].place < n_natives ? result->frames[i].place : n_natives]++;
    for (size_t i = 0; i <= n_natives; i++) {
        uint32_t n = at[i];
        at[i] = sum;
        sum += n;
    }
}

static bool is_sorted(const struct cairn_guest_result *result)
{
    for (size_t i = 1; i < result->n_frames; i++)
        if (result->frames[i].place < result->frames[i - 1].place)
            return false;
    return true;
}

/* Frames with equal places stay in their order. Those of one state come sorted. */
static int sort_by_place(struct cairn_guest_result *result, size_t n_natives)
{
    if (is_sorted(result))
        return CAIRN_OK;
    uint32_t *at = cairn_alloc(n_natives + 1, sizeof *at);
    struct cairn_guest_frame *sorted = cairn_alloc(result->cap_frames, sizeof *sorted);
    if (at && sorted) {
        count_places(result, at, n_natives);
        for (size_t i = 0; i < result->n_frames; i++) {
            uint32_t place = result->frames[i].place;
            sorted[at[place < n_natives ? place : n_natives]++] = result->frames[i];
        }
        struct cairn_guest_frame *unsorted = result->frames;
        result->frames = sorted;
        sorted = unsorted;
    }
    int code = at && sorted ? CAIRN_OK : CAIRN_E_NOMEM;
    cairn_free(at);
    cairn_free(sorted);
    return code;
}

/* Of a module whose guest no module before it has; else NULL. */
static const struct cairn_guest *new_guest(const struct cairn_guest_thread *thread, size_t module)
{
    const struct cairn_guest *guest = thread->modules[module].file->guest;
    for (size_t i = 0; i < module; i++)
        if (thread->modules[i].file->guest == guest)
            return NULL;
    return guest;
}

/* Of stacks with frames of an interpreter. Those of code that it made are marked by it. */
static void mark_own(const struct cairn_guest_thread *thread, struct cairn_guest_result *result)
{
    for (size_t i = 0; result->n_frames && i < thread->n_natives; i++) {
        const struct cairn_guest_native *native = &thread->natives[i];
        if (native->module == CAIRN_GUEST_NONE)
            continue;
        const struct cairn_guest_module *module = &thread->modules[native->module];
        result->own[i] |= cairn_own_has(&module->file->own, native->ip - module->bias);
    }
}

int cairn_guest_read(const struct cairn_guest_thread *thread, struct cairn_guest_result *result)
{
    int code = cairn_grow((void **)&result->own, &result->cap_own, thread->n_natives, 1);
    if (code < 0)
        return code;
    begin(thread, result);
    for (size_t i = 0; i < thread->n_modules && code == CAIRN_OK; i++) {
        const struct cairn_guest *guest = new_guest(thread, i);
        if (guest)
            code = guest->read(thread, result);
    }
    if (code == CAIRN_OK)
        code = sort_by_place(result, thread->n_natives);
    mark_own(thread, result);
    return code;
}

int cairn_guest_read_resting(const struct cairn_guest_thread *thread, uint32_t module, uint64_t va,
                             struct cairn_guest_result *result)
{
    begin(thread, result);
    return thread->modules[module].file->guest->rest(thread, module, va, result);
}

static bool read_any(void *ctx, uint64_t va, void *to, size_t size)
{
    const struct cairn_guest_thread *thread = ctx;
    const struct cairn_memory *memory = &thread->memory, *constant = &thread->constant.memory;
    return memory->read(memory->ctx, va, to, size) ||
           (thread->constant.renew && constant->read(constant->ctx, va, to, size));
}

struct cairn_memory cairn_guest_any(const struct cairn_guest_thread *thread)
{
    return (struct cairn_memory){read_any, (void *)(uintptr_t)thread};
}

static bool find_name(const struct cairn_guest_result *result,
                      const struct cairn_guest_names *names, const struct cairn_guest_frame *frame,
                      char *name, size_t room)
{
    char text[512];
    if (frame->kind == CAIRN_GUEST_C)
        return names->function(names->ctx, frame->id, name, room);
    return frame->is_of_file && frame->defined &&
           names->source_line(names->ctx, cairn_strings_get(&result->strings, frame->chunk),
                              frame->defined, text, sizeof text) &&
           cairn_guest_definition(text, strlen(text), name, room);
}

int cairn_guest_name(struct cairn_guest_result *result, const struct cairn_guest_names *names)
{
    char name[CAIRN_GUEST_NAME_MAX];
    for (size_t i = 0; i < result->n_frames; i++) {
        struct cairn_guest_frame *frame = &result->frames[i];
        if (frame->name)
            continue;
        if (find_name(result, names, frame, name, sizeof name))
            frame->name = cairn_strings_add_str(&result->strings, name);
        else
            frame->name = frame->called;
        if (frame->name == UINT32_MAX)
            return CAIRN_E_NOMEM;
    }
    return CAIRN_OK;
}

void cairn_guest_result_done(struct cairn_guest_result *result)
{
    cairn_strings_done(&result->strings);
    cairn_free(result->frames);
    cairn_free(result->states);
    cairn_free(result->own);
    *result = (struct cairn_guest_result){0};
}

struct cairn_guest_frame *cairn_guest_add_frame(struct cairn_guest_result *result, uint32_t state,
                                                enum cairn_guest_kind kind, uint32_t place)
{
    struct cairn_guest_frame *frame = &result->beyond;
    if (result->n_frames == CAIRN_GUEST_FRAMES_MAX)
        result->states[state].doubt = "more than 65,536 frames";
    else if (cairn_grow((void **)&result->frames, &result->cap_frames, result->n_frames + 1,
                        sizeof *result->frames) < 0)
        return NULL;
    else
        frame = &result->frames[result->n_frames++];
    *frame = (struct cairn_guest_frame){.state = state, .kind = (uint8_t)kind, .place = place};
    return frame;
}

struct cairn_guest_state *cairn_guest_add_state(struct cairn_guest_result *result, uint32_t module,
                                                uint64_t va)
{
    if (cairn_grow((void **)&result->states, &result->cap_states, result->n_states + 1,
                   sizeof *result->states) < 0)
        return NULL;
    struct cairn_guest_state *state = &result->states[result->n_states++];
    *state = (struct cairn_guest_state){.module = module, .va = va};
    return state;
}

uint32_t cairn_guest_find_function(const struct cairn_guest_thread *thread, uint64_t function,
                                   uint32_t from, uint32_t to, uint64_t *n_looks)
{
    while (to > from && *n_looks) {
        --*n_looks;
        if (thread->natives[--to].function == function)
            return to;
    }
    return CAIRN_GUEST_NONE;
}

void cairn_guest_mark_own(struct cairn_guest_result *result, size_t native)
{
    if (native < result->n_own)
        result->own[native] = 1;
}
