/* SPDX-License-Identifier: MIT */
#include "proc/unread.h"

#include "proc/fuse.h"
#include "support/test.h"

static const char smaps[] = "55d000-55f000 rw-p 00000000 00:00 0 [heap]\n"
                            "Size: 8 kB\n"
                            "VmFlags: rd wr mr mw me ac \n"
                            "7f0000-7f4000 rw-p 00000000 00:00 0 \n"
                            "Size: 16 kB\n"
                            "VmFlags: rd wr mr mw me um ac \n";

static void test_finds_ranges_under_userfaultfd(void **state)
{
    (void)state;
    struct cairn_unread unread = {0};
    cairn_unread_parse(&unread, smaps);
    assert_int_equal(unread.n, 1);
    assert_int_equal(unread.ranges[0].start, 0x7f0000);
    assert_int_equal(unread.ranges[0].end, 0x7f4000);
    assert_ptr_equal(unread.ranges[0].why, cairn_unread_uffd);
    cairn_unread_done(&unread);
}

static void test_clips_before_a_range_and_refuses_within(void **state)
{
    (void)state;
    struct cairn_unread unread = {0};
    cairn_unread_add(&unread, 0x5000, 0x7000, cairn_unread_fuse);
    assert_int_equal(cairn_unread_clip(&unread, 0x4000, 0x800), 0x800);
    assert_int_equal(cairn_unread_clip(&unread, 0x4000, 0x8000), 0x1000);
    assert_null(unread.why);
    assert_int_equal(cairn_unread_clip(&unread, 0x6fff, 1), 0);
    assert_ptr_equal(unread.why, cairn_unread_fuse);
    assert_int_equal(cairn_unread_clip(&unread, 0x7000, 0x1000), 0x1000);
    cairn_unread_done(&unread);
}

static void test_gives_a_process_up_after_some_reads(void **state)
{
    (void)state;
    struct cairn_unread unread = {0};
    for (int i = 0; i < CAIRN_UNREAD_HUNG_MAX; i++) {
        assert_int_equal(cairn_unread_clip(&unread, 0x900000, 8), 8);
        cairn_unread_hung(&unread, -1, 0x1000u * (unsigned)i, 8);
    }
    assert_int_equal(cairn_unread_clip(&unread, 0x900000, 8), 0);
    cairn_unread_done(&unread);
}

static void test_knows_devices_of_fuse(void **state)
{
    (void)state;
    struct cairn_fuse_devices devices = {0};
    assert_true(cairn_fuse_devices_parse(&devices,
                                         "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
                                         "30 22 0:43 / /mnt/a rw - fuse.sshfs host: rw,user_id=0\n"
                                         "31 22 0:44 / /mnt/fuse rw - tmpfs fuse rw\n"
                                         "32 22 8:1 / /mnt/b rw - fuseblk /dev/sda1 rw\n"));
    assert_true(cairn_fuse_has(&devices, 0, 43));
    assert_false(cairn_fuse_has(&devices, 0, 44));
    assert_true(cairn_fuse_has(&devices, 8, 1));
    assert_false(cairn_fuse_has(&devices, 254, 0));
    cairn_fuse_devices_done(&devices);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_ranges_under_userfaultfd),
        cmocka_unit_test(test_clips_before_a_range_and_refuses_within),
        cmocka_unit_test(test_gives_a_process_up_after_some_reads),
        cmocka_unit_test(test_knows_devices_of_fuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
