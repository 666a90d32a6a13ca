/* SPDX-License-Identifier: MIT */
#include "proc/regs.h"

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "support/test.h"

/* Each word holds its own index, so that a wrong offset shows. */
static struct cairn_span words(uint8_t *bytes, unsigned n, unsigned width)
{
    memset(bytes, 0, (size_t)n * width);
    for (unsigned i = 0; i < n; i++)
        bytes[i * width] = (uint8_t)(i + 1);
    return (struct cairn_span){bytes, (size_t)n * width};
}

static void sizes_that_no_cpu_has_are_refused(void **state)
{
    (void)state;
    uint8_t bytes[CAIRN_PRSTATUS_MAX];
    struct cairn_regs regs = {.ip = 42};
    static const unsigned known[] = {27 * 8, 17 * 4, 34 * 8, 18 * 4}; /* of either CPU */
    for (unsigned n = 0; n < CAIRN_PRSTATUS_MAX; n++)
        if (n != known[0] && n != known[1] && n != known[2] && n != known[3])
            assert_false(cairn_regs_read(words(bytes, n, 1), &regs));
    assert_int_equal(regs.ip, 42);
}

#if defined(__x86_64__)
static void each_register_comes_from_its_place(void **state)
{
    (void)state;
    uint8_t bytes[CAIRN_PRSTATUS_MAX];
    struct cairn_regs regs;
    struct user_regs_struct user = {.rip = 0x7f0011223344, .rsp = 0x7ffd00000010, .rbp = 0x10};
    assert_true(cairn_regs_read((struct cairn_span){(uint8_t *)&user, sizeof user}, &regs));
    assert_int_equal(regs.ip, 0x7f0011223344);
    assert_int_equal(regs.sp, 0x7ffd00000010);
    assert_int_equal(regs.fp, 0x10);
    assert_int_equal(regs.width, 8);
    assert_false(regs.has_lr);
    assert_true(cairn_regs_read(words(bytes, 17, 4), &regs)); /* a 32-bit program */
    assert_int_equal(regs.ip, 13);
    assert_int_equal(regs.sp, 16);
    assert_int_equal(regs.fp, 6);
    assert_int_equal(regs.width, 4);
}
#else
static void each_register_comes_from_its_place(void **state)
{
    (void)state;
    uint8_t bytes[CAIRN_PRSTATUS_MAX];
    struct cairn_regs regs;
    assert_true(cairn_regs_read(words(bytes, 34, 8), &regs));
    assert_int_equal(regs.ip, 33);
    assert_int_equal(regs.sp, 32);
    assert_int_equal(regs.fp, 30);
    assert_int_equal(regs.lr, 31);
    assert_int_equal(regs.width, 8);
    assert_true(regs.has_lr);
    assert_true(cairn_regs_read(words(bytes, 18, 4), &regs)); /* a 32-bit program */
    assert_int_equal(regs.ip, 16);
    assert_int_equal(regs.sp, 14);
    assert_int_equal(regs.fp, 12);
    assert_int_equal(regs.lr, 15);
    assert_int_equal(regs.width, 4);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_that_no_cpu_has_are_refused),
        cmocka_unit_test(each_register_comes_from_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
