/* SPDX-License-Identifier: MIT */
#include "bpf/room.h"

#include "base/alloc.h"
#include "base/error.h"
#include "support/test.h"

enum { SEGMENT = 1 << 20 };

static struct cairn_room room_of(unsigned segments)
{
    struct cairn_room room = {0};
    while (segments--)
        assert_int_equal(cairn_room_add(&room, SEGMENT), CAIRN_OK);
    return room;
}

static void pieces_lie_side_by_side_and_never_in_two_segments(void **state)
{
    (void)state;
    struct cairn_room room = room_of(2);
    struct cairn_room_piece a, b, c;
    assert_true(cairn_room_take(&room, SEGMENT / 2, &a));
    assert_true(cairn_room_take(&room, SEGMENT / 2 + 16, &b));
    assert_true(cairn_room_take(&room, SEGMENT / 2, &c));
    assert_int_equal(a.segment, 0);
    assert_int_equal(b.segment, 1);
    assert_int_equal(c.segment, 0);
    assert_int_equal(c.at, SEGMENT / 2);
    assert_false(cairn_room_take(&room, SEGMENT / 2, &c));
    assert_int_equal(room.taken_bytes, 3 * SEGMENT / 2 + 16);
    cairn_room_done(&room);
}

static void what_is_given_back_becomes_one_in_any_order(void **state)
{
    (void)state;
    static const unsigned orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                         {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (unsigned o = 0; o < 6; o++) {
        struct cairn_room room = room_of(1);
        struct cairn_room_piece pieces[3], all;
        for (unsigned i = 0; i < 3; i++)
            assert_true(cairn_room_take(&room, i == 2 ? SEGMENT - 32 : 16, &pieces[i]));
        assert_int_equal(room.n, 0);
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(cairn_room_give(&room, &pieces[orders[o][i]]), CAIRN_OK);
        assert_int_equal(room.n, 1);
        assert_int_equal(room.taken_bytes, 0);
        assert_true(cairn_room_take(&room, SEGMENT, &all));
        cairn_room_done(&room);
    }
}

static void memory_that_is_gone_loses_room_and_nothing_else(void **state)
{
    (void)state;
    struct cairn_room room = {0};
    cairn_alloc_fail_after(0);
    assert_int_equal(cairn_room_add(&room, SEGMENT), CAIRN_E_NOMEM);
    cairn_alloc_fail_after(-1);
    assert_int_equal(room.n_segments, 0);
    cairn_room_done(&room);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_lie_side_by_side_and_never_in_two_segments),
        cmocka_unit_test(what_is_given_back_becomes_one_in_any_order),
        cmocka_unit_test(memory_that_is_gone_loses_room_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
