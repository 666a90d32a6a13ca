/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "hook/scan_x86_64.h"

#include "code/flow.h"

enum {
    N_BEGINS = 12,     /* places that decoding before the entry begins at */
    WINDOW = 320,      /* bytes before the entry that are decoded */
    PAD_REACH = 160,   /* and behind it, for padding */
    END_MAX = 1 << 20, /* bytes of a function that are looked at */
    ALIGNMENT = 8,     /* of what padding leads up to */
    LAST_ALIGNMENT = 16
};

/* The instruction at `va`; false: the bytes end, and *inout_va is as it was. What is no instruction
 * is one byte. */
static bool step_at(const struct cairn_hook_function *f, uint64_t va, struct cairn_code_step *ret)
{
    const struct cairn_span code = cairn_hook_bytes_at(f, va);
    if (!code.size)
        return false;
    cairn_code_step_x86_64(code, va, ret);
    if (!ret->size)
        ret->size = 1;
    return true;
}

/* From a begin on, the first instruction at or behind `va`. */
static uint64_t run_to(const struct cairn_hook_function *f, uint64_t begin, uint64_t va)
{
    struct cairn_code_step step;
    while (begin < va && step_at(f, begin, &step))
        begin += step.size;
    return begin;
}

/* The first address where decoding from all begins has met; the entry, where they do not meet in
 * front of it, or lead past it. */
static uint64_t find_low(const struct cairn_hook_function *f)
{
    uint64_t at[N_BEGINS], front = 0;
    const uint64_t given = f->entry_va - f->code_va;
    const uint64_t begin = f->entry_va - (given < WINDOW ? given : WINDOW);
    if (f->entry_va - begin < 2 * N_BEGINS)
        return f->entry_va;
    for (unsigned i = 0; i < N_BEGINS; i++) {
        at[i] = begin + i;
        front = at[i];
    }
    for (bool is_one = false; !is_one && front < f->entry_va;) {
        is_one = true;
        for (unsigned i = 0; i < N_BEGINS; i++) {
            at[i] = run_to(f, at[i], front);
            is_one &= at[i] == front;
            front = at[i] > front ? at[i] : front;
        }
    }
    return front < f->entry_va && run_to(f, front, f->entry_va) == f->entry_va ? front
                                                                               : f->entry_va;
}

static bool goes_on(enum cairn_flow flow)
{
    return flow == CAIRN_FLOW_NEXT || flow == CAIRN_FLOW_BRANCH || flow == CAIRN_FLOW_CALL ||
           flow == CAIRN_FLOW_BAD;
}

static bool is_jump(const struct cairn_code_step *step)
{
    return step->flow == CAIRN_FLOW_JUMP || step->flow == CAIRN_FLOW_BRANCH;
}

/* Of a function without size: behind the first instruction that does not go on, and that no branch
 * before it leads over. */
static uint64_t find_end(const struct cairn_hook_function *f)
{
    struct cairn_code_step step;
    uint64_t va = f->entry_va, furthest = va;
    const uint64_t most = f->entry_va + END_MAX;
    while (va < most && step_at(f, va, &step)) {
        if (step.flow == CAIRN_FLOW_BRANCH && step.to > furthest && step.to < most)
            furthest = step.to;
        va += step.size;
        if (!goes_on(step.flow) && va > furthest)
            break;
    }
    return va;
}

void cairn_hook_scan_open(const struct cairn_hook_function *f, struct cairn_hook_scan *ret_scan)
{
    const uint64_t size = f->entry_bytes < END_MAX ? f->entry_bytes : END_MAX;
    *ret_scan = (struct cairn_hook_scan){
        .f = f,
        .low = find_low(f),
        .end = size ? f->entry_va + size : find_end(f),
        .high = f->entry_va + PAD_REACH,
    };
}

bool cairn_hook_scan_branches(const struct cairn_hook_scan *scan, bool all, uint64_t low,
                              uint64_t high, uint64_t *ret_va)
{
    const uint64_t end = all && scan->high > scan->end ? scan->high : scan->end;
    struct cairn_code_step step;
    for (uint64_t va = all ? scan->low : scan->f->entry_va; va < end && step_at(scan->f, va, &step);
         va += step.size)
        if (is_jump(&step) && step.to - low < high - low) {
            *ret_va = va;
            return true;
        }
    return false;
}

/* Where padding from `low` on ends at last: a function may be there that begins with nops, such as
 * those of -fpatchable-function-entry. */
static uint64_t last_end(uint64_t low)
{
    return (low + LAST_ALIGNMENT - 1) & ~(uint64_t)(LAST_ALIGNMENT - 1);
}

uint64_t cairn_hook_scan_padding_end(const struct cairn_hook_function *f, uint64_t low)
{
    const uint64_t last = last_end(low);
    uint64_t va = low;
    struct cairn_code_step step;
    while (va < last && step_at(f, va, &step) && step.is_padding && va + step.size <= last)
        va += step.size;
    return va % ALIGNMENT == 0 || !cairn_hook_bytes_at(f, va).size ? va : low;
}

struct padding {
    uint64_t low, high; /* one run of it */
    bool follows_end;   /* of a function or a jump */
    bool follows_call;  /* that perhaps does not return */
};

/* Padding aligns what comes next. In front of the entry nothing runs into it. */
static bool is_dead(const struct cairn_hook_scan *scan, const struct padding *run)
{
    if (run->high == scan->f->entry_va)
        return run->follows_end || run->follows_call;
    return run->follows_end && run->high % ALIGNMENT == 0;
}

/* In a part of a run that begins at `run_low`. What a branch leads to is run from there on. */
static uint64_t fit(const struct cairn_hook_scan *scan, uint64_t run_low, uint64_t part_low,
                    uint64_t part_high, uint64_t low, uint64_t high, uint64_t n_bytes)
{
    const uint64_t va = low > part_low ? low : part_low;
    uint64_t branch;
    return va <= high && va + n_bytes <= part_high &&
                   !cairn_hook_scan_branches(scan, true, run_low, va + n_bytes, &branch)
               ? va
               : 0;
}

/* In one run, without [not_low, not_high). */
static uint64_t fit_beside(const struct cairn_hook_scan *scan, struct padding run, uint64_t low,
                           uint64_t high, uint64_t n_bytes, uint64_t not_low, uint64_t not_high)
{
    if (!is_dead(scan, &run))
        return 0;
    if (run.high != scan->f->entry_va && run.high > last_end(run.low))
        run.high = last_end(run.low);
    const uint64_t before = run.high < not_low ? run.high : not_low;
    const uint64_t behind = run.low > not_high ? run.low : not_high;
    uint64_t va = fit(scan, run.low, run.low, before, low, high, n_bytes);
    return va ? va : fit(scan, run.low, behind, run.high, low, high, n_bytes);
}

uint64_t cairn_hook_scan_padding(const struct cairn_hook_scan *scan, uint64_t low, uint64_t high,
                                 uint64_t n_bytes, uint64_t not_low, uint64_t not_high)
{
    struct padding run = {scan->low, scan->low, false, false};
    struct cairn_code_step step;
    uint64_t found = 0;
    for (uint64_t va = scan->low; !found && va < scan->high && step_at(scan->f, va, &step);
         va += step.size) {
        if (va == scan->f->entry_va && run.high == va) { /* the run ends there */
            found = fit_beside(scan, run, low, high, n_bytes, not_low, not_high);
            run = (struct padding){va, va, false, false};
        }
        if (step.is_padding) {
            run.high = va + step.size;
            continue;
        }
        if (!found)
            found = fit_beside(scan, run, low, high, n_bytes, not_low, not_high);
        run = (struct padding){va + step.size, va + step.size, !goes_on(step.flow),
                               step.flow == CAIRN_FLOW_CALL};
    }
    return found ? found : fit_beside(scan, run, low, high, n_bytes, not_low, not_high);
}
