/* SPDX-License-Identifier: MIT */
/*
 * Many look-ups in an index, in the order of the addresses: what one needs the next mostly needs
 * too, while a large index asked at random waits for memory at each step. Some thousand questions
 * are answered together and then handed out as they were asked:
 *
 *     questions  7 2 9 2 ...   ─► sorted  2 2 7 9 ...  ─► frames  |2   |7  |9 |
 *     handed out 7 2 9 2 ...   ◄─────────────────────────────'
 */
#include "base/alloc.h"
#include "base/error.h"
#include "symbol/symbolizer.h"

enum {
    TOGETHER = 1 << 17,
    FRAMES_TOGETHER = 1 << 20, /* more are looked up one by one */
    CACHE_LINE = 64,
    AHEAD = 8 /* answers that are fetched into the processor before their turn */
};

/* For the sort; addresses that no index holds come last. */
struct question {
    uint32_t place;
    uint32_t number;
};

struct answer {
    uint32_t first, n; /* frames */
    bool known, holds; /* known: else it is to be looked up when its turn comes */
};

struct batch {
    struct cairn_symbolizer *s;
    struct cairn_module *module;
    const uint64_t *vaddrs; /* of this part */
    size_t n;
    struct question *questions;
    struct answer *answers;
    struct cairn_frames frames;
    size_t n_forgotten; /* of the index, when the frames were found */
};

static int sort_questions(struct batch *b)
{
    const struct cairn_index *index = b->module->index;
    uint64_t low = index->base < index->symbol_base ? index->base : index->symbol_base;
    for (size_t i = 0; i < b->n; i++) {
        uint64_t place = b->vaddrs[i] - low;
        b->questions[i] =
            (struct question){place < UINT32_MAX ? (uint32_t)place : UINT32_MAX, (uint32_t)i};
    }
    return cairn_dwarf_sort(b->questions, b->n, sizeof *b->questions);
}

static int find_answer(struct batch *b, uint64_t vaddr, struct answer *ret_answer,
                       struct cairn_err *err)
{
    struct cairn_frames_request request = {.module = b->module,
                                           .demangler = &b->s->demangler,
                                           .vaddr = vaddr,
                                           .now = b->s->now,
                                           .no_inlines = b->s->no_inlines};
    struct answer answer = {.first = (uint32_t)b->frames.n, .known = true};
    int code = CAIRN_OK;
    answer.holds = cairn_module_holds(b->module, vaddr);
    if (answer.holds)
        code = cairn_frames_add(&request, &b->frames, err);
    answer.n = (uint32_t)b->frames.n - answer.first;
    *ret_answer = answer;
    return code;
}

/* Finds the frames of all questions, each address once. */
static int find_answers(struct batch *b, struct cairn_err *err)
{
    int code = CAIRN_OK;
    b->frames.n = 0;
    memset(b->answers, 0, b->n * sizeof *b->answers);
    if (sort_questions(b) < 0)
        return cairn_fail_memory(err);
    b->n_forgotten = b->module->index->n_forgotten;
    for (size_t i = 0; code == CAIRN_OK && i < b->n && b->frames.n < FRAMES_TOGETHER; i++) {
        uint32_t number = b->questions[i].number, last = i ? b->questions[i - 1].number : 0;
        if (i && b->vaddrs[number] == b->vaddrs[last])
            b->answers[number] = b->answers[last];
        else
            code = find_answer(b, b->vaddrs[number], &b->answers[number], err);
    }
    return code;
}

/* What the answer `number` points to will be read soon; `near`: it itself was fetched before. */
static void fetch_ahead(const struct batch *b, size_t number, bool near)
{
    const struct answer *answer = number < b->n ? &b->answers[number] : NULL;
    for (uint32_t i = 0; answer && i < answer->n; i++) {
        const struct cairn_symbol_frame *frame = &b->frames.frames[answer->first + i];
        if (!near) {
            __builtin_prefetch(frame);
        } else if (frame->function) {
            __builtin_prefetch(frame->function);
            __builtin_prefetch((const void *)((uintptr_t)frame->function + CACHE_LINE));
        }
    }
}

static int hand_out(struct batch *b, size_t number, size_t first, cairn_symbol_fn each, void *ctx,
                    struct cairn_err *err)
{
    const struct answer *answer = &b->answers[number];
    struct cairn_symbol symbol = {.state = CAIRN_SYMBOL_OUTSIDE};
    int code = CAIRN_OK;
    /* Texts that were found are gone where `each`, or a question alone, had them forgotten. */
    if (!answer->known || !b->module->index || b->module->index->n_forgotten != b->n_forgotten) {
        code = cairn_symbolize(b->s, b->module, b->vaddrs[number], &symbol, err);
    } else if (answer->holds) {
        symbol.state = CAIRN_SYMBOL_NO_SYMBOL;
        symbol.frames = b->frames.frames + answer->first;
        symbol.n_frames = answer->n;
        for (uint32_t i = 0; i < answer->n; i++)
            if (symbol.frames[i].function)
                symbol.state = CAIRN_SYMBOL_NAMED;
    }
    if (code == CAIRN_OK && cairn_file_any_cut())
        code = cairn_symbolizer_check_cut(b->module, err);
    return code < 0 ? code : each(ctx, first + number, &symbol);
}

int cairn_symbolize_sorted(struct cairn_symbolizer *s, struct cairn_module *module,
                           const uint64_t *vaddrs, size_t n_vaddrs, cairn_symbol_fn each, void *ctx,
                           struct cairn_err *err)
{
    struct batch b = {.s = s, .module = module};
    size_t room = n_vaddrs < TOGETHER ? n_vaddrs : TOGETHER;
    b.questions = cairn_realloc(NULL, room, sizeof *b.questions);
    b.answers = cairn_realloc(NULL, room, sizeof *b.answers);
    int code = b.questions && b.answers ? CAIRN_OK : cairn_fail_memory(err);
    for (size_t first = 0; code == CAIRN_OK && first < n_vaddrs; first += b.n) {
        b.vaddrs = vaddrs + first;
        b.n = n_vaddrs - first < room ? n_vaddrs - first : room;
        code = find_answers(&b, err);
        for (size_t i = 0; code == CAIRN_OK && i < b.n; i++) {
            fetch_ahead(&b, i + 2 * AHEAD, false);
            fetch_ahead(&b, i + AHEAD / 2, true);
            code = hand_out(&b, i, first, each, ctx, err);
        }
    }
    cairn_free(b.questions);
    cairn_free(b.answers);
    cairn_frames_done(&b.frames);
    return code;
}
