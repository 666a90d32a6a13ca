/* SPDX-License-Identifier: MIT */
#include "doctor/reason.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "doctor/allow.h"

/* One failure that is looked into. */
struct look {
    const struct cairn_doctor_facts *f;
    enum cairn_doctor_try number;
    const struct cairn_doctor_result *result;
    struct cairn_doctor_reason *reason;
};

/* What a try needs of the kernel. */
struct needs {
    uint64_t caps;                   /* that allow it whatever the settings are */
    enum cairn_doctor_option option; /* that it was built with; CAIRN_N_OPTIONS: none */
    const char *call;                /* that a filter may forbid; NULL: files alone */
};

#define BIT CAIRN_CAP_BIT

static const struct needs needs[CAIRN_N_TRIES] = {
    /* clang-format off */
    [CAIRN_TRY_PERF_USER] = {BIT(CAIRN_CAP_PERFMON), CAIRN_OPTION_PERF_EVENTS, "perf_event_open"},
    [CAIRN_TRY_PERF_KERNEL] = {BIT(CAIRN_CAP_PERFMON), CAIRN_OPTION_PERF_EVENTS,
                               "perf_event_open"},
    [CAIRN_TRY_PERF_ALL] = {BIT(CAIRN_CAP_PERFMON), CAIRN_OPTION_PERF_EVENTS, "perf_event_open"},
    [CAIRN_TRY_PERF_FOREIGN] = {BIT(CAIRN_CAP_PERFMON) | BIT(CAIRN_CAP_SYS_PTRACE),
                                CAIRN_OPTION_PERF_EVENTS, "perf_event_open"},
    [CAIRN_TRY_PERF_COUNTER] = {BIT(CAIRN_CAP_PERFMON), CAIRN_OPTION_PERF_EVENTS,
                                "perf_event_open"},
    [CAIRN_TRY_PERF_STACK] = {BIT(CAIRN_CAP_PERFMON), CAIRN_OPTION_PERF_EVENTS,
                              "perf_event_open"},
    [CAIRN_TRY_PERF_RING] = {BIT(CAIRN_CAP_PERFMON), CAIRN_OPTION_PERF_EVENTS, "perf_event_open"},
    [CAIRN_TRY_PTRACE_CHILD] = {BIT(CAIRN_CAP_SYS_PTRACE), CAIRN_N_OPTIONS, "ptrace"},
    [CAIRN_TRY_PTRACE_OTHER] = {BIT(CAIRN_CAP_SYS_PTRACE), CAIRN_N_OPTIONS, "ptrace"},
    [CAIRN_TRY_READ_OTHER] = {BIT(CAIRN_CAP_SYS_PTRACE), CAIRN_OPTION_CROSS_MEMORY,
                              "process_vm_readv"},
    [CAIRN_TRY_READ_FOREIGN] = {BIT(CAIRN_CAP_SYS_PTRACE), CAIRN_OPTION_CROSS_MEMORY,
                                "process_vm_readv"},
    [CAIRN_TRY_SYSCALL_OTHER] = {BIT(CAIRN_CAP_SYS_PTRACE), CAIRN_N_OPTIONS, NULL},
    [CAIRN_TRY_STACK_OTHER] = {BIT(CAIRN_CAP_SYS_ADMIN), CAIRN_OPTION_STACKTRACE, NULL},
    [CAIRN_TRY_MAP_FILES] = {BIT(CAIRN_CAP_CHECKPOINT_RESTORE), CAIRN_OPTION_CHECKPOINT, NULL},
    [CAIRN_TRY_KALLSYMS] = {BIT(CAIRN_CAP_SYSLOG), CAIRN_OPTION_KALLSYMS, NULL},
    [CAIRN_TRY_BPF_PROGRAM] = {BIT(CAIRN_CAP_BPF) | BIT(CAIRN_CAP_PERFMON),
                               CAIRN_OPTION_BPF_SYSCALL, "bpf"},
    [CAIRN_TRY_BPF_ITERATOR] = {BIT(CAIRN_CAP_BPF) | BIT(CAIRN_CAP_PERFMON),
                                CAIRN_OPTION_BPF_SYSCALL, "bpf"},
    [CAIRN_TRY_TRACEFS] = {0, CAIRN_OPTION_FTRACE_SYSCALLS, NULL},
    [CAIRN_TRY_WIPE] = {0, CAIRN_N_OPTIONS, "madvise"},
    [CAIRN_TRY_HEAP_FOLDER] = {0, CAIRN_N_OPTIONS, NULL},
    [CAIRN_TRY_RECORD_PID] = {BIT(CAIRN_CAP_PERFMON), CAIRN_N_OPTIONS, "perf_event_open"},
    [CAIRN_TRY_RECORD_COMMAND] = {BIT(CAIRN_CAP_PERFMON), CAIRN_N_OPTIONS, "perf_event_open"},
    [CAIRN_TRY_RECORD_TABLES] = {BIT(CAIRN_CAP_BPF) | BIT(CAIRN_CAP_PERFMON), CAIRN_N_OPTIONS,
                                 "bpf"},
    [CAIRN_TRY_RECORD_ALL] = {BIT(CAIRN_CAP_PERFMON), CAIRN_N_OPTIONS, "perf_event_open"},
    [CAIRN_TRY_RECORD_CGROUP] = {BIT(CAIRN_CAP_PERFMON), CAIRN_N_OPTIONS, "perf_event_open"},
    [CAIRN_TRY_RECORD_OFF_CPU] = {BIT(CAIRN_CAP_BPF) | BIT(CAIRN_CAP_PERFMON), CAIRN_N_OPTIONS,
                                  "bpf"},
    [CAIRN_TRY_TRACE_BPF] = {BIT(CAIRN_CAP_BPF) | BIT(CAIRN_CAP_PERFMON), CAIRN_N_OPTIONS, "bpf"},
    [CAIRN_TRY_TRACE_PERF] = {BIT(CAIRN_CAP_PERFMON), CAIRN_N_OPTIONS, "perf_event_open"},
    [CAIRN_TRY_TRACE_SECCOMP] = {BIT(CAIRN_CAP_SYS_PTRACE), CAIRN_N_OPTIONS, "seccomp"},
    [CAIRN_TRY_TRACE_PTRACE] = {BIT(CAIRN_CAP_SYS_PTRACE), CAIRN_N_OPTIONS, "ptrace"},
    [CAIRN_TRY_STACK_SLEEPING] = {BIT(CAIRN_CAP_SYS_PTRACE), CAIRN_N_OPTIONS,
                                  "process_vm_readv"},
    [CAIRN_TRY_STACK_RUNNING] = {BIT(CAIRN_CAP_SYS_PTRACE), CAIRN_N_OPTIONS, "ptrace"},
    /* clang-format on */
};

__attribute__((format(printf, 2, 3))) static void say(struct look *l, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(l->reason->why, sizeof l->reason->why, fmt, args);
    va_end(args);
}

__attribute__((format(printf, 2, 3))) static void advise(struct look *l, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(l->reason->fix, sizeof l->reason->fix, fmt, args);
    va_end(args);
}

static void allow(struct look *l, const char *sysctl)
{
    cairn_doctor_allow(l->f, needs[l->number].caps, sysctl, l->reason->fix);
}

static bool is_refusal(const struct look *l)
{
    return l->result->os_errno == EPERM || l->result->os_errno == EACCES;
}

static bool is_built_without(const struct look *l, enum cairn_doctor_option option)
{
    return option < CAIRN_N_OPTIONS && l->f->config.values[option] == 'n';
}

static bool has_setting(const struct look *l, enum cairn_doctor_setting setting, long long least)
{
    return l->f->settings[setting].is_there && l->f->settings[setting].value >= least;
}

const char *cairn_doctor_paranoid_text(long long level)
{
    if (level >= 4)
        return "everything is refused to ordinary users (Ubuntu's level)";
    if (level == 3)
        return "everything is refused to ordinary users (Debian's level; mainline takes it for 2)";
    if (level == 2)
        return "ordinary users may sample user code of their own processes, and no kernel code";
    if (level == 1)
        return "ordinary users may sample their own processes, with kernel code";
    if (level == 0)
        return "ordinary users may sample all processes, but take no raw tracepoints";
    return "nothing is refused to ordinary users";
}

/* Could it have been a filter? */
static bool is_filtered(const struct look *l)
{
    return needs[l->number].call && l->f->seccomp == 2 &&
           (l->result->os_errno == ENOSYS || l->result->os_errno == EPERM);
}

static void explain_filter(struct look *l)
{
    say(l, "a seccomp filter refuses %s (%s), as containers have it", needs[l->number].call,
        l->result->os_errno == EPERM ? "EPERM" : "ENOSYS");
    cairn_doctor_allow_call(l->f, needs[l->number].caps, l->reason->fix);
}

/* What holds for all: the kernel has no such call, or a filter or the lockdown forbids it. */
static bool explain_call(struct look *l)
{
    const struct needs *n = &needs[l->number];
    const char *call = n->call ? n->call : "a system call";
    if (l->result->outcome == CAIRN_TRIED_LATE) {
        say(l, "it did not come back");
        return true;
    }
    if (l->result->outcome == CAIRN_TRIED_KILLED) {
        say(l, "a seccomp filter ends the program that calls %s (%s)", call,
            l->result->signal == SIGSYS ? "SIGSYS" : strsignal(l->result->signal));
        cairn_doctor_allow_call(l->f, n->caps, l->reason->fix);
        return true;
    }
    bool is_missing = l->result->os_errno == ENOSYS || l->result->os_errno == ENOENT;
    if (is_missing && l->number != CAIRN_TRY_PERF_COUNTER && is_built_without(l, n->option)) {
        say(l, "this kernel was built without %s", cairn_doctor_option_name(n->option));
        advise(l, "a kernel with %s=y", cairn_doctor_option_name(n->option));
        return true;
    }
    /* perf_event_open itself says EACCES. */
    bool is_perf = n->call && strcmp(n->call, "perf_event_open") == 0;
    if (is_filtered(l) && (l->result->os_errno == ENOSYS || is_perf)) {
        explain_filter(l);
        return true;
    }
    if (l->result->os_errno == ENOSYS) {
        say(l, "this kernel has no %s (ENOSYS)", call);
        return true;
    }
    if (is_refusal(l) && strstr(l->f->lockdown, "[confidentiality]") &&
        (is_perf || strcmp(call, "bpf") == 0)) {
        say(l, "the kernel is locked down for confidentiality");
        advise(l, "start the machine without lockdown=confidentiality; Secure Boot may set it");
        return true;
    }
    return false;
}

static const char *outside(const struct look *l)
{
    return l->f->in_user_ns ? "; root of a user namespace does not count" : "";
}

static void explain_unknown(struct look *l)
{
    if (is_filtered(l)) {
        explain_filter(l);
        return;
    }
    say(l, "%s%s", strerror(l->result->os_errno),
        is_refusal(l) ? "; a security module (SELinux, AppArmor) may refuse it" : "");
    if (is_refusal(l))
        advise(l, "sudo dmesg | grep -i -e denied -e audit");
}

static void explain_perf(struct look *l)
{
    static const struct {
        long long refused_from; /* level of kernel.perf_event_paranoid */
        const char *sysctl;
    } levels[] = {
        [CAIRN_TRY_PERF_USER] = {3, "kernel.perf_event_paranoid=1"},
        [CAIRN_TRY_PERF_KERNEL] = {2, "kernel.perf_event_paranoid=1"},
        [CAIRN_TRY_PERF_ALL] = {1, "kernel.perf_event_paranoid=0"},
    };
    enum cairn_doctor_try as = l->number <= CAIRN_TRY_PERF_ALL ? l->number : CAIRN_TRY_PERF_USER;
    long long level = l->f->settings[CAIRN_SETTING_PARANOID].value;
    if (!cairn_facts_may_sample(l->f) &&
        has_setting(l, CAIRN_SETTING_PARANOID, levels[as].refused_from)) {
        say(l, "kernel.perf_event_paranoid is %lld: %s", level,
            as == CAIRN_TRY_PERF_ALL && level < 3
                ? "ordinary users may sample all processes at 0 or less alone"
                : cairn_doctor_paranoid_text(level));
        allow(l, levels[as].sysctl);
    } else if (l->result->os_errno == EACCES && has_setting(l, CAIRN_SETTING_PARANOID, 3) &&
               !cairn_facts_has(l->f, CAIRN_CAP_SYS_ADMIN)) {
        say(l,
            "kernel.perf_event_paranoid is %lld: this kernel asks for CAP_SYS_ADMIN there, as "
            "Ubuntu's do, and CAP_PERFMON does not count",
            level);
        cairn_doctor_allow(l->f, BIT(CAIRN_CAP_SYS_ADMIN), "kernel.perf_event_paranoid=2",
                           l->reason->fix);
    } else if (l->number == CAIRN_TRY_PERF_FOREIGN && !cairn_facts_may_sample(l->f)) {
        say(l, "pid %" PRIu64 " belongs to another user", l->result->answer.number);
        allow(l, NULL);
    } else {
        explain_unknown(l);
    }
}

static void explain_counter(struct look *l)
{
    say(l,
        "this machine shows no cycle counter, as virtual ones often do not: the kernel's CPU timer "
        "is used in its place");
}

static void explain_ring(struct look *l)
{
    long long limit = l->f->settings[CAIRN_SETTING_MLOCK_KB].value;
    if (!l->result->answer.number) {
        explain_perf(l);
        return;
    }
    say(l,
        "kernel.perf_event_mlock_kb is %lld: a ring has %" PRIu64 " KiB in place of 512, so that "
        "samples are lost sooner",
        limit, l->result->answer.number / 1024);
    cairn_doctor_allow(l->f, BIT(CAIRN_CAP_IPC_LOCK), "kernel.perf_event_mlock_kb=1028",
                       l->reason->fix);
}

/* Yama stands in front of ptrace(2) and process_vm_readv(2)
 * (Documentation/admin-guide/LSM/Yama.rst) where the target is no child. */
static void explain_access(struct look *l)
{
    long long scope = l->f->settings[CAIRN_SETTING_YAMA].value;
    bool is_child = l->number == CAIRN_TRY_PTRACE_CHILD;
    if (l->number == CAIRN_TRY_READ_FOREIGN && !cairn_facts_has(l->f, CAIRN_CAP_SYS_PTRACE)) {
        say(l, "pid %" PRIu64 " belongs to another user", l->result->answer.number);
        allow(l, NULL);
    } else if (has_setting(l, CAIRN_SETTING_YAMA, 3)) {
        say(l, "kernel.yama.ptrace_scope is 3: nobody may, until the machine is started anew");
        advise(l, "set kernel.yama.ptrace_scope=0 in /etc/sysctl.d, then start the machine anew");
    } else if (has_setting(l, CAIRN_SETTING_YAMA, is_child ? 2 : 1) &&
               !cairn_facts_has(l->f, CAIRN_CAP_SYS_PTRACE)) {
        say(l, "kernel.yama.ptrace_scope is %lld: %s", scope,
            scope == 1 ? "a process may look into its children alone" : "only root may");
        allow(l, "kernel.yama.ptrace_scope=0");
    } else {
        explain_unknown(l);
    }
}

/* kernel/ksyms_common.c, kallsyms_show_value(): 0 shows all where perf_event_paranoid is 1 or less,
 * 1 who has CAP_SYSLOG, 2 nobody. */
static void explain_kallsyms(struct look *l)
{
    if (has_setting(l, CAIRN_SETTING_KPTR, 2)) {
        say(l, "kernel.kptr_restrict is 2: addresses of the kernel are shown to nobody");
        cairn_doctor_allow(l->f, 0, "kernel.kptr_restrict=1", l->reason->fix);
    } else if (has_setting(l, CAIRN_SETTING_KPTR, 1)) {
        say(l, "kernel.kptr_restrict is 1: addresses of the kernel are shown to root");
        allow(l, NULL);
    } else if (!cairn_facts_has(l->f, CAIRN_CAP_SYSLOG) &&
               has_setting(l, CAIRN_SETTING_PARANOID, 2)) {
        say(l,
            "kernel.kptr_restrict is 0, but kernel.perf_event_paranoid is %lld: without CAP_SYSLOG "
            "addresses of the kernel are shown at 1 or less",
            l->f->settings[CAIRN_SETTING_PARANOID].value);
        allow(l, "kernel.perf_event_paranoid=1");
    } else {
        explain_unknown(l);
    }
}

static void explain_bpf(struct look *l)
{
    bool is_iterator = l->number == CAIRN_TRY_BPF_ITERATOR;
    if (is_refusal(l) && !cairn_facts_may_load(l->f)) {
        say(l, "CAP_BPF and CAP_PERFMON are lacking%s", outside(l));
        allow(l, NULL);
    } else if (is_refusal(l) && cairn_facts_before(l->f, 5, 11) && l->f->memlock.is_known &&
               l->f->memlock.soft != UINT64_MAX) {
        say(l,
            "programs count as locked memory before Linux 5.11, of which %" PRIu64
            " KiB are allowed",
            l->f->memlock.soft / 1024);
        advise(l, "ulimit -l unlimited");
    } else if (is_iterator && cairn_facts_before(l->f, 5, 18)) {
        say(l, "Linux 5.18 or later is needed, this is %s", l->f->release);
    } else if (is_iterator && l->result->os_errno == ENOENT) {
        say(l, "the kernel has no types of its own (/sys/kernel/btf/vmlinux)");
        advise(l, "a kernel with CONFIG_DEBUG_INFO_BTF=y");
    } else if (!is_iterator && is_built_without(l, CAIRN_OPTION_BPF_EVENTS)) {
        say(l, "this kernel was built without CONFIG_BPF_EVENTS");
        advise(l, "a kernel with CONFIG_BPF_EVENTS=y");
    } else {
        explain_unknown(l);
    }
}

static void explain_file(struct look *l, enum cairn_doctor_cap cap, const char *what)
{
    if (is_refusal(l) && !cairn_facts_has(l->f, cap) &&
        !cairn_facts_has(l->f, CAIRN_CAP_SYS_ADMIN)) {
        say(l, "%s%s", what, outside(l));
        allow(l, NULL);
    } else {
        explain_unknown(l);
    }
}

static void explain_tracefs(struct look *l)
{
    if (is_refusal(l)) {
        say(l, "/sys/kernel/tracing is for root alone");
        advise(l, "sudo mount -o remount,gid=$(id -g),mode=750 /sys/kernel/tracing");
    } else if (l->result->os_errno == ENOENT) {
        say(l, "no tracefs is mounted at /sys/kernel/tracing");
        if (*l->f->container)
            advise(l, "%s run -v /sys/kernel/tracing:/sys/kernel/tracing:ro", l->f->container);
        else
            advise(l, "sudo mount -t tracefs tracefs /sys/kernel/tracing");
    } else {
        explain_unknown(l);
    }
}

static void explain(struct look *l)
{
    switch (l->number) {
    case CAIRN_TRY_PERF_COUNTER:
        is_refusal(l) ? explain_perf(l) : explain_counter(l);
        break;
    case CAIRN_TRY_PERF_RING:
        explain_ring(l);
        break;
    case CAIRN_TRY_KALLSYMS:
        explain_kallsyms(l);
        break;
    case CAIRN_TRY_BPF_PROGRAM:
    case CAIRN_TRY_BPF_ITERATOR:
        explain_bpf(l);
        break;
    case CAIRN_TRY_STACK_OTHER:
        explain_file(l, CAIRN_CAP_SYS_ADMIN, "stacks of the kernel are shown to root alone");
        break;
    case CAIRN_TRY_MAP_FILES:
        explain_file(l, CAIRN_CAP_CHECKPOINT_RESTORE,
                     "files that were deleted while they run are opened for root alone");
        break;
    case CAIRN_TRY_TRACEFS:
        explain_tracefs(l);
        break;
    case CAIRN_TRY_WIPE:
        say(l, "Linux 4.14 or later is needed: children of a bare clone(2) are found out later");
        break;
    case CAIRN_TRY_HEAP_FOLDER:
        say(l, "no file can be made in $XDG_RUNTIME_DIR, /dev/shm, $TMPDIR or /tmp: %s",
            strerror(l->result->os_errno));
        advise(l, "TMPDIR=DIR cairn heap run -- COMMAND, with a folder that you may write to");
        break;
    default:
        l->number <= CAIRN_TRY_PERF_STACK ? explain_perf(l) : explain_access(l);
    }
}

void cairn_doctor_reason(const struct cairn_doctor_facts *facts, enum cairn_doctor_try number,
                         const struct cairn_doctor_result *result,
                         struct cairn_doctor_reason *ret_reason)
{
    struct look l = {facts, number, result, ret_reason};
    ret_reason->why[0] = ret_reason->fix[0] = 0;
    if (*result->answer.why) {
        say(&l, "%s", result->answer.why);
        advise(&l, "%s", result->answer.fix);
    } else if (!explain_call(&l)) {
        explain(&l);
    }
}
