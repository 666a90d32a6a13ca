/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/follow.h"

#include "code/call.h"
#include "rt/pages.h"
#include "unwind/sigframe.h"

enum {
    STEPS_MAX = 256, /* instructions; what is written by hand has some dozen */
    PAGE = 4096,
    INSN_BYTES = 16 /* no CPU's are longer */
};

/* Newest first: a word that was stored only in part is not known. */
bool cairn_follow_load(const struct cairn_follow *f, uint64_t va, uint64_t *ret_word)
{
    for (unsigned i = f->n_words; i-- > 0;) {
        const struct cairn_follow_word *word = &f->words[i];
        if (word->va - va + 7 >= 15)
            continue;
        *ret_word = word->value;
        return word->known && word->va == va;
    }
    return f->space->memory->read(f->space->memory->ctx, va, ret_word, sizeof *ret_word);
}

/* Where there is no more room the oldest is forgotten, and memory says what was there before: a
 * return address that is wrong for it is not behind a call, or one that was right all the time. */
void cairn_follow_store(struct cairn_follow *f, uint64_t va, bool known, uint64_t word)
{
    if (f->n_words == CAIRN_FOLLOW_WORDS) {
        f->n_words--;
        memmove(f->words, f->words + 1, f->n_words * sizeof f->words[0]);
    }
    f->words[f->n_words++] = (struct cairn_follow_word){va, word, known};
}

/* The code at ip: at least INSN_BYTES, unless the page ends before. */
static struct cairn_span code_at(struct cairn_follow *f)
{
    uint64_t ip = f->regs.ip;
    size_t done = ip - f->code_va < f->code_size ? (size_t)(ip - f->code_va) : f->code_size;
    size_t left = (size_t)(PAGE - ip % PAGE);
    if (f->code_size - done < INSN_BYTES) {
        size_t size = left < CAIRN_FOLLOW_CODE && left >= INSN_BYTES ? left : CAIRN_FOLLOW_CODE;
        f->code_va = ip;
        f->code_size = 0;
        done = 0;
        if (f->space->memory->read(f->space->memory->ctx, ip, f->code, size))
            f->code_size = (uint8_t)size;
        else if (left < size && f->space->memory->read(f->space->memory->ctx, ip, f->code, left))
            f->code_size = (uint8_t)left;
    }
    return (struct cairn_span){f->code + done, f->code_size - done};
}

/* Behind a call, or where a signal handler or a stack's first function returns to. */
static bool is_return(const struct cairn_unwind_arch *arch, const struct cairn_fp_space *space,
                      uint64_t stored)
{
    const struct cairn_memory *memory = space->memory;
    uint64_t ret = arch->code_address(stored);
    uint8_t before[CAIRN_CALL_BYTES], next[16];
    struct cairn_call call;
    if (ret < sizeof before || !space->is_code(space->ctx, ret))
        return false;
    if (memory->read(memory->ctx, ret - sizeof before, before, sizeof before) &&
        arch->call((struct cairn_span){before, sizeof before}, ret, &call))
        return true;
    if (arch->ends_thread && memory->read(memory->ctx, ret, next, sizeof next) &&
        arch->ends_thread((struct cairn_span){next, sizeof next}))
        return true;
    return cairn_sigframe_at(arch, memory, ret) != CAIRN_SIGFRAME_NONE;
}

/* What a function that has nothing on the stack returns to. */
static bool link_of(const struct cairn_unwind_arch *arch, const struct cairn_follow *f,
                    uint64_t *ret_link)
{
    *ret_link = f->regs.regs[arch->ra];
    if (arch->ra_in_reg)
        return cairn_unwind_known(&f->regs, arch->ra);
    return cairn_unwind_known(&f->regs, arch->sp) &&
           cairn_follow_load(f, f->regs.regs[arch->sp], ret_link);
}

/* A jump out of here leads to a function whose return address is where calls put it; to a return
 * address, as longjmp's; or, as setcontext's, to where a function was left on its own account: then
 * that one goes on. Behind a change of stacks the jump itself counts first. */
static enum cairn_follow_step jump(const struct cairn_unwind_arch *arch, struct cairn_follow *f)
{
    uint64_t link;
    bool has_link = link_of(arch, f, &link) && is_return(arch, f->space, link);
    if (f->knows_ret && (f->moved || !has_link)) {
        if (is_return(arch, f->space, f->ret))
            return CAIRN_FOLLOW_RETURN;
        if (!has_link) {
            f->regs.ip = arch->code_address(f->ret);
            f->low = f->moved ? 0 : f->low;
            f->moved = false; /* what jumps from there on is another function */
            return CAIRN_FOLLOW_ON;
        }
    }
    f->ret = link;
    f->regs.regs[arch->sp] += arch->ra_in_reg ? 0 : arch->word;
    return has_link ? CAIRN_FOLLOW_RETURN : CAIRN_FOLLOW_STOP;
}

static bool run(const struct cairn_unwind_arch *arch, struct cairn_follow *f)
{
    enum cairn_follow_step next = CAIRN_FOLLOW_ON;
    for (int i = 0; i < STEPS_MAX && next == CAIRN_FOLLOW_ON; i++) {
        struct cairn_span code = code_at(f);
        next = code.size ? arch->follow(f, code) : CAIRN_FOLLOW_STOP;
        if (next == CAIRN_FOLLOW_JUMP)
            next = jump(arch, f);
        else if (next == CAIRN_FOLLOW_RETURN && !is_return(arch, f->space, f->ret))
            next = CAIRN_FOLLOW_STOP;
    }
    /* A frame pointer that went lost is needed further out. */
    return next == CAIRN_FOLLOW_RETURN && cairn_unwind_known(&f->regs, arch->sp) &&
           (cairn_unwind_known(&f->regs, arch->fp) || !f->had_fp) &&
           (f->moved || f->regs.regs[arch->sp] >= f->low);
}

static enum cairn_fp_result finish(const struct cairn_unwind_arch *arch,
                                   const struct cairn_follow *f, struct cairn_unwind_regs *regs)
{
    bool is_link = arch->ra_in_reg && cairn_unwind_known(regs, arch->ra) &&
                   regs->regs[arch->ra] == f->ret && regs->regs[arch->sp] == f->regs.regs[arch->sp];
    *regs = f->regs;
    regs->ip = arch->code_address(f->ret);
    regs->known &= arch->kept | UINT64_C(1) << arch->fp | UINT64_C(1) << arch->sp;
    return is_link ? CAIRN_FP_LEAF : CAIRN_FP_CODE;
}

enum cairn_fp_result cairn_follow(const struct cairn_unwind_arch *arch,
                                  const struct cairn_fp_space *space,
                                  struct cairn_unwind_regs *regs)
{
    enum cairn_fp_result found = CAIRN_FP_NONE;
    struct cairn_follow *f = space->scratch;
    if (!arch->follow || space->swap || !cairn_unwind_known(regs, arch->sp) ||
        (!f && !(f = cairn_pages_map(sizeof *f))))
        return CAIRN_FP_NONE;
    f->code_size = 0;
    for (int takes = 0; takes < 2 && found == CAIRN_FP_NONE; takes++) {
        f->space = space;
        f->regs = *regs;
        f->low = regs->regs[arch->sp];
        f->had_fp = cairn_unwind_known(regs, arch->fp);
        f->takes = takes;
        f->moved = false;
        f->n_words = 0;
        if (run(arch, f))
            found = finish(arch, f, regs);
    }
    if (!space->scratch)
        cairn_pages_unmap(f, sizeof *f);
    return found;
}
