/* SPDX-License-Identifier: MIT */
#include "snapshot/stacks.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "elf/note.h"
#include "proc/kernel.h"
#include "profile/label_list.h"
#include "stream/push.h"
#include "unwind/space.h"

enum { BUILD_ID_MAX = 64 };

int cairn_stacks_init(struct cairn_stacks *stacks, struct cairn_err *err)
{
    *stacks = (struct cairn_stacks){0};
    int code = cairn_profile_new(&stacks->profile, err);
    if (code == CAIRN_OK &&
        cairn_profile_add_type(stacks->profile, "samples", "count") == UINT32_MAX)
        code = cairn_fail_memory(err);
    return code;
}

void cairn_stacks_done(struct cairn_stacks *stacks)
{
    cairn_stream_space_clear(&stacks->code, &stacks->load);
    cairn_stream_modules_done(&stacks->modules);
    cairn_free(stacks->rows);
    cairn_free(stacks->guest_rows);
    cairn_profile_free(stacks->profile);
    *stacks = (struct cairn_stacks){0};
}

void cairn_stacks_forget_modules(struct cairn_stacks *stacks)
{
    cairn_stream_space_clear(&stacks->code, &stacks->load);
}

struct cairn_frame_row *cairn_stacks_new_row(struct cairn_stacks *stacks)
{
    if (cairn_grow((void **)&stacks->rows, &stacks->cap_rows, stacks->n_rows + 1,
                   sizeof *stacks->rows) < 0)
        return NULL;
    return &stacks->rows[stacks->n_rows];
}

/* One more row, of the frame with that number. */
static int add_row(struct cairn_stacks *stacks, struct cairn_frame_row row)
{
    struct cairn_frame_row *place = cairn_stacks_new_row(stacks);
    if (!place || row.number == UINT32_MAX)
        return CAIRN_E_NOMEM;
    *place = row;
    stacks->n_rows++;
    return CAIRN_OK;
}

static int add_kernel(struct cairn_stacks *stacks, uint64_t va, bool is_exact, uint32_t name)
{
    const struct cairn_frame_row row = {
        .number = cairn_stream_kernel_frame(stacks->profile, va, is_exact,
                                            va ? stacks->kernel_module : 0, name),
        .is_kernel = true,
    };
    return add_row(stacks, row);
}

int cairn_stacks_add_kernel(struct cairn_stacks *stacks, const char *name, size_t size)
{
    uint32_t text = cairn_profile_text(stacks->profile, name, size);
    return text == UINT32_MAX ? CAIRN_E_NOMEM : add_kernel(stacks, 0, true, text);
}

static int add_kernel_module(struct cairn_stacks *stacks)
{
    struct cairn_running_kernel kernel;
    cairn_running_kernel(&kernel);
    stacks->kernel_hidden = !kernel.text;
    if (stacks->kernel_hidden)
        return CAIRN_OK;
    uint32_t number = cairn_profile_add_kernel(stacks->profile, kernel.text, kernel.build_id);
    if (number == UINT32_MAX)
        return CAIRN_E_NOMEM;
    stacks->kernel_module = number;
    return CAIRN_OK;
}

int cairn_stacks_add_kernel_at(struct cairn_stacks *stacks, const uint64_t *addresses, size_t n)
{
    int code = CAIRN_OK;
    if (n && !stacks->kernel_module && !stacks->kernel_hidden)
        code = add_kernel_module(stacks);
    for (size_t i = 0; i < n && code == CAIRN_OK && !stacks->kernel_hidden; i++)
        code = add_kernel(stacks, addresses[i], i == 0, 0);
    return code;
}

static uint32_t build_id_of(struct cairn_profile *p, const struct cairn_space_place *place)
{
    char hex[2 * BUILD_ID_MAX + 1] = "";
    struct cairn_span id;
    if (!place->module || !place->module->usable ||
        cairn_elf_build_id(&place->module->elf, &id, NULL) < 0)
        return 0;
    for (size_t i = 0; i < id.size && i < BUILD_ID_MAX; i++)
        snprintf(hex + 2 * i, 3, "%02x", id.data[i]);
    return cairn_profile_text(p, hex, strlen(hex));
}

/* Lays the mapping at `va` into stacks->code, where it has a path. */
static int meet(struct cairn_stacks *stacks, struct cairn_unwind_space *space, uint64_t va)
{
    if (cairn_stream_space_find(&stacks->code, va))
        return CAIRN_OK;
    const struct cairn_space_place *place = cairn_space_at(space, va);
    if (!place || !place->region.path || !*place->region.path)
        return CAIRN_OK;
    struct cairn_profile *p = stacks->profile;
    const struct cairn_stream_map map = {
        .start = place->region.start,
        .end = place->region.end,
        .off = place->region.off,
        .path = cairn_profile_text(p, place->region.path, strlen(place->region.path)),
        .build_id = build_id_of(p, place),
    };
    if (map.path == UINT32_MAX || map.build_id == UINT32_MAX)
        return CAIRN_E_NOMEM;
    int code = cairn_stream_space_lay(&stacks->code, &map, &stacks->load);
    return code < 0 ? code : CAIRN_OK; /* beyond the limit the frame has no module */
}

static uint32_t module_of(void *ctx, struct cairn_stream_map *map)
{
    struct cairn_stacks *stacks = ctx;
    return cairn_stream_module(&stacks->modules, stacks->profile, 0, map);
}

int cairn_stacks_add_user(struct cairn_stacks *stacks, struct cairn_unwind_space *space,
                          const struct cairn_cursor_frame *frame)
{
    const struct cairn_stream_sink to = {stacks->profile, module_of, stacks};
    const struct cairn_stream_frame walked = {
        .va = frame->ip,
        .how = (uint8_t)frame->how,
        .exact = frame->exact || frame->signal, /* nothing has called a signal's frame */
    };
    int code = meet(stacks, space, cairn_stream_lookup(&walked));
    if (code < 0)
        return code;
    const struct cairn_frame_row row = {
        .ip = frame->ip,
        .sp = frame->sp,
        .number = cairn_stream_frame_number(&to, &stacks->code, &walked),
        .how = (uint8_t)frame->how,
        .exact = frame->exact != 0,
        .signal = frame->signal != 0,
    };
    return add_row(stacks, row);
}

static uint32_t labels_of(struct cairn_profile *p, const struct cairn_stack_owner *owner)
{
    struct cairn_label_list list = {.profile = p};
    cairn_label_list_number(&list, "pid", owner->pid);
    if (owner->coroutine)
        cairn_label_list_text(&list, "lua.coroutine", owner->coroutine);
    else
        cairn_label_list_number(&list, "tid", owner->tid);
    cairn_label_list_text(&list, "thread", owner->name);
    return cairn_label_list_add(&list, cairn_profile_text(p, owner->cut, strlen(owner->cut)), 0);
}

int cairn_stacks_add_sample(struct cairn_stacks *stacks, size_t first, size_t n,
                            const struct cairn_stack_owner *owner, uint32_t *ret_stack)
{
    struct cairn_profile *p = stacks->profile;
    const int64_t value = owner->n ? owner->n : 1;
    uint32_t stack = 0;
    for (size_t i = n; i-- > 0 && stack != UINT32_MAX;)
        stack = cairn_profile_add_stack(p, stack, stacks->rows[first + i].number);
    uint32_t labels = stack == UINT32_MAX ? UINT32_MAX : labels_of(p, owner);
    if (labels == UINT32_MAX || cairn_profile_add_sample(p, stack, labels, &value) == UINT32_MAX)
        return CAIRN_E_NOMEM;
    *ret_stack = stack;
    return CAIRN_OK;
}
