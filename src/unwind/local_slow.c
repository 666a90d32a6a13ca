/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/local_slow.h"

#include <elf.h>

#include <cairn/unwind.h>

#include "rt/thread.h"
#include "unwind/local_cpu.h"
#include "unwind/local_step.h"

enum {
    OWN_FRAMES = 32, /* of this library between the caller and a walk, at most */
    LEFT_FRAMES = 8  /* behind an exact frame where its rule is found to be wrong */
};

CAIRN_THREAD_BLOCK_ACCESS static void put_frame(const struct cairn_local_slow_walk *w,
                                                struct cairn_local_out *out)
{
    out->ips[out->n] = (uintptr_t)w->regs.ip;
    if (out->how)
        out->how[out->n] = (uint8_t)w->how;
    out->n_guessed += cairn_frame_is_guess(w->how) != 0;
    out->n++;
}

CAIRN_THREAD_BLOCK_ACCESS static void walk(struct cairn_local_slow_walk *w,
                                           struct cairn_local_out *out)
{
    out->n = 0;
    out->n_guessed = 0;
    out->end = CAIRN_END_MAX_FRAMES;
    w->how = w->is_exact ? CAIRN_HOW_START : CAIRN_HOW_CFI;
    unsigned sp = cairn_local_arch->sp;
    while (out->n < out->max) {
        if (w->regs.ip == 0 && !w->is_exact) { /* exact, it was called */
            out->end = CAIRN_END_OUTERMOST;
            return;
        }
        put_frame(w, out);
        out->end_sp = (uintptr_t)w->regs.regs[sp];
        out->end_fp = (uintptr_t)w->regs.regs[cairn_local_arch->fp];
        uint64_t old_ip = w->regs.ip, old_sp = w->regs.regs[sp];
        w->n_exact = w->is_exact ? (uint16_t)out->n : w->n_exact;
        enum cairn_arch_step done = cairn_local_step(w, out->n);
        if (done != CAIRN_STEP_OK) {
            out->end = cairn_local_end_of(w, done);
            return;
        }
        if (w->regs.ip == old_ip && w->regs.regs[sp] == old_sp) {
            out->end = CAIRN_END_LOOP;
            return;
        }
        w->is_exact = cairn_frame_is_exact(w->how);
    }
}

/* The registers of the frame that called this library, all that it must find again: by walking out
 * of here, through our own frames. */
CAIRN_THREAD_BLOCK_ACCESS static bool find_caller(const struct cairn_local_start *start,
                                                  struct cairn_local_slow_walk *w)
{
    unsigned sp = cairn_local_arch->sp;
    uint64_t ip = cairn_local_arch->code_address(start->ret);
    *w = (struct cairn_local_slow_walk){.is_whole = true};
    cairn_local_save_regs(w->regs.regs);
    w->regs.known = cairn_local_saved;
    w->regs.ip = w->regs.regs[CAIRN_LOCAL_SAVED_PC];
    for (int i = 0; i < OWN_FRAMES; i++) {
        if (w->regs.ip == ip && w->regs.regs[sp] == start->sp)
            return true;
        if (w->regs.regs[sp] > start->sp || cairn_local_step_by_row(w) != CAIRN_STEP_OK)
            return false;
    }
    return false;
}

CAIRN_THREAD_BLOCK_ACCESS static bool begin(const struct cairn_local_start *start, bool is_whole,
                                            struct cairn_local_slow_walk *w)
{
    if (is_whole && !start->ucontext)
        return find_caller(start, w);
    *w = (struct cairn_local_slow_walk){.is_exact = start->ucontext, .is_whole = is_whole};
    if (start->ucontext) {
        cairn_local_context_regs(start->ucontext, &w->regs);
    } else {
        w->regs.ip = cairn_local_arch->code_address(start->ret);
        if (!cairn_local_here_regs(start->sp, start->fp, &w->regs) && !find_caller(start, w))
            return false;
    }
    return true;
}

/* Did the walk end soon behind its frame `n`, counted from 1, which is exact? */
static bool is_lost_behind(size_t n, const struct cairn_local_out *out)
{
    return n != 0 && out->end != CAIRN_END_OUTERMOST && out->end != CAIRN_END_MAX_FRAMES &&
           out->n <= n + LEFT_FRAMES;
}

/* Rules know three registers. Where one needs another, or CFI itself must be asked, the walk begins
 * anew and follows all of them. */
CAIRN_THREAD_BLOCK_ACCESS static void walk_by_rules(const struct cairn_local_start *start,
                                                    struct cairn_local_slow_walk *w,
                                                    struct cairn_local_out *out)
{
    out->n = out->n_guessed = 0;
    out->end = CAIRN_END_NO_REGISTER;
    if (!begin(start, false, w))
        return;
    walk(w, out);
    if (out->end == CAIRN_END_NO_REGISTER && begin(start, true, w))
        walk(w, out);
}

/* Where the walk is lost soon behind an exact frame, this one's rule may be what was wrong, and its
 * code is asked. That proves itself by leading far, or is not believed: a rule may be right and
 * registers farther out be lost all the same, as while libgcc puts those of a handler's frame where
 * its own function saved its caller's. */
CAIRN_THREAD_BLOCK_ACCESS void cairn_local_slow_walk(const struct cairn_local_start *start,
                                                     struct cairn_local_out *out)
{
    struct cairn_local_slow_walk w;
    if (out->max > CAIRN_MAX_FRAMES)
        out->max = CAIRN_MAX_FRAMES;
    walk_by_rules(start, &w, out);
    const uint16_t followed = w.n_exact;
    if (!is_lost_behind(followed, out) || !cairn_local_arch->follow || !begin(start, true, &w))
        return;
    w.followed = followed;
    walk(&w, out);
    if (is_lost_behind(followed, out))
        walk_by_rules(start, &w, out);
}

bool cairn_local_slow_leaf(const void *ucontext, uintptr_t *ret_ip,
                           struct cairn_local_start *ret_caller)
{
    const struct cairn_unwind_arch *arch = cairn_local_arch;
    const struct cairn_local_start start = {.ucontext = ucontext};
    struct cairn_local_slow_walk w;
    begin(&start, false, &w);
    *ret_ip = (uintptr_t)w.regs.ip;
    if (w.regs.ip == 0 || arch->machine == EM_ARM ||
        cairn_local_step_by_rule(&w) != CAIRN_STEP_OK ||
        w.how != cairn_local_how_by(CAIRN_RULE_OF_CPU) || !cairn_unwind_known(&w.regs, arch->fp))
        return false;
    *ret_caller = (struct cairn_local_start){.ret = (uintptr_t)w.regs.ip,
                                             .sp = (uintptr_t)w.regs.regs[arch->sp],
                                             .fp = (uintptr_t)w.regs.regs[arch->fp]};
    return true;
}
