/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sample/collect.h"
#include "tests/support/test.h"

/* No such processes: everything is known from what is told here. */
enum { PARENT = 0x3f000000, CHILD = 0x3f000100, ROUNDS = 5000, EACH_TURN = 50 };

static const uint64_t chain[] = {0x1010, 0x1020};

static struct cairn_collect begin(void)
{
    struct cairn_collect collect;
    const struct cairn_stream_mapping news = {
        .start = 0x1000, .size = 0x1000, .dev = 1, .inode = 2, .path = "/bin/program"};
    assert_int_equal(cairn_collect_init(&collect, cairn_event_get(CAIRN_EVENT_CPU), 1, NULL),
                     CAIRN_OK);
    struct cairn_space *space = cairn_spaces_get(&collect.spaces, PARENT);
    assert_non_null(space);
    assert_int_equal(cairn_space_add(&collect.spaces, space, &news), CAIRN_OK);
    assert_int_equal(cairn_collect_name(&collect, PARENT, "parent"), CAIRN_OK);
    return collect;
}

static void fork_process(struct cairn_collect *collect, uint32_t parent, uint32_t child)
{
    const struct cairn_stream_birth birth = {
        .pid = (int)child, .tid = (int)child, .parent_pid = (int)parent, .parent_tid = (int)parent};
    assert_int_equal(cairn_collect_fork(collect, &birth), CAIRN_OK);
}

static void end(struct cairn_collect *collect, uint32_t pid, uint32_t tid)
{
    assert_int_equal(cairn_stream_processes_exit(&collect->spaces.all, (int)pid, (int)tid),
                     CAIRN_OK);
}

static void sample(struct cairn_collect *collect, int pid, int tid)
{
    const struct cairn_sampled caught = {
        .pid = pid, .tid = tid, .user = {.chain = chain, .n_chain = 2}, .value = 1};
    assert_int_equal(cairn_collect_add(collect, &caught), CAIRN_OK);
}

static const char *last_name(const struct cairn_collect *collect)
{
    const struct cairn_profile *p = collect->profile;
    const struct cairn_profile_label *label =
        cairn_profile_find_label(p, p->samples[collect->last].labels, "thread");
    return label ? cairn_strings_get(&p->strings, label->text) : "";
}

static bool has(const struct cairn_table *table, uint64_t key)
{
    uint32_t value;
    return cairn_table_find(table, key, &value);
}

static void processes_without_end_are_kept_no_longer_than_they_can_be_asked_for(void **state)
{
    (void)state;
    struct cairn_collect collect = begin();
    size_t most = 0, most_names = 0;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        fork_process(&collect, PARENT, CHILD + i);
        sample(&collect, (int)(CHILD + i), (int)(CHILD + i));
        end(&collect, CHILD + i, CHILD + i);
        if (i % EACH_TURN == 0)
            cairn_collect_turn(&collect);
        most = collect.spaces.all.n > most ? collect.spaces.all.n : most;
        most_names =
            collect.spaces.all.names.n > most_names ? collect.spaces.all.names.n : most_names;
    }
    assert_in_range(most, EACH_TURN, 2 * EACH_TURN + 2);
    assert_in_range(most_names, EACH_TURN, 2 * EACH_TURN + 2);
    cairn_collect_turn(&collect);
    cairn_collect_turn(&collect);
    assert_int_equal(collect.spaces.all.n, 1);
    assert_int_equal(collect.spaces.all.names.n, 1);
    assert_int_equal(collect.spaces.all.threads.n, 0);
    assert_int_equal(collect.spaces.all.ended.n, 0);
    assert_int_equal(collect.n_threads, ROUNDS);
    assert_int_equal(collect.n_processes, ROUNDS);
    cairn_collect_done(&collect);
}

static void what_comes_late_of_a_thread_has_its_name(void **state)
{
    (void)state;
    struct cairn_collect collect = begin();
    fork_process(&collect, PARENT, CHILD);
    end(&collect, CHILD, CHILD);
    sample(&collect, CHILD, CHILD);
    assert_string_equal(last_name(&collect), "parent");
    cairn_collect_turn(&collect);
    sample(&collect, CHILD, CHILD);
    assert_string_equal(last_name(&collect), "parent");
    assert_int_equal(collect.n_threads, 1);
    cairn_collect_turn(&collect);
    assert_false(has(&collect.spaces.all.names, CHILD));
    cairn_collect_done(&collect);
}

static void a_number_that_is_given_again_is_another_thread(void **state)
{
    (void)state;
    struct cairn_collect collect = begin();
    fork_process(&collect, PARENT, CHILD);
    assert_int_equal(cairn_collect_name(&collect, CHILD, "first"), CAIRN_OK);
    sample(&collect, CHILD, CHILD);
    end(&collect, CHILD, CHILD);
    cairn_collect_turn(&collect);
    fork_process(&collect, PARENT, CHILD);
    cairn_collect_turn(&collect);
    cairn_collect_turn(&collect);
    sample(&collect, CHILD, CHILD);
    assert_string_equal(last_name(&collect), "parent");
    assert_true(has(&collect.spaces.all.by_pid, CHILD));
    assert_int_equal(collect.n_threads, 2);
    assert_int_equal(collect.n_processes, 2);
    cairn_collect_done(&collect);
}

/* The kernel ends the first thread, and gives its number to the one that calls execve(2). */
static void a_process_whose_program_another_thread_replaced_lives_on(void **state)
{
    (void)state;
    struct cairn_collect collect = begin();
    fork_process(&collect, PARENT, CHILD);
    end(&collect, CHILD, CHILD);
    assert_int_equal(cairn_stream_processes_exec(&collect.spaces.all, CHILD), CAIRN_OK);
    assert_int_equal(cairn_collect_name(&collect, CHILD, "second"), CAIRN_OK);
    cairn_collect_turn(&collect);
    cairn_collect_turn(&collect);
    sample(&collect, CHILD, CHILD);
    assert_string_equal(last_name(&collect), "second");
    assert_true(has(&collect.spaces.all.by_pid, CHILD));
    cairn_collect_done(&collect);
}

/* Its first thread has ended; as long as nobody waits for it the number is its own. */
static void a_zombie_is_kept(void **state)
{
    (void)state;
    siginfo_t info;
    struct cairn_collect collect = begin();
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    assert_true(pid > 0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    fork_process(&collect, PARENT, (uint32_t)pid);
    end(&collect, (uint32_t)pid, (uint32_t)pid);
    cairn_collect_turn(&collect);
    cairn_collect_turn(&collect);
    assert_true(has(&collect.spaces.all.by_pid, (uint64_t)pid));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    end(&collect, (uint32_t)pid, (uint32_t)pid);
    cairn_collect_turn(&collect);
    cairn_collect_turn(&collect);
    assert_false(has(&collect.spaces.all.by_pid, (uint64_t)pid));
    cairn_collect_done(&collect);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_without_end_are_kept_no_longer_than_they_can_be_asked_for),
        cmocka_unit_test(what_comes_late_of_a_thread_has_its_name),
        cmocka_unit_test(a_number_that_is_given_again_is_another_thread),
        cmocka_unit_test(a_process_whose_program_another_thread_replaced_lives_on),
        cmocka_unit_test(a_zombie_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
