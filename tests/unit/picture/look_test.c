/* SPDX-License-Identifier: MIT */
#include "picture/look.h"

#include <stdio.h>

#include "profile/frame_kind.h"
#include "unit/picture/stacks.h"

static struct cairn_looks looks_of(const struct cairn_profile *p)
{
    struct cairn_looks looks;
    struct cairn_err err;
    assert_ok(cairn_looks_build(p, &looks, &err), err);
    return looks;
}

static const struct cairn_look *find(const struct cairn_looks *looks, const char *name)
{
    for (size_t i = 0; i < looks->n; i++)
        if (strcmp(cairn_strings_get(&looks->texts, looks->rows[i].name), name) == 0)
            return &looks->rows[i];
    fail_msg("no look is named \"%s\"", name);
    return NULL;
}

static void looks_are_numbered_in_the_order_of_their_names(void **state)
{
    (void)state;
    const char *const lines[] = {"b;a;c;Z 1", NULL};
    struct cairn_profile *p = stacks_profile(lines);
    struct cairn_looks looks = looks_of(p);
    static const char *const sorted[] = {"Z", "a", "b", "c"};
    assert_int_equal(looks.n, 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(cairn_strings_get(&looks.texts, looks.rows[i].name), sorted[i]);
    cairn_looks_done(&looks);
    cairn_profile_free(p);
}

static void kinds_follow_how_a_frame_was_found(void **state)
{
    (void)state;
    const char *const lines[] = {"cfi@c;fp@f;who;kern@k;lua@l;own@o;jit@j;guess@g;inl@i;0x7f00;"
                                 "lib.so+0x12;operator+;[unknown] 1",
                                 NULL};
    struct cairn_profile *p = stacks_profile(lines);
    struct cairn_looks looks = looks_of(p);
    static const struct {
        const char *name;
        uint8_t kind, found;
    } rows[] = {
        {"cfi", CAIRN_PALETTE_NATIVE, CAIRN_FOUND_CFI},
        {"fp", CAIRN_PALETTE_NATIVE, CAIRN_FOUND_POINTER},
        {"who", CAIRN_PALETTE_NATIVE, 0},
        {"kern", CAIRN_PALETTE_KERNEL, CAIRN_FOUND_KERNEL},
        {"lua", CAIRN_PALETTE_LUA, CAIRN_FOUND_LUA},
        {"own", CAIRN_PALETTE_OWN, CAIRN_FOUND_CFI},
        {"jit", CAIRN_PALETTE_JIT, CAIRN_FOUND_JIT},
        {"guess", CAIRN_PALETTE_GUESSED, CAIRN_FOUND_GUESSED},
        {"inl", CAIRN_PALETTE_INLINED, 0},
        {"0x7f00", CAIRN_PALETTE_UNNAMED, 0},
        {"lib.so+0x12", CAIRN_PALETTE_UNNAMED, 0},
        {"operator+", CAIRN_PALETTE_NATIVE, 0},
        {"[unknown]", CAIRN_PALETTE_UNNAMED, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct cairn_look *look = find(&looks, rows[i].name);
        if (look->kind != rows[i].kind || look->found != rows[i].found)
            fail_msg("%s: kind %u found %u", rows[i].name, look->kind, look->found);
    }
    assert_int_equal(looks.n_unnamed, 3);
    cairn_looks_done(&looks);
    cairn_profile_free(p);
}

static void a_function_found_in_two_ways_is_one_look(void **state)
{
    (void)state;
    struct cairn_profile *p = stacks_new();
    stacks_frame(p, "f", 'c', 0x10);
    stacks_frame(p, "f", 'f', 0x20);
    struct cairn_looks looks = looks_of(p);
    assert_int_equal(looks.n, 1);
    assert_int_equal(looks.rows[0].found, CAIRN_FOUND_CFI | CAIRN_FOUND_POINTER);
    cairn_looks_done(&looks);
    cairn_profile_free(p);
}

/* The complete and the base constructor have one name and two symbols. */
static void symbols_that_are_shown_alike_look_alike(void **state)
{
    (void)state;
    struct cairn_profile *p = stacks_new();
    static const char *const symbols[] = {"_ZN1AC1Ev", "_ZN1AC2Ev"};
    for (size_t i = 0; i < 2; i++) {
        struct cairn_profile_function function = {.name = stacks_text(p, "A::A()"),
                                                  .system_name = stacks_text(p, symbols[i])};
        struct cairn_profile_line line = {cairn_profile_add_function(p, &function), 0};
        struct cairn_profile_frame frame = {.address = i + 1};
        cairn_profile_add_frame(p, &frame, &line, 1);
    }
    struct cairn_looks looks = looks_of(p);
    assert_int_equal(looks.n, 1);
    cairn_looks_done(&looks);
    cairn_profile_free(p);
}

static void the_same_name_in_two_modules_is_two_looks(void **state)
{
    (void)state;
    struct cairn_profile *p = stacks_new();
    for (int i = 0; i < 2; i++) {
        struct cairn_profile_module module = {
            .start = 0x1000u * (i + 1),
            .end = 0x1000u * (i + 2),
            .path = stacks_text(p, i ? "/usr/lib/libb.so" : "/usr/lib/liba.so")};
        struct cairn_profile_line line = stacks_line(p, "init", "init.c", 7);
        struct cairn_profile_frame frame = {.address = module.start,
                                            .module = cairn_profile_add_module(p, &module)};
        cairn_profile_add_frame(p, &frame, &line, 1);
    }
    struct cairn_looks looks = looks_of(p);
    assert_int_equal(looks.n, 2);
    assert_string_equal(cairn_strings_get(&looks.texts, looks.rows[0].module), "liba.so");
    assert_string_equal(cairn_strings_get(&looks.texts, looks.rows[1].module), "libb.so");
    assert_string_equal(cairn_strings_get(&looks.texts, looks.rows[1].file), "init.c");
    cairn_looks_done(&looks);
    cairn_profile_free(p);
}

static void lines_of_a_look_are_a_range(void **state)
{
    (void)state;
    struct cairn_profile *p = stacks_new();
    static const uint32_t lines[] = {0, 40, 12, 31};
    for (size_t i = 0; i < 4; i++) {
        struct cairn_profile_line line = stacks_line(p, "f", "f.c", lines[i]);
        struct cairn_profile_frame frame = {.address = i + 1};
        cairn_profile_add_frame(p, &frame, &line, 1);
    }
    struct cairn_looks looks = looks_of(p);
    assert_int_equal(looks.n, 1);
    assert_int_equal(looks.rows[0].line_low, 12);
    assert_int_equal(looks.rows[0].line_high, 40);
    cairn_looks_done(&looks);
    cairn_profile_free(p);
}

static void inlined_lines_keep_what_matters_more(void **state)
{
    (void)state;
    static const struct {
        char kind;
        uint8_t inner;
    } rows[] = {
        {'c', CAIRN_PALETTE_INLINED}, {'g', CAIRN_PALETTE_GUESSED}, {'k', CAIRN_PALETTE_KERNEL}};
    for (size_t i = 0; i < 3; i++) {
        struct cairn_profile *p = stacks_new();
        struct cairn_profile_line lines[] = {stacks_line(p, "inner", "", 0),
                                             stacks_line(p, "outer", "", 0)};
        struct cairn_profile_frame frame = {.address = 1};
        assert_true(cairn_frame_set_kind(&frame, (unsigned char)rows[i].kind));
        uint32_t number = cairn_profile_add_frame(p, &frame, lines, 2);
        struct cairn_looks looks = looks_of(p);
        assert_int_equal(find(&looks, "inner")->kind, rows[i].inner);
        assert_int_equal(looks.first[number + 1] - looks.first[number], 2);
        assert_int_equal(looks.of_frames[looks.first[number]], 1); /* "outer" sorts last */
        cairn_looks_done(&looks);
        cairn_profile_free(p);
    }
}

static void frames_without_a_name_show_where_they_are(void **state)
{
    (void)state;
    struct cairn_profile *p = stacks_new();
    struct cairn_profile_frame frame = {.address = 0x7f1234, .how = CAIRN_HOW_FP};
    cairn_profile_add_frame(p, &frame, NULL, 0);
    struct cairn_looks looks = looks_of(p);
    assert_int_equal(looks.n, 1);
    assert_int_equal(looks.rows[0].kind, CAIRN_PALETTE_UNNAMED);
    assert_string_equal(cairn_strings_get(&looks.texts, looks.rows[0].name), "0x7f1234");
    cairn_looks_done(&looks);
    cairn_profile_free(p);
}

static void what_could_fool_a_reader_is_made_visible(void **state)
{
    (void)state;
    const char *const lines[] = {"a\x1b[31m;b\xe2\x80\xae"
                                 "c;d\xff;e\xe2\x80\xa8"
                                 "f 1",
                                 NULL};
    struct cairn_profile *p = stacks_profile(lines);
    struct cairn_looks looks = looks_of(p);
    find(&looks, "a\\x1b[31m");
    find(&looks, "b\\u{202e}c");
    find(&looks, "d\\xff");
    find(&looks, "e\\u{2028}f");
    cairn_looks_done(&looks);
    cairn_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looks_are_numbered_in_the_order_of_their_names),
        cmocka_unit_test(kinds_follow_how_a_frame_was_found),
        cmocka_unit_test(a_function_found_in_two_ways_is_one_look),
        cmocka_unit_test(symbols_that_are_shown_alike_look_alike),
        cmocka_unit_test(the_same_name_in_two_modules_is_two_looks),
        cmocka_unit_test(lines_of_a_look_are_a_range),
        cmocka_unit_test(inlined_lines_keep_what_matters_more),
        cmocka_unit_test(frames_without_a_name_show_where_they_are),
        cmocka_unit_test(what_could_fool_a_reader_is_made_visible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
