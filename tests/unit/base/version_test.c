/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include <cairn/version.h>

#include "support/test.h"

static void the_version_is_the_headers(void **state)
{
    (void)state;
    char expected[32];
    snprintf(expected, sizeof expected, "%d.%d.%d", CAIRN_VERSION_MAJOR, CAIRN_VERSION_MINOR,
             CAIRN_VERSION_PATCH);
    assert_string_equal(cairn_version(), expected);
}

static void features_and_target_are_words(void **state)
{
    (void)state;
    assert_contains(cairn_features(), "zlib");
    assert_contains(cairn_target(), "-linux-");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_version_is_the_headers),
        cmocka_unit_test(features_and_target_are_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
