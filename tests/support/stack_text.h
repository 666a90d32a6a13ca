/* SPDX-License-Identifier: MIT */
/* What each reader of printed stacks must do: with a sound text, with each of its truncations, with
 * any byte changed, and without memory. */
#ifndef CAIRN_TESTS_SUPPORT_STACK_TEXT_H
#define CAIRN_TESTS_SUPPORT_STACK_TEXT_H

#include <stdio.h>

#include "base/buffer.h"
#include "profile/profile.h"
#include "support/memory_io.h"
#include "support/no_memory.h"
#include "support/test.h"

struct test_stack_text {
    const char *text;
    size_t size;
    enum cairn_format format;
    size_t n_samples;
    const char *names;   /* all names of functions, in any order: no part of one may come */
    const char *modules; /* the same of paths of modules; NULL: any may come */
};

static inline struct cairn_profile *test_stack_text_read(const struct test_stack_text *t,
                                                         enum cairn_format format)
{
    struct cairn_profile *profile = NULL;
    struct cairn_err err;
    int code = test_read_profile((struct cairn_span){(const uint8_t *)t->text, t->size}, format,
                                 &profile, &err);
    assert_ok(code, err);
    assert_int_equal(profile->n_samples, t->n_samples);
    return profile;
}

/* The frames of a sample, leaf first: "name file:line; ...", "+0xoff of module (build ID)" and
 * "0xaddress" without a name, "~" before what is inlined. */
static inline void test_assert_stack(const struct cairn_profile *p, size_t sample,
                                     const char *expected)
{
    struct cairn_buffer text = {0};
    for (uint32_t at = p->samples[sample].stack; at; at = p->stacks[at].parent) {
        const struct cairn_profile_frame *frame = &p->frames[p->stacks[at].frame];
        const struct cairn_profile_module *module = &p->modules[frame->module];
        if (text.size)
            cairn_buffer_printf(&text, "; ");
        if (frame->what == CAIRN_WHAT_INLINED)
            cairn_buffer_printf(&text, "~");
        if (frame->n_lines) {
            const struct cairn_profile_line *line = &p->lines[frame->lines];
            const struct cairn_profile_function *function = &p->functions[line->function];
            cairn_buffer_printf(&text, "%s", cairn_strings_get(&p->strings, function->name));
            if (function->file)
                cairn_buffer_printf(&text, " %s:%u", cairn_strings_get(&p->strings, function->file),
                                    line->line);
        } else {
            cairn_buffer_printf(&text, "%s%#llx", frame->module ? "+" : "",
                                (unsigned long long)frame->address);
        }
        if (frame->module)
            cairn_buffer_printf(&text, " of %s", cairn_strings_get(&p->strings, module->path));
        if (module->build_id)
            cairn_buffer_printf(&text, " (%s)", cairn_strings_get(&p->strings, module->build_id));
    }
    assert_string_equal(cairn_buffer_text(&text), expected);
    cairn_buffer_done(&text);
}

/* A label's text, or its number as text; "" where it is missing. */
static inline void test_assert_label(const struct cairn_profile *p, size_t sample, const char *key,
                                     const char *expected)
{
    const struct cairn_profile_label *label =
        cairn_profile_find_label(p, p->samples[sample].labels, key);
    char number[32] = "";
    if (label && !label->text)
        snprintf(number, sizeof number, "%lld", (long long)label->number);
    assert_string_equal(label && label->text ? cairn_strings_get(&p->strings, label->text) : number,
                        expected);
}

/* The most stacks of a text that is cut short by a byte or more. */
static inline size_t test_stack_text_cuts(const struct test_stack_text *t)
{
    size_t n_most = 0;
    for (size_t size = 0; size < t->size; size++) {
        struct cairn_profile *p = NULL;
        struct cairn_err err;
        int code = test_read_profile((struct cairn_span){(const uint8_t *)t->text, size}, t->format,
                                     &p, &err);
        assert_int_equal(code, p ? CAIRN_OK : CAIRN_E_FORMAT);
        if (!p)
            continue;
        /* A stack whose last frame may not be whole yet is not yet the same as another. */
        assert_true(p->n_samples + 1 >= n_most);
        n_most = p->n_samples > n_most ? p->n_samples : n_most;
        for (uint32_t i = 1; i < p->n_functions; i++)
            assert_non_null(strstr(t->names, cairn_strings_get(&p->strings, p->functions[i].name)));
        for (uint32_t i = 1; t->modules && i < p->n_modules; i++)
            assert_non_null(strstr(t->modules, cairn_strings_get(&p->strings, p->modules[i].path)));
        cairn_profile_free(p);
    }
    assert_true(n_most + 1 >= t->n_samples);
    return n_most;
}

/* Any byte may be wrong: at most `n_lost` stacks are, and at most `n_more` come about. */
static inline void test_stack_text_odd_bytes(const struct test_stack_text *t, size_t n_lost,
                                             size_t n_more)
{
    static const char odd[] = {0, '\n', '#', '(', ')', ' ', '[', '<', '\'', '\t', (char)0xff};
    char *changed = malloc(t->size);
    assert_non_null(changed);
    for (size_t i = 0; i < t->size * sizeof odd; i++) {
        struct cairn_profile *p = NULL;
        struct cairn_err err;
        memcpy(changed, t->text, t->size);
        changed[i / sizeof odd] = odd[i % sizeof odd];
        int code = test_read_profile((struct cairn_span){(const uint8_t *)changed, t->size},
                                     t->format, &p, &err);
        assert_ok(code, err);
        assert_true(p->n_samples + n_lost >= t->n_samples);
        assert_true(p->n_samples <= t->n_samples + n_more);
        cairn_profile_free(p);
    }
    free(changed);
}

static inline void test_stack_text_no_memory(const struct test_stack_text *t)
{
    test_read_without_memory((struct cairn_span){(const uint8_t *)t->text, t->size}, t->format);
}

/* A text that is recognised and has no stack. */
static inline void test_stack_text_fails(const char *from, const char *message, const char *hint)
{
    struct cairn_profile *p = NULL;
    struct cairn_err err;
    assert_fails(test_read_profile(cairn_span_of(from), CAIRN_FORMAT_AUTO, &p, &err),
                 CAIRN_E_FORMAT, err, message);
    assert_non_null(strstr(err.hint, hint));
}

#endif /* CAIRN_TESTS_SUPPORT_STACK_TEXT_H */
