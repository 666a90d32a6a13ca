/* SPDX-License-Identifier: MIT */
/* What the command says on machines that are made up here, held against text/NAME.txt and
 * text/NAME.json: text_test FOLDER. CAIRN_BLESS=1 writes them anew. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>

#include <cairn/sampler.h>
#include <cairn/snapshot.h>

#include "base/alloc.h"
#include "base/file.h"
#include "cli/doctor_text.h"
#include "doctor/report.h"
#include "support/test.h"

#define ALL_CAPS UINT64_C(0x1ffffffffff)
/* What docker leaves to root. */
#define DOCKER_CAPS UINT64_C(0xa80425fb)

static const char *folder;

struct world {
    struct cairn_doctor_facts facts;
    struct cairn_doctor_tries tries;
};

static void set(struct world *w, enum cairn_doctor_setting setting, long long value)
{
    w->facts.settings[setting].is_there = true;
    w->facts.settings[setting].value = value;
}

static void refuse(struct world *w, enum cairn_doctor_try number, int os_errno)
{
    struct cairn_doctor_result *result = &w->tries.results[number];
    result->outcome = CAIRN_TRIED_REFUSED;
    result->os_errno = os_errno;
}

/* What a command did by this way. */
static void take(struct world *w, enum cairn_doctor_try number, int way, bool has_kernel)
{
    w->tries.results[number] = (struct cairn_doctor_result){
        .outcome = CAIRN_TRIED_OK, .answer = {.way = way, .has_kernel = has_kernel}};
}

/* What it would not do, in its own words. */
static void deny(struct world *w, enum cairn_doctor_try number, const char *why, const char *fix)
{
    struct cairn_doctor_answer *answer = &w->tries.results[number].answer;
    refuse(w, number, EACCES);
    *answer = (struct cairn_doctor_answer){0};
    snprintf(answer->why, sizeof answer->why, "%s", why);
    snprintf(answer->fix, sizeof answer->fix, "%s", fix);
}

static void take_record(struct world *w, enum cairn_sample_method method, bool has_kernel)
{
    take(w, CAIRN_TRY_RECORD_PID, method, has_kernel);
    take(w, CAIRN_TRY_RECORD_COMMAND, method, false);
    take(w, CAIRN_TRY_RECORD_ALL, method, false);
    take(w, CAIRN_TRY_RECORD_CGROUP, method, false);
    take(w, CAIRN_TRY_RECORD_OFF_CPU, method, false);
    if (method != CAIRN_SAMPLE_BPF)
        deny(w, CAIRN_TRY_RECORD_OFF_CPU, "times off the CPU need BPF", "run with sudo");
    if (method == CAIRN_SAMPLE_BPF)
        take(w, CAIRN_TRY_RECORD_TABLES, method, has_kernel);
    else
        deny(w, CAIRN_TRY_RECORD_TABLES, "the stack walker needs root", "run with sudo");
}

static void deny_trace(struct world *w, bool has_child, bool has_other)
{
    deny(w, CAIRN_TRY_TRACE_BPF, "the stack walker needs root", "run with sudo");
    deny(w, CAIRN_TRY_TRACE_PERF, "the tracepoint cannot be read", "run with sudo");
    if (!has_child)
        deny(w, CAIRN_TRY_TRACE_SECCOMP, "the command cannot be traced", "");
    if (!has_other)
        deny(w, CAIRN_TRY_TRACE_PTRACE, "it cannot be traced", "");
}

static void deny_record(struct world *w)
{
    for (enum cairn_doctor_try i = CAIRN_TRY_RECORD_ALL; i <= CAIRN_TRY_RECORD_OFF_CPU; i++)
        deny(w, i, "cannot sample all", "");
    deny(w, CAIRN_TRY_RECORD_PID, "cannot sample", "");
    deny(w, CAIRN_TRY_RECORD_COMMAND, "cannot sample", "");
    deny(w, CAIRN_TRY_RECORD_TABLES, "the stack walker needs root", "run with sudo");
}

static void deny_stack(struct world *w)
{
    deny(w, CAIRN_TRY_STACK_SLEEPING, "cannot read memory", "");
    deny(w, CAIRN_TRY_STACK_RUNNING, "cannot stop it", "");
}

/* Root of a machine that allows all. */
static void make_root(struct world *w)
{
    *w = (struct world){.facts = {.release = "6.1.0-47-amd64",
                                  .machine = "x86_64",
                                  .major = 6,
                                  .minor = 1,
                                  .caps = ALL_CAPS,
                                  .caps_bounding = ALL_CAPS,
                                  .core_pattern = "core",
                                  .lockdown = "[none] integrity confidentiality",
                                  .lsm = "lockdown,capability,yama,apparmor",
                                  .memlock = {true, 8 << 20, 8 << 20},
                                  .nofile = {true, 1024, 1 << 20},
                                  .core = {true, 0, UINT64_MAX},
                                  .has_btf = true,
                                  .has_tracefs = true,
                                  .config = {.path = "/boot/config-6.1.0-47-amd64"}}};
    memset(w->facts.config.values, 'y', CAIRN_N_OPTIONS);
    set(w, CAIRN_SETTING_PARANOID, 3);
    set(w, CAIRN_SETTING_MLOCK_KB, 516);
    set(w, CAIRN_SETTING_SAMPLE_RATE, 100000);
    set(w, CAIRN_SETTING_MAX_STACK, 127);
    set(w, CAIRN_SETTING_KPTR, 0);
    set(w, CAIRN_SETTING_YAMA, 0);
    set(w, CAIRN_SETTING_UNPRIVILEGED_BPF, 2);
    set(w, CAIRN_SETTING_BPF_STATS, 0);
    set(w, CAIRN_SETTING_BPF_JIT, 1);
    for (int i = 0; i < CAIRN_N_TRIES; i++)
        w->tries.results[i].outcome = CAIRN_TRIED_OK;
    w->tries.results[CAIRN_TRY_PERF_RING].answer.number = 512 << 10;
    w->tries.results[CAIRN_TRY_PERF_FOREIGN].answer.number = 712;
    w->tries.results[CAIRN_TRY_READ_FOREIGN].answer.number = 712;
    take_record(w, CAIRN_SAMPLE_BPF, true);
    take(w, CAIRN_TRY_STACK_SLEEPING, CAIRN_SNAPSHOT_ITERATOR, false);
    take(w, CAIRN_TRY_STACK_RUNNING, CAIRN_SNAPSHOT_SAMPLE, false);
}

/* An ordinary user of mainline's default, with Yama's. */
static void make_user(struct world *w)
{
    make_root(w);
    w->facts.euid = 1000;
    w->facts.caps = 0;
    set(w, CAIRN_SETTING_PARANOID, 2);
    set(w, CAIRN_SETTING_YAMA, 1);
    refuse(w, CAIRN_TRY_PERF_KERNEL, EACCES);
    refuse(w, CAIRN_TRY_PERF_ALL, EACCES);
    refuse(w, CAIRN_TRY_PERF_FOREIGN, EACCES);
    refuse(w, CAIRN_TRY_PTRACE_OTHER, EPERM);
    refuse(w, CAIRN_TRY_READ_OTHER, EPERM);
    refuse(w, CAIRN_TRY_READ_FOREIGN, EPERM);
    refuse(w, CAIRN_TRY_SYSCALL_OTHER, EPERM);
    refuse(w, CAIRN_TRY_STACK_OTHER, EACCES);
    refuse(w, CAIRN_TRY_MAP_FILES, EPERM);
    refuse(w, CAIRN_TRY_KALLSYMS, EPERM);
    refuse(w, CAIRN_TRY_BPF_PROGRAM, EPERM);
    refuse(w, CAIRN_TRY_BPF_ITERATOR, EPERM);
    refuse(w, CAIRN_TRY_TRACEFS, EACCES);
    take_record(w, CAIRN_SAMPLE_DUMP, false);
    deny(w, CAIRN_TRY_RECORD_ALL, "cannot sample all", "");
    deny(w, CAIRN_TRY_RECORD_CGROUP, "cannot sample all", "");
    deny_trace(w, true, false);
    deny_stack(w);
}

static void refuse_perf(struct world *w, int os_errno)
{
    for (enum cairn_doctor_try i = CAIRN_TRY_PERF_USER; i <= CAIRN_TRY_PERF_RING; i++)
        refuse(w, i, os_errno);
    w->tries.results[CAIRN_TRY_PERF_RING].answer.number = 0;
}

static void make_debian(struct world *w)
{
    make_user(w);
    set(w, CAIRN_SETTING_PARANOID, 3);
    set(w, CAIRN_SETTING_KPTR, 1);
    refuse_perf(w, EACCES);
    deny_record(w);
    take(w, CAIRN_TRY_RECORD_COMMAND, CAIRN_SAMPLE_PTRACE, false);
}

static void make_ubuntu(struct world *w)
{
    make_debian(w);
    set(w, CAIRN_SETTING_PARANOID, 4);
    set(w, CAIRN_SETTING_YAMA, 3);
    refuse(w, CAIRN_TRY_PTRACE_CHILD, EPERM);
    deny_record(w);
    deny_trace(w, false, false);
    w->facts.no_new_privs = true;
    snprintf(w->facts.core_pattern, CAIRN_FACT_TEXT, "|/usr/share/apport/apport -p%%p");
}

/* The same with the capability that mainline asks for. */
static void make_perfmon(struct world *w)
{
    make_root(w);
    deny_trace(w, true, true);
    w->facts.euid = 1000;
    w->facts.caps = CAIRN_CAP_BIT(CAIRN_CAP_PERFMON) | CAIRN_CAP_BIT(CAIRN_CAP_SYS_PTRACE);
    set(w, CAIRN_SETTING_PARANOID, 4);
    refuse_perf(w, EACCES);
    refuse(w, CAIRN_TRY_BPF_PROGRAM, EPERM);
    refuse(w, CAIRN_TRY_BPF_ITERATOR, EPERM);
    deny_record(w);
    take(w, CAIRN_TRY_RECORD_COMMAND, CAIRN_SAMPLE_PTRACE, false);
    take(w, CAIRN_TRY_STACK_SLEEPING, CAIRN_SNAPSHOT_MEMORY, false);
    take(w, CAIRN_TRY_STACK_RUNNING, CAIRN_SNAPSHOT_PTRACE, false);
}

/* Root in a container, whose filter refuses what its capabilities do not have. */
static void make_docker(struct world *w)
{
    make_root(w);
    deny_trace(w, true, true);
    w->facts.caps = w->facts.caps_bounding = DOCKER_CAPS;
    w->facts.seccomp = 2;
    w->facts.in_pid_ns = true;
    w->facts.config = (struct cairn_doctor_config){.path = ""};
    memset(w->facts.config.values, '?', CAIRN_N_OPTIONS);
    snprintf(w->facts.container, CAIRN_FACT_TEXT, "docker");
    refuse_perf(w, EPERM);
    deny_record(w);
    take(w, CAIRN_TRY_RECORD_COMMAND, CAIRN_SAMPLE_PTRACE, false);
    take(w, CAIRN_TRY_STACK_SLEEPING, CAIRN_SNAPSHOT_MEMORY, false);
    w->tries.results[CAIRN_TRY_PERF_FOREIGN].outcome = CAIRN_TRIED_NOT;
    w->tries.results[CAIRN_TRY_READ_FOREIGN].outcome = CAIRN_TRIED_NOT;
    refuse(w, CAIRN_TRY_STACK_OTHER, EACCES);
    refuse(w, CAIRN_TRY_MAP_FILES, EPERM);
    refuse(w, CAIRN_TRY_KALLSYMS, EPERM);
    refuse(w, CAIRN_TRY_BPF_PROGRAM, EPERM);
    refuse(w, CAIRN_TRY_BPF_ITERATOR, EPERM);
    refuse(w, CAIRN_TRY_TRACEFS, ENOENT);
    w->facts.has_tracefs = false;
    take(w, CAIRN_TRY_STACK_RUNNING, CAIRN_SNAPSHOT_PTRACE, false);
}

/* A filter that ends the program, a kernel from before the fine capabilities. */
static void make_sandbox(struct world *w)
{
    make_user(w);
    w->facts.seccomp = 2;
    w->facts.no_new_privs = true;
    w->facts.major = 4;
    w->facts.minor = 9;
    snprintf(w->facts.release, CAIRN_FACT_TEXT, "4.9.0");
    w->facts.config.values[CAIRN_OPTION_STACKTRACE] = 'n';
    w->facts.config.values[CAIRN_OPTION_BPF_SYSCALL] = 'n';
    w->facts.config.values[CAIRN_OPTION_KALLSYMS] = 'n';
    w->facts.has_btf = false;
    for (enum cairn_doctor_try i = CAIRN_TRY_PERF_USER; i <= CAIRN_TRY_PTRACE_OTHER; i++)
        w->tries.results[i] =
            (struct cairn_doctor_result){.outcome = CAIRN_TRIED_KILLED, .signal = SIGSYS};
    for (enum cairn_doctor_try i = CAIRN_TRY_RECORD_PID; i < CAIRN_N_TRIES; i++)
        w->tries.results[i] =
            (struct cairn_doctor_result){.outcome = CAIRN_TRIED_KILLED, .signal = SIGSYS};
    w->tries.results[CAIRN_TRY_READ_OTHER].outcome = CAIRN_TRIED_LATE;
    refuse(w, CAIRN_TRY_STACK_OTHER, ENOENT);
    refuse(w, CAIRN_TRY_KALLSYMS, ENOENT);
    refuse(w, CAIRN_TRY_BPF_PROGRAM, ENOSYS);
    refuse(w, CAIRN_TRY_BPF_ITERATOR, ENOSYS);
    refuse(w, CAIRN_TRY_WIPE, EINVAL);
    refuse(w, CAIRN_TRY_HEAP_FOLDER, EROFS);
}

/* Root of a user namespace, as of a rootless container. */
static void make_rootless(struct world *w)
{
    make_user(w);
    w->facts.euid = 0;
    w->facts.caps = ALL_CAPS;
    w->facts.in_user_ns = w->facts.in_pid_ns = true;
    snprintf(w->facts.container, CAIRN_FACT_TEXT, "podman");
    w->tries.results[CAIRN_TRY_PERF_FOREIGN].outcome = CAIRN_TRIED_NOT;
    w->tries.results[CAIRN_TRY_READ_FOREIGN].outcome = CAIRN_TRIED_NOT;
    w->tries.results[CAIRN_TRY_PERF_RING] = (struct cairn_doctor_result){
        .outcome = CAIRN_TRIED_REFUSED, .os_errno = EPERM, .answer.number = 64 << 10};
    refuse(w, CAIRN_TRY_PERF_COUNTER, ENOENT);
    take(w, CAIRN_TRY_STACK_SLEEPING, CAIRN_SNAPSHOT_PTRACE, false);
}

/* Root of a kernel that has no types of its own, by a cairn that was built without BPF. */
static void make_bare(struct world *w)
{
    make_root(w);
    deny_trace(w, true, true);
    w->facts.has_btf = false;
    snprintf(w->facts.bpf_lacks, sizeof w->facts.bpf_lacks, "BPF is not in this build of cairn");
    refuse(w, CAIRN_TRY_BPF_ITERATOR, ENOENT);
    take_record(w, CAIRN_SAMPLE_PERF, true);
    deny(w, CAIRN_TRY_RECORD_TABLES, "the stack walker is not in this build of cairn",
         "build it with -Dbpf=enabled");
    take(w, CAIRN_TRY_STACK_SLEEPING, CAIRN_SNAPSHOT_MEMORY, false);
}

static void add_process(struct cairn_doctor *d)
{
    cairn_doctor_add(d, &(struct cairn_doctor_finding){.group = CAIRN_DOCTOR_PROCESS,
                                                       .key = "process.name",
                                                       .name = "name",
                                                       .value = "evil\033[31m\n"});
    cairn_doctor_add_module(d, &(struct cairn_doctor_module){.path = "/bin/\033]0;title\a\nred",
                                                             .code_bytes = 4096,
                                                             .build_id = "0123456789abcdef0123",
                                                             .tables = ".eh_frame",
                                                             .covered_percent = 24,
                                                             .derived_percent = 60,
                                                             .symbols = ".dynsym",
                                                             .why = "no debug file",
                                                             .fix = "get it"});
    cairn_doctor_add_module(
        d, &(struct cairn_doctor_module){.path = "/usr/lib/libfine.so.1",
                                         .code_bytes = 4096,
                                         .build_id = "ff",
                                         .tables = ".eh_frame+.debug_frame",
                                         .covered_percent = 100,
                                         .symbols = ".symtab",
                                         .has_lines = 1,
                                         .has_inlines = 1,
                                         .is_deleted = 1,
                                         .debug_path = "/usr/lib/debug/.build-id/f/f.debug"});
    cairn_doctor_add_module(d, &(struct cairn_doctor_module){.path = "",
                                                             .code_bytes = 1 << 20,
                                                             .covered_percent = -1,
                                                             .why = "code of no file",
                                                             .fix = "node --perf-basic-prof"});
}

static void hold_against(const char *name, const struct cairn_buffer *got)
{
    char path[PATH_MAX];
    struct cairn_buffer wanted = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_false(got->failed);
    if (getenv("CAIRN_BLESS")) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        assert_int_equal(fwrite(got->data, 1, got->size, file), got->size);
        assert_int_equal(fclose(file), 0);
    }
    (void)cairn_file_slurp(path, 1 << 20, &wanted, NULL);
    assert_string_equal(cairn_buffer_text(got), cairn_buffer_text(&wanted));
    cairn_buffer_done(&wanted);
}

static void show(const struct world *w, const char *name, bool with_process)
{
    struct cairn_doctor *d = cairn_alloc(1, sizeof *d);
    struct cairn_buffer text = {0}, json = {0};
    struct cli_doctor_form form = {.width = 100, .pid = with_process ? 4242 : 0};
    char file[64];
    assert_non_null(d);
    d->title = cairn_doctor_text(d, w->facts.release);
    cairn_doctor_judge_commands(d, &w->facts, &w->tries);
    cairn_doctor_judge_tries(d, &w->facts, &w->tries);
    if (with_process)
        add_process(d);
    cairn_doctor_judge_rights(d, &w->facts);
    cairn_doctor_judge_settings(d, &w->facts);
    cairn_doctor_judge_kernel(d, &w->facts);
    assert_false(d->failed);
    cli_doctor_add_text(&text, d, &form);
    cli_doctor_add_json(&json, d, &form);
    snprintf(file, sizeof file, "%s.txt", name);
    hold_against(file, &text);
    snprintf(file, sizeof file, "%s.json", name);
    if (with_process)
        hold_against(file, &json);
    /* The narrowest terminal, in colours: nothing is lost, and each colour is ended. */
    form.width = 1;
    form.colour = true;
    cairn_buffer_clear(&text);
    cli_doctor_add_text(&text, d, &form);
    assert_false(text.failed);
    cairn_buffer_done(&text);
    cairn_buffer_done(&json);
    cairn_doctor_free(d);
}

#define WORLD_TEST(name, with_process)                                                             \
    static void the_world_of_##name(void **state)                                                  \
    {                                                                                              \
        (void)state;                                                                               \
        struct world w;                                                                            \
        make_##name(&w);                                                                           \
        show(&w, #name, with_process);                                                             \
    }

WORLD_TEST(root, true)
WORLD_TEST(user, false)
WORLD_TEST(debian, false)
WORLD_TEST(ubuntu, false)
WORLD_TEST(perfmon, false)
WORLD_TEST(docker, false)
WORLD_TEST(sandbox, false)
WORLD_TEST(rootless, false)
WORLD_TEST(bare, false)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_world_of_root),    cmocka_unit_test(the_world_of_user),
        cmocka_unit_test(the_world_of_debian),  cmocka_unit_test(the_world_of_ubuntu),
        cmocka_unit_test(the_world_of_perfmon), cmocka_unit_test(the_world_of_docker),
        cmocka_unit_test(the_world_of_sandbox), cmocka_unit_test(the_world_of_rootless),
        cmocka_unit_test(the_world_of_bare),
    };
    folder = argc > 1 ? argv[1] : ".";
    return cmocka_run_group_tests(tests, NULL, NULL);
}
