/* SPDX-License-Identifier: MIT */
#include "sample/arch.h"
#include "tests/support/test.h"

enum { RET = 0x401000 };

static bool call_in(const char *bytes, size_t size, struct cairn_call *ret_call)
{
    uint8_t *copy = test_copy(bytes, size);
    bool is = cairn_arch_call((struct cairn_span){copy, size}, RET, ret_call);
    free(copy);
    return is;
}

#define CALL_IN(bytes, ret_call) call_in(bytes, sizeof bytes - 1, ret_call)

static void a_direct_call_tells_its_target(void **state)
{
    (void)state;
    struct cairn_call call;
    assert_true(CALL_IN("\x90\x90\x90\xe8\x10\x00\x00\x00", &call));
    assert_int_equal(call.target, RET + 0x10);
    assert_true(CALL_IN("\x90\x90\x90\xe8\xf0\xff\xff\xff", &call));
    assert_int_equal(call.target, RET - 0x10);
}

static void a_call_through_the_got_tells_where_its_target_is(void **state)
{
    (void)state;
    struct cairn_call call;
    assert_true(CALL_IN("\x90\x90\xff\x15\x00\x20\x00\x00", &call));
    assert_int_equal(call.target, 0);
    assert_int_equal(call.pointer, RET + 0x2000);
}

static void every_form_of_an_indirect_call_is_known(void **state)
{
    (void)state;
    struct cairn_call call;
    assert_true(CALL_IN("\x90\x90\x90\x90\x90\x90\xff\xd0", &call)); /* *%rax */
    assert_true(CALL_IN("\x90\x90\x90\x90\x90\x41\xff\xd4", &call)); /* *%r12 */
    assert_true(CALL_IN("\x90\x90\x90\x90\x90\x90\xff\x10", &call)); /* *(%rax) */
    assert_true(CALL_IN("\x90\x90\x90\x90\x90\xff\x50\x18", &call)); /* *24(%rax) */
    assert_true(CALL_IN("\x90\x90\xff\x90\x00\x01\x00\x00", &call)); /* *256(%rax) */
    assert_true(CALL_IN("\x90\x90\x90\x90\x90\xff\x14\xc7", &call)); /* *(%rdi,%rax,8) */
    assert_true(CALL_IN("\x90\x90\x90\x90\xff\x54\x24\x08", &call)); /* *8(%rsp) */
    assert_true(CALL_IN("\x90\xff\x94\xc7\x00\x01\x00\x00", &call)); /* *256(%rdi,...) */
    assert_true(CALL_IN("\x90\xff\x14\xc5\x00\x10\x40\x00", &call)); /* *table(,%rax,8) */
    assert_int_equal(call.target, 0);
}

static void what_is_no_call_is_none(void **state)
{
    (void)state;
    struct cairn_call call;
    assert_false(CALL_IN("\x90\x90\x90\x90\x90\x90\x90\x90", &call));
    assert_false(CALL_IN("\x90\x90\x90\x90\x90\x90\xff\xe0", &call)); /* jmp *%rax */
    assert_false(CALL_IN("\x90\x90\x90\x90\x90\x90\xff\x30", &call)); /* push (%rax) */
    assert_false(CALL_IN("", &call));
    assert_false(CALL_IN("\xff", &call));
    assert_false(CALL_IN("\x10\x00\x00\x00", &call)); /* the call itself is cut off */
}

static void plt_entries_are_followed(void **state)
{
    (void)state;
    uint64_t pointer;
    static const uint8_t plain[] = {0xff, 0x25, 0x10, 0, 0, 0};
    static const uint8_t ibt[] = {0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0x10, 0, 0, 0};
    assert_true(cairn_arch_jump((struct cairn_span){plain, sizeof plain}, 0x1000, &pointer));
    assert_int_equal(pointer, 0x1016);
    assert_true(cairn_arch_jump((struct cairn_span){ibt, sizeof ibt}, 0x1000, &pointer));
    assert_int_equal(pointer, 0x101b);
    for (size_t size = 0; size < sizeof ibt; size++)
        assert_false(cairn_arch_jump((struct cairn_span){ibt, size}, 0x1000, &pointer));
}

static void the_end_of_a_thread_is_known(void **state)
{
    (void)state;
    static const uint8_t glibc[] = {0x89, 0xc7, 0xb8, 60, 0, 0, 0, 0x0f, 0x05};
    static const uint8_t musl[] = {0x89, 0xc7, 0x31, 0xc0, 0xb0, 60, 0x0f, 0x05};
    static const uint8_t group[] = {0x89, 0xc7, 0xb8, 231, 0, 0, 0, 0x0f, 0x05};
    assert_true(cairn_arch_exits((struct cairn_span){glibc, sizeof glibc}));
    assert_true(cairn_arch_exits((struct cairn_span){musl, sizeof musl}));
    assert_false(cairn_arch_exits((struct cairn_span){group, sizeof group}));
    assert_false(cairn_arch_exits((struct cairn_span){glibc, sizeof glibc - 1}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_direct_call_tells_its_target),
        cmocka_unit_test(a_call_through_the_got_tells_where_its_target_is),
        cmocka_unit_test(every_form_of_an_indirect_call_is_known),
        cmocka_unit_test(what_is_no_call_is_none),
        cmocka_unit_test(plt_entries_are_followed),
        cmocka_unit_test(the_end_of_a_thread_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
