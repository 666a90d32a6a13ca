/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Follow: from code that nothing describes to its caller, by following its instructions up to where
 * it returns. On the way out each function undoes what it did to the stack, whatever it was: so
 * this finds the caller of hand-written code, of the C library's start and end of a module, and of
 * a stub that jumps on, at each of their instructions.
 *
 * Only what moves registers and the stack is understood, all else makes what it writes unknown. No
 * jump is decided: of the ones with a condition all are passed by, then all that lead forward
 * taken. A guess, and bounded: the code may be anything. Nothing is run, nothing is written.
 */
#ifndef CAIRN_UNWIND_FOLLOW_H
#define CAIRN_UNWIND_FOLLOW_H

#include "base/span.h"
#include "unwind/fp_step.h"

enum { CAIRN_FOLLOW_CODE = 64, CAIRN_FOLLOW_WORDS = 12 };

/* A CPU as it would stand after the instructions so far. */
struct cairn_follow {
    const struct cairn_fp_space *space;
    struct cairn_unwind_regs regs; /* ip: the next instruction */
    uint64_t low; /* sp at first: on the same stack the caller's does not lie below */
    uint64_t ret; /* on CAIRN_FOLLOW_RETURN as it was stored; on CAIRN_FOLLOW_JUMP where to */
    bool knows_ret, had_fp;
    bool takes; /* jumps forward, with a condition, are taken */
    bool moved; /* sp was loaded, not moved by a number: this code changes stacks */
    uint8_t n_words, code_size;
    struct cairn_follow_word { /* what was stored */
        uint64_t va, value;
        bool known;
    } words[CAIRN_FOLLOW_WORDS];
    uint64_t code_va;
    uint8_t code[CAIRN_FOLLOW_CODE];
};

/* Replaces `regs` by the caller's, of which those that calls keep are known. CAIRN_FP_LEAF: the
 * return address was in the link register all the time, and the frame empty; CAIRN_FP_NONE:
 * untouched. Works in space->scratch, else in a page that it maps for the call. */
enum cairn_fp_result cairn_follow(const struct cairn_unwind_arch *arch,
                                  const struct cairn_fp_space *space,
                                  struct cairn_unwind_regs *regs);

/* For the CPUs' files: one instruction, the first of `code`. */
enum cairn_follow_step cairn_follow_aarch64(struct cairn_follow *f, struct cairn_span code);
enum cairn_follow_step cairn_follow_x86_64(struct cairn_follow *f, struct cairn_span code);

/* A word of 8 bytes as the code would read or store it. */
bool cairn_follow_load(const struct cairn_follow *f, uint64_t va, uint64_t *ret_word);
void cairn_follow_store(struct cairn_follow *f, uint64_t va, bool known, uint64_t word);

static inline void cairn_follow_forget(struct cairn_follow *f, unsigned reg)
{
    f->regs.known &= ~(UINT64_C(1) << reg);
}

#endif /* CAIRN_UNWIND_FOLLOW_H */
