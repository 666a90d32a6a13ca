/* SPDX-License-Identifier: MIT */

#include "guest/weave.h"

#include <stdio.h>

#include "support/test.h"

enum { N_NATIVES = 3 };

/* "n0 g0 ..." */
static const char *woven(const uint32_t *places, size_t n)
{
    static char text[128];
    struct cairn_guest_result result = {0};
    struct cairn_guest_weave weave = {0};
    struct cairn_guest_item item;
    size_t size = 0;
    for (size_t i = 0; i < n; i++)
        assert_non_null(cairn_guest_add_frame(&result, 0, CAIRN_GUEST_FUNCTION, places[i]));
    text[0] = 0;
    while (cairn_guest_weave_next(&weave, N_NATIVES, &result, &item))
        size += (size_t)snprintf(text + size, sizeof text - size, "%s%c%u", size ? " " : "",
                                 item.is_guest ? 'g' : 'n', (unsigned)item.index);
    cairn_guest_result_done(&result);
    return text;
}

static void frames_stand_before_the_native_frame_of_their_place(void **state)
{
    (void)state;
    assert_string_equal(woven(NULL, 0), "n0 n1 n2");
    assert_string_equal(woven((uint32_t[]){0, 0, 2}, 3), "g0 g1 n0 n1 g2 n2");
    assert_string_equal(woven((uint32_t[]){1, 3}, 2), "n0 g0 n1 n2 g1");
}

static void a_place_outside_of_all_is_the_end(void **state)
{
    (void)state;
    assert_string_equal(woven((uint32_t[]){CAIRN_GUEST_NONE}, 1), "n0 n1 n2 g0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_stand_before_the_native_frame_of_their_place),
        cmocka_unit_test(a_place_outside_of_all_is_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
