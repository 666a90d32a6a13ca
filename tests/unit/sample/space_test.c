/* SPDX-License-Identifier: MIT */
#include "sample/space.h"

#include <link.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "sample/start.h"
#include "tests/support/test.h"

enum { PID = 4242 };

struct fixture {
    struct cairn_profile *profile;
    struct cairn_spaces spaces;
    struct cairn_space *space;
};

static struct fixture make(void)
{
    struct fixture f = {0};
    struct cairn_err err = {0};
    assert_ok(cairn_profile_new(&f.profile, &err), err);
    cairn_spaces_init(&f.spaces, f.profile);
    f.space = cairn_spaces_get(&f.spaces, PID);
    assert_non_null(f.space);
    return f;
}

static void drop(struct fixture *f)
{
    cairn_spaces_done(&f->spaces);
    cairn_profile_free(f->profile);
}

static void map(struct fixture *f, uint64_t start, uint64_t size, uint64_t off, const char *path)
{
    const struct cairn_stream_mapping news = {
        .start = start, .size = size, .off = off, .dev = 1, .inode = 2, .path = path};
    assert_int_equal(cairn_space_add(&f->spaces, f->space, &news), CAIRN_OK);
}

static void fork_process(struct fixture *f, int child)
{
    const struct cairn_stream_birth birth = {
        .pid = child, .tid = child, .parent_pid = PID, .parent_tid = PID};
    assert_int_equal(cairn_stream_processes_fork(&f->spaces.all, &birth), 1);
}

static void a_child_begins_with_its_parents_mappings_and_goes_its_own_way(void **state)
{
    (void)state;
    struct fixture f = make();
    map(&f, 0x1000, 0x1000, 0, "/a");
    fork_process(&f, PID + 1);
    struct cairn_space *child = cairn_spaces_get(&f.spaces, PID + 1);
    assert_non_null(cairn_stream_space_find(&child->code, 0x1000));
    assert_int_equal(cairn_stream_processes_exec(&f.spaces.all, PID + 1), CAIRN_OK);
    assert_null(cairn_stream_space_find(&child->code, 0x1000));
    assert_non_null(cairn_stream_space_find(&f.space->code, 0x1000));
    drop(&f);
}

static void a_child_is_in_its_parents_cgroup_until_it_can_be_asked(void **state)
{
    (void)state;
    struct fixture f = make();
    const int nobody = 0x3ffffff0;
    f.space->cgroup = cairn_profile_text(f.profile, "/group", 6);
    f.space->is_known = true;
    fork_process(&f, nobody);
    struct cairn_space *child = cairn_spaces_get(&f.spaces, nobody);
    assert_true(child->is_known);
    assert_false(child->has_cgroup);
    assert_int_equal(cairn_space_know(&f.spaces, child), CAIRN_OK); /* gone: keeps what it had */
    assert_true(child->has_cgroup);
    assert_string_equal(cairn_strings_get(&f.profile->strings, child->cgroup), "/group");
    drop(&f);
}

static void a_process_that_was_there_before_is_read_when_it_is_met(void **state)
{
    (void)state;
    struct fixture f = make();
    struct cairn_space *self = cairn_spaces_get(&f.spaces, getpid());
    assert_false(self->is_known);
    assert_int_equal(cairn_space_know(&f.spaces, self), CAIRN_OK);
    assert_true(self->is_known);
    assert_true(self->has_cgroup);
    assert_non_null(cairn_stream_space_find(&self->code, (uint64_t)(uintptr_t)getauxval(AT_ENTRY)));
    size_t n = self->code.n;
    self->code.n = 0; /* it is not read again */
    assert_int_equal(cairn_space_know(&f.spaces, self), CAIRN_OK);
    assert_int_equal(self->code.n, 0);
    self->code.n = n;
    drop(&f);
}

static void processes_that_have_ended_give_way_to_others(void **state)
{
    (void)state;
    enum { FIRST = 0x30000000, MANY = 3 * CAIRN_SPACES_MAX / 2 };
    struct fixture f = make();
    struct cairn_space *self = cairn_spaces_get(&f.spaces, getpid());
    /* its first thread alone */
    assert_int_equal(cairn_stream_processes_exit(&f.spaces.all, getpid(), getpid()), CAIRN_OK);
    for (int pid = FIRST; pid < FIRST + MANY; pid++) {
        assert_non_null(cairn_spaces_get(&f.spaces, pid));
        assert_int_equal(cairn_stream_processes_exit(&f.spaces.all, pid, pid), CAIRN_OK);
    }
    assert_true(f.spaces.all.n <= 1100);
    assert_ptr_equal(cairn_spaces_get(&f.spaces, getpid()), self);
    assert_ptr_equal(cairn_spaces_get(&f.spaces, PID), f.space);
    drop(&f);
}

static void processes_that_live_are_all_kept(void **state)
{
    (void)state;
    enum { FIRST = 0x30000000, MANY = 5000 };
    struct fixture f = make();
    for (int pid = FIRST; pid < FIRST + MANY; pid++)
        assert_non_null(cairn_spaces_get(&f.spaces, pid));
    assert_int_equal(f.spaces.all.n, MANY + 1);
    for (int pid = FIRST; pid < FIRST + MANY; pid++)
        assert_int_equal(cairn_spaces_get(&f.spaces, pid)->code.pid, pid);
    assert_int_equal(f.spaces.all.n, MANY + 1);
    drop(&f);
}

static void the_first_file_after_exec_is_the_program(void **state)
{
    (void)state;
    struct fixture f = make();
    map(&f, 0x1000, 0x1000, 0, "/bin/program");
    map(&f, 0x3000, 0x1000, 0, "/lib/ld.so");
    assert_string_equal(cairn_strings_get(&f.profile->strings, f.space->code.program),
                        "/bin/program");
    assert_int_equal(cairn_stream_processes_exec(&f.spaces.all, PID), CAIRN_OK);
    map(&f, 0x1000, 0x1000, 0, "/bin/other");
    assert_string_equal(cairn_strings_get(&f.profile->strings, f.space->code.program),
                        "/bin/other");
    drop(&f);
}

static void our_own_maps_are_read_and_our_own_code_is_told_apart(void **state)
{
    (void)state;
    struct fixture f = make();
    struct cairn_err err = {0};
    struct cairn_space *self = cairn_spaces_get(&f.spaces, getpid());
    assert_ok(cairn_space_read(&f.spaces, self, &err), err);
    uint64_t here = (uint64_t)(uintptr_t)&our_own_maps_are_read_and_our_own_code_is_told_apart;
    assert_non_null(cairn_stream_space_find(&self->code, here));
    assert_null(cairn_stream_space_find(&self->code, (uint64_t)(uintptr_t)&here));
    uint64_t ret = (uint64_t)(uintptr_t)__builtin_return_address(0);
    assert_true(cairn_calls_end(&f.spaces.calls, self, ret));
    drop(&f);
}

#if defined(__x86_64__)
/* What runs main() and threads here is known once we have looked at ourselves: the caller of a
 * thread's function is the start of that thread. */
static void *is_called_from_the_start(void *ctx)
{
    struct fixture *f = ctx;
    struct cairn_starts starts = {0};
    struct cairn_space *self = cairn_spaces_get(&f->spaces, getpid());
    bool known = cairn_space_read(&f->spaces, self, NULL) == CAIRN_OK;
    cairn_starts_learn_self(&starts);
    uint64_t ret = (uint64_t)(uintptr_t)__builtin_return_address(0);
    uint64_t here = (uint64_t)(uintptr_t)&is_called_from_the_start;
    known =
        known && cairn_starts_hold(&starts, self, ret) && !cairn_starts_hold(&starts, self, here);
    cairn_starts_done(&starts);
    return known ? f : NULL;
}

static void the_start_of_a_thread_is_found_without_symbols(void **state)
{
    (void)state;
    struct fixture f = make();
    pthread_t thread;
    void *answer = NULL;
    assert_int_equal(pthread_create(&thread, NULL, is_called_from_the_start, &f), 0);
    assert_int_equal(pthread_join(thread, &answer), 0);
    /* A sanitizer puts its own function between libc and ours. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    assert_ptr_equal(answer, &f);
#endif
    drop(&f);
}

/* Set by main(), whose caller is libc's. */
static uint64_t caller_of_main;

static void the_start_of_the_program_is_found_without_symbols(void **state)
{
    (void)state;
    struct fixture f = make();
    struct cairn_starts starts = {0};
    struct cairn_err err = {0};
    struct cairn_space *self = cairn_spaces_get(&f.spaces, getpid());
    assert_ok(cairn_space_read(&f.spaces, self, &err), err);
    assert_false(cairn_starts_hold(&starts, self, caller_of_main));
    cairn_starts_learn_program(&starts, self, UINT64_MAX);
    assert_true(cairn_starts_hold(&starts, self, caller_of_main));
    assert_true(cairn_starts_hold(&starts, self, self->entry));
    cairn_starts_done(&starts);
    drop(&f);
}

/* A sample of the time before the program itself begins is whole as well. */
static void the_start_of_the_loader_is_found_by_its_entry(void **state)
{
    (void)state;
    struct fixture f = make();
    struct cairn_starts starts = {0};
    struct cairn_err err = {0};
    struct cairn_space *self = cairn_spaces_get(&f.spaces, getpid());
    uint64_t base = getauxval(AT_BASE);
    if (!base)
        print_message("skipped: a static program has no loader\n");
    uint64_t entry = base ? base + ((const ElfW(Ehdr) *)(uintptr_t)base)->e_entry : 0;
    assert_ok(cairn_space_read(&f.spaces, self, &err), err);
    assert_false(cairn_starts_hold(&starts, self, entry));
    cairn_starts_learn_self(&starts);
    assert_true(!base || cairn_starts_hold(&starts, self, entry));
    assert_true(!base || cairn_starts_hold(&starts, self, entry + 48));
    assert_false(cairn_starts_hold(&starts, self, entry - 1));
    assert_false(cairn_starts_hold(&starts, self, entry + 64));
    cairn_starts_done(&starts);
    drop(&f);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_begins_with_its_parents_mappings_and_goes_its_own_way),
        cmocka_unit_test(a_child_is_in_its_parents_cgroup_until_it_can_be_asked),
        cmocka_unit_test(a_process_that_was_there_before_is_read_when_it_is_met),
        cmocka_unit_test(processes_that_have_ended_give_way_to_others),
        cmocka_unit_test(processes_that_live_are_all_kept),
        cmocka_unit_test(the_first_file_after_exec_is_the_program),
        cmocka_unit_test(our_own_maps_are_read_and_our_own_code_is_told_apart),
#if defined(__x86_64__)
        cmocka_unit_test(the_start_of_a_thread_is_found_without_symbols),
        cmocka_unit_test(the_start_of_the_program_is_found_without_symbols),
        cmocka_unit_test(the_start_of_the_loader_is_found_by_its_entry),
#endif
    };
#if defined(__x86_64__)
    caller_of_main = (uint64_t)(uintptr_t)__builtin_return_address(0);
#endif
    return cmocka_run_group_tests(tests, NULL, NULL);
}
