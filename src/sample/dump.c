/* SPDX-License-Identifier: MIT */
#include "sample/dump.h"

#include <elf.h>

#include "base/error.h"
#include "bpf/walk.h"
#include "target/regs.h"
#include "unwind/space.h"

/* What is farther from the copy than a stack is long is no part of the stack. */
enum { STACK_MAX = 8 << 20 };

static bool is_full(const struct cairn_dump *dump)
{
    return dump->stack.size >= dump->stack_bytes;
}

static int read_memory(void *ctx, uint64_t va, void *to, size_t size)
{
    struct cairn_dump *dump = ctx;
    struct cairn_span bytes = {0};
    if (va >= dump->sp && cairn_span_slice(dump->stack, va - dump->sp, size, &bytes)) {
        memcpy(to, bytes.data, size);
        return 0;
    }
    const struct cairn_space_map *map = cairn_space_find(dump->process, va);
    if (map) { /* code: it is there as it was */
        struct cairn_span file = cairn_dump_file(&dump->files, dump->spaces, dump->process, map);
        if (cairn_span_slice(file, va - map->start + map->off, size, &bytes)) {
            memcpy(to, bytes.data, size);
            return 0;
        }
        return cairn_space_peek(dump->process, va, to, size) != size;
    }
    if (is_full(dump) && va >= dump->sp && va - dump->sp < STACK_MAX)
        dump->is_beyond = true;
    return 1;
}

static int find(void *ctx, uint64_t va, struct cairn_unwind_region *ret_region)
{
    struct cairn_dump *dump = ctx;
    const struct cairn_space_map *map = cairn_space_find(dump->process, va);
    if (!map)
        return 1;
    struct cairn_span file = cairn_dump_file(&dump->files, dump->spaces, dump->process, map);
    *ret_region = (struct cairn_unwind_region){
        .start = map->start,
        .end = map->end,
        .off = map->off,
        .flags = CAIRN_MAP_READ | CAIRN_MAP_EXEC,
        .path = cairn_strings_get(&dump->spaces->profile->strings, map->path),
        .file = file.size ? file.data : NULL,
        .file_size = file.size,
    };
    return 0;
}

int cairn_dump_init(struct cairn_dump *dump, uint32_t stack_bytes, struct cairn_err *err)
{
    const struct cairn_unwind_accessors accessors = {
        .size = sizeof accessors, .ctx = dump, .read = read_memory, .find = find};
    dump->stack_bytes = stack_bytes;
    return cairn_unwind_space_new(&accessors, &dump->space, err);
}

void cairn_dump_done(struct cairn_dump *dump)
{
    cairn_unwind_space_free(dump->space);
    cairn_dump_files_done(&dump->files);
    *dump = (struct cairn_dump){0};
}

/* Another process, or other mappings: what lies where is asked anew, the tables stay. */
static void turn_to(struct cairn_dump *dump, const struct cairn_spaces *spaces,
                    struct cairn_space *process)
{
    if (dump->files.n >= CAIRN_DUMP_FILES_MAX) {
        cairn_unwind_space_refresh(dump->space);
        cairn_dump_files_done(&dump->files);
    }
    if (dump->n_changes != process->n_changes)
        cairn_space_move(dump->space);
    dump->spaces = spaces;
    dump->process = process;
    dump->n_changes = process->n_changes;
}

static void add(struct cairn_dump *dump, struct cairn_user_sample *user,
                const struct cairn_cursor_frame *frame)
{
    const uint64_t flags = CAIRN_BPF_BY_FP | CAIRN_BPF_EXACT;
    uint64_t va = frame->ip & ~flags;
    bool by_fp = frame->how == CAIRN_HOW_FP_GUESS || frame->how == CAIRN_HOW_FP;
    if (user->n_walked == CAIRN_WALK_FRAMES_MAX)
        return;
    dump->frames[user->n_walked++] =
        va | (by_fp ? CAIRN_BPF_BY_FP : 0) | (frame->exact ? CAIRN_BPF_EXACT : 0);
}

static enum cairn_bpf_end end_of(const struct cairn_dump *dump, enum cairn_unwind_end end)
{
    switch (end) {
    case CAIRN_END_OUTERMOST:
        return CAIRN_BPF_END_OUTERMOST;
    case CAIRN_END_MAX_FRAMES:
        return CAIRN_BPF_END_DEEP;
    case CAIRN_END_NO_MODULE:
        return dump->process->n ? CAIRN_BPF_END_NOT_CODE : CAIRN_BPF_END_NEW;
    case CAIRN_END_UNREADABLE:
        return CAIRN_BPF_END_UNREADABLE;
    case CAIRN_END_BAD_CFA:
    case CAIRN_END_LOOP:
        return CAIRN_BPF_END_BAD_CFA;
    case CAIRN_END_NO_REGISTER:
        return CAIRN_BPF_END_SIDE;
    default:
        return CAIRN_BPF_END_NO_RULE;
    }
}

static uint64_t word_at(const struct cairn_dump *dump, uint64_t va, bool *ret_is_there)
{
    struct cairn_span bytes;
    uint64_t word = 0;
    *ret_is_there = va >= dump->sp && va % sizeof word == 0 &&
                    cairn_span_slice(dump->stack, va - dump->sp, sizeof word, &bytes);
    if (*ret_is_there)
        memcpy(&word, bytes.data, sizeof word);
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
 */
static void splice(struct cairn_dump *dump, struct cairn_cursor *cursor, uint64_t fp,
                   const struct cairn_perf_chain *chain, struct cairn_user_sample *user)
{
    size_t n = 1;
    uint64_t last_fp, next;
    bool is_there;
    for (; next = word_at(dump, fp, &is_there), is_there; n++) {
        if (next <= fp)
            return;
        fp = next;
    }
    if (cairn_cursor_get_reg(cursor, CAIRN_REG_FP, &last_fp) < 0 || last_fp != fp)
        return;
    for (; n < chain->n_user && user->n_walked < CAIRN_WALK_FRAMES_MAX; n++)
        dump->frames[user->n_walked++] =
            (chain->user[n] & ~(CAIRN_BPF_BY_FP | CAIRN_BPF_EXACT)) | CAIRN_BPF_BY_FP;
}

static void walk(struct cairn_dump *dump, const struct cairn_cursor_regs *regs,
                 const struct cairn_perf_chain *chain, struct cairn_user_sample *user)
{
    struct cairn_cursor cursor;
    struct cairn_cursor_frame frame;
    uint64_t fp = 0;
    if (cairn_cursor_init(&cursor, dump->space, regs, NULL) < 0)
        return;
    bool has_fp = cairn_cursor_get_reg(&cursor, CAIRN_REG_FP, &fp) == CAIRN_OK;
    do {
        cairn_cursor_frame(&cursor, &frame);
        add(dump, user, &frame);
        dump->is_beyond = false; /* what the step that ends the walk asks for is what counts */
    } while (cairn_cursor_step(&cursor));
    user->walked_end = (uint8_t)end_of(dump, cairn_cursor_end(&cursor));
    user->n_checked = user->n_walked;
    user->is_beyond = dump->is_beyond && user->walked_end != CAIRN_BPF_END_OUTERMOST &&
                      user->walked_end != CAIRN_BPF_END_DEEP;
    if (user->is_beyond && has_fp)
        splice(dump, &cursor, fp, chain, user);
}

void cairn_dump_walk(struct cairn_dump *dump, const struct cairn_spaces *spaces,
                     struct cairn_space *space, const struct cairn_perf_record *record,
                     const struct cairn_perf_chain *chain, struct cairn_user_sample *ret_user)
{
    const bool is_32 = record->regs.machine == EM_386 || record->regs.machine == EM_ARM;
    *ret_user =
        (struct cairn_user_sample){.walked = dump->frames, .walked_end = CAIRN_BPF_END_NOTHING};
    if (!record->regs.known)
        return;
    turn_to(dump, spaces, space);
    dump->sp = cairn_target_sp(&record->regs);
    dump->stack = record->stack;
    if (!is_32) {
        walk(dump, &record->regs, chain, ret_user);
    } else {
        dump->frames[0] = record->regs.ip;
        ret_user->n_walked = ret_user->n_checked = 1;
        ret_user->walked_end = CAIRN_BPF_END_32;
    }
    dump->stack = (struct cairn_span){0};
}
