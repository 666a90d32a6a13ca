/* SPDX-License-Identifier: MIT */
#include "resolve/lacking.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/table.h"
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

/* One of several mappings of a module adds its weight to the first. False: memory is gone. */
static bool add(struct cairn_table *by_id, uint32_t id, uint64_t weight,
                struct cairn_lacking *lacking, size_t *n)
{
    uint32_t index;
    if (cairn_table_find(by_id, id, &index)) {
        lacking[index].weight += weight;
        return true;
    }
    lacking[*n].weight = weight;
    return cairn_table_set(by_id, id, (uint32_t)(*n)++) == CAIRN_OK;
}

static bool list(const struct cairn_profile *p, const bool *is_wanted, const uint64_t *weights,
                 struct cairn_lacking *lacking, size_t *ret_n)
{
    struct cairn_table by_id = {0};
    size_t n = 0;
    bool has_memory = true;
    for (size_t i = 1; i < p->n_modules && has_memory; i++) {
        const struct cairn_profile_module *module = &p->modules[i];
        if (!is_wanted[i] || !module->build_id || module->kind != CAIRN_MODULE_FILE)
            continue;
        lacking[n].build_id = cairn_strings_get(&p->strings, module->build_id);
        lacking[n].path = cairn_strings_get(&p->strings, module->path);
        has_memory = add(&by_id, module->build_id, weights[i], lacking, &n);
    }
    cairn_table_done(&by_id);
    *ret_n = n;
    return has_memory;
}

/* What is here already is left out. */
static void fetch(struct cairn_resolver *r, struct cairn_lacking *lacking, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        lacking[kept] = lacking[i];
        lacking[kept].lacks = cairn_debugfile_lacks(r->modules.symbolizer->finder, lacking[i].path,
                                                    lacking[i].build_id);
        kept += lacking[kept].lacks != 0;
    }
    cairn_by_id_fetch(lacking, kept);
}

int cairn_lacking_fetch(struct cairn_resolver *resolver, const struct cairn_profile *p,
                        struct cairn_err *err)
{
    if (!cairn_by_id_can_fetch() || p->n_modules < 2)
        return CAIRN_OK;
    bool *is_wanted = cairn_alloc(p->n_modules, sizeof *is_wanted);
    uint64_t *weights = cairn_alloc(p->n_modules, sizeof *weights);
    struct cairn_lacking *lacking = cairn_alloc(p->n_modules, sizeof *lacking);
    size_t n = 0;
    bool has_memory = is_wanted && weights && lacking && mark(p, is_wanted) && weigh(p, weights) &&
                      list(p, is_wanted, weights, lacking, &n);
    if (has_memory)
        fetch(resolver, lacking, n);
    cairn_free(is_wanted);
    cairn_free(weights);
    cairn_free(lacking);
    return has_memory ? CAIRN_OK : cairn_fail_memory(err);
}
