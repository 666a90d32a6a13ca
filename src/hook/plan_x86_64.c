/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Plans of x86-64: one, pad, pun, late (<cairn/hook.h>).
 *
 *     one   53 48 83 ec 10 ..   48 8b 05 ..      7 bytes: e9 and a distance are all inside
 *     pad   48 89 f8            mov %rdi,%rax    eb to padding nearby, e9 there
 *     pun   41 54 | 55 53 48    push %r12; ...   e9 XX 55 53 48: only XX can be chosen
 */
#include <string.h>

#include "code/flow.h"
#include "code/repeat_x86_64.h"
#include "hook/scan_x86_64.h"

enum {
    JUMP_BYTES = 5,  /* e9 and four bytes */
    SHORT_BYTES = 2, /* eb and one */
    SHORT_MIN = -128 + SHORT_BYTES,
    SHORT_MAX = 127 + SHORT_BYTES,
    LATE_MAX = 3, /* instructions in front of a later one */
    FAR_INDIRECT_BYTES = 6
};

struct attempt {
    const struct cairn_hook_function *f;
    struct cairn_hook_scan scan;
    struct cairn_hook_plan *plan;
    uint64_t va;       /* of the instruction to change */
    size_t insn_bytes; /* of it */
    size_t free_bytes; /* with the padding behind it that nothing comes to; 5 at most then */
};

static bool refuse(struct attempt *a, enum cairn_hook_reason reason, uint64_t va)
{
    return cairn_hook_refuse(a->plan, reason, va);
}

/* Takes the instruction at `va`. */
static bool take(struct attempt *a, uint64_t va, struct cairn_x86_64_insn *ret_insn,
                 struct cairn_code_step *ret_step)
{
    const struct cairn_span code = cairn_hook_bytes_at(a->f, va);
    const size_t size = code.size ? cairn_x86_64_insn_take(ret_insn, code) : 0;
    if (!size)
        return refuse(a, CAIRN_HOOK_CUT_OFF, va);
    cairn_x86_64_insn_step(ret_insn, size, va, ret_step);
    if (size > CAIRN_X86_64_INSN_MAX || cairn_x86_64_insn_is_bad(ret_insn) ||
        ret_insn->start[0] == 0xcc)
        return refuse(a, CAIRN_HOOK_NOT_CODE, va);
    return true;
}

/* Nothing comes to padding behind a jump or return. */
static size_t count_free(const struct attempt *a, const struct cairn_code_step *step)
{
    uint64_t branch;
    if (step->flow != CAIRN_FLOW_RETURN && step->flow != CAIRN_FLOW_JUMP &&
        step->flow != CAIRN_FLOW_INDIRECT && step->flow != CAIRN_FLOW_STOP)
        return step->size;
    const uint64_t low = a->va + step->size, end = cairn_hook_scan_padding_end(a->f, low);
    return cairn_hook_scan_branches(&a->scan, true, low, end, &branch) ? step->size
                                                                       : (size_t)(end - a->va);
}

/* The changed bytes are `n` from a->va on. */
static bool set_patch(struct attempt *a, size_t n, bool must_align)
{
    a->plan->patch_va = a->va;
    a->plan->patch_bytes = n;
    a->plan->resume_va = a->va + a->insn_bytes;
    a->plan->move_bytes = (size_t)(a->plan->resume_va - a->f->entry_va);
    a->plan->pad_bytes = 0;
    a->plan->island_va = 0;
    return cairn_hook_find_word(a->f, must_align, a->plan);
}

/* What jmp rel32 at `va` reaches. */
static void set_reach(struct cairn_hook_plan *plan, uint64_t va)
{
    const uint64_t from = va + JUMP_BYTES, most = (uint64_t)1 << 31;
    plan->target_low = from > most ? from - most : 0;
    plan->target_high = from + most;
}

static bool try_one(struct attempt *a, bool must_align)
{
    if (a->free_bytes < JUMP_BYTES || !set_patch(a, JUMP_BYTES, must_align))
        return false;
    set_reach(a->plan, a->va);
    a->plan->how = CAIRN_HOOK_WAY_ONE;
    return true;
}

static bool try_pad(struct attempt *a, bool must_align)
{
    if (a->free_bytes < SHORT_BYTES || !set_patch(a, SHORT_BYTES, must_align))
        return false;
    const uint64_t low = a->va + (uint64_t)(int64_t)SHORT_MIN;
    const uint64_t pad =
        cairn_hook_scan_padding(&a->scan, low, a->va + SHORT_MAX, JUMP_BYTES, a->plan->word_va,
                                a->plan->word_va + sizeof a->plan->word_before);
    if (!pad)
        return false;
    a->plan->pad_va = pad;
    a->plan->pad_bytes = JUMP_BYTES;
    memcpy(a->plan->pad_before, cairn_hook_bytes_at(a->f, pad).data, JUMP_BYTES);
    set_reach(a->plan, pad);
    a->plan->how = CAIRN_HOOK_WAY_PAD;
    return true;
}

/* The first bytes of the distance can be chosen; the last ones are of the next instructions. */
static bool try_pun(struct attempt *a, bool must_align)
{
    const struct cairn_span code = cairn_hook_bytes_at(a->f, a->va);
    const size_t n_chosen = a->free_bytes - 1;
    if (a->free_bytes >= JUMP_BYTES || code.size < JUMP_BYTES ||
        !set_patch(a, a->free_bytes, must_align))
        return false;
    uint32_t distance = 0;
    for (size_t i = n_chosen; i < JUMP_BYTES - 1; i++)
        distance |= (uint32_t)code.data[1 + i] << 8 * i;
    const uint64_t low = a->va + JUMP_BYTES + (uint64_t)(int64_t)(int32_t)distance;
    const uint64_t high = low + ((uint64_t)1 << 8 * n_chosen);
    a->plan->target_low = low > high ? 0 : low; /* what is below 0 cannot be reached */
    a->plan->target_high = high;
    a->plan->island_va = cairn_hook_find_island(a->f, a->plan->target_low, high);
    a->plan->how = CAIRN_HOOK_WAY_PUN;
    return a->plan->island_va != 0;
}

/* Those with an aligned store first; pun last, since it needs a page of its own. */
static bool try_ways(struct attempt *a)
{
    return try_one(a, true) || try_pad(a, true) || try_one(a, false) || try_pad(a, false) ||
           try_pun(a, true) || try_pun(a, false);
}

/* Branches to what changes, or between it and the entry, would miss the hook or come again. */
static bool check_branches(struct attempt *a, uint64_t first_va)
{
    uint64_t from;
    struct cairn_code_step step;
    if (!cairn_hook_scan_branches(&a->scan, false, first_va, a->va + a->insn_bytes, &from))
        return true;
    cairn_code_step_x86_64(cairn_hook_bytes_at(a->f, from), from, &step);
    return refuse(a, step.to == first_va ? CAIRN_HOOK_BACKWARDS : CAIRN_HOOK_BRANCHES_IN, from);
}

/* The instruction at a->va, with all that can be said against it. */
static bool aim_at(struct attempt *a, uint64_t first_va, struct cairn_x86_64_insn *ret_insn)
{
    struct cairn_code_step step;
    if (!take(a, a->va, ret_insn, &step))
        return false;
    a->insn_bytes = step.size;
    a->free_bytes = count_free(a, &step);
    return check_branches(a, first_va);
}

/* The way is found: can the original still be called? */
static bool settle(struct attempt *a, enum cairn_hook_way way)
{
    a->plan->way = way == CAIRN_HOOK_WAY_LATE ? way : a->plan->how;
    return cairn_hook_try_move(a->f, a->plan);
}

static bool plan_late(struct attempt *a, struct cairn_x86_64_insn *insn)
{
    const uint64_t first_va = a->va;
    struct cairn_x86_64_repeat repeat = {0};
    for (unsigned i = 0; i < LATE_MAX && cairn_x86_64_repeat_add(&repeat, insn); i++) {
        a->va += a->insn_bytes;
        if (!aim_at(a, first_va, insn))
            return false;
        if (try_ways(a))
            return settle(a, CAIRN_HOOK_WAY_LATE);
    }
    return refuse(a, CAIRN_HOOK_TOO_SHORT, first_va);
}

/* Where a jump at the entry leads: by what it holds, or, by memory next to it, by that. */
static uint64_t leads_to(const struct cairn_hook_function *f, const struct cairn_x86_64_insn *insn,
                         const struct cairn_code_step *step, uint64_t va)
{
    uint64_t to = 0;
    if (step->flow == CAIRN_FLOW_JUMP)
        return step->to;
    if (step->flow == CAIRN_FLOW_INDIRECT && cairn_x86_64_insn_is_rip(insn)) {
        const struct cairn_span bytes =
            cairn_hook_bytes_at(f, cairn_x86_64_insn_rip_va(insn, step->size, va));
        for (unsigned b = 0; bytes.size >= sizeof to && b < sizeof to; b++)
            to |= (uint64_t)bytes.data[b] << 8 * b;
    }
    return to;
}

/* Bytes that differ from the file's, or a jump out of the module: a hook is there already. */
static bool check_unhooked(struct attempt *a)
{
    const struct cairn_hook_function *f = a->f;
    const struct cairn_span code = cairn_hook_bytes_at(f, a->va);
    struct cairn_x86_64_insn insn;
    struct cairn_code_step step = {0};
    size_t size = cairn_x86_64_insn_take(&insn, code);
    if (size)
        cairn_x86_64_insn_step(&insn, size, a->va, &step);
    const size_t n = code.size < JUMP_BYTES ? code.size : JUMP_BYTES;
    const bool is_changed =
        f->unpatched && memcmp(f->unpatched + (code.data - f->code), code.data, n) != 0;
    const bool leaves = step.flow == CAIRN_FLOW_JUMP && f->module_high &&
                        step.to - f->module_low >= f->module_high - f->module_low;
    if (!is_changed && !leaves)
        return true;
    a->plan->leads_to = size ? leads_to(f, &insn, &step, a->va) : 0;
    return refuse(a, CAIRN_HOOK_HOOKED, a->va);
}

bool cairn_hook_plan_x86_64(const struct cairn_hook_function *f, struct cairn_hook_plan *plan)
{
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    struct attempt a = {.f = f, .plan = plan, .va = f->entry_va};
    struct cairn_x86_64_insn insn;
    const struct cairn_span code = cairn_hook_bytes_at(f, f->entry_va);
    if (code.size > sizeof endbr64 && memcmp(code.data, endbr64, sizeof endbr64) == 0)
        a.va += sizeof endbr64;
    if (!check_unhooked(&a))
        return false;
    cairn_hook_scan_open(f, &a.scan);
    if (!aim_at(&a, a.va, &insn))
        return false;
    return try_ways(&a) ? settle(&a, plan->how) : plan_late(&a, &insn);
}

/* e9 and the distance, as many bytes of it as are given */
static void put_jump(uint8_t *out, size_t n, uint64_t va, uint64_t target_va)
{
    const uint32_t distance = (uint32_t)(target_va - (va + JUMP_BYTES));
    out[0] = 0xe9;
    for (size_t i = 1; i < n; i++)
        out[i] = (uint8_t)(distance >> 8 * (i - 1));
}

bool cairn_hook_aim_x86_64(const struct cairn_hook_plan *plan, uint64_t target_va,
                           struct cairn_hook_patch *patch)
{
    uint8_t *out = patch->word + (plan->patch_va - plan->word_va);
    if (!plan->pad_bytes) {
        put_jump(out, plan->patch_bytes, plan->patch_va, target_va);
        return true;
    }
    put_jump(patch->pad, plan->pad_bytes, plan->pad_va, target_va);
    out[0] = 0xeb;
    out[1] = (uint8_t)(plan->pad_va - (plan->patch_va + SHORT_BYTES));
    return true;
}
