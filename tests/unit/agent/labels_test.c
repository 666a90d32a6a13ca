/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cairn/agent.h>

#include "profile/label_list.h"
#include "tests/support/test.h"

static struct cairn_profile *new_profile(void)
{
    struct cairn_profile *p;
    struct cairn_err err = {0};
    assert_ok(cairn_profile_new(&p, &err), err);
    assert_int_equal(cairn_profile_add_type(p, "samples", "count"), 0);
    return p;
}

static void add(struct cairn_profile *p, int pid, int tid, const char *process, const char *cgroup)
{
    static const int64_t one = 1;
    struct cairn_label_list list = {.profile = p};
    cairn_label_list_number(&list, "pid", pid);
    cairn_label_list_number(&list, "tid", tid);
    cairn_label_list_text(&list, "process", process);
    cairn_label_list_text(&list, "thread", "t");
    cairn_label_list_text(&list, "cgroup", cgroup);
    uint32_t labels = cairn_label_list_add(&list, 0, 0);
    assert_int_not_equal(cairn_profile_add_sample(p, 0, labels, &one), UINT32_MAX);
}

static const char *text_of(const struct cairn_profile *p, size_t sample, const char *key)
{
    const struct cairn_profile_label *label =
        cairn_profile_find_label(p, p->samples[sample].labels, key);
    return label ? cairn_strings_get(&p->strings, label->text) : NULL;
}

static uint64_t label(struct cairn_profile *p, const struct cairn_agent_labels *labels)
{
    struct cairn_err err = {0};
    uint64_t n_lost = 77;
    assert_ok(cairn_agent_label(p, labels, &n_lost, &err), err);
    return n_lost;
}

static void threads_go_and_the_unit_comes(void **state)
{
    (void)state;
    const struct cairn_agent_labels labels = {.size = sizeof labels};
    struct cairn_profile *p = new_profile();
    add(p, 7, 7, "nginx", "/system.slice/nginx.service");
    add(p, 7, 8, "nginx", "/system.slice/nginx.service");
    add(p, 9, 9, "bash", NULL);
    assert_int_equal(label(p, &labels), 0);
    assert_int_equal(p->n_samples, 2);
    assert_int_equal(p->values[0], 2);
    assert_string_equal(text_of(p, 0, "unit"), "nginx.service");
    assert_string_equal(text_of(p, 0, "process"), "nginx");
    assert_null(text_of(p, 0, "tid"));
    assert_null(text_of(p, 0, "thread"));
    assert_null(text_of(p, 1, "unit"));
    cairn_profile_free(p);
}

static void a_variable_of_the_process_is_a_label(void **state)
{
    (void)state;
    static const char *const names[] = {"CAIRN_TEST_SERVICE", "CAIRN_TEST_LONG", "CAIRN_TEST_NONE"};
    const struct cairn_agent_labels labels = {
        .size = sizeof labels, .environment = names, .n_environment = 3};
    struct cairn_profile *p = new_profile();
    int ready[2], held[2];
    char value[1000] = "", byte;
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(held), 0);
    pid_t pid = fork();
    if (pid == 0) {
        memset(value, 'x', sizeof value - 1);
        setenv("CAIRN_TEST_SERVICE", "shop\n\xff", 1);
        setenv("CAIRN_TEST_LONG", value, 1);
        dup2(ready[1], STDOUT_FILENO);
        dup2(held[0], STDIN_FILENO);
        close(held[1]);
        /* Not one that calls execve(2) again: meanwhile it has no environment. */
        execl("/bin/sh", "sh", "-c", "echo; read line", NULL);
        _exit(1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    add(p, pid, pid, "sleep", NULL);
    assert_int_equal(label(p, &labels), 0);
    assert_string_equal(text_of(p, 0, "CAIRN_TEST_SERVICE"), "shop__");
    assert_int_equal(strlen(text_of(p, 0, "CAIRN_TEST_LONG")), 128);
    assert_null(text_of(p, 0, "CAIRN_TEST_NONE"));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    for (int i = 0; i < 2; i++) {
        close(ready[i]);
        close(held[i]);
    }
    cairn_profile_free(p);
}

static void the_number_of_sets_has_a_bound(void **state)
{
    (void)state;
    struct cairn_agent_labels labels = {.size = sizeof labels, .max_sets = 10};
    struct cairn_profile *p = new_profile();
    for (int i = 1; i <= 50; i++) /* of pids: those go */
        add(p, i, i, i % 2 ? "odd" : "even", "/a.service");
    assert_int_equal(label(p, &labels), 40);
    assert_int_equal(p->n_samples, 2);
    assert_string_equal(text_of(p, 0, "unit"), "a.service");
    for (int i = 1; i <= 50; i++) { /* of units: the process stays */
        char unit[40];
        snprintf(unit, sizeof unit, "/%d.service", i);
        add(p, i, i, "odd", unit);
    }
    assert_true(label(p, &labels) > 0);
    assert_true(p->n_samples <= 10);
    assert_string_equal(text_of(p, 0, "process"), "odd");
    assert_null(text_of(p, 0, "unit"));
    for (int i = 1; i <= 50; i++) { /* of processes: nothing stays */
        char name[40];
        snprintf(name, sizeof name, "p%d", i);
        add(p, i, i, name, NULL);
    }
    assert_true(label(p, &labels) > 0);
    assert_int_equal(p->n_samples, 1);
    cairn_profile_free(p);
}

static void one_label_is_taken_from_all(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile();
    struct cairn_err err = {0};
    add(p, 1, 1, "a", NULL);
    add(p, 2, 1, "a", NULL);
    assert_ok(cairn_agent_unlabel(p, "pid", &err), err);
    assert_int_equal(p->n_samples, 1);
    assert_string_equal(text_of(p, 0, "process"), "a");
    cairn_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_go_and_the_unit_comes),
        cmocka_unit_test(a_variable_of_the_process_is_a_label),
        cmocka_unit_test(the_number_of_sets_has_a_bound),
        cmocka_unit_test(one_label_is_taken_from_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
