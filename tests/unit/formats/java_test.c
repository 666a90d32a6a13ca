/* SPDX-License-Identifier: MIT */
#include "support/stack_text.h"

static const char dump[] =
    "Full thread dump OpenJDK 64-Bit Server VM (17.0.15 mixed mode):\n"
    "\n"
    "\"sleep \"er\"\" #9 daemon prio=5 os_prio=0 tid=0x7fcb nid=0x7e6a in Object.wait()  "
    "[0x00007fcae16fc000]\n"
    "   java.lang.Thread.State: TIMED_WAITING (sleeping)\n"
    "\tat java.lang.Thread.sleep(java.base@17.0.15/Native Method)\n"
    "\tat D.wait_(D.java:4)\n"
    "\t- locked <0x0000000687484f18> (a java.lang.Object)\n"
    "\tat D$$Lambda$1/0x7fca.run(Unknown Source)\n"
    "\n"
    "   Locked ownable synchronizers:\n"
    "\t- None\n"
    "\n"
    "\"VM Thread\" os_prio=0 tid=0x7fcb nid=32352 runnable  \n"
    "\n"
    "log: \"main\" #1 [32349] prio=5 os_prio=0 tid=0x7fcb nid=32349 runnable  [0x7fcb]\n"
    "log: \tat D.main(java.base@17.0.15/D.java:9)\n"
    "log:\n"
    "Found one Java-level deadlock:\n"
    "\"main\":\n"
    "\tat D.again(D.java:9)\n";

static const struct test_stack_text java = {
    .text = dump,
    .size = sizeof dump - 1,
    .format = CAIRN_FORMAT_JAVA,
    .n_samples = 2,
    .names = "java.lang.Thread.sleep D.wait_ D$$Lambda$1/0x7fca.run D.main",
};

static const char of_android[] =
    "----- pid 4813 at 2023-05-06 07:08:09 -----\n"
    "Cmd line: org.acme.paint\n"
    "\n"
    "\"main\" prio=5 tid=1 Blocked\n"
    "  | group=\"main\" sCount=1 dsCount=0 flags=1 obj=0x72 self=0x7f\n"
    "  | sysTid=4813 nice=-10 cgrp=top-app\n"
    "  native: #00 pc 000000000053a6e0  /lib64/libart.so (art::Wait()+128) (BuildId: ab01)\n"
    "  native: #01 pc 0000000000001234  /lib64/libx.so\n"
    "  at org.acme.Main.run(Main.java:12)\n"
    "  - waiting to lock <0x01> (a java.lang.Object) held by thread 3\n"
    "  at java.lang.Thread.run(Thread.java)\n"
    "\n"
    "\"Thread-3\" prio=10 (not attached)\n"
    "  | sysTid=4820 nice=0\n"
    "  native: #00 pc 0000000000001238  /base.apk!libx.so (g+4)\n"
    "\n"
    "\"binder\" sysTid=4821\n"
    "  #00 pc 000000000000123c  /lib64/libx.so (h+8)\n"
    "----- end 4813 -----\n";

static const struct test_stack_text anr = {
    .text = of_android,
    .size = sizeof of_android - 1,
    .format = CAIRN_FORMAT_JAVA,
    .n_samples = 3,
    .names = "art::Wait() org.acme.Main.run java.lang.Thread.run g h",
};

static void each_thread_with_frames_is_a_sample(void **state)
{
    (void)state;
    struct cairn_profile *p = test_stack_text_read(&java, CAIRN_FORMAT_AUTO);
    test_assert_stack(p, 0, "java.lang.Thread.sleep; D.wait_ D.java:4; D$$Lambda$1/0x7fca.run");
    test_assert_stack(p, 1, "D.main D.java:9");
    test_assert_label(p, 0, "thread", "sleep \"er\"");
    test_assert_label(p, 0, "tid", "32362");
    test_assert_label(p, 0, "state", "TIMED_WAITING");
    test_assert_label(p, 1, "thread", "main");
    test_assert_label(p, 1, "tid", "32349");
    test_assert_label(p, 1, "state", "runnable");
    cairn_profile_free(p);
}

static void native_and_java_frames_are_one_stack(void **state)
{
    (void)state;
    struct cairn_profile *p = test_stack_text_read(&anr, CAIRN_FORMAT_AUTO);
    test_assert_stack(p, 0,
                      "art::Wait() of /lib64/libart.so (ab01); +0x1234 of /lib64/libx.so; "
                      "org.acme.Main.run Main.java:12; java.lang.Thread.run Thread.java:0");
    test_assert_stack(p, 1, "g of /base.apk!/libx.so");
    test_assert_stack(p, 2, "h of /lib64/libx.so");
    test_assert_label(p, 0, "process", "org.acme.paint");
    test_assert_label(p, 0, "pid", "4813");
    test_assert_label(p, 0, "tid", "4813");
    test_assert_label(p, 0, "state", "Blocked");
    test_assert_label(p, 1, "tid", "4820");
    test_assert_label(p, 2, "thread", "binder");
    test_assert_label(p, 2, "tid", "4821");
    test_assert_label(p, 2, "state", "");
    cairn_profile_free(p);
}

static void heads_of_java_8_have_one_blank_before_the_address(void **state)
{
    (void)state;
    static const char from[] =
        "\"Finalizer\" #3 daemon prio=8 os_prio=0 tid=0x7f0c nid=0x96a in Object.wait() "
        "[0x7f0c78]\n"
        "\tat java.lang.Object.wait(Native Method)\n";
    static const struct test_stack_text old = {
        .text = from, .size = sizeof from - 1, .format = CAIRN_FORMAT_JAVA, .n_samples = 1};
    struct cairn_profile *p = test_stack_text_read(&old, CAIRN_FORMAT_AUTO);
    test_assert_label(p, 0, "state", "in Object.wait()");
    cairn_profile_free(p);
}

static void dumps_of_android_begin_as_tombstones_do(void **state)
{
    (void)state;
    static const char from[] =
        "----- pid 4813 at 2023-05-06 07:08:09 -----\n"
        "Cmd line: org.acme.paint\n"
        "Build fingerprint: 'acme/slate/slate:13/TQ1A/93:user/release-keys'\n"
        "ABI: 'arm64'\n"
        "Build type: optimized\n"
        "DALVIK THREADS (1):\n"
        "\"main\" prio=5 tid=1 Native\n"
        "  at org.acme.Main.run(Main.java:12)\n";
    static const struct test_stack_text whole = {
        .text = from, .size = sizeof from - 1, .format = CAIRN_FORMAT_JAVA, .n_samples = 1};
    struct cairn_profile *p = test_stack_text_read(&whole, CAIRN_FORMAT_AUTO);
    test_assert_stack(p, 0, "org.acme.Main.run Main.java:12");
    cairn_profile_free(p);
    const char *threads = strstr(from, "DALVIK"); /* may come behind the first bytes */
    assert_int_equal(cairn_format_of_bytes(from, (size_t)(threads - from)), CAIRN_FORMAT_JAVA);
}

static void a_text_that_is_cut_anywhere_keeps_what_is_whole(void **state)
{
    (void)state;
    test_stack_text_cuts(&java);
    test_stack_text_cuts(&anr);
}

static void any_byte_may_be_wrong(void **state)
{
    (void)state;
    test_stack_text_odd_bytes(&java, 1, 1);
    test_stack_text_odd_bytes(&anr, 1, 1);
}

static void text_without_a_stack_is_an_error_with_a_hint(void **state)
{
    (void)state;
    test_stack_text_fails("Full thread dump OpenJDK\n", "a thread dump without a stack",
                          "jstack PID");
}

static void lack_of_memory_leaks_nothing(void **state)
{
    (void)state;
    test_stack_text_no_memory(&java);
    test_stack_text_no_memory(&anr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_thread_with_frames_is_a_sample),
        cmocka_unit_test(native_and_java_frames_are_one_stack),
        cmocka_unit_test(heads_of_java_8_have_one_blank_before_the_address),
        cmocka_unit_test(dumps_of_android_begin_as_tombstones_do),
        cmocka_unit_test(a_text_that_is_cut_anywhere_keeps_what_is_whole),
        cmocka_unit_test(any_byte_may_be_wrong),
        cmocka_unit_test(text_without_a_stack_is_an_error_with_a_hint),
        cmocka_unit_test(lack_of_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
