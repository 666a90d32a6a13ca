/* SPDX-License-Identifier: MIT */
/* Stacks and frames one by one, for who prints them in a way of his own. */
#include "profile/frame_kind.h"
#include "profile/profile.h"

size_t cairn_profile_stack(const struct cairn_profile *p, uint32_t stack, uint32_t *frames,
                           size_t n)
{
    size_t depth = 0;
    if (stack >= p->n_stacks)
        return 0;
    for (; stack; stack = p->stacks[stack].parent, depth++)
        if (depth < n)
            frames[depth] = p->stacks[stack].frame;
    return depth;
}

int cairn_profile_frame(const struct cairn_profile *p, uint32_t frame,
                        struct cairn_frame_info *ret_info)
{
    if (frame == 0 || frame >= p->n_frames)
        return CAIRN_E_ARG;
    const struct cairn_profile_frame *f = &p->frames[frame];
    const struct cairn_profile_module *module = &p->modules[f->module];
    struct cairn_frame_info info = {
        .size = ret_info->size,
        .address = f->address,
        .kind = cairn_frame_kind_of(f),
        .module = cairn_strings_get(&p->strings, module->path),
        .build_id = cairn_strings_get(&p->strings, module->build_id),
        .module_start = module->start,
        .module_off = module->off,
        .module_end = module->end,
        .n_lines = cairn_profile_is_named(p, frame) ? f->n_lines : 0,
        .what = (enum cairn_frame_what)f->what,
        .how = (enum cairn_frame_how)f->how,
        .language = (enum cairn_language)f->language,
        .own = f->own,
    };
    if (!cairn_profile_is_function_start(p, frame, &info.function_start))
        info.function_start = 0;
    memcpy(ret_info, &info, info.size < sizeof info ? info.size : sizeof info);
    return CAIRN_OK;
}

int cairn_profile_frame_line(const struct cairn_profile *p, uint32_t frame, uint32_t index,
                             struct cairn_frame_line *ret_line)
{
    if (frame == 0 || frame >= p->n_frames || index >= p->frames[frame].n_lines)
        return CAIRN_E_ARG;
    const struct cairn_profile_line *line = &p->lines[p->frames[frame].lines + index];
    const struct cairn_profile_function *function = &p->functions[line->function];
    *ret_line = (struct cairn_frame_line){
        .function = cairn_strings_get(&p->strings, function->name),
        .file = cairn_strings_get(&p->strings, function->file),
        .line = line->line,
        .defined = function->start_line,
    };
    return CAIRN_OK;
}
