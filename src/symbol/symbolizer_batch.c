/* SPDX-License-Identifier: MIT */
/*
 * Many addresses at once. They are looked up in the order of the addresses, so that each table is
 * gone through once, from its start to its end, while it is in the CPU's cache; the answers are
 * kept and handed out in the order of the questions.
 *
 *     questions:   q0: 0x90   q1: 0x10   q2: 0x50      (a piece)
 *     looked up:      0x10, 0x50, 0x90
 *     kept:        frames | of q1 | of q2 | of q0 |    answers: where those of q0, q1, q2 begin
 */
#include "base/alloc.h"
#include "base/file.h"
#include "symbol/expect.h"
#include "symbol/module_tables.h"
#include "symbol/symbolizer.h"

enum {
    PIECE_MIN = 64,       /* fewer have nothing in common */
    PIECE_MAX = 1 << 17,  /* addresses looked up before the first answer is handed out */
    FRAMES_MAX = 1 << 20, /* kept for a piece: 64 MB; honest programs have some 5 an address */
    USUAL_FRAMES = 3,     /* of an address, on average */
    AHEAD = 4             /* answers that are fetched into the CPU's cache before their turn */
};

/* One question of a piece, for the sort; distances beyond 32 bits are all the same to it. */
struct question {
    uint32_t distance;
    uint32_t index;
};

struct kept_answer {
    uint32_t first_frame, n_frames;
    enum cairn_symbol_state state;
};

struct batch {
    struct cairn_symbolizer *s;
    struct cairn_module *module;
    const uint64_t *vaddrs;
    cairn_symbol_fn each;
    void *ctx;
    struct cairn_err *err;

    struct question *questions;
    struct kept_answer *answers;
    struct cairn_symbol_frame *frames;
    size_t n_frames, cap_frames;
    size_t n_forgotten; /* of the index, when the frames were found */
};

/* The way may change with each look-up. */
static int answer_one_by_one(struct batch *b, size_t from, size_t to)
{
    int code = CAIRN_OK;
    for (size_t i = from; i < to && code == CAIRN_OK; i++) {
        struct cairn_symbol symbol;
        code = cairn_symbolize(b->s, b->module, b->vaddrs[i], &symbol, b->err);
        if (code == CAIRN_OK)
            code = b->each(b->ctx, i, &symbol);
    }
    return code;
}

static bool sort_questions(struct batch *b, size_t from, size_t n)
{
    uint64_t lowest = UINT64_MAX;
    for (size_t i = 0; i < n; i++)
        lowest = b->vaddrs[from + i] < lowest ? b->vaddrs[from + i] : lowest;
    for (size_t i = 0; i < n; i++) {
        uint64_t distance = b->vaddrs[from + i] - lowest;
        b->questions[i].distance = distance < UINT32_MAX ? (uint32_t)distance : UINT32_MAX;
        b->questions[i].index = (uint32_t)i;
    }
    return cairn_dwarf_sort(b->questions, n, sizeof *b->questions) == CAIRN_OK;
}

static bool keep_answer(struct batch *b, uint32_t index, const struct cairn_symbol *symbol)
{
    size_t n = b->n_frames + symbol->n_frames;
    if (n > FRAMES_MAX || cairn_grow((void **)&b->frames, &b->cap_frames, n, sizeof *b->frames) < 0)
        return false;
    if (symbol->n_frames)
        memcpy(b->frames + b->n_frames, symbol->frames, symbol->n_frames * sizeof *b->frames);
    b->answers[index] =
        (struct kept_answer){(uint32_t)b->n_frames, symbol->n_frames, symbol->state};
    b->n_frames = n;
    return true;
}

static size_t count_forgotten(const struct cairn_module *module)
{
    return module->index ? module->index->n_forgotten : 0;
}

/* Are the texts still there, and right? An index forgets its own now and then, to keep a bound; a
 * file may have been shortened. */
static bool holds(const struct batch *b)
{
    return count_forgotten(b->module) == b->n_forgotten && !cairn_file_any_cut();
}

/* False where anything is in the way: then the questions are asked one by one, and who fails tells
 * of it in its turn. */
static bool look_up_piece(struct batch *b, size_t from, size_t n)
{
    struct cairn_err why;
    b->n_frames = 0;
    if (cairn_symbolizer_prepare(b->s, b->module, &why) < 0 ||
        (cairn_module_has_choice(b->module) &&
         cairn_module_choose_way(b->module, &b->s->way, &why) < 0) ||
        !sort_questions(b, from, n))
        return false;
    b->n_forgotten = count_forgotten(b->module);
    for (size_t i = 0; i < n; i++) {
        struct cairn_symbol symbol;
        uint32_t index = b->questions[i].index, last = i ? b->questions[i - 1].index : 0;
        if (i && b->vaddrs[from + index] == b->vaddrs[from + last]) {
            b->answers[index] = b->answers[last];
            continue;
        }
        b->module->used = ++b->s->now;
        if (cairn_symbolizer_look_up(b->s, b->module, b->vaddrs[from + index], &symbol, &why) < 0 ||
            !keep_answer(b, index, &symbol))
            return false;
    }
    b->module->way.n_lookups += n - 1; /* one was counted above */
    return holds(b);
}

/* The frames of `answer` will be read soon. */
static void fetch_frames(const struct batch *b, const struct kept_answer *answer)
{
    for (uint32_t i = 0; i < answer->n_frames; i++)
        __builtin_prefetch(&b->frames[answer->first_frame + i]);
}

/* What they point to will be: the texts of random addresses lie anywhere. */
static void fetch_texts(const struct batch *b, const struct kept_answer *answer)
{
    enum { LINE_BYTES = 64, NAME_LINES = 3 };
    for (uint32_t i = 0; i < answer->n_frames; i++) {
        const struct cairn_symbol_frame *frame = &b->frames[answer->first_frame + i];
        for (uintptr_t line = 0; frame->function && line < NAME_LINES; line++)
            __builtin_prefetch((const void *)((uintptr_t)frame->function + line * LINE_BYTES));
        __builtin_prefetch(frame->file);
    }
}

/* `*ret_n` answers were handed out. Fewer than all, without failure: what is kept is gone, or
 * may be because `each` looked something up itself. */
static int hand_out(struct batch *b, size_t from, size_t n, size_t *ret_n)
{
    uint64_t now = b->s->now;
    int code = CAIRN_OK;
    size_t i = 0;
    for (; i < n && code == CAIRN_OK && b->s->now == now && holds(b); i++) {
        const struct kept_answer *answer = &b->answers[i];
        if (n - i > 2 * AHEAD)
            fetch_frames(b, answer + 2 * AHEAD);
        if (n - i > AHEAD)
            fetch_texts(b, answer + AHEAD);
        struct cairn_symbol symbol = {.frames =
                                          answer->n_frames ? b->frames + answer->first_frame : NULL,
                                      .n_frames = answer->n_frames,
                                      .state = answer->state};
        code = b->each(b->ctx, from + i, &symbol);
    }
    *ret_n = i;
    return code;
}

/* Room for the frames of most programs, in large pages where there are some. */
static void expect_frames(struct batch *b, size_t n)
{
    if (cairn_grow((void **)&b->frames, &b->cap_frames, n * USUAL_FRAMES, sizeof *b->frames) ==
        CAIRN_OK)
        cairn_advise_filled(b->frames, b->cap_frames * sizeof *b->frames);
}

static bool make_room(struct batch *b, size_t n)
{
    expect_frames(b, n);
    b->questions = cairn_realloc(NULL, n, sizeof *b->questions);
    b->answers = cairn_realloc(NULL, n, sizeof *b->answers);
    return b->questions && b->answers;
}

static int answer_all(struct batch *b, size_t n_vaddrs)
{
    size_t room = n_vaddrs < PIECE_MAX ? n_vaddrs : PIECE_MAX;
    bool in_pieces = n_vaddrs >= PIECE_MIN && b->s->memory_bytes == SIZE_MAX && make_room(b, room);
    int code = CAIRN_OK;
    for (size_t at = 0, n, handed; at < n_vaddrs && code == CAIRN_OK; at += n) {
        n = n_vaddrs - at < PIECE_MAX ? n_vaddrs - at : PIECE_MAX;
        handed = 0;
        if (in_pieces && look_up_piece(b, at, n))
            code = hand_out(b, at, n, &handed);
        if (code == CAIRN_OK)
            code = answer_one_by_one(b, at + handed, at + n);
    }
    return code;
}

/* Are there units to be read, which then may stay? */
static bool reads_units(const struct cairn_symbolizer *s, const struct cairn_module *module)
{
    bool by_units = module->info.way == CAIRN_WAY_UNITS || module->info.way == CAIRN_WAY_SAVED_MAP;
    return by_units && !module->index && s->memory_bytes == SIZE_MAX;
}

int cairn_symbolizer_expect(struct cairn_symbolizer *s, struct cairn_module *module,
                            const uint64_t *vaddrs, size_t n_vaddrs, struct cairn_err *err)
{
    int code = cairn_symbolizer_prepare(s, module, err);
    if (code == CAIRN_OK && cairn_module_has_choice(module))
        code = cairn_module_choose_way_for(module, &s->way, vaddrs, n_vaddrs, err);
    if (code == CAIRN_OK && n_vaddrs >= PIECE_MIN && reads_units(s, module))
        code = cairn_module_read_tables(module, vaddrs, n_vaddrs, s->way.n_threads, s->now, err);
    return code;
}

int cairn_symbolize_batch(struct cairn_symbolizer *symbolizer, struct cairn_module *module,
                          const uint64_t *vaddrs, size_t n_vaddrs, cairn_symbol_fn each, void *ctx,
                          struct cairn_err *err)
{
    struct batch b = {
        .s = symbolizer, .module = module, .vaddrs = vaddrs, .each = each, .ctx = ctx, .err = err};
    int code =
        n_vaddrs ? cairn_symbolizer_expect(symbolizer, module, vaddrs, n_vaddrs, err) : CAIRN_OK;
    if (code == CAIRN_OK)
        code = answer_all(&b, n_vaddrs);
    cairn_free(b.questions);
    cairn_free(b.answers);
    cairn_free(b.frames);
    return code;
}
