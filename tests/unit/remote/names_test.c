/* SPDX-License-Identifier: MIT */
/* Names by asking: frames of a profile, a resolver without files, and answers that lie. */
#include <cairn/remote.h>
#include <cairn/resolve.h>

#include "base/buffer.h"
#include "profile/profile.h"
#include "support/test.h"

struct answers {
    struct cairn_resolver *resolver;
    const char *fixed; /* instead of the resolver's */
    size_t fixed_size;
    size_t n_asks;
    struct cairn_buffer out;
};

static int add(void *out, const void *bytes, size_t size)
{
    cairn_buffer_add(out, bytes, size);
    return 0;
}

static int exchange(void *ctx, const void *ask, size_t size, const void **ret_answer,
                    size_t *ret_size, struct cairn_err *err)
{
    struct answers *answers = ctx;
    struct cairn_remote_count count = {.size = sizeof count};
    answers->n_asks++;
    cairn_buffer_clear(&answers->out);
    if (answers->fixed)
        cairn_buffer_add(&answers->out, answers->fixed, answers->fixed_size);
    int code = answers->fixed ? CAIRN_OK
                              : cairn_remote_answer_names(answers->resolver, ask, size, add,
                                                          &answers->out, &count, err);
    *ret_answer = answers->out.data;
    *ret_size = answers->out.size;
    return code;
}

static struct cairn_profile *profile_of(const char *path, const char *build_id, uint64_t n_frames)
{
    struct cairn_profile *p;
    struct cairn_err err;
    assert_ok(cairn_profile_new(&p, &err), err);
    struct cairn_profile_module module = {.start = 0x1000, .end = 0x100000};
    module.path = cairn_profile_text(p, path, strlen(path));
    module.build_id = cairn_profile_text(p, build_id, strlen(build_id));
    uint32_t number = cairn_profile_add_module(p, &module);
    for (uint64_t i = 0; i < n_frames; i++) {
        struct cairn_profile_frame frame = {.address = 0x1000 + i, .module = number};
        assert_int_not_equal(cairn_profile_add_frame(p, &frame, NULL, 0), UINT32_MAX);
    }
    return p;
}

static int ask_fixed(struct cairn_profile *p, const char *answer, size_t size,
                     struct cairn_err *err)
{
    struct answers answers = {.fixed = answer, .fixed_size = size};
    int code = cairn_remote_ask_names(p, exchange, &answers, err);
    cairn_buffer_done(&answers.out);
    return code;
}

static void an_answer_names_frames_with_what_was_inlined(void **state)
{
    (void)state;
    static const char answer[] = "\2" /* frames */
                                 "\2\0"
                                 "inner\0\0f.c\0\3\7"
                                 "outer\0_Zouter\0f.c\0\1\11"
                                 "\0\0";
    struct cairn_profile *p = profile_of("/bin/x", "0123456789abcdef", 2);
    struct cairn_err err;
    assert_ok(ask_fixed(p, answer, sizeof answer - 1, &err), err);
    assert_int_equal(p->frames[1].n_lines, 2);
    assert_int_equal(p->frames[2].n_lines, 0);
    const struct cairn_profile_line *line = &p->lines[p->frames[1].lines];
    const struct cairn_profile_function *f = &p->functions[line[1].function];
    assert_string_equal(cairn_strings_get(&p->strings, f->name), "outer");
    assert_string_equal(cairn_strings_get(&p->strings, f->system_name), "_Zouter");
    assert_string_equal(cairn_strings_get(&p->strings, f->file), "f.c");
    assert_int_equal(f->start_line, 1);
    assert_int_equal(line[0].line, 7);
    assert_true(p->modules[1].has_lines);
    cairn_profile_free(p);
}

static void an_answer_that_is_none_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
    } bad[] = {{"\1", 1}, /* another number of frames */
               {"\2", 1},
               {"\2\1\0name", 7},
               {"\2\1\0name\0\0\0", 10},
               {"\2\1\0\0\0\0\0\0\0\0", 10},           /* no name */
               {"\2\1\2name\0\0\0\0\0\0\0", 13},       /* folded is 0 or 1 */
               {"\2\377\377\377\377\17\0name\0", 12}}; /* 4 billion lines */
    struct cairn_err err;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct cairn_profile *p = profile_of("/bin/x", "0123456789abcdef", 2);
        assert_int_equal(ask_fixed(p, bad[i].bytes, bad[i].size, &err), CAIRN_E_FORMAT);
        assert_int_equal(p->frames[1].n_lines, 0);
        cairn_profile_free(p);
    }
}

static void what_has_no_build_id_is_not_asked(void **state)
{
    (void)state;
    struct answers answers = {.fixed = ""};
    struct cairn_profile *p = profile_of("/bin/x", "", 2);
    struct cairn_profile *vdso = profile_of("[vdso]", "0123456789abcdef", 2);
    struct cairn_err err;
    assert_ok(cairn_remote_ask_names(p, exchange, &answers, &err), err);
    assert_ok(cairn_remote_ask_names(vdso, exchange, &answers, &err), err);
    assert_int_equal(answers.n_asks, 0);
    cairn_profile_free(p);
    cairn_profile_free(vdso);
}

static void many_addresses_are_asked_in_parts_and_a_missing_file_names_none(void **state)
{
    (void)state;
    struct answers answers = {0};
    struct cairn_profile *p = profile_of("/nonexistent/x", "0123456789abcdef", 1200);
    struct cairn_err err;
    assert_ok(cairn_resolver_new(NULL, &answers.resolver, &err), err);
    assert_ok(cairn_remote_ask_names(p, exchange, &answers, &err), err);
    assert_int_equal(answers.n_asks, 3);
    assert_int_equal(p->frames[1].n_lines, 0);
    cairn_resolver_free(answers.resolver);
    cairn_buffer_done(&answers.out);
    cairn_profile_free(p);
}

static void an_ask_that_is_none_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
    } bad[] = {{"", 0},
               {"\377\377\377\17", 4}, /* modules without end */
               {"\1/x\0short\0\0\0\0\0", 13},
               {"\1/x\00001234567\0\2\1\0\0", 17},     /* ends before it starts */
               {"\1/x\00001234567\0\1\2\0\1\1\1", 19}, /* a module that is not there */
               {"\1/x\00001234567\0\1\2\0\1\0\0", 19}};
    struct cairn_resolver *resolver;
    struct cairn_buffer out = {0};
    struct cairn_err err;
    assert_ok(cairn_resolver_new(NULL, &resolver, &err), err);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct cairn_remote_count count = {.size = sizeof count};
        assert_int_equal(
            cairn_remote_answer_names(resolver, bad[i].bytes, bad[i].size, add, &out, &count, &err),
            CAIRN_E_FORMAT);
    }
    assert_int_equal(out.size, 0);
    cairn_resolver_free(resolver);
}

static int name_all(void *n_calls, struct cairn_profile *profile, struct cairn_err *err)
{
    ++*(int *)n_calls;
    return ask_fixed(profile, "\1\1\0far\0\0\0\0\0", 11, err);
}

static void whoever_is_asked_first_names_before_the_resolver_does(void **state)
{
    (void)state;
    int n_calls = 0;
    struct cairn_resolver *resolver;
    struct cairn_profile *p = profile_of("/nonexistent/x", "0123456789abcdef", 1);
    struct cairn_err err;
    assert_ok(cairn_resolver_new(NULL, &resolver, &err), err);
    cairn_resolve_ask_first(name_all, &n_calls);
    assert_ok(cairn_resolve_profile(resolver, p, &err), err);
    cairn_resolve_ask_first(NULL, NULL);
    assert_int_equal(n_calls, 1);
    assert_int_equal(p->frames[1].n_lines, 1);
    cairn_resolver_free(resolver);
    cairn_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_names_frames_with_what_was_inlined),
        cmocka_unit_test(an_answer_that_is_none_is_refused),
        cmocka_unit_test(what_has_no_build_id_is_not_asked),
        cmocka_unit_test(many_addresses_are_asked_in_parts_and_a_missing_file_names_none),
        cmocka_unit_test(an_ask_that_is_none_is_refused),
        cmocka_unit_test(whoever_is_asked_first_names_before_the_resolver_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
