/* SPDX-License-Identifier: MIT */
/* An index answers as the units do, whoever made it; and a damaged one does no harm. */
#include "symbol/index.h"

#include <stdio.h>

#include "base/alloc.h"
#include "symbol/module.h"
#include "unit/symbol/index_module.h"

struct pair {
    struct cairn_symbolizer *s[2]; /* unit by unit, and by index */
    struct cairn_module *m[2];
    struct cairn_buffer image;
    struct cairn_index index;
    struct cairn_err err;
};

static const struct cairn_symbolizer_opts by_units = {.size = sizeof by_units,
                                                      .index = CAIRN_INDEX_NEVER};

static void build(struct pair *p, unsigned n_threads)
{
    assert_ok(cairn_index_build(p->m[1], n_threads, SIZE_MAX, &p->image, &p->err), p->err);
    assert_ok(cairn_index_open(cairn_buffer_span(&p->image), &p->index, &p->err), p->err);
    p->m[1]->index = &p->index;
}

static struct pair *open_made(const struct cairn_symbolizer_opts *opts)
{
    size_t size;
    uint8_t *bytes = made_elf(&size);
    struct pair *p = calloc(1, sizeof *p);
    assert_non_null(p);
    for (int i = 0; i < 2; i++) {
        assert_ok(cairn_symbolizer_new(opts, &p->s[i], &p->err), p->err);
        assert_ok(cairn_symbolizer_open_bytes(p->s[i], "made", bytes, size, &p->m[i], &p->err),
                  p->err);
    }
    free(bytes);
    return p;
}

static void close_pair(struct pair *p)
{
    p->m[1]->index = NULL;
    cairn_index_done(&p->index);
    cairn_buffer_done(&p->image);
    for (int i = 0; i < 2; i++)
        cairn_symbolizer_free(p->s[i]);
    free(p);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static void compare_answers(const struct cairn_symbol *answers, uint64_t vaddr)
{
    bool same = answers[0].state == answers[1].state && answers[0].n_frames == answers[1].n_frames;
    for (uint32_t i = 0; same && i < answers[0].n_frames; i++) {
        const struct cairn_symbol_frame *a = &answers[0].frames[i], *b = &answers[1].frames[i];
        same = same_text(a->function, b->function) && same_text(a->linkage, b->linkage) &&
               same_text(a->file, b->file) && same_text(a->suffix, b->suffix) &&
               a->line == b->line && a->start_line == b->start_line && a->inlined == b->inlined &&
               a->source == b->source && a->folded == b->folded;
        if (!same)
            print_message("units: %s %s:%u, index: %s %s:%u\n", a->function, a->file, a->line,
                          b->function, b->file, b->line);
    }
    if (!same)
        fail_msg("0x%llx: answers differ", (unsigned long long)vaddr);
}

static void same_answers(struct pair *p, uint64_t vaddr)
{
    struct cairn_symbol answers[2];
    for (int i = 0; i < 2; i++)
        assert_ok(cairn_symbolize(p->s[i], p->m[i], vaddr, &answers[i], &p->err), p->err);
    compare_answers(answers, vaddr);
}

static void a_made_module_has_the_same_answers_in_all_forms(void **state)
{
    (void)state;
    for (int form = 0; form < 6; form++) {
        struct cairn_symbolizer_opts opts = by_units;
        opts.names = (enum cairn_names)(form % 3);
        opts.no_inlines = form / 3;
        struct pair *p = open_made(&opts);
        build(p, 1);
        for (uint64_t vaddr = 0xff0; vaddr < 0x1810; vaddr++)
            same_answers(p, vaddr);
        close_pair(p);
    }
}

/* Questions to a batch, and what else happens between two answers. */
struct asked {
    struct pair *pair;
    uint64_t *vaddrs;
    size_t n;
    size_t forgets_at; /* the texts of the index; SIZE_MAX: never */
};

static int compare_one(void *ctx, size_t index, const struct cairn_symbol *symbol)
{
    struct asked *asked = ctx;
    struct pair *p = asked->pair;
    struct cairn_symbol answers[2] = {{0}, *symbol};
    assert_int_equal(index, asked->n++);
    assert_ok(cairn_symbolize(p->s[0], p->m[0], asked->vaddrs[index], &answers[0], &p->err),
              p->err);
    compare_answers(answers, asked->vaddrs[index]);
    if (index == asked->forgets_at)
        cairn_index_forget(p->m[1]->index);
    return 0;
}

/* In no order, each more than once, more than are answered together. */
static void many_questions_are_answered_in_their_order(void **state)
{
    (void)state;
    enum { N = 300000, LOW = 0xff0, HIGH = 0x1810 };
    static const size_t forgets_at[] = {SIZE_MAX, 3, N / 2};
    for (size_t i = 0; i < sizeof forgets_at / sizeof *forgets_at; i++) {
        struct pair *p = open_made(&by_units);
        struct asked asked = {.pair = p, .forgets_at = forgets_at[i]};
        asked.vaddrs = calloc(N, sizeof *asked.vaddrs);
        assert_non_null(asked.vaddrs);
        for (size_t n = 0; n < N; n++)
            asked.vaddrs[n] = n % 1000 ? LOW + n * 7919 % (HIGH - LOW) : n * 0x100000000;
        build(p, 1);
        assert_ok(
            cairn_symbolize_batch(p->s[1], p->m[1], asked.vaddrs, N, compare_one, &asked, &p->err),
            p->err);
        assert_int_equal(asked.n, N);
        free(asked.vaddrs);
        close_pair(p);
    }
}

static void what_overlaps_is_answered_by_the_first_unit_that_knows_a_function(void **state)
{
    (void)state;
    static const struct {
        uint64_t vaddr;
        const char *function;
        uint32_t line;
    } expected[] = {
        {0x1014, "app::leaf(int)", 3}, {0x1050, "outer", 11},         {0x1085, "app::hidden", 19},
        {0x1095, "app::hidden()", 19}, {0x10b8, "app::hidden", 19},   {0x10c8, NULL, 19},
        {0x1104, "only_symbol", 19},   {0x1300, "app::alias_a()", 0}, {0x107f, "outer", 19}};
    struct pair *p = open_made(&by_units);
    build(p, 1);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        struct cairn_symbol symbol;
        assert_ok(cairn_symbolize(p->s[1], p->m[1], expected[i].vaddr, &symbol, &p->err), p->err);
        assert_true(symbol.n_frames > 0);
        if (!same_text(symbol.frames[0].function, expected[i].function) ||
            symbol.frames[0].line != expected[i].line)
            fail_msg("0x%llx: %s line %u, expected %s line %u",
                     (unsigned long long)expected[i].vaddr, symbol.frames[0].function,
                     symbol.frames[0].line, expected[i].function, expected[i].line);
    }
    close_pair(p);
}

/* This very program: real compiler output, by several threads. */
static void a_real_program_has_the_same_answers_and_one_image(void **state)
{
    (void)state;
    struct pair *p = calloc(1, sizeof *p);
    struct cairn_buffer other = {0};
    assert_non_null(p);
    for (int i = 0; i < 2; i++) {
        assert_ok(cairn_symbolizer_new(&by_units, &p->s[i], &p->err), p->err);
        assert_ok(cairn_symbolizer_open_file(p->s[i], "/proc/self/exe", &p->m[i], &p->err), p->err);
    }
    build(p, 4);
    assert_ok(cairn_index_build(p->m[0], 1, SIZE_MAX, &other, &p->err), p->err);
    assert_int_equal(other.size, p->image.size);
    assert_memory_equal(other.data, p->image.data, other.size);
    cairn_buffer_done(&other);
    size_t n = 0;
    struct cairn_elf_section section;
    for (uint32_t i = 0; cairn_elf_section(&p->m[0]->image, i, &section); i++)
        if (section.flags & SHF_EXECINSTR)
            for (uint64_t at = 0; at < section.size; at += 7, n++)
                same_answers(p, section.vaddr + at);
    assert_true(n > 1000);
    close_pair(p);
}

/* Asks all over the module; every text is read to its end. */
static void ask_all(struct pair *p, const struct cairn_span *image)
{
    size_t sink = 0;
    p->m[1]->index = NULL;
    cairn_index_done(&p->index);
    if (cairn_index_open(*image, &p->index, &p->err) < 0) {
        assert_int_equal(p->err.code, CAIRN_E_FORMAT);
        return;
    }
    p->m[1]->index = &p->index;
    for (uint64_t vaddr = 0x1000; vaddr < 0x1400; vaddr += 3) {
        struct cairn_symbol symbol;
        assert_ok(cairn_symbolize(p->s[1], p->m[1], vaddr, &symbol, &p->err), p->err);
        for (uint32_t i = 0; i < symbol.n_frames; i++)
            sink += strlen(symbol.frames[i].function ? symbol.frames[i].function : "") +
                    strlen(symbol.frames[i].linkage ? symbol.frames[i].linkage : "") +
                    strlen(symbol.frames[i].file ? symbol.frames[i].file : "");
    }
    assert_true(sink < SIZE_MAX / 2);
}

static void a_cut_or_changed_image_is_refused_or_answers_within_bounds(void **state)
{
    (void)state;
    struct pair *p = open_made(&by_units);
    build(p, 1);
    for (size_t size = 0; size < p->image.size; size += size < 320 ? 1 : 13) {
        uint8_t *copy = test_copy(p->image.data, size);
        struct cairn_index index;
        struct cairn_err err;
        assert_fails(cairn_index_open((struct cairn_span){copy, size}, &index, &err),
                     CAIRN_E_FORMAT, err, "index");
        free(copy);
    }
    for (size_t at = 0; at < p->image.size; at++) {
        static const uint8_t changes[] = {0x01, 0x80, 0xff};
        for (size_t i = 0; i < sizeof changes; i++) {
            uint8_t *copy = test_copy(p->image.data, p->image.size);
            copy[at] ^= changes[i];
            ask_all(p, &(struct cairn_span){copy, p->image.size});
            free(copy);
        }
    }
    close_pair(p);
}

static void another_version_is_named(void **state)
{
    (void)state;
    struct pair *p = open_made(&by_units);
    struct cairn_index index;
    struct cairn_err err;
    build(p, 1);
    p->image.data[8]++;
    assert_fails(cairn_index_open(cairn_buffer_span(&p->image), &index, &err), CAIRN_E_FORMAT, err,
                 "version");
    close_pair(p);
}

static void a_module_without_anything_gives_an_index_of_nothing(void **state)
{
    (void)state;
    static struct test_elf elf;
    struct cairn_symbol symbol;
    struct pair *p = calloc(1, sizeof *p);
    size_t size;
    assert_non_null(p);
    elf = test_elf_of(true, false, ET_DYN, EM_X86_64);
    test_elf_load(&elf, PF_R | PF_X, 0x1000, 0x1000, 0x800, 0x800);
    uint8_t *bytes = test_elf_finish(&elf, &size);
    for (int i = 0; i < 2; i++) {
        assert_ok(cairn_symbolizer_new(&by_units, &p->s[i], &p->err), p->err);
        assert_ok(cairn_symbolizer_open_bytes(p->s[i], "made", bytes, size, &p->m[i], &p->err),
                  p->err);
    }
    free(bytes);
    build(p, 2);
    assert_ok(cairn_symbolize(p->s[1], p->m[1], 0x1100, &symbol, &p->err), p->err);
    assert_int_equal(symbol.state, CAIRN_SYMBOL_NO_SYMBOL);
    close_pair(p);
}

static void without_memory_there_is_an_error_and_no_leak(void **state)
{
    (void)state;
    int code = CAIRN_E_NOMEM;
    for (long n = 0; code == CAIRN_E_NOMEM && n < 5000; n++) {
        struct pair *p = open_made(&by_units);
        struct cairn_symbol symbol;
        cairn_alloc_fail_after(n);
        code = cairn_index_build(p->m[1], 1, SIZE_MAX, &p->image, &p->err);
        if (code == CAIRN_OK)
            code = cairn_index_open(cairn_buffer_span(&p->image), &p->index, &p->err);
        if (code == CAIRN_OK) {
            p->m[1]->index = &p->index;
            code = cairn_symbolize(p->s[1], p->m[1], 0x1014, &symbol, &p->err);
        }
        cairn_alloc_fail_after(-1);
        assert_true(code == CAIRN_OK || p->err.code == CAIRN_E_NOMEM);
        close_pair(p);
    }
    assert_int_equal(code, CAIRN_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_made_module_has_the_same_answers_in_all_forms),
        cmocka_unit_test(many_questions_are_answered_in_their_order),
        cmocka_unit_test(what_overlaps_is_answered_by_the_first_unit_that_knows_a_function),
        cmocka_unit_test(a_real_program_has_the_same_answers_and_one_image),
        cmocka_unit_test(a_cut_or_changed_image_is_refused_or_answers_within_bounds),
        cmocka_unit_test(another_version_is_named),
        cmocka_unit_test(a_module_without_anything_gives_an_index_of_nothing),
        cmocka_unit_test(without_memory_there_is_an_error_and_no_leak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
