/* SPDX-License-Identifier: MIT */
#include "fixture.h"

static void code_is_found_where_offset_and_vaddr_differ(void **state)
{
    (void)state;
    /* Taken for a vaddr, 0xc20 - 1 would lie in no function, and 0x1c20 in another one. */
    fixture_names(fixture_opts("7f0000000000-7f0000001000 r--p 00000000 08:01 7 /opt/lld.so\n"
                               "7f0000001000-7f0000002000 r-xp 00000000 08:01 7 /opt/lld.so\n"),
                  "a;0x7f0000001c10;0x7f0000001c30 1\n", "a;first;second 1\n");
}

static void a_page_that_is_mapped_twice_is_code_in_one_place_only(void **state)
{
    (void)state;
    fixture_names(fixture_opts("7f0000000000-7f0000001000 r--p 00000000 08:01 7 /opt/lld.so\n"
                               "7f0000001000-7f0000002000 r-xp 00000000 08:01 7 /opt/lld.so\n"),
                  "0x7f0000000c10;0x7f0000000c30 1\n", "0x7f0000000c10;0x7f0000000c30 1\n");
    assert_contains(fixture_said, "/opt/lld.so: in no segment for 2 of 2 addresses");
}

static void an_executable_keeps_its_own_base(void **state)
{
    (void)state;
    fixture_names(fixture_opts("400000-401000 r--p 00000000 08:01 8 /opt/fixed\n"
                               "401000-402000 r-xp 00001000 08:01 8 /opt/fixed\n"),
                  "0x401005 1\n", "start 1\n");
}

static void the_first_mapping_may_be_missing(void **state)
{
    (void)state;
    fixture_names(fixture_opts("7f0000001000-7f0000002000 r-xp 00000000 08:01 7 /opt/lld.so\n"),
                  "0x7f0000001c30 1\n", "second 1\n");
    fixture_names(fixture_opts("7f0000005000-7f0000006000 r-xp 00003000 08:01 9 /opt/two.so\n"),
                  "0x7f0000005100 1\n", "high 1\n");
}

static void several_executable_segments_have_a_vaddr_each(void **state)
{
    (void)state;
    fixture_names(fixture_opts("7f0000000000-7f0000001000 r--p 00000000 08:01 9 /opt/two.so\n"
                               "7f0000001000-7f0000002000 r-xp 00001000 08:01 9 /opt/two.so\n"
                               "7f0000005000-7f0000006000 r-xp 00003000 08:01 9 /opt/two.so\n"),
                  "0x7f0000001104;0x7f0000005104 1\n", "low;high 1\n");
}

static void one_file_mapped_at_two_places_is_named_at_both(void **state)
{
    (void)state;
    fixture_names(fixture_opts("7f0000001000-7f0000002000 r-xp 00001000 08:01 9 /opt/two.so\n"
                               "7f1000001000-7f1000002000 r-xp 00001000 08:01 9 /opt/two.so\n"),
                  "0x7f0000001104;0x7f1000001104 1\n", "low;low 1\n");
}

static void gaps_between_mappings_are_no_mapping(void **state)
{
    (void)state;
    fixture_names(fixture_opts("7f0000001000-7f0000002000 r-xp 00001000 08:01 9 /opt/two.so\n"
                               "7f0000005000-7f0000006000 r-xp 00003000 08:01 9 /opt/two.so\n"),
                  "0x7f0000003100;0xffffffffffffffff;0x0;0x7f0000000fff 1\n",
                  "0x7f0000003100;0xffffffffffffffff;0x0;0x7f0000000fff 1\n");
    assert_contains(fixture_said, "no mapping for 3 addresses");
}

static void of_overlapping_lines_the_later_one_holds(void **state)
{
    (void)state;
    fixture_names(fixture_opts("7f0000000000-7f0000010000 r-xp 00000000 08:01 1 /opt/gone.so\n"
                               "7f0000001000-7f0000002000 r-xp 00001000 08:01 9 /opt/two.so\n"),
                  "0x7f0000001104;0x7f0000000104 1\n", "low;0x7f0000000104 1\n");
    assert_contains(fixture_said, "/opt/gone.so: no binary for 1 of 1 addresses");
}

static void what_is_no_file_has_no_names(void **state)
{
    (void)state;
    fixture_names(fixture_opts("1000-2000 r-xp 00000000 00:00 0\n"
                               "7000-8000 r-xp 00000000 00:00 0 [vdso]\n"),
                  "0x1100;0x7100 1\n", "0x1100;0x7100 1\n");
    assert_contains(fixture_said, "[vdso]: mapping is no file for 1 of 1 addresses");
    assert_contains(fixture_said, "a mapping without a name: anonymous memory");
}

static void the_end_of_a_mapping_may_be_a_return_address(void **state)
{
    (void)state;
    /* A call of a function that never returns may be the last instruction of all. */
    fixture_names(fixture_opts("401000-401010 r-xp 00001000 08:01 8 /opt/fixed\n"),
                  "0x401010;x 1\n", "start;x 1\n");
}

static void a_deleted_file_is_taken_with_a_warning(void **state)
{
    (void)state;
    struct cairn_resolve_opts opts =
        fixture_opts("7f0000001000-7f0000002000 r-xp 00000000 08:01 7 /opt/lld.so (deleted)\n");
    fixture_names(opts, "0x7f0000001c30 1\n", "second 1\n");
    assert_contains(fixture_said, "was removed or replaced while the process ran");
    fixture_said[0] = 0;
    opts = fixture_opts("7f0000001000-7f0000002000 r-xp 00000000 08:01 7 /opt/lld.so (deleted)\n");
    opts.build_ids = "aabbccdd /opt/lld.so\n";
    fixture_names(opts, "0x7f0000001c30 1\n", "second 1\n");
    assert_string_equal(fixture_said, "");
}

static void a_debug_file_alone_is_addressed_from_the_load_base(void **state)
{
    (void)state;
    struct test_elf *w = malloc(sizeof *w);
    assert_non_null(w);
    *w = test_elf_of(true, false, ET_DYN, EM_X86_64);
    /* As objcopy --only-keep-debug leaves them: no bytes in the file, and offsets that are lost. */
    test_elf_load(w, PF_R, 0x0, 0x0, 0, 0xbd0);
    test_elf_load(w, PF_R | PF_X, 0xbd0, 0x1bd0, 0, 0x400);
    fixture_function(w, "debugged", fixture_code(w, ".text", SHT_NOBITS, 0x1bd0, 0x400), 0x1c00,
                     0x20);
    fixture_finish(w, "only.so.debug");
    free(w);
    fixture_names(fixture_opts("7f0000000000-7f0000001000 r--p 00000000 08:01 7 /opt/only.so\n"
                               "7f0000001000-7f0000002000 r-xp 00000000 08:01 7 /opt/only.so\n"),
                  "0x7f0000001c10 1\n", "debugged 1\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(code_is_found_where_offset_and_vaddr_differ, fixture_enter,
                                        fixture_leave),
        cmocka_unit_test_setup_teardown(a_page_that_is_mapped_twice_is_code_in_one_place_only,
                                        fixture_enter, fixture_leave),
        cmocka_unit_test_setup_teardown(an_executable_keeps_its_own_base, fixture_enter,
                                        fixture_leave),
        cmocka_unit_test_setup_teardown(the_first_mapping_may_be_missing, fixture_enter,
                                        fixture_leave),
        cmocka_unit_test_setup_teardown(several_executable_segments_have_a_vaddr_each,
                                        fixture_enter, fixture_leave),
        cmocka_unit_test_setup_teardown(one_file_mapped_at_two_places_is_named_at_both,
                                        fixture_enter, fixture_leave),
        cmocka_unit_test_setup_teardown(gaps_between_mappings_are_no_mapping, fixture_enter,
                                        fixture_leave),
        cmocka_unit_test_setup_teardown(of_overlapping_lines_the_later_one_holds, fixture_enter,
                                        fixture_leave),
        cmocka_unit_test_setup_teardown(what_is_no_file_has_no_names, fixture_enter, fixture_leave),
        cmocka_unit_test_setup_teardown(the_end_of_a_mapping_may_be_a_return_address, fixture_enter,
                                        fixture_leave),
        cmocka_unit_test_setup_teardown(a_deleted_file_is_taken_with_a_warning, fixture_enter,
                                        fixture_leave),
        cmocka_unit_test_setup_teardown(a_debug_file_alone_is_addressed_from_the_load_base,
                                        fixture_enter, fixture_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
