/* SPDX-License-Identifier: MIT */
/*
 * Code for the movers and planners: a CPU, how much is moved and how far, then the bytes. What is
 * moved passed its check, and leaves the limits alone; what a plan writes leads where it was aimed.
 *
 *     u8 CPU   u8 least   u8 distance to the copy, in units of 2^`distance`   u8 entry   code ...
 */
#include <string.h>

#include "code/flow.h"
#include "hook/move.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 4 };
static const uint64_t base_va = 0x7f1234560000;

static void require(bool holds)
{
    if (!holds)
        __builtin_trap();
}

static void try_move(enum cairn_hook_cpu cpu, const uint8_t *data, const uint8_t *code, size_t n)
{
    struct cairn_hook_copy copy;
    const struct cairn_hook_piece piece = {
        .size = sizeof piece,
        .cpu = cpu,
        .code = code,
        .n_code = n,
        .from_va = base_va,
        .to_va = base_va + ((uint64_t)4 << data[2] % 62),
        .least = data[1] % (CAIRN_HOOK_LEAST_MAX + 2),
        .has_shadow_stack = data[2] & 0x80,
    };
    if (!cairn_hook_move(&piece, &copy)) {
        require(copy.reason != CAIRN_HOOK_FINE && copy.reason != CAIRN_HOOK_UNCHECKED);
        return;
    }
    require(copy.taken >= piece.least && copy.taken <= n && copy.n_code <= CAIRN_HOOK_COPY_MAX);
    require(copy.n_insns && copy.n_insns <= CAIRN_HOOK_INSNS_MAX);
    require(copy.from_off[0] == 0 && copy.to_off[0] == 0);
    require(copy.from_off[copy.n_insns] == copy.taken);
    for (size_t i = 0; i < copy.n_insns; i++)
        require(copy.from_off[i] < copy.from_off[i + 1] && copy.to_off[i] < copy.to_off[i + 1]);
    require(copy.to_off[copy.n_insns] <= copy.n_code);
}

/* The changed bytes, decoded: they jump, and where to. */
static uint64_t jump_at(const struct cairn_hook_function *f, const uint8_t *bytes, uint64_t va)
{
    struct cairn_code_step step;
    const struct cairn_span code = {bytes + (va - f->code_va),
                                    f->n_code - (size_t)(va - f->code_va)};
    cairn_code_stepper(f->cpu == CAIRN_HOOK_X86_64 ? 62 : 183)(code, va, &step);
    require(step.flow == CAIRN_FLOW_JUMP && step.knows_to);
    return step.to;
}

static void aim_at(const struct cairn_hook_function *f, const struct cairn_hook_plan *plan,
                   uint64_t target_va)
{
    uint8_t bytes[1024];
    struct cairn_hook_patch patch;
    const size_t word = (size_t)(plan->word_va - f->code_va);
    if (f->n_code > sizeof bytes)
        return;
    require(cairn_hook_aim(plan, target_va, &patch));
    memcpy(bytes, f->code, f->n_code);
    require(word + sizeof patch.word <= f->n_code);
    require(memcmp(bytes + word, plan->word_before, sizeof patch.word) == 0);
    memcpy(bytes + word, patch.word, sizeof patch.word);
    const size_t at = (size_t)(plan->patch_va - plan->word_va);
    for (size_t i = 0; i < sizeof patch.word; i++)
        require((i >= at && i < at + plan->patch_bytes) || patch.word[i] == plan->word_before[i]);
    if (patch.n_pad) {
        const size_t pad = (size_t)(plan->pad_va - f->code_va);
        require(pad + patch.n_pad <= f->n_code && (pad >= word + 8 || pad + patch.n_pad <= word));
        memcpy(bytes + pad, patch.pad, patch.n_pad);
        require(jump_at(f, bytes, plan->patch_va) == plan->pad_va);
        require(jump_at(f, bytes, plan->pad_va) == target_va);
        return;
    }
    require(jump_at(f, bytes, plan->patch_va) == target_va);
}

static void try_plan(enum cairn_hook_cpu cpu, const uint8_t *data, const uint8_t *code, size_t n)
{
    struct cairn_hook_plan plan;
    const struct cairn_hook_function function = {
        .size = sizeof function,
        .cpu = cpu,
        .code = code,
        .n_code = n,
        .code_va = base_va,
        .entry_va = base_va + data[3],
        .entry_bytes = data[1],
        .module_low = base_va,
        .module_high = base_va + 0x10000,
    };
    if (!cairn_hook_plan(&function, &plan)) {
        require(plan.reason != CAIRN_HOOK_FINE && plan.reason != CAIRN_HOOK_UNCHECKED);
        require(plan.way == CAIRN_HOOK_WAY_NONE);
        return;
    }
    require(plan.patch_va >= function.entry_va && plan.resume_va > plan.patch_va);
    require(plan.word_va / 64 == (plan.word_va + 7) / 64);
    require(plan.is_aligned == (plan.word_va % 8 == 0));
    aim_at(&function, &plan, plan.island_va ? plan.island_va : plan.target_low);
    if (plan.how != CAIRN_HOOK_WAY_BRANCH)
        aim_at(&function, &plan, plan.target_high - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum cairn_hook_cpu cpus[] = {CAIRN_HOOK_X86_64, CAIRN_HOOK_AARCH64};
    if (size < HEAD)
        return 0;
    const enum cairn_hook_cpu cpu = cpus[data[0] & 1];
    try_move(cpu, data, data + HEAD, size - HEAD);
    try_plan(cpu, data, data + HEAD, size - HEAD);
    return 0;
}
