/* SPDX-License-Identifier: MIT */
/*
 * The cursor: the loop that goes from frame to frame, and what decides how. It believes nobody:
 * memory may change or lie, rules may be damaged, so that each step must rise, and so many are
 * taken at most.
 *
 *     look    which module holds the address, and what covers it there
 *     step    a signal's frame │ a row of CFI or exidx │ a checked guess by the frame pointer
 */
#include <stdio.h>

#include <cairn/maps.h>

#include "base/error.h"
#include "base/module_kind.h"
#include "unwind/crt.h"
#include "unwind/cursor_guess.h"
#include "unwind/cursor_resume.h"
#include "unwind/cursor_row.h"
#include "unwind/cursor_state.h"
#include "unwind/sigframe.h"

static struct cursor *of(struct cairn_cursor *cursor)
{
    return (struct cursor *)(void *)cursor;
}

static const struct cursor *of_const(const struct cairn_cursor *cursor)
{
    return (const struct cursor *)(const void *)cursor;
}

static bool is_uprobes(const struct cairn_space_place *place)
{
    return place && place->region.path && cairn_module_is_uprobes(place->region.path);
}

/* A uretprobe put the first address of its page, so that the byte before is another's. */
static const struct cairn_space_place *place_at(const struct cursor *c, uint64_t lookup_va)
{
    const struct cairn_space_place *place = cairn_space_at(c->space, lookup_va);
    if (place && c->regs.ip < place->region.end)
        return place;
    const struct cairn_space_place *next = cairn_space_at(c->space, c->regs.ip);
    return !place || is_uprobes(next) ? next : place;
}

/*
 * Finds out what is known of the frame's address. A handler returns to the first of the kernel's
 * instructions, behind no call, so that the byte before them belongs to them only where their CFI
 * was made for it; where it ends just there, or there is none, the instructions tell. In their
 * system call a thread stands behind the last of them, where their CFI has ended.
 */
static void look_by_rows(struct cursor *c)
{
    uint64_t at = cairn_cursor_lookup_address(c);
    c->entry.kind = CAIRN_ENTRY_NONE;
    c->sigframe = CAIRN_SIGFRAME_NONE;
    c->is_signal = false;
    c->place = place_at(c, at);
    if (cairn_cursor_has_code(c)) {
        c->vaddr = at - c->place->bias;
        c->swap = c->place->module->elf.swap;
        cairn_space_module_find(c->place->module, c->vaddr, &c->entry);
        if (c->entry.kind == CAIRN_ENTRY_NONE && cairn_space_module_derive(c->place->module))
            cairn_space_module_find(c->place->module, c->vaddr, &c->entry);
    }
    bool is_fde = c->entry.kind == CAIRN_ENTRY_FDE;
    bool is_at_end = is_fde && c->vaddr + 1 >= c->entry.fde.to;
    if (is_fde && c->entry.fde.cie.is_signal_frame)
        c->is_signal = true;
    if (c->is_signal || !is_fde || is_at_end)
        c->sigframe = (uint8_t)cairn_sigframe_at(c->arch, &c->space->memory, c->regs.ip);
    if (c->sigframe == CAIRN_SIGFRAME_NONE && !is_fde && c->how == CAIRN_HOW_START)
        c->sigframe = (uint8_t)cairn_sigframe_behind(c->arch, &c->space->memory, c->regs.ip);
    if (c->sigframe != CAIRN_SIGFRAME_NONE)
        c->is_signal = true;
}

static void look(struct cursor *c)
{
    if (!cairn_cursor_look_quickly(c))
        look_by_rows(c);
}

int cairn_cursor_init(struct cairn_cursor *ret_cursor, struct cairn_unwind_space *space,
                      const struct cairn_cursor_regs *regs, struct cairn_err *err)
{
    struct cursor *c = of(ret_cursor);
    const struct cairn_unwind_arch *arch =
        regs->machine <= UINT16_MAX ? cairn_row_arch_of((uint16_t)regs->machine) : NULL;
    if (!arch)
        return cairn_fail(err, CAIRN_E_SUPPORT, "registers of machine %u, which is not known here",
                          (unsigned)regs->machine);
    if (!(regs->known >> arch->sp & 1))
        return cairn_fail(err, CAIRN_E_ARG, "registers without a stack pointer");
    memset(ret_cursor, 0, sizeof *ret_cursor);
    c->space = space;
    c->arch = arch;
    c->generation = space->generation;
    c->regs.ip = arch->code_address(regs->ip);
    for (unsigned i = 0; i < arch->n_regs && i < CAIRN_UNWIND_REGS; i++)
        if (regs->known >> i & 1)
            cairn_unwind_set(&c->regs, i, regs->reg[i]);
    cairn_unwind_set(&c->regs, arch->pc, regs->ip); /* rules of PLT stubs ask for it */
    c->how = CAIRN_HOW_START;
    c->n_frames = 1;
    c->max_frames = CAIRN_MAX_FRAMES;
    if (space->kind->begin)
        space->kind->begin(space->accessors.ctx);
    look(c);
    return CAIRN_OK;
}

static enum cairn_unwind_end end_of(enum cairn_arch_step result)
{
    switch (result) {
    case CAIRN_STEP_OUTERMOST:
        return CAIRN_END_OUTERMOST;
    case CAIRN_STEP_SWITCHED:
        return CAIRN_END_SWITCHED;
    case CAIRN_STEP_UNKNOWN:
        return CAIRN_END_NO_REGISTER;
    case CAIRN_STEP_BAD_CFA:
        return CAIRN_END_BAD_CFA;
    case CAIRN_STEP_UNREADABLE:
        return CAIRN_END_UNREADABLE;
    case CAIRN_STEP_LEAF:
        return CAIRN_END_LOOP;
    default:
        return CAIRN_END_NO_RULE;
    }
}

static int finish(struct cursor *c, enum cairn_unwind_end end)
{
    c->ended = true;
    c->end = (uint8_t)end;
    return 0;
}

/* The row that covers the address; false where it is damaged or there is none. */
static bool find_row(const struct cursor *c, struct cairn_cfi_row *ret_row, bool *ret_is_sound)
{
    *ret_is_sound = true;
    if (c->entry.kind == CAIRN_ENTRY_FDE) {
        *ret_is_sound = cairn_cfi_row_at(c->entry.cfi, &c->entry.fde, c->vaddr, ret_row);
        return *ret_is_sound;
    }
    if (c->entry.kind != CAIRN_ENTRY_EXIDX)
        return false;
    enum cairn_exidx_result result =
        cairn_exidx_row(&c->place->module->sections.exidx, c->entry.exidx, ret_row);
    *ret_is_sound = result != CAIRN_EXIDX_DAMAGED;
    return result == CAIRN_EXIDX_ROW;
}

static enum cairn_arch_step step_row(const struct cursor *c, const struct cairn_cfi_row *row,
                                     struct cairn_unwind_regs *next)
{
    bool is_fde = c->entry.kind == CAIRN_ENTRY_FDE;
    const struct cairn_row_input input = {
        .arch = c->arch,
        .memory = &c->space->memory,
        .expressions = is_fde ? c->entry.cfi->bytes : (struct cairn_span){0},
        .row = row,
        .ra_reg = is_fde ? c->entry.fde.cie.ra_reg : c->arch->ra,
        .swap = c->swap,
        .is_leaf = cairn_cursor_is_exact(c),
        .is_signal = c->is_signal,
    };
    return cairn_row_step(&input, next);
}

/* By what the instructions do to return. `row`: what holds where they call, or NULL. */
static enum cairn_arch_step step_by_code(const struct cursor *c, const struct cairn_cfi_row *row,
                                         struct cairn_unwind_regs *next)
{
    _Alignas(16) uint8_t room[CAIRN_CODE_ROOM];
    const struct cairn_code_input input = {.stack = &c->space->memory,
                                           .code = &c->space->memory,
                                           .row = row,
                                           .bias = row ? c->place->bias : 0,
                                           .is_leaf = cairn_cursor_is_exact(c),
                                           .swap = c->swap,
                                           .room = room};
    if (!c->place)
        return CAIRN_STEP_NO_RULE;
    if (c->arch->step_clone && !row)
        return c->arch->step_clone(&input, next);
    return c->arch->step_by_code ? c->arch->step_by_code(&input, next) : CAIRN_STEP_NO_RULE;
}

/* The ways, the surest first. NO_RULE: none covers the address. */
static enum cairn_arch_step step_by_rule(const struct cursor *c, struct cairn_unwind_regs *next,
                                         enum cairn_frame_how *ret_how, bool *ret_is_sound)
{
    struct cairn_cfi_row row;
    *ret_is_sound = true;
    if (c->is_signal) {
        *ret_how = CAIRN_HOW_SIGNAL;
        enum cairn_arch_step result = cairn_sigframe_step(c->arch, (enum cairn_sigframe)c->sigframe,
                                                          &c->space->memory, c->swap, next);
        if (result == CAIRN_STEP_OK)
            return result;
    } else {
        *ret_how = c->entry.kind == CAIRN_ENTRY_EXIDX ? CAIRN_HOW_EXIDX
                   : c->entry.kind == CAIRN_ENTRY_FDE &&
                           cairn_space_module_is_derived(c->place->module, c->vaddr)
                       ? CAIRN_HOW_DERIVED
                       : CAIRN_HOW_CFI;
    }
    bool is_found = find_row(c, &row, ret_is_sound);
    /* exidx holds at calls alone, and of much code it knows nothing */
    if ((cairn_cursor_is_exact(c) || !is_found) && c->entry.kind != CAIRN_ENTRY_FDE &&
        !c->is_signal) {
        enum cairn_arch_step result = step_by_code(c, is_found ? &row : NULL, next);
        if (!is_found)
            *ret_how = CAIRN_HOW_CODE;
        if (result != CAIRN_STEP_NO_RULE)
            return result;
    }
    return is_found ? step_row(c, &row, next) : CAIRN_STEP_NO_RULE;
}

/* Code without a rule that ends the thread when it is returned to. */
static bool is_thread_start(const struct cursor *c)
{
    uint8_t code[16];
    return !cairn_cursor_is_exact(c) && c->arch->ends_thread &&
           c->space->memory.read(c->space->memory.ctx, c->regs.ip, code, sizeof code) &&
           c->arch->ends_thread((struct cairn_span){code, sizeof code});
}

/* The program's first function is not called by anybody: where its author gave it no rule (arm's
 * libraries say that it cannot be unwound), the stack is whole all the same. */
static bool is_entry(const struct cursor *c)
{
    return cairn_cursor_has_code(c) && c->place->module->elf.entry &&
           c->vaddr - (c->place->module->elf.entry & ~UINT64_C(1)) < c->place->module->entry_bytes;
}

static enum cairn_unwind_end end_without_rule(const struct cursor *c, bool is_sound)
{
    if (!is_sound)
        return CAIRN_END_DAMAGED;
    if (is_thread_start(c) || is_entry(c))
        return CAIRN_END_OUTERMOST;
    if (is_uprobes(c->place))
        return CAIRN_END_UPROBE;
    return cairn_cursor_has_code(c) ? CAIRN_END_NO_RULE : CAIRN_END_NO_MODULE;
}

/* Could a register that a lean cursor does not have have changed what came out? */
static bool is_in_doubt(const struct cursor *c, enum cairn_arch_step result,
                        const struct cairn_unwind_regs *next, enum cairn_frame_how how)
{
    uint8_t fp = c->arch->fp;
    if (!c->is_lean)
        return false;
    switch (result) {
    case CAIRN_STEP_OUTERMOST:
    case CAIRN_STEP_SWITCHED:
        return false;
    case CAIRN_STEP_NO_RULE: /* then a frame pointer is believed, or none */
        return !cairn_unwind_known(&c->regs, fp) || c->arch->fp_regs[0] != fp ||
               c->arch->fp_regs[1] != fp;
    case CAIRN_STEP_OK:
        if (!next->ip)
            return false;
        return how == CAIRN_HOW_SIGNAL ? c->sigframe == CAIRN_SIGFRAME_NONE
                                       : !cairn_unwind_known(next, fp);
    default:
        return true;
    }
}

/* 1 or 0 as cairn_cursor_step(), or IN_DOUBT, for which nothing was done. */
enum { IN_DOUBT = -1 };

static int step_by_rows(struct cursor *c)
{
    struct cairn_unwind_regs next = c->regs;
    enum cairn_frame_how how;
    bool is_sound;
    enum cairn_arch_step result = step_by_rule(c, &next, &how, &is_sound);
    if (is_in_doubt(c, result, &next, how))
        return IN_DOUBT;
    if (result == CAIRN_STEP_NO_RULE) {
        result =
            cairn_cursor_guess(c->space, c->arch, c->place, cairn_cursor_is_exact(c), &next, &how);
        if (result == CAIRN_STEP_NO_RULE)
            return finish(c, end_without_rule(c, is_sound));
    }
    if (result != CAIRN_STEP_OK)
        return finish(c, end_of(result));
    if (next.ip == 0 && how != CAIRN_HOW_SIGNAL) /* interrupted there, it was called */
        return finish(c, CAIRN_END_OUTERMOST);
    if (next.ip == c->regs.ip && next.regs[c->arch->sp] == c->regs.regs[c->arch->sp])
        return finish(c, CAIRN_END_LOOP);
    if (how == CAIRN_HOW_SIGNAL)
        c->is_lean = false; /* the kernel kept all registers */
    c->regs = next;
    c->how = (uint8_t)how;
    c->n_frames++;
    look(c);
    return 1;
}

/* Walks again from where all registers were known, by rows. Where memory has changed meanwhile and
 * that leads elsewhere, they are not known. */
static void catch_up(struct cursor *c)
{
    struct cursor again = *c;
    if (!c->is_lean || cairn_cursor_is_stale(c))
        return;
    c->is_lean = again.is_lean = false;
    again.in_full = true;
    again.regs = c->full;
    again.how = c->full_how;
    again.n_frames = c->full_n_frames;
    look(&again);
    while (again.n_frames < c->n_frames && step_by_rows(&again) == 1)
        ;
    if (again.n_frames == c->n_frames && again.regs.ip == c->regs.ip &&
        again.regs.regs[c->arch->sp] == c->regs.regs[c->arch->sp])
        c->regs = again.regs;
}

int cairn_cursor_step(struct cairn_cursor *cursor)
{
    struct cursor *c = of(cursor);
    if (c->ended)
        return 0;
    if (cairn_cursor_is_stale(c))
        return finish(c, CAIRN_END_NO_MODULE);
    if (c->n_frames >= c->max_frames)
        return finish(c, CAIRN_END_MAX_FRAMES);
    if (c->entry.kind == CAIRN_ENTRY_RULE) {
        if (cairn_cursor_step_quickly(c)) {
            look(c);
            return 1;
        }
        look_by_rows(c);
    }
    int result = step_by_rows(c);
    if (result == IN_DOUBT) {
        catch_up(c);
        result = step_by_rows(c);
    }
    return result;
}

void cairn_cursor_limit(struct cairn_cursor *cursor, uint32_t n_frames)
{
    bool all = n_frames == 0 || n_frames > CAIRN_CURSOR_MAX_FRAMES;
    of(cursor)->max_frames = all ? CAIRN_CURSOR_MAX_FRAMES : n_frames;
}

enum cairn_unwind_end cairn_cursor_end(const struct cairn_cursor *cursor)
{
    return (enum cairn_unwind_end)of_const(cursor)->end;
}

void cairn_cursor_frame(const struct cairn_cursor *cursor, struct cairn_cursor_frame *ret_frame)
{
    const struct cursor *c = of_const(cursor);
    const struct cairn_unwind_region *region =
        c->place && !cairn_cursor_is_stale(c) ? &c->place->region : NULL;
    *ret_frame = (struct cairn_cursor_frame){
        .ip = c->regs.ip,
        .sp = c->regs.regs[c->arch->sp],
        .how = (enum cairn_frame_how)c->how,
        .exact = cairn_cursor_is_exact(c) || (region && is_uprobes(c->place)),
        .signal = c->is_signal,
        .path = region && region->path && *region->path ? region->path : NULL,
        .mapping = region ? region->start : 0,
        .file_off = region ? region->off + (c->regs.ip - region->start) : 0,
    };
}

int cairn_cursor_get_reg(struct cairn_cursor *cursor, unsigned reg, uint64_t *ret_value)
{
    struct cursor *c = of(cursor);
    if (reg == CAIRN_REG_IP) {
        *ret_value = c->regs.ip;
        return CAIRN_OK;
    }
    if (reg == CAIRN_REG_SP)
        reg = c->arch->sp;
    else if (reg == CAIRN_REG_FP)
        reg = c->arch->fp;
    if (reg >= c->arch->n_regs)
        return CAIRN_E_ARG;
    if (reg != c->arch->sp && reg != c->arch->fp)
        catch_up(c);
    if (!cairn_unwind_known(&c->regs, reg))
        return CAIRN_E_MISSING;
    *ret_value = c->regs.regs[reg];
    return CAIRN_OK;
}

int cairn_cursor_proc_name(struct cairn_cursor *cursor, char *ret_name, size_t size,
                           uint64_t *ret_offset)
{
    struct cursor *c = of(cursor);
    if (!size)
        return CAIRN_E_ARG;
    if (!cairn_cursor_has_code(c))
        return CAIRN_E_MISSING;
    uint64_t vaddr = c->is_signal ? c->regs.ip - c->place->bias : c->vaddr;
    const struct cairn_elf_symbol *symbol = cairn_space_module_symbol(c->place->module, vaddr);
    if (!symbol)
        return CAIRN_E_MISSING;
    snprintf(ret_name, size, "%s", symbol->name);
    *ret_offset = c->regs.ip - c->place->bias - symbol->vaddr;
    return CAIRN_OK;
}

bool cairn_cursor_resume(struct cairn_cursor *cursor, const struct cairn_cursor_regs *regs)
{
    struct cursor *c = of(cursor);
    uint64_t sp = regs->reg[c->arch->sp];
    if (cairn_cursor_is_stale(c) || c->n_frames >= c->max_frames ||
        !(regs->known >> c->arch->sp & 1) || sp <= c->regs.regs[c->arch->sp])
        return false;
    c->regs.known = 0;
    c->regs.ip = c->arch->code_address(regs->ip);
    for (unsigned i = 0; i < c->arch->n_regs && i < CAIRN_UNWIND_REGS; i++)
        if (regs->known >> i & 1)
            cairn_unwind_set(&c->regs, i, regs->reg[i]);
    c->ended = c->is_lean = false;
    c->how = CAIRN_HOW_INTERPRETER;
    c->n_frames++;
    look(c);
    return true;
}

struct cairn_space_module *cairn_cursor_module(const struct cairn_cursor *cursor,
                                               uint64_t *ret_bias)
{
    const struct cursor *c = of_const(cursor);
    if (!cairn_cursor_has_code(c))
        return NULL;
    *ret_bias = c->place->bias;
    return c->place->module;
}

void cairn_cursor_all_regs(struct cairn_cursor *cursor, struct cairn_cursor_regs *ret_regs)
{
    struct cursor *c = of(cursor);
    catch_up(c);
    *ret_regs = (struct cairn_cursor_regs){.machine = c->arch->machine, .ip = c->regs.ip};
    for (unsigned i = 0; i < c->arch->n_regs && i < CAIRN_UNWIND_REGS; i++) {
        if (!cairn_unwind_known(&c->regs, i))
            continue;
        ret_regs->known |= UINT64_C(1) << i;
        ret_regs->reg[i] = c->regs.regs[i];
    }
}
