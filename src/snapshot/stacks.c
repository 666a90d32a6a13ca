/* SPDX-License-Identifier: MIT */
#include "snapshot/stacks.h"

#include <stdio.h>

#include "base/address.h"
#include "base/alloc.h"
#include "base/error.h"
#include "elf/note.h"
#include "proc/kernel.h"
#include "profile/label_list.h"
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
    cairn_table_done(&stacks->modules);
    cairn_free(stacks->rows);
    cairn_free(stacks->guest_rows);
    cairn_profile_free(stacks->profile);
    *stacks = (struct cairn_stacks){0};
}

void cairn_stacks_forget_modules(struct cairn_stacks *stacks)
{
    cairn_table_done(&stacks->modules);
    stacks->modules = (struct cairn_table){0};
}

struct cairn_frame_row *cairn_stacks_new_row(struct cairn_stacks *stacks)
{
    if (cairn_grow((void **)&stacks->rows, &stacks->cap_rows, stacks->n_rows + 1,
                   sizeof *stacks->rows) < 0)
        return NULL;
    return &stacks->rows[stacks->n_rows];
}

int cairn_stacks_add_kernel(struct cairn_stacks *stacks, const char *name, size_t size)
{
    struct cairn_profile *p = stacks->profile;
    struct cairn_frame_row *row = cairn_stacks_new_row(stacks);
    const struct cairn_profile_frame frame = {.what = CAIRN_WHAT_KERNEL, .how = CAIRN_HOW_KERNEL};
    struct cairn_profile_function function = {.name = cairn_profile_text(p, name, size)};
    function.system_name = function.name;
    if (!row || function.name == UINT32_MAX)
        return CAIRN_E_NOMEM;
    const struct cairn_profile_line line = {.function = cairn_profile_add_function(p, &function)};
    if (line.function == UINT32_MAX)
        return CAIRN_E_NOMEM;
    *row = (struct cairn_frame_row){.is_kernel = true};
    row->number = cairn_profile_add_frame(p, &frame, &line, 1);
    if (row->number == UINT32_MAX)
        return CAIRN_E_NOMEM;
    stacks->n_rows++;
    return CAIRN_OK;
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
    for (size_t i = 0; i < n && code == CAIRN_OK && !stacks->kernel_hidden; i++) {
        struct cairn_frame_row *row = cairn_stacks_new_row(stacks);
        const struct cairn_profile_frame frame = {
            .address =
                cairn_lookup_address(addresses[i], i ? CAIRN_ADDRESS_RETURN : CAIRN_ADDRESS_EXACT),
            .module = stacks->kernel_module,
            .what = CAIRN_WHAT_KERNEL,
            .how = CAIRN_HOW_KERNEL,
        };
        if (!row)
            return CAIRN_E_NOMEM;
        *row = (struct cairn_frame_row){.is_kernel = true};
        row->number = cairn_profile_add_frame(stacks->profile, &frame, NULL, 0);
        if (row->number == UINT32_MAX)
            return CAIRN_E_NOMEM;
        stacks->n_rows++;
    }
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

/* UINT32_MAX: memory is gone. */
static uint32_t module_of(struct cairn_stacks *stacks, struct cairn_unwind_space *space,
                          uint64_t va)
{
    const struct cairn_space_place *place = cairn_space_at(space, va);
    uint32_t number;
    if (!place || !place->region.path || !*place->region.path)
        return CAIRN_PROFILE_NO_MODULE;
    if (cairn_table_find(&stacks->modules, place->region.start, &number))
        return number;
    struct cairn_profile *p = stacks->profile;
    const struct cairn_profile_module module = {
        .start = place->region.start,
        .end = place->region.end,
        .off = place->region.off,
        .path = cairn_profile_text(p, place->region.path, strlen(place->region.path)),
        .build_id = build_id_of(p, place),
    };
    if (module.path == UINT32_MAX || module.build_id == UINT32_MAX)
        return UINT32_MAX;
    number = cairn_profile_add_module(p, &module);
    if (number != UINT32_MAX && cairn_table_set(&stacks->modules, place->region.start, number) < 0)
        return UINT32_MAX;
    return number;
}

int cairn_stacks_add_user(struct cairn_stacks *stacks, struct cairn_unwind_space *space,
                          const struct cairn_cursor_frame *frame)
{
    struct cairn_frame_row *row = cairn_stacks_new_row(stacks);
    bool is_exact = frame->exact || frame->signal; /* nothing has called a signal's frame */
    const struct cairn_profile_frame in_profile = {
        .address =
            cairn_lookup_address(frame->ip, is_exact ? CAIRN_ADDRESS_EXACT : CAIRN_ADDRESS_RETURN),
        .module = module_of(stacks, space, frame->ip),
        .how = (uint8_t)frame->how,
    };
    if (!row || in_profile.module == UINT32_MAX)
        return CAIRN_E_NOMEM;
    *row = (struct cairn_frame_row){
        .ip = frame->ip,
        .sp = frame->sp,
        .how = (uint8_t)frame->how,
        .exact = frame->exact != 0,
        .signal = frame->signal != 0,
    };
    row->number = cairn_profile_add_frame(stacks->profile, &in_profile, NULL, 0);
    if (row->number == UINT32_MAX)
        return CAIRN_E_NOMEM;
    stacks->n_rows++;
    return CAIRN_OK;
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
