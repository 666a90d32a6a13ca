/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "hook/plan.h"

#include <string.h>

#include "hook/move.h"

enum { ISLAND_BYTES = 64, LINE_BYTES = 64, WORD_BYTES = 8, TRIAL_DISTANCE = 1 << 26 };
/* Linux maps nothing below (vm.mmap_min_addr). */
static const uint64_t lowest_va = 0x10000;

static const struct planner {
    enum cairn_hook_cpu cpu;
    cairn_hook_planner_fn *plan;
    uint64_t end_va; /* from here on Linux maps nothing that was not asked for there */
} planners[] = {
    {CAIRN_HOOK_X86_64, cairn_hook_plan_x86_64, ((uint64_t)1 << 47) - 4096},
    {CAIRN_HOOK_AARCH64, cairn_hook_plan_aarch64, (uint64_t)1 << 48},
};
enum { N_PLANNERS = sizeof planners / sizeof *planners };

/* NULL: nothing is known of the CPU's instructions. */
static const struct planner *find_planner(enum cairn_hook_cpu cpu)
{
    for (size_t i = 0; i < N_PLANNERS; i++)
        if (planners[i].cpu == cpu)
            return &planners[i];
    return NULL;
}

bool cairn_hook_refuse(struct cairn_hook_plan *plan, enum cairn_hook_reason reason, uint64_t va)
{
    plan->reason = reason;
    plan->reason_va = va;
    return false;
}

struct cairn_span cairn_hook_bytes_at(const struct cairn_hook_function *f, uint64_t va)
{
    const uint64_t off = va - f->code_va;
    if (off >= f->n_code)
        return (struct cairn_span){NULL, 0};
    return (struct cairn_span){f->code + off, f->n_code - (size_t)off};
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

bool cairn_hook_find_word(const struct cairn_hook_function *f, bool must_align,
                          struct cairn_hook_plan *plan)
{
    const uint64_t low = plan->patch_va, high = low + plan->patch_bytes;
    const uint64_t line = low & ~(uint64_t)(LINE_BYTES - 1), code_end = f->code_va + f->n_code;
    uint64_t word = low & ~(uint64_t)(WORD_BYTES - 1);
    bool is_aligned =
        high <= word + WORD_BYTES && word >= f->code_va && word + WORD_BYTES <= code_end;
    if (!is_aligned) {
        if (must_align || high > line + LINE_BYTES || f->n_code < WORD_BYTES)
            return false;
        word = min_u64(low, min_u64(line + LINE_BYTES, code_end) - WORD_BYTES);
        if (word < line || word < f->code_va || high > word + WORD_BYTES)
            return false;
    }
    plan->word_va = word;
    plan->is_aligned = word % WORD_BYTES == 0;
    memcpy(plan->word_before, f->code + (word - f->code_va), WORD_BYTES);
    return true;
}

/* Where the caller gave no function: outside of the module nothing is mapped. */
static uint64_t find_outside(const struct cairn_hook_function *f, uint64_t low, uint64_t high,
                             uint64_t n_bytes)
{
    if (low < f->module_high && low + n_bytes > f->module_low)
        low = f->module_high;
    return low <= high && high - low >= n_bytes ? low : 0;
}

uint64_t cairn_hook_find_island(const struct cairn_hook_function *f, uint64_t low, uint64_t high)
{
    const uint64_t n_bytes = f->island_bytes ? f->island_bytes : ISLAND_BYTES;
    const struct planner *planner = find_planner(f->cpu);
    if (!planner || n_bytes > planner->end_va)
        return 0;
    if ((int64_t)high <= (int64_t)lowest_va) /* perhaps below 0 */
        return 0;
    if ((int64_t)low < (int64_t)lowest_va)
        low = lowest_va;
    high = min_u64(high, planner->end_va - n_bytes + 1);
    if (low >= high)
        return 0;
    const uint64_t end = high + n_bytes - 1;
    const uint64_t va = f->find_free ? f->find_free(f->context, low, end, n_bytes)
                                     : find_outside(f, low, end, n_bytes);
    return va >= low && va < high ? va : 0;
}

/* To the island, or to a place that is as far as islands mostly are. */
bool cairn_hook_try_move(const struct cairn_hook_function *f, struct cairn_hook_plan *plan)
{
    const struct cairn_span code = cairn_hook_bytes_at(f, f->entry_va);
    struct cairn_hook_copy copy;
    const struct cairn_hook_piece piece = {
        .size = sizeof piece,
        .cpu = f->cpu,
        .code = code.data,
        .n_code = code.size,
        .from_va = f->entry_va,
        .to_va = plan->island_va ? plan->island_va : f->entry_va + TRIAL_DISTANCE,
        .least = plan->move_bytes,
        .has_shadow_stack = f->has_shadow_stack,
    };
    if (!cairn_hook_move(&piece, &copy))
        return cairn_hook_refuse(plan, copy.reason, copy.reason_va);
    return true;
}

static bool make_plan(const struct cairn_hook_function *f, struct cairn_hook_plan *plan)
{
    const struct planner *planner = find_planner(f->cpu);
    if (!planner)
        return cairn_hook_refuse(plan, CAIRN_HOOK_NO_CPU, f->entry_va);
    if (!cairn_hook_bytes_at(f, f->entry_va).size || f->code_va + f->n_code < f->code_va)
        return cairn_hook_refuse(plan, CAIRN_HOOK_CUT_OFF, f->entry_va);
    return planner->plan(f, plan);
}

bool cairn_hook_plan(const struct cairn_hook_function *f, struct cairn_hook_plan *ret_plan)
{
    struct cairn_hook_plan plan = {0};
    const bool has_way = make_plan(f, &plan);
    if (!has_way) /* of an attempt that failed nothing remains but its reason */
        plan = (struct cairn_hook_plan){.reason = plan.reason,
                                        .reason_va = plan.reason_va,
                                        .leads_to = plan.leads_to,
                                        .patch_va = f->entry_va};
    *ret_plan = plan;
    return has_way;
}

bool cairn_hook_aim(const struct cairn_hook_plan *plan, uint64_t target_va,
                    struct cairn_hook_patch *ret_patch)
{
    if (plan->way == CAIRN_HOOK_WAY_NONE || target_va < plan->target_low ||
        target_va >= plan->target_high)
        return false;
    ret_patch->n_pad = plan->pad_bytes;
    memcpy(ret_patch->pad, plan->pad_before, sizeof ret_patch->pad);
    memcpy(ret_patch->word, plan->word_before, sizeof ret_patch->word);
    return plan->how == CAIRN_HOOK_WAY_BRANCH ? cairn_hook_aim_aarch64(plan, target_va, ret_patch)
                                              : cairn_hook_aim_x86_64(plan, target_va, ret_patch);
}

size_t cairn_hook_far_jump(enum cairn_hook_cpu cpu, uint64_t target_va,
                           uint8_t ret_code[CAIRN_HOOK_JUMP_MAX])
{
    if (cpu == CAIRN_HOOK_X86_64)
        return cairn_hook_far_jump_x86_64(target_va, ret_code);
    return cpu == CAIRN_HOOK_AARCH64 ? cairn_hook_far_jump_aarch64(target_va, ret_code) : 0;
}
