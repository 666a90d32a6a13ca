/* SPDX-License-Identifier: MIT */
#include "sample/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "proc/process.h"

enum { WHO_BYTES = 32 };

long cairn_setting(const char *name, long otherwise)
{
    struct cairn_buffer text = {0};
    char path[128];
    long value = otherwise;
    snprintf(path, sizeof path, "/proc/sys/kernel/%s", name);
    if (cairn_file_slurp(path, 256, &text, NULL) == CAIRN_OK) {
        char *end;
        long number = strtol(cairn_buffer_text(&text), &end, 10);
        if (end != cairn_buffer_text(&text))
            value = number;
    }
    cairn_buffer_done(&text);
    return value;
}

/* What the level means to somebody without rights. Debian's and Ubuntu's kernels know levels above
 * mainline's 2, which forbid perf_event_open altogether; mainline takes them for 2. */
static const char *paranoid_text(long level)
{
    if (level >= 4)
        return "everything is refused to ordinary users (Ubuntu's level)";
    if (level == 3)
        return "everything is refused to ordinary users (Debian's level; mainline takes it for 2)";
    if (level == 2)
        return "no kernel frames for ordinary users";
    return "ordinary users may sample their own processes";
}

static bool is_foreign(int pid)
{
    struct cairn_process_status status;
    return geteuid() != 0 && cairn_process_status(pid, &status, NULL) == CAIRN_OK &&
           status.euid != geteuid();
}

static bool is_filtered(void)
{
    struct cairn_process_status status;
    return cairn_process_status(getpid(), &status, NULL) == CAIRN_OK && status.seccomp == 2;
}

/* Whole CPUs are refused from level 1 on. */
static int fail_cpus(struct cairn_err *err, const char *who, const char *why)
{
    cairn_fail(err, CAIRN_E_ACCESS,
               "cannot sample %s: kernel.perf_event_paranoid is %ld, whole CPUs need 0 or "
               "CAP_PERFMON (%s)",
               who, cairn_setting("perf_event_paranoid", -2), why);
    cairn_hint(err, "run with sudo, or once: sudo setcap "
                    "cap_bpf,cap_perfmon,cap_sys_ptrace,cap_syslog+ep \"$(command -v cairn)\"; "
                    "sudo sysctl kernel.perf_event_paranoid=0 allows it without the names of "
                    "other users' programs");
    return CAIRN_E_ACCESS;
}

static int fail_forbidden(struct cairn_err *err, int os_errno, int pid, const char *who)
{
    const char *why = os_errno == EPERM ? "EPERM" : "EACCES";
    long level = cairn_setting("perf_event_paranoid", -2);
    if (pid < 0) {
        fail_cpus(err, who, why);
    } else if (is_foreign(pid)) {
        cairn_fail(err, CAIRN_E_ACCESS, "cannot sample %s: it belongs to another user (%s)", who,
                   why);
        cairn_hint(err, "run with sudo, or once: sudo setcap "
                        "cap_perfmon,cap_sys_ptrace,cap_syslog+ep \"$(command -v cairn)\"");
    } else if (level > 2) {
        cairn_fail(err, CAIRN_E_ACCESS,
                   "cannot sample %s: kernel.perf_event_paranoid is %ld: %s (%s)", who, level,
                   paranoid_text(level), why);
        cairn_hint(err, "sudo sysctl kernel.perf_event_paranoid=1, or run with sudo, or sudo "
                        "setcap cap_perfmon,cap_sys_ptrace+ep \"$(command -v cairn)\"");
    } else if (is_filtered()) {
        cairn_fail(err, CAIRN_E_ACCESS,
                   "cannot sample %s: perf_event_open is refused (%s) though "
                   "kernel.perf_event_paranoid is %ld: a seccomp filter, as in a container",
                   who, why, level);
        cairn_hint(err, "docker run --cap-add PERFMON --cap-add SYS_PTRACE "
                        "--security-opt seccomp=unconfined, and --pid=host for other containers");
    } else {
        cairn_fail(err, CAIRN_E_ACCESS,
                   "cannot sample %s: perf_event_open is refused (%s), "
                   "kernel.perf_event_paranoid is %ld: %s",
                   who, why, level, paranoid_text(level));
        cairn_hint(err, "run with sudo, or sudo sysctl kernel.perf_event_paranoid=1; a security "
                        "module (SELinux, lockdown) may refuse as well: see dmesg");
    }
    if (err)
        err->os_errno = os_errno;
    return CAIRN_E_ACCESS;
}

unsigned long long cairn_files_allowed(void)
{
    struct rlimit limit = {0};
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
}

int cairn_fail_perf(struct cairn_err *err, int os_errno, int pid)
{
    char who[WHO_BYTES] = "whole CPUs";
    int code;
    if (pid >= 0)
        snprintf(who, sizeof who, "pid %d", pid);
    switch (os_errno) {
    case EPERM:
    case EACCES:
        return fail_forbidden(err, os_errno, pid, who);
    case ESRCH:
        return cairn_fail(err, CAIRN_E_MISSING, "cannot sample %s: no such process", who);
    case ENOSYS:
        code = cairn_fail(err, CAIRN_E_SUPPORT,
                          "cannot sample %s: perf_event_open is not there (ENOSYS)", who);
        cairn_hint(err, "in a container: docker run --security-opt seccomp=unconfined --cap-add "
                        "PERFMON; else the kernel needs CONFIG_PERF_EVENTS");
        return code;
    case EMFILE:
    case ENFILE:
        code = cairn_fail(err, CAIRN_E_LIMIT,
                          "cannot sample %s: too many open files: one is needed for each "
                          "thread and CPU, and %llu are allowed",
                          who, cairn_files_allowed());
        cairn_hint(err, "run with sudo, which raises the limit or samples whole CPUs; or raise it "
                        "to as many: ulimit -n N (as root)");
        return code;
    case EOVERFLOW:
        code = cairn_fail(err, CAIRN_E_LIMIT, "the kernel allows %ld frames a stack",
                          cairn_setting("perf_event_max_stack", 127));
        cairn_hint(err, "sudo sysctl kernel.perf_event_max_stack=1024");
        return code;
    default:
        return cairn_fail_os(err, os_errno, "cannot sample %s: perf_event_open", who);
    }
}

void cairn_log_kernel_limits(int has_kernel, int asked_for_kernel)
{
    if (!asked_for_kernel)
        return;
    if (!has_kernel)
        cairn_log(CAIRN_LOG_WARNING,
                  "no kernel frames: kernel.perf_event_paranoid is %ld (sudo sysctl "
                  "kernel.perf_event_paranoid=1, or run with sudo); time in the kernel is not "
                  "counted",
                  cairn_setting("perf_event_paranoid", -2));
    else if (cairn_setting("kptr_restrict", 0) > (geteuid() == 0 ? 1 : 0))
        cairn_log(CAIRN_LOG_WARNING,
                  "kernel frames stay without names: kernel.kptr_restrict is %ld (sudo sysctl "
                  "kernel.kptr_restrict=0)",
                  cairn_setting("kptr_restrict", 0));
}
