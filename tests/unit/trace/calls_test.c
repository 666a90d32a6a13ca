/* SPDX-License-Identifier: MIT */
#include "trace/calls.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

#include "bpf/trace.h"
#include "support/test.h"
#include "trace/call_forms.h"
#include "trace/flags.h"

static void calls_have_the_names_of_the_headers(void **state)
{
    (void)state;
    assert_string_equal(cairn_call_name(SYS_openat), "openat");
    assert_null(cairn_call_name(CAIRN_TRACE_NUMBERS - 1));
#ifdef __x86_64__
    assert_string_equal(cairn_call_name(CAIRN_TRACE_NUMBERS + 4), "write"); /* of i386 */
#endif
}

static void each_known_call_has_arguments_that_can_be_read(void **state)
{
    (void)state;
    struct cairn_syscall call;
    for (uint32_t row = 0; row < CAIRN_TRACE_CALLS; row++) {
        const char *name = cairn_call_name(row);
        if (!name || !cairn_call_find(name, &call))
            continue;
        assert_in_range(call.n_args, 0, CAIRN_CALL_ARGS);
        for (int i = 0; i < call.n_args; i++)
            assert_true(*call.args[i].name && call.args[i].kind);
    }
    assert_true(cairn_call_find("openat", &call));
    assert_int_equal(call.n_args, 4);
    assert_string_equal(call.args[1].name, "path");
    assert_int_equal(call.args[1].kind, CAIRN_KIND_TEXT);
    assert_int_equal(call.ret, CAIRN_KIND_FD);
    assert_true(cairn_call_find("exit_group", &call) && call.no_return);
    assert_false(cairn_call_find("no_such_call", &call));
    assert_int_equal(call.n_args, -1);
}

/* Of arm, and of i386 beside x86-64. */
static void calls_of_32_bit_programs_are_in_the_sets(void **state)
{
    (void)state;
    struct cairn_syscall call;
    assert_int_equal(cairn_call_sets("mmap2"), CAIRN_CALL_MEMORY | CAIRN_CALL_DESC);
    assert_int_equal(cairn_call_sets("stat64"), CAIRN_CALL_FILE);
    assert_int_equal(cairn_call_sets("waitpid"), CAIRN_CALL_PROCESS);
    assert_true(cairn_call_find("mmap2", &call));
    assert_int_equal(call.n_args, 6);
    assert_string_equal(call.args[5].name, "pages");
}

/* The table is sorted. */
static void calls_from_all_over_the_table_are_found(void **state)
{
    (void)state;
    static const char *const names[] = {"_llseek", "_newselect", "accept",  "chown", "chown32",
                                        "futex",   "getxattr",   "mmap2",   "read",  "sendfile64",
                                        "sync",    "syncfs",     "umount2", "write", "writev"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!cairn_call_form(names[i]))
            fail_msg("%s is not found", names[i]);
}

static bool is_in_rows(const char *name, uint32_t first, uint32_t end)
{
    for (uint32_t row = first; row < end; row++)
        if (cairn_call_name(row) && strcmp(cairn_call_name(row), name) == 0)
            return true;
    return false;
}

/* Of i386, what has no namesake on x86-64: it is the same as a call there, or one of these. */
static void each_32_bit_call_is_of_a_family_or_has_no_other_name(void **state)
{
    (void)state;
    static const char *const own[] = {
        "bdflush", "break",    "ftime",  "gtty",    "idle",    "ipc",        "lock",     "mpx",
        "nice",    "prof",     "profil", "readdir", "signal",  "socketcall", "sgetmask", "stime",
        "stty",    "ssetmask", "ulimit", "vm86",    "vm86old", NULL};
    for (uint32_t row = CAIRN_TRACE_NUMBERS; row < CAIRN_TRACE_CALLS; row++) {
        const char *name = cairn_call_name(row);
        const char *const *at = own, *const *family = name ? cairn_call_family(name) : NULL;
        if (!name || is_in_rows(name, 0, CAIRN_TRACE_NUMBERS))
            continue;
        while (*at && strcmp(*at, name) != 0)
            at++;
        if (!*at && (!family || !is_in_rows(family[0], 0, CAIRN_TRACE_NUMBERS)))
            fail_msg("%s: neither of a family nor without one", name);
        if (family && cairn_call_sets(name) != cairn_call_sets(family[0]))
            fail_msg("%s: in other sets than %s", name, family[0]);
    }
}

static void one_name_is_its_family(void **state)
{
    (void)state;
    assert_true(cairn_call_is_named("mmap2", "mmap"));
    assert_true(cairn_call_is_named("mmap", "mmap2"));
    assert_true(cairn_call_is_named("pread64", "pread"));
    assert_true(cairn_call_is_named("openat", "openat"));
    assert_false(cairn_call_is_named("openat", "open"));
    assert_false(cairn_call_is_named("munmap", "mmap"));
    assert_int_equal(cairn_call_sets("truncate64"), CAIRN_CALL_FILE);
    assert_int_equal(cairn_call_sets("getxattr"), CAIRN_CALL_FILE);
    assert_int_equal(cairn_call_sets("no_such_call"), 0);
}

static void errors_and_signals_have_names_both_ways(void **state)
{
    (void)state;
    assert_string_equal(cairn_error_name(ENOENT), "ENOENT");
    assert_int_equal(cairn_error_of("ENOENT", 6), ENOENT);
    assert_int_equal(cairn_error_of("ENOENT", 5), -1);
    assert_string_equal(cairn_signal_name(SIGTERM), "SIGTERM");
    assert_int_equal(cairn_signal_of("SIGTERM", 7), SIGTERM);
    assert_null(cairn_error_name(4000));
}

static void flags_are_named_and_the_rest_is_a_number(void **state)
{
    (void)state;
    struct cairn_buffer out = {0};
    cairn_flags_put(&out, "open =f", 02000102);
    assert_string_equal(cairn_buffer_text(&out), "O_RDWR|O_CREAT|O_CLOEXEC");
    cairn_buffer_clear(&out);
    cairn_flags_put(&out, "prot", 0);
    assert_string_equal(cairn_buffer_text(&out), "PROT_NONE");
    cairn_buffer_clear(&out);
    cairn_flags_put(&out, "prot", 0x101);
    assert_string_equal(cairn_buffer_text(&out), "PROT_READ|0x100");
    cairn_buffer_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_have_the_names_of_the_headers),
        cmocka_unit_test(each_known_call_has_arguments_that_can_be_read),
        cmocka_unit_test(calls_of_32_bit_programs_are_in_the_sets),
        cmocka_unit_test(each_32_bit_call_is_of_a_family_or_has_no_other_name),
        cmocka_unit_test(calls_from_all_over_the_table_are_found),
        cmocka_unit_test(one_name_is_its_family),
        cmocka_unit_test(errors_and_signals_have_names_both_ways),
        cmocka_unit_test(flags_are_named_and_the_rest_is_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
