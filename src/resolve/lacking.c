/* SPDX-License-Identifier: MIT */
#include "resolve/lacking.h"

#include "base/alloc.h"
#include "base/error.h"
#include "debugfile/by_id.h"
#include "debugfile/debugfile.h"
#include "symbol/symbolizer.h"

static bool lacks_name(const struct cairn_profile *p, uint32_t frame)
{
    return p->frames[frame].address && !cairn_profile_is_named(p, frame);
}

/* What the missing names of each module cost: a sample counts for its innermost frame without a
 * name. */
static bool weigh(const struct cairn_profile *p, uint64_t *weights)
{
    size_t type = cairn_profile_default_value(p);
    uint32_t *by_stack = cairn_alloc(p->n_stacks, sizeof *by_stack);
    if (!by_stack)
        return false;
    for (size_t i = 1; i < p->n_stacks; i++)
        by_stack[i] = lacks_name(p, p->stacks[i].frame) ? p->frames[p->stacks[i].frame].module
                                                        : by_stack[p->stacks[i].parent];
    for (size_t i = 0; i < p->n_samples; i++) {
        int64_t value = p->n_types ? p->values[i * p->n_types + type] : 1;
        weights[by_stack[p->samples[i].stack]] += value > 0 ? (uint64_t)value : 0;
    }
    cairn_free(by_stack);
    return true;
}

/* Modules with frames that samples reach and that have no name. */
static bool mark(const struct cairn_profile *p, bool *is_wanted)
{
    struct cairn_profile_reach reach;
    if (!cairn_profile_reach(p, &reach))
        return false;
    for (uint32_t i = 1; i < p->n_frames; i++)
        if (reach.frames[i] && lacks_name(p, i))
            is_wanted[p->frames[i].module] = true;
    cairn_profile_reach_done(&reach);
    return true;
}

static size_t list(struct cairn_resolver *r, const struct cairn_profile *p, const bool *is_wanted,
                   const uint64_t *weights, struct cairn_lacking *lacking)
{
    size_t n = 0;
    for (size_t i = 1; i < p->n_modules; i++) {
        const struct cairn_profile_module *module = &p->modules[i];
        const char *id = cairn_strings_get(&p->strings, module->build_id);
        if (!is_wanted[i] || !*id || module->kind != CAIRN_MODULE_FILE)
            continue;
        const char *path = cairn_strings_get(&p->strings, module->path);
        lacking[n] = (struct cairn_lacking){.build_id = id, .path = path, .weight = weights[i]};
        lacking[n].lacks = cairn_debugfile_lacks(r->modules.symbolizer->finder, path, id);
        n += lacking[n].lacks != 0;
    }
    return n;
}

int cairn_lacking_fetch(struct cairn_resolver *resolver, const struct cairn_profile *p,
                        struct cairn_err *err)
{
    if (!cairn_by_id_can_fetch() || p->n_modules < 2)
        return CAIRN_OK;
    bool *is_wanted = cairn_alloc(p->n_modules, sizeof *is_wanted);
    uint64_t *weights = cairn_alloc(p->n_modules, sizeof *weights);
    struct cairn_lacking *lacking = cairn_alloc(p->n_modules, sizeof *lacking);
    bool has_memory = is_wanted && weights && lacking && mark(p, is_wanted) && weigh(p, weights);
    if (has_memory)
        cairn_by_id_fetch(lacking, list(resolver, p, is_wanted, weights, lacking));
    cairn_free(is_wanted);
    cairn_free(weights);
    cairn_free(lacking);
    return has_memory ? CAIRN_OK : cairn_fail_memory(err);
}
