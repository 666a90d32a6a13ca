/* SPDX-License-Identifier: MIT */
/* Calls of all CPUs, on every host; the bytes are an assembler's. */
#include "code/call.h"

#include "support/test.h"

enum { RET = 0x401000 };

static bool call_in(const char *bytes, size_t size, struct cairn_call *ret_call)
{
    uint8_t *copy = test_copy(bytes, size);
    bool is = cairn_call_x86_64((struct cairn_span){copy, size}, RET, ret_call);
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

typedef bool call_fn(struct cairn_span code, uint64_t ret, struct cairn_call *ret_call);

/* Eight bytes of code before `at` (with arm's bit 0), which is a call's end or not. */
static bool ends(call_fn *fn, const char *bytes, uint64_t at, uint64_t *ret_target)
{
    struct cairn_call call;
    uint8_t *copy = test_copy(bytes, 8);
    bool is = fn((struct cairn_span){copy, 8}, at, &call);
    for (size_t size = 0; size < 8; size++) { /* less of it: no read beyond, whatever it says */
        uint8_t *cut = test_copy(bytes + 8 - size, size);
        struct cairn_call unused;
        fn((struct cairn_span){cut, size}, at, &unused);
        free(cut);
    }
    free(copy);
    *ret_target = call.target;
    return is;
}

static void aarch64_s_calls_are_known(void **state)
{
    (void)state;
    uint64_t target;
    call_fn *fn = cairn_call_aarch64;
    assert_true(ends(fn, "\0\0\0\0\x02\x00\x00\x94", RET, &target)); /* bl .+8 */
    assert_int_equal(target, RET + 4);
    assert_true(ends(fn, "\0\0\0\0\xff\xff\xff\x97", RET, &target)); /* bl .-4 */
    assert_int_equal(target, RET - 8);
    assert_true(ends(fn, "\0\0\0\0\x60\x00\x3f\xd6", RET, &target)); /* blr x3 */
    assert_int_equal(target, 0);
    assert_true(ends(fn, "\0\0\0\0\x7f\x08\x3f\xd6", RET, &target));  /* blraaz x3 */
    assert_true(ends(fn, "\0\0\0\0\x64\x08\x3f\xd7", RET, &target));  /* blraa x3, x4 */
    assert_false(ends(fn, "\0\0\0\0\x60\x00\x1f\xd6", RET, &target)); /* br x3 */
    assert_false(ends(fn, "\0\0\0\0\x02\x00\x00\x14", RET, &target)); /* b */
    assert_false(ends(fn, "\0\0\0\0\x02\x00\x00\x94", RET + 2, &target));
}

static void arm_s_calls_are_known(void **state)
{
    (void)state;
    uint64_t target;
    call_fn *fn = cairn_call_arm;
    assert_true(ends(fn, "\0\0\0\0\xfe\x03\x00\xeb", 0x4, &target)); /* bl 1000 */
    assert_int_equal(target, 0x1000);
    assert_true(ends(fn, "\0\0\0\0\xf5\xff\xff\x1b", 0x28, &target)); /* blne 0 */
    assert_int_equal(target, 0);
    assert_true(ends(fn, "\0\0\0\0\x07\x00\x00\xfa", 0x8, &target)); /* blx 28 */
    assert_int_equal(target, 0x28);
    assert_true(ends(fn, "\0\0\0\0\x33\xff\x2f\xe1", RET, &target)); /* blx r3 */
    assert_true(ends(fn, "\x0e\xe0\xa0\xe1\x03\xf0\xa0\xe1", RET, &target) == false);
    assert_true(ends(fn, "\x0f\xe0\xa0\xe1\x03\xf0\xa0\xe1", RET, &target)); /* mov pc, r3 */
    assert_true(ends(fn, "\x0f\xe0\xa0\xe1\x00\xf0\x93\xe5", RET, &target)); /* ldr pc, [r3] */
    assert_true(ends(fn, "\x0f\xe0\xa0\xe1\x13\xff\x2f\xe1", RET, &target)); /* bx r3 */
    assert_false(ends(fn, "\0\0\0\0\x13\xff\x2f\xe1", RET, &target));
    assert_false(ends(fn, "\0\0\0\0\xfe\x03\x00\xea", RET, &target)); /* b */
    assert_false(ends(fn, "\0\0\0\0\xfe\x03\x00\xeb", RET + 2, &target));
}

static void thumb_s_calls_are_known(void **state)
{
    (void)state;
    uint64_t target;
    call_fn *fn = cairn_call_arm;
    assert_true(ends(fn, "\0\0\0\0\xff\xf7\xfe\xff", 0x2c | 1, &target)); /* bl 28 */
    assert_int_equal(target, 0x28);
    assert_true(ends(fn, "\0\0\0\0\xff\xf7\xe8\xef", 0x30 | 1, &target)); /* blx 0 */
    assert_int_equal(target, 0);
    assert_true(ends(fn, "\0\0\0\0\xff\xf0\xfa\xff", 0x34 | 1, &target)); /* bl 100028 */
    assert_int_equal(target, 0x100028);
    assert_true(ends(fn, "\0\0\0\0\xff\xf6\xf6\xff", 0x3c | 1, &target)); /* bl fff00028 */
    assert_int_equal((uint32_t)target, 0xfff00028);
    assert_true(ends(fn, "\0\0\0\0\0\0\xa0\x47", RET | 1, &target));      /* blx r4 */
    assert_false(ends(fn, "\0\0\0\0\0\0\x20\x47", RET | 1, &target));     /* bx r4 */
    assert_false(ends(fn, "\0\0\0\0\xff\xf7\xfe\xbf", RET | 1, &target)); /* b.w */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_direct_call_tells_its_target),
        cmocka_unit_test(a_call_through_the_got_tells_where_its_target_is),
        cmocka_unit_test(every_form_of_an_indirect_call_is_known),
        cmocka_unit_test(what_is_no_call_is_none),
        cmocka_unit_test(aarch64_s_calls_are_known),
        cmocka_unit_test(arm_s_calls_are_known),
        cmocka_unit_test(thumb_s_calls_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
