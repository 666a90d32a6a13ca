/* SPDX-License-Identifier: MIT */
/* A profile from its birth to its end, and the small things that a whole profile has: value types,
 * the words for a frame. */
#include "profile/profile.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/function_start.h"
#include "base/module_kind.h"

/* Number 0 of each kind means none, and is there from the start. */
static bool add_zeros(struct cairn_profile *p)
{
    if (cairn_grow((void **)&p->modules, &p->cap_modules, 1, sizeof *p->modules) < 0 ||
        cairn_grow((void **)&p->functions, &p->cap_functions, 1, sizeof *p->functions) < 0 ||
        cairn_grow((void **)&p->frames, &p->cap_frames, 1, sizeof *p->frames) < 0 ||
        cairn_grow((void **)&p->stacks, &p->cap_stacks, 1, sizeof *p->stacks) < 0 ||
        cairn_grow((void **)&p->label_sets, &p->cap_label_sets, 1, sizeof *p->label_sets) < 0)
        return false;
    p->modules[p->n_modules++] = (struct cairn_profile_module){0};
    p->functions[p->n_functions++] = (struct cairn_profile_function){0};
    p->frames[p->n_frames++] = (struct cairn_profile_frame){.how = CAIRN_HOW_TEXT};
    p->stacks[p->n_stacks++] = (struct cairn_profile_stack){0};
    p->label_sets[p->n_label_sets++] = (struct cairn_profile_label_set){0};
    return true;
}

int cairn_profile_new(struct cairn_profile **ret_profile, struct cairn_err *err)
{
    struct cairn_profile *p = cairn_alloc(1, sizeof *p);
    if (!p || !add_zeros(p)) {
        cairn_profile_free(p);
        return cairn_fail_memory(err);
    }
    *ret_profile = p;
    return CAIRN_OK;
}

void cairn_profile_free(struct cairn_profile *p)
{
    if (!p)
        return;
    cairn_profile_drop_index(p);
    cairn_strings_done(&p->strings);
    cairn_free(p->types);
    cairn_free(p->modules);
    cairn_free(p->functions);
    cairn_free(p->lines);
    cairn_free(p->frames);
    cairn_free(p->stacks);
    cairn_free(p->labels);
    cairn_free(p->label_sets);
    cairn_free(p->samples);
    cairn_free(p->values);
    cairn_free(p->markers);
    cairn_free(p->notes);
    cairn_free(p->public_types);
    cairn_free(p->public_comments);
    cairn_free(p);
}

uint32_t cairn_profile_text(struct cairn_profile *p, const char *text, size_t size)
{
    return cairn_strings_add(&p->strings, text, size);
}

uint32_t cairn_profile_add_type(struct cairn_profile *p, const char *type, const char *unit)
{
    if (p->n_samples || p->n_types >= CAIRN_PROFILE_TYPES_MAX)
        return UINT32_MAX;
    struct cairn_profile_type row = {cairn_strings_add_str(&p->strings, type),
                                     cairn_strings_add_str(&p->strings, unit)};
    if (row.type == UINT32_MAX || row.unit == UINT32_MAX)
        return UINT32_MAX;
    struct cairn_profile_type *types = cairn_realloc(p->types, p->n_types + 1, sizeof *types);
    if (!types)
        return UINT32_MAX;
    p->types = types;
    struct cairn_value_type *lent = cairn_realloc(p->public_types, p->n_types + 1, sizeof *lent);
    if (!lent)
        return UINT32_MAX;
    p->public_types = lent;
    types[p->n_types] = row;
    lent[p->n_types].type = cairn_strings_get(&p->strings, row.type);
    lent[p->n_types].unit = cairn_strings_get(&p->strings, row.unit);
    return (uint32_t)p->n_types++;
}

size_t cairn_profile_value_types(const struct cairn_profile *p,
                                 const struct cairn_value_type **ret_types)
{
    *ret_types = p->public_types;
    return p->n_types;
}

size_t cairn_profile_default_value(const struct cairn_profile *p)
{
    for (size_t i = 0; p->default_type && i < p->n_types; i++)
        if (p->types[i].type == p->default_type)
            return i;
    return 0;
}

int cairn_profile_set_default_value(struct cairn_profile *p, size_t value_type,
                                    struct cairn_err *err)
{
    if (value_type >= p->n_types)
        return cairn_fail(err, CAIRN_E_ARG, "value type %zu, the profile has %zu", value_type,
                          p->n_types);
    p->default_type = p->types[value_type].type;
    return CAIRN_OK;
}

const char *cairn_profile_module_name(const struct cairn_profile *p, uint32_t module)
{
    if (module == CAIRN_PROFILE_NO_MODULE || module >= p->n_modules)
        return "";
    const char *path = cairn_strings_get(&p->strings, p->modules[module].path);
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

const char *cairn_profile_frame_text(const struct cairn_profile *p, uint32_t frame, char *buf,
                                     size_t size)
{
    const struct cairn_profile_frame *f = &p->frames[frame];
    const struct cairn_profile_module *module = &p->modules[f->module];
    const char *name = cairn_profile_module_name(p, f->module);
    if (!f->address)
        snprintf(buf, size, "[unknown]");
    else if (*name && f->address >= module->start && !cairn_module_is_kernel(module->kind) &&
             module->kind != CAIRN_MODULE_VSYSCALL)
        snprintf(buf, size, "%s+0x%" PRIx64, name, f->address - module->start + module->off);
    else
        snprintf(buf, size, "0x%" PRIx64, f->address);
    return buf;
}

static bool is_hex(const char *text)
{
    return text[0] == '0' && text[1] == 'x' && text[2] &&
           text[2 + strspn(text + 2, "0123456789abcdefABCDEF")] == 0;
}

/* Formats without addresses write them where a name should be. */
static bool is_name(const char *text)
{
    const char *plus = strrchr(text, '+');
    return *text && !is_hex(text) && !(plus && is_hex(plus + 1)) && strcmp(text, "[unknown]") != 0;
}

bool cairn_profile_is_named(const struct cairn_profile *p, uint32_t frame)
{
    const struct cairn_profile_frame *f = &p->frames[frame];
    if (f->n_lines == 0)
        return false;
    const struct cairn_profile_function *function = &p->functions[p->lines[f->lines].function];
    return is_name(
        cairn_strings_get(&p->strings, function->name ? function->name : function->system_name));
}

bool cairn_profile_is_function_start(const struct cairn_profile *p, uint32_t frame,
                                     uint64_t *ret_address)
{
    const struct cairn_profile_frame *f = &p->frames[frame];
    size_t module_size;
    uint64_t off;
    if (f->n_lines != 1)
        return false;
    uint32_t name = p->functions[p->lines[f->lines].function].name;
    if (!cairn_function_start_read(cairn_strings_get(&p->strings, name),
                                   cairn_strings_size(&p->strings, name), &module_size, &off))
        return false;
    const struct cairn_profile_module *module = &p->modules[f->module];
    if (ret_address)
        *ret_address = off - module->off + module->start;
    return true;
}
