/* SPDX-License-Identifier: MIT */
#include "proc/process.h"

#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/test.h"

enum { NO_SUCH_PID = 0x3fffffff };

static void status_tells_who_we_are(void **state)
{
    (void)state;
    struct cairn_process_status status;
    struct cairn_err err;
    assert_int_equal(prctl(PR_SET_NAME, "a (b)\\\n;c"), 0);
    assert_ok(cairn_process_status(getpid(), &status, &err), err);
    assert_string_equal(status.name, "a (b)\\\\\\n;c");
    assert_int_equal(status.state, 'R');
    assert_int_equal(status.tgid, getpid());
    assert_int_equal(status.ppid, getppid());
    assert_int_equal(status.uid, getuid());
    assert_int_equal(status.euid, geteuid());
    assert_int_equal(status.n_threads, 1);
    assert_int_equal(status.tracer_pid, 0);
    assert_int_equal(status.ns_pid, getpid());
    assert_int_equal(status.n_namespaces, 1);
    assert_ok(cairn_process_check_proc(&err), err);
}

static void the_program_and_its_arguments_are_read(void **state)
{
    (void)state;
    char ready;
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/sleep", "sleep", "100", NULL);
        _exit(1);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &ready, 1), 0); /* closed by exec */
    close(ends[0]);
    struct cairn_buffer exe = {0}, cmdline = {0};
    struct cairn_err err;
    bool deleted = true;
    uint64_t entry = 0;
    int codes[] = {cairn_process_exe(child, &exe, &deleted, &err),
                   cairn_process_cmdline(child, &cmdline, &err),
                   cairn_process_auxv(child, AT_ENTRY, &entry, &err)};
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(codes[i], CAIRN_OK);
    assert_contains(cairn_buffer_text(&exe), "bin/");
    assert_false(deleted);
    assert_string_equal(cairn_buffer_text(&cmdline), "sleep 100");
    assert_true(entry > 0x1000);
    cairn_buffer_done(&exe);
    cairn_buffer_done(&cmdline);
}

static void a_program_that_was_deleted_says_so(void **state)
{
    (void)state;
    char path[] = "/tmp/cairn-exe-XXXXXX", command[128];
    int fd = mkstemp(path), ends[2];
    assert_true(fd >= 0);
    close(fd);
    snprintf(command, sizeof command, "cp /bin/sleep %s && chmod +x %s", path, path);
    assert_int_equal(system(command), 0);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0) {
        execl(path, "sleep", "100", NULL);
        _exit(1);
    }
    close(ends[1]);
    char ready;
    assert_int_equal(read(ends[0], &ready, 1), 0);
    close(ends[0]);
    unlink(path);
    struct cairn_buffer exe = {0};
    struct cairn_err err;
    bool deleted = false;
    int code = cairn_process_exe(child, &exe, &deleted, &err);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(code, CAIRN_OK);
    assert_string_equal(cairn_buffer_text(&exe), path);
    assert_true(deleted);
    cairn_buffer_done(&exe);
}

static void the_auxiliary_vector_is_that_of_the_process(void **state)
{
    (void)state;
    uint64_t value = 0;
    struct cairn_err err;
    assert_ok(cairn_process_auxv(getpid(), AT_PAGESZ, &value, &err), err);
    assert_int_equal(value, getauxval(AT_PAGESZ));
    assert_ok(cairn_process_auxv(getpid(), AT_ENTRY, &value, &err), err);
    assert_int_equal(value, getauxval(AT_ENTRY));
    assert_fails(cairn_process_auxv(getpid(), 0x12345678, &value, &err), CAIRN_E_MISSING, err,
                 "no entry 305419896");
    assert_int_equal(value, getauxval(AT_ENTRY));
}

static void a_process_that_is_not_there_is_missing(void **state)
{
    (void)state;
    struct cairn_process_status status;
    struct cairn_buffer text = {0};
    struct cairn_err err;
    bool deleted;
    uint64_t value;
    static const char message[] = "pid 1073741823: No such process";
    assert_fails(cairn_process_status(NO_SUCH_PID, &status, &err), CAIRN_E_MISSING, err, message);
    assert_fails(cairn_process_exe(NO_SUCH_PID, &text, &deleted, &err), CAIRN_E_MISSING, err,
                 message);
    assert_fails(cairn_process_cmdline(NO_SUCH_PID, &text, &err), CAIRN_E_MISSING, err, message);
    assert_fails(cairn_process_auxv(NO_SUCH_PID, AT_ENTRY, &value, &err), CAIRN_E_MISSING, err,
                 message);
    assert_int_equal(text.size, 0);
    cairn_buffer_done(&text);
}

static void a_process_that_has_ended_has_no_program(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    struct cairn_process_status status;
    struct cairn_buffer text = {0};
    struct cairn_err err;
    bool deleted;
    assert_ok(cairn_process_status(child, &status, &err), err);
    assert_int_equal(status.state, 'Z');
    assert_fails(cairn_process_exe(child, &text, &deleted, &err), CAIRN_E_MISSING, err,
                 "runs no program");
    assert_ok(cairn_process_cmdline(child, &text, &err), err);
    assert_int_equal(text.size, 0);
    cairn_buffer_done(&text);
    waitpid(child, NULL, 0);
}

/* In a child that is nobody, of a process of root: pid 1, or our parent where that is root's. */
static void another_users_process_is_refused_with_a_hint(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && setresuid(65534, 65534, 65534) < 0)
            _exit(99);
        uint64_t value;
        struct cairn_err err;
        int code = cairn_process_auxv(1, AT_ENTRY, &value, &err);
        _exit(code == CAIRN_E_ACCESS && strstr(err.msg, "cannot read /proc/1/auxv") &&
                      strstr(err.hint, "it runs as uid 0")
                  ? 0
                  : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_tells_who_we_are),
        cmocka_unit_test(the_program_and_its_arguments_are_read),
        cmocka_unit_test(a_program_that_was_deleted_says_so),
        cmocka_unit_test(the_auxiliary_vector_is_that_of_the_process),
        cmocka_unit_test(a_process_that_is_not_there_is_missing),
        cmocka_unit_test(a_process_that_has_ended_has_no_program),
        cmocka_unit_test(another_users_process_is_refused_with_a_hint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
