/* SPDX-License-Identifier: MIT */
/* What is done with every profile that a fuzzed reader lets through: all that the commands do. */
#ifndef CAIRN_TESTS_PROFILE_FUZZ_H
#define CAIRN_TESTS_PROFILE_FUZZ_H

#include <cairn/diff.h>
#include <cairn/select.h>
#include <cairn/tree.h>

#include "formats/format.h"
#include "profile/profile.h"
#include "support/memory_io.h"

/* What was written must be read again, and written once more must be the same bytes. */
static inline void fuzz_again(const struct cairn_profile *p, enum cairn_format format)
{
    struct cairn_buffer first = {0}, second = {0}, third = {0};
    struct cairn_profile *q, *r;
    struct cairn_err err;
    if (cairn_profile_write(p, format, test_write, &first, &err) < 0 ||
        test_read_profile(cairn_buffer_span(&first), format, &q, &err) < 0 ||
        cairn_profile_write(q, format, test_write, &second, &err) < 0 ||
        test_read_profile(cairn_buffer_span(&second), format, &r, &err) < 0 ||
        cairn_profile_write(r, format, test_write, &third, &err) < 0)
        __builtin_trap();
    if (!cairn_span_equal(cairn_buffer_span(&second), cairn_buffer_span(&third)))
        __builtin_trap();
    cairn_profile_free(q);
    cairn_profile_free(r);
    cairn_buffer_done(&first);
    cairn_buffer_done(&second);
    cairn_buffer_done(&third);
}

/* What cannot be read again must be written at least, or be refused for its values. */
static inline void fuzz_for_viewers(const struct cairn_profile *p)
{
    struct cairn_buffer out = {0};
    if (cairn_profile_write(p, CAIRN_FORMAT_FIREFOX, test_write, &out, NULL) < 0 || !out.size)
        __builtin_trap();
    cairn_buffer_clear(&out);
    static const enum cairn_format formats[] = {CAIRN_FORMAT_SPEEDSCOPE, CAIRN_FORMAT_CALLGRIND,
                                                CAIRN_FORMAT_CHROME, CAIRN_FORMAT_OTLP};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        int code = cairn_profile_write(p, formats[i], test_write, &out, NULL);
        if (code != CAIRN_OK && code != CAIRN_E_ARG)
            __builtin_trap();
        cairn_buffer_clear(&out);
    }
    cairn_buffer_done(&out);
}

/* A sample is written as often as it counts: those that count a lot take too long here. */
static inline bool fuzz_is_light(const struct cairn_profile *p)
{
    enum { LIGHT = 1 << 12 };
    uint64_t sum = 0;
    for (size_t i = 0; i < p->n_samples; i++)
        if (__builtin_add_overflow(sum, cairn_profile_weight(p, i), &sum))
            return false;
    return sum < LIGHT;
}

/* Recordings of perf hold less: what they hold must be read again and be the same from then on. */
static inline void fuzz_perf_data(const struct cairn_profile *p)
{
    enum { TIMES = 3, EVERY = 16 };
    static unsigned n_calls; /* of a plain test some are enough; one input alone is the first */
    struct cairn_buffer out[TIMES] = {0};
    struct cairn_profile *read[TIMES] = {NULL};
    int code = n_calls++ % EVERY == 0 && fuzz_is_light(p) ? CAIRN_OK : CAIRN_E_ARG;
    for (size_t i = 0; i < TIMES && code == CAIRN_OK; i++) {
        code = cairn_profile_write(i ? read[i - 1] : p, CAIRN_FORMAT_PERF_DATA, test_write, &out[i],
                                   NULL);
        if ((code != CAIRN_OK && code != CAIRN_E_ARG) ||
            (code == CAIRN_OK &&
             test_read_profile(cairn_buffer_span(&out[i]), CAIRN_FORMAT_PERF_DATA, &read[i], NULL)))
            __builtin_trap();
    }
    if (code == CAIRN_OK &&
        !cairn_span_equal(cairn_buffer_span(&out[1]), cairn_buffer_span(&out[2])))
        __builtin_trap();
    for (size_t i = 0; i < TIMES; i++) {
        cairn_profile_free(read[i]);
        cairn_buffer_done(&out[i]);
    }
}

/* Ends and depths say the same, and what is not there was counted. */
static inline void fuzz_tree(const struct cairn_profile *p, enum cairn_tree_kind kind)
{
    enum { LEVELS = 4 };
    const struct cairn_tree_opts opts = {.size = sizeof opts,
                                         .value_type = cairn_profile_default_value(p),
                                         .kind = kind,
                                         .depth = LEVELS,
                                         .least_percent = 10};
    struct cairn_tree *tree;
    if (cairn_tree_new(p, &opts, &tree, NULL) < 0)
        __builtin_trap();
    const struct cairn_tree_node *nodes;
    struct cairn_tree_counts counts = {.size = sizeof counts};
    size_t n = cairn_tree_nodes(tree, &nodes);
    cairn_tree_count(tree, &counts);
    if (counts.n_nodes != n + counts.n_small || counts.n_roots_left)
        __builtin_trap();
    for (size_t i = 0; i < n; i++) {
        size_t end = i + 1;
        while (end < n && nodes[end].depth > nodes[i].depth)
            end++;
        if (nodes[i].end != end || nodes[i].depth >= LEVELS ||
            (i ? nodes[i].depth > nodes[i - 1].depth + 1 : nodes[i].depth > 0))
            __builtin_trap();
    }
    cairn_tree_free(tree);
}

static inline void fuzz_diff(const struct cairn_profile *p)
{
    const struct cairn_diff_opts opts = {.size = sizeof opts};
    struct cairn_diff *diff;
    if (cairn_diff_new(p, p, &opts, &diff, NULL) < 0)
        __builtin_trap();
    const struct cairn_diff_row *rows;
    size_t n = cairn_diff_functions(diff, &rows);
    for (size_t i = 0; i < n; i++)
        if (rows[i].self_change != 0 || rows[i].total_change != 0 || !rows[i].in_old ||
            !rows[i].in_new)
            __builtin_trap();
    cairn_diff_free(diff);
}

static inline void fuzz_views(struct cairn_profile *p)
{
    struct cairn_profile_stats stats = {.size = sizeof stats};
    cairn_profile_stats(p, &stats);
    struct cairn_cut_row cuts[4];
    cairn_profile_cuts(p, cuts, 4);
    struct cairn_top *top;
    if (cairn_profile_top(p, cairn_profile_default_value(p), &top, NULL) < 0)
        __builtin_trap();
    const struct cairn_top_row *rows;
    size_t n = cairn_top_rows(top, &rows), named = 0;
    for (size_t i = 0; i < n; i++)
        named += rows[i].function[0] != 0;
    if (named != n)
        __builtin_trap(); /* a row always has something to call it by */
    cairn_top_free(top);
    for (int kind = CAIRN_TREE_CALLS; kind <= CAIRN_TREE_CALLERS; kind++)
        fuzz_tree(p, (enum cairn_tree_kind)kind);
    fuzz_diff(p);
}

/* One filter drops or changes samples, or says that they do not say what it asks for. */
static inline void fuzz_filter(struct cairn_profile *p, enum cairn_select_kind kind,
                               const char *text)
{
    struct cairn_select_step step = {.size = sizeof step};
    struct cairn_select *select;
    size_t n_before = p->n_samples;
    if (cairn_select_new(&select, NULL) < 0 || cairn_select_add(select, kind, 0, text, NULL) < 0)
        __builtin_trap();
    int code = cairn_select_apply(select, p, NULL, NULL);
    if ((code != CAIRN_OK && code != CAIRN_E_ARG) || p->n_samples > n_before ||
        cairn_select_step(select, 0, &step) < 0 || step.n_without > step.n_samples)
        __builtin_trap();
    cairn_select_free(select);
}

static inline void fuzz_filters(struct cairn_profile *p)
{
    static const struct {
        enum cairn_select_kind kind;
        const char *text;
    } filters[] = {{CAIRN_SELECT_MERGE_THREADS, "a"}, {CAIRN_SELECT_HIDE, "a"},
                   {CAIRN_SELECT_BY_FUNCTION, ""},    {CAIRN_SELECT_PER_CPU, ""},
                   {CAIRN_SELECT_TIME, "0-1000"},     {CAIRN_SELECT_TIME_FILE, "THREAD_BEGIN 1 1"},
                   {CAIRN_SELECT_CUT, "2"},           {CAIRN_SELECT_EVENT, "cpu-clock"},
                   {CAIRN_SELECT_CPU, "0-3"},         {CAIRN_SELECT_PROCESS, "a"},
                   {CAIRN_SELECT_PID, "0-100"},       {CAIRN_SELECT_OFF_CPU, "mixed"},
                   {CAIRN_SELECT_OFF_CPU, "only"}};
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
        fuzz_filter(p, filters[i].kind, filters[i].text);
}

/* The same bytes, with all that can be kept of each sample. */
static inline void fuzz_kept(struct cairn_span bytes, enum cairn_format format)
{
    struct test_input from = {.left = bytes};
    const struct cairn_format_input input = {.read = test_read,
                                             .ctx = &from,
                                             .keeps = CAIRN_STREAM_TIMES | CAIRN_STREAM_CPUS |
                                                      CAIRN_FORMAT_PROCESSES | CAIRN_FORMAT_BIRTHS};
    struct cairn_profile *p;
    if (cairn_format_read(&input, format, &p, NULL) < 0)
        return;
    fuzz_filters(p);
    cairn_profile_free(p);
}

/* Frees the profile. */
static inline void fuzz_profile(struct cairn_profile *p)
{
    struct cairn_profile *merged;
    fuzz_again(p, CAIRN_FORMAT_PPROF);
    fuzz_again(p, CAIRN_FORMAT_COLLAPSED);
    fuzz_for_viewers(p);
    fuzz_perf_data(p);
    fuzz_views(p);
    if (cairn_profile_new(&merged, NULL) < 0 || cairn_profile_merge(merged, p, NULL) < 0 ||
        cairn_profile_merge(merged, p, NULL) < 0 || merged->n_samples != 2 * p->n_samples ||
        cairn_profile_sum_equal(merged) < 0)
        __builtin_trap();
    fuzz_filter(merged, CAIRN_SELECT_HIDE, "a");
    fuzz_filter(merged, CAIRN_SELECT_BY_FUNCTION, "");
    cairn_profile_free(merged);
    struct cairn_filter filter = {.size = sizeof filter, .function = "a", .label_key = "thread"};
    if (cairn_profile_filter(p, &filter, NULL) < 0)
        __builtin_trap();
    cairn_profile_free(p);
}

#endif /* CAIRN_TESTS_PROFILE_FUZZ_H */
