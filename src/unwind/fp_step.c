/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/fp_step.h"

#include "code/call.h"
#include "unwind/follow.h"
#include "unwind/table.h"

enum {
    LEAF_BYTES_MAX = 4096, /* from a function's start to where it runs without a record */
    KEPT_BYTES = 64,       /* of a leaf that are looked through: more than a stub of the PLT has */
    ROWS_LOOKED_AT = 256,
    FEW_ROWS = 8,   /* say nothing: those of crt1.o and linkers */
    ONE_ROW_IN = 16 /* of code that keeps frame pointers; of other code it is one in hundreds */
};

static bool read_word(const struct cairn_unwind_arch *arch, const struct cairn_fp_space *space,
                      uint64_t va, uint64_t *ret_word)
{
    uint32_t narrow;
    uint64_t wide;
    if (arch->word == 4) {
        if (!space->memory->read(space->memory->ctx, va, &narrow, sizeof narrow))
            return false;
        *ret_word = space->swap ? __builtin_bswap32(narrow) : narrow;
        return true;
    }
    if (!space->memory->read(space->memory->ctx, va, &wide, sizeof wide))
        return false;
    *ret_word = space->swap ? __builtin_bswap64(wide) : wide;
    return true;
}

/* A return address as it was stored: does it point behind a call, and where does that lead? */
static bool is_return(const struct cairn_unwind_arch *arch, const struct cairn_fp_space *space,
                      uint64_t stored, struct cairn_call *ret_call)
{
    uint64_t ret = arch->code_address(stored);
    uint8_t code[CAIRN_CALL_BYTES];
    if (ret < sizeof code || !space->is_code(space->ctx, ret - 1) ||
        !space->memory->read(space->memory->ctx, ret - sizeof code, code, sizeof code))
        return false;
    return arch->call((struct cairn_span){code, sizeof code}, ret | (stored & 1), ret_call);
}

/* Of a record, for which no call proves its return address. */
static bool may_be_return(const struct cairn_unwind_arch *arch, const struct cairn_fp_space *space,
                          uint64_t stored, bool rises, bool is_last)
{
    uint64_t ret = arch->code_address(stored);
    return (space->is_root && space->is_root(space->ctx, ret)) ||
           (rises && space->pushes && space->pushes(space->ctx, ret)) ||
           ((rises || is_last) && space->is_missing && space->is_missing(space->ctx, ret - 1));
}

/* A record where `reg` points, in this layout. */
static bool read_record(const struct cairn_unwind_arch *arch, const struct cairn_fp_space *space,
                        const struct cairn_unwind_regs *regs, unsigned reg,
                        const struct cairn_fp_layout *layout, uint64_t *ret_fp, uint64_t *ret_ra)
{
    struct cairn_call call;
    if (!cairn_unwind_known(regs, reg))
        return false;
    uint64_t fp = regs->regs[reg], sp = regs->regs[arch->sp];
    int low = layout->fp < layout->ra ? layout->fp : layout->ra;
    uint64_t from = fp + (uint64_t)(int64_t)low, end = fp + (uint64_t)layout->end;
    uint64_t limit = space->stack_end ? space->stack_end : sp + CAIRN_FP_FRAME_MAX;
    if (fp % arch->word || from < sp || end <= from || end > limit || limit < sp)
        return false;
    if (!read_word(arch, space, fp + (uint64_t)(int64_t)layout->ra, ret_ra) ||
        !read_word(arch, space, fp + (uint64_t)(int64_t)layout->fp, ret_fp))
        return false;
    return is_return(arch, space, *ret_ra, &call) ||
           may_be_return(arch, space, *ret_ra, *ret_fp > fp && *ret_fp < limit, *ret_fp == 0);
}

static bool step_record(const struct cairn_unwind_arch *arch, const struct cairn_fp_space *space,
                        struct cairn_unwind_regs *regs)
{
    uint64_t fp, ra;
    for (unsigned r = 0; r < 2 && (r == 0 || arch->fp_regs[r] != arch->fp_regs[0]); r++)
        for (unsigned i = 0; i < arch->n_fp_layouts; i++) {
            const struct cairn_fp_layout *layout = &arch->fp_layouts[i];
            unsigned reg = arch->fp_regs[r];
            if (!read_record(arch, space, regs, reg, layout, &fp, &ra))
                continue;
            uint64_t end = regs->regs[reg] + (uint64_t)layout->end;
            regs->known = 0;
            cairn_unwind_set(regs, reg, fp);
            cairn_unwind_set(regs, arch->sp, end);
            if (!layout->end_is_sp)
                regs->known &= ~(UINT64_C(1) << arch->sp);
            cairn_unwind_set(regs, arch->pc, ra);
            regs->ip = arch->code_address(ra);
            return true;
        }
    return false;
}

/* The word that is the return address as long as a function has touched nothing. */
static bool leaf_word(const struct cairn_unwind_arch *arch, const struct cairn_fp_space *space,
                      const struct cairn_unwind_regs *regs, uint64_t *ret_word)
{
    if (arch->ra_in_reg) {
        *ret_word = regs->regs[arch->ra];
        return cairn_unwind_known(regs, arch->ra);
    }
    return cairn_unwind_known(regs, arch->sp) &&
           read_word(arch, space, regs->regs[arch->sp], ret_word);
}

/* Has a leaf that began at `from` and is at `to` pushed nothing so far? */
static bool is_sp_kept(const struct cairn_unwind_arch *arch, const struct cairn_fp_space *space,
                       uint64_t from, uint64_t to)
{
    uint8_t code[KEPT_BYTES];
    size_t size = (size_t)(to - from);
    return arch->keeps_sp && size <= sizeof code &&
           (size == 0 || space->memory->read(space->memory->ctx, from, code, size)) &&
           arch->keeps_sp((struct cairn_span){code, size});
}

/* The link register keeps its value when a function has saved it, and after its own calls it holds
 * something else: it counts where the call before it led to just here, and no record says the same.
 */
static bool step_leaf(const struct cairn_unwind_arch *arch, const struct cairn_fp_space *space,
                      struct cairn_unwind_regs *regs)
{
    struct cairn_unwind_regs by_record = *regs;
    struct cairn_call call;
    uint64_t word;
    if (!leaf_word(arch, space, regs, &word) || !is_return(arch, space, word, &call))
        return false;
    uint64_t target = arch->code_address(call.target), ret = arch->code_address(word);
    if (!call.target || target > regs->ip || regs->ip - target >= LEAF_BYTES_MAX)
        return false;
    if (arch->ra_in_reg && !space->no_records && step_record(arch, space, &by_record) &&
        by_record.ip == ret)
        return false;
    regs->known &= arch->kept | UINT64_C(1) << arch->fp | UINT64_C(1) << arch->sp;
    if (!arch->ra_in_reg)
        cairn_unwind_set(regs, arch->sp, regs->regs[arch->sp] + arch->word);
    else if (!is_sp_kept(arch, space, target, regs->ip)) /* sp is but a floor */
        regs->known &= ~(UINT64_C(1) << arch->sp);
    cairn_unwind_set(regs, arch->pc, word);
    regs->ip = ret;
    return true;
}

/* The link register of code that is missing: the caller of a leaf, or, where the function has
 * called another one since, an address of its own, which lies near. */
static bool step_missing_link(const struct cairn_unwind_arch *arch,
                              const struct cairn_fp_space *space, struct cairn_unwind_regs *regs)
{
    struct cairn_unwind_regs by_record = *regs;
    uint64_t ret = arch->code_address(regs->regs[arch->ra]), ip = regs->ip;
    if (!arch->ra_in_reg || !space->is_missing || !cairn_unwind_known(regs, arch->ra) ||
        !space->is_missing(space->ctx, ip) || !space->is_code(space->ctx, ret - 1))
        return false;
    bool is_near = ret - ip < LEAF_BYTES_MAX || ip - ret < LEAF_BYTES_MAX;
    if (step_record(arch, space, &by_record) && (is_near || by_record.ip == ret))
        return false;
    cairn_unwind_set(regs, arch->pc, regs->regs[arch->ra]);
    regs->known &= (arch->kept | UINT64_C(1) << arch->fp | UINT64_C(1) << arch->pc) &
                   ~(UINT64_C(1) << arch->sp); /* sp is but a floor */
    regs->ip = ret;
    return true;
}

/* Who called through a wild pointer: nothing has run there yet, so that the return address is where
 * the call put it, behind a call. */
static bool step_out_of_nowhere(const struct cairn_unwind_arch *arch,
                                const struct cairn_fp_space *space, struct cairn_unwind_regs *regs)
{
    struct cairn_call call;
    uint64_t word;
    if (!leaf_word(arch, space, regs, &word) || !is_return(arch, space, word, &call))
        return false;
    regs->known &= arch->kept | UINT64_C(1) << arch->fp | UINT64_C(1) << arch->sp;
    if (!arch->ra_in_reg)
        cairn_unwind_set(regs, arch->sp, regs->regs[arch->sp] + arch->word);
    cairn_unwind_set(regs, arch->pc, word);
    regs->ip = arch->code_address(word);
    return true;
}

/* The innermost frame may be where no record is yet; further out a record is cheaper, but on CPUs
 * whose records say nothing of the caller's sp, which callers that have rules need. */
enum cairn_fp_result cairn_fp_step(const struct cairn_unwind_arch *arch,
                                   const struct cairn_fp_space *space, bool is_leaf,
                                   struct cairn_unwind_regs *regs)
{
    if (!space->is_code(space->ctx, regs->ip - !is_leaf))
        return is_leaf && step_out_of_nowhere(arch, space, regs) ? CAIRN_FP_LEAF : CAIRN_FP_NONE;
    const bool code_first = (is_leaf || arch->ra_in_reg) && !space->no_code;
    enum cairn_fp_result by_code = code_first ? cairn_follow(arch, space, regs) : CAIRN_FP_NONE;
    if (by_code != CAIRN_FP_NONE)
        return by_code;
    if (is_leaf && step_leaf(arch, space, regs))
        return CAIRN_FP_LEAF;
    if (is_leaf && step_missing_link(arch, space, regs))
        return CAIRN_FP_FRAME;
    if (!space->no_records && step_record(arch, space, regs))
        return CAIRN_FP_FRAME;
    return code_first || space->no_code ? CAIRN_FP_NONE : cairn_follow(arch, space, regs);
}

bool cairn_fp_kept(const struct cairn_unwind_arch *arch, const struct cairn_unwind_table *table)
{
    uint32_t step = table->n_rows / ROWS_LOOKED_AT + 1, n = 0, kept = 0, rule;
    uint64_t vaddr;
    for (uint32_t i = 0; i < table->n_rows && cairn_unwind_table_row(table, i, &vaddr, &rule);
         i += step) {
        n += cairn_rule_kind(rule) >= CAIRN_RULE_OF_CPU;
        kept += arch->keeps_fp(rule);
    }
    return n < FEW_ROWS || (kept > 0 && n / kept <= ONE_ROW_IN);
}

size_t cairn_fp_walk(const struct cairn_unwind_arch *arch, const struct cairn_fp_space *space,
                     struct cairn_unwind_regs *regs, uint64_t *addresses, size_t max)
{
    size_t n = 0;
    if (max)
        addresses[n++] = regs->ip;
    while (n < max && step_record(arch, space, regs))
        addresses[n++] = regs->ip;
    return n;
}
