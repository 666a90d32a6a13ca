/* SPDX-License-Identifier: MIT */
#include "profile/frame_kind.h"

#include <string.h>

#include "support/test.h"

static const char letters[] = "-kcfgjloi";

static void each_letter_comes_back(void **state)
{
    (void)state;
    for (const char *letter = letters; *letter; letter++) {
        struct cairn_profile_frame frame = {.address = 1};
        assert_true(cairn_frame_set_kind(&frame, (unsigned char)*letter));
        assert_int_equal(cairn_frame_kind_of(&frame), *letter);
    }
}

static void a_letter_of_a_later_version_sets_nothing(void **state)
{
    (void)state;
    for (unsigned letter = 0; letter < 256; letter++) {
        struct cairn_profile_frame frame = {.what = 77, .how = 78};
        if (letter && strchr(letters, (int)letter))
            continue;
        assert_false(cairn_frame_set_kind(&frame, (unsigned char)letter));
        assert_int_equal(frame.what, 77);
        assert_int_equal(frame.how, 78);
    }
}

/* The link register of a leaf was a guess in a crash report, and as good as CFI in a profile. */
static void every_guess_is_one_everywhere(void **state)
{
    (void)state;
    for (int how = CAIRN_HOW_START; how <= CAIRN_HOW_TEXT_GUESS; how++) {
        const struct cairn_profile_frame frame = {.how = (uint8_t)how};
        bool is_guess = cairn_frame_kind_of(&frame) == CAIRN_FRAME_GUESSED;
        assert_int_equal(is_guess, cairn_frame_is_guess(how) != 0);
        assert_string_not_equal(cairn_frame_how_text(how), "?");
    }
    assert_true(cairn_frame_is_guess(CAIRN_HOW_LINK));
    assert_string_equal(cairn_frame_how_text(CAIRN_HOW_TEXT_GUESS + 1), "?");
}

static void what_a_frame_is_does_not_hide_who_said_nothing(void **state)
{
    (void)state;
    for (int how = CAIRN_HOW_START; how <= CAIRN_HOW_TEXT_GUESS; how++) {
        const struct cairn_profile_frame frame = {.how = (uint8_t)how};
        bool is_unknown = cairn_frame_kind_of(&frame) == CAIRN_FRAME_UNKNOWN;
        assert_int_equal(is_unknown, how == CAIRN_HOW_TEXT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_letter_comes_back),
        cmocka_unit_test(a_letter_of_a_later_version_sets_nothing),
        cmocka_unit_test(every_guess_is_one_everywhere),
        cmocka_unit_test(what_a_frame_is_does_not_hide_who_said_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
