/* SPDX-License-Identifier: MIT */
#include "sample/copy_walk.h"

#include "base/clock.h"

/* A signal's frame is not larger, all of the CPU's registers in it. */
enum { SIGNAL_FRAME_MAX = 1 << 14 };

static struct cairn_copied_file file_of(void *ctx, const struct cairn_stream_map *map)
{
    struct cairn_copy_walker *walker = ctx;
    return cairn_copy_files_get(&walker->files, walker->spaces, walker->space, map);
}

static bool read_code(void *ctx, uint64_t va, void *to, size_t size)
{
    struct cairn_copy_walker *walker = ctx;
    return cairn_code_pages_read(&walker->code, walker->space, va, to, size);
}

int cairn_copy_walker_init(struct cairn_copy_walker *walker, struct cairn_err *err)
{
    const struct cairn_copied_source source = {walker, file_of, read_code};
    return cairn_copied_open(&walker->copied, &source, err);
}

void cairn_copy_walker_done(struct cairn_copy_walker *walker)
{
    cairn_copied_close(&walker->copied);
    cairn_copy_files_done(&walker->files);
}

static void turn_to(struct cairn_copy_walker *walker, const struct cairn_spaces *spaces,
                    struct cairn_space *space, const struct cairn_copy *copy)
{
    if (walker->files.n >= CAIRN_COPY_FILES_MAX) {
        cairn_copied_forget(&walker->copied);
        cairn_copy_files_done(&walker->files);
    }
    walker->spaces = spaces;
    walker->space = space;
    walker->copy = copy;
    cairn_copied_turn(&walker->copied, &spaces->profile->strings, &space->code, &copy->stack,
                      copy->goes_on);
}

static uint64_t word_at(const struct cairn_copy *copy, uint64_t va, bool *ret_is_there)
{
    uint64_t word = 0;
    *ret_is_there =
        va % sizeof word == 0 && cairn_target_copy_read(&copy->stack, va, &word, sizeof word);
    return word;
}

/*
 * The kernel has followed frame pointers beyond the copy, but says only where they return to. Which
 * of its records are in the copy can be counted there; the first that is not must be the frame
 * pointer of the frame at which the walk has ended, or its chain is not that of this stack.
 *
 *     sp ──►[ ... | record 1 | ... | record 2 | ... ) end of the copy      record 3      record 4
 *                                         └───────── the last frame's fp ──►
 *     chain   ip    return 1         return 2                              return 3 ..
 *
 * Returns how many addresses of the chain come before; all of them where it is another's.
 */
static size_t find_in_chain(const struct cairn_copy *copy, struct cairn_cursor *cursor, uint64_t fp)
{
    size_t n = 1;
    uint64_t last_fp, next;
    bool is_there;
    for (; next = word_at(copy, fp, &is_there), is_there; n++) {
        if (next <= fp)
            return copy->n_chain;
        fp = next;
    }
    if (cairn_cursor_get_reg(cursor, CAIRN_REG_FP, &last_fp) < 0 || last_fp != fp ||
        n > copy->n_chain)
        return copy->n_chain;
    return n;
}

static enum cairn_unwind_end end_of(const struct cairn_copy_walker *walker,
                                    enum cairn_unwind_end told)
{
    if (told == CAIRN_END_OUTERMOST || told == CAIRN_END_MAX_FRAMES)
        return told;
    if (walker->is_switched)
        return CAIRN_END_SIGNAL_STACK;
    if (walker->copied.is_beyond)
        return CAIRN_END_COPY;
    return told == CAIRN_END_NO_MODULE && walker->space->code.n == 0 ? CAIRN_END_NEW : told;
}

/* Where what was interrupted has its stack elsewhere: the kernel copies only that of the handler.
 */
static bool is_elsewhere(const struct cairn_target_copy *stack, uint64_t sp)
{
    return sp < stack->va || sp - stack->va > stack->bytes.size + SIGNAL_FRAME_MAX;
}

static void add(struct cairn_copy_walker *walker, const struct cairn_cursor_frame *frame)
{
    (void)cairn_user_walk_add(&walker->walk, cairn_copied_frame(frame));
    walker->copied.is_beyond = false; /* what the step that ends the walk asks for is what counts */
    if (frame->how == CAIRN_HOW_SIGNAL)
        walker->is_switched = is_elsewhere(&walker->copy->stack, frame->sp);
}

static void walk_by_tables(struct cairn_copy_walker *walker, const struct cairn_walk_code *code)
{
    struct cairn_user_walk *walk = &walker->walk;
    const struct cairn_copy *copy = walker->copy;
    struct cairn_cursor cursor;
    struct cairn_cursor_frame frame;
    uint64_t fp = 0;
    if (cairn_cursor_init(&cursor, walker->copied.unwind, &copy->regs, NULL) < 0)
        return;
    cairn_cursor_limit(&cursor, 0);
    bool has_fp = cairn_cursor_get_reg(&cursor, CAIRN_REG_FP, &fp) == CAIRN_OK;
    do {
        cairn_cursor_frame(&cursor, &frame);
        add(walker, &frame);
    } while (cairn_cursor_step(&cursor));
    walk->end = end_of(walker, cairn_cursor_end(&cursor));
    cairn_user_walk_close_gap(walk);
    if (walk->end != CAIRN_END_COPY || !has_fp || !copy->n_chain)
        return;
    size_t n = find_in_chain(copy, &cursor, fp);
    cairn_user_walk_on(walk, code, copy->chain + n, copy->n_chain - n);
}

void cairn_copy_walk(struct cairn_copy_walker *walker, const struct cairn_spaces *spaces,
                     struct cairn_space *space, const struct cairn_walk_code *code,
                     const struct cairn_copy *copy)
{
    struct cairn_user_walk *walk = &walker->walk;
    walk->n = 0;
    walk->n_missing = 0;
    walk->end = CAIRN_END_NO_USER;
    turn_to(walker, spaces, space, copy);
    cairn_code_pages_begin(&walker->code, space, cairn_now_ns());
    walker->is_switched = false;
    walk_by_tables(walker, code);
    walker->copy = NULL;
    cairn_user_walk_finish(walk, code);
}
