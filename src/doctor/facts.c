/* SPDX-License-Identifier: MIT */
#include "doctor/facts.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/file.h"
#include "proc/process.h"

enum { FILE_BYTES_MAX = 1 << 16, LINK_BYTES = 64 };

/* Namespaces that the machine was started with have inodes of their own (proc_ns.h). */
static const char first_pid_ns[] = "pid:[4026531836]", first_user_ns[] = "user:[4026531837]",
                  first_uts_ns[] = "uts:[4026531838]", first_ipc_ns[] = "ipc:[4026531839]",
                  first_cgroup_ns[] = "cgroup:[4026531835]";

static const struct {
    const char *name, *path;
} setting_files[CAIRN_N_SETTINGS] = {
    [CAIRN_SETTING_PARANOID] = {"kernel.perf_event_paranoid", "kernel/perf_event_paranoid"},
    [CAIRN_SETTING_MLOCK_KB] = {"kernel.perf_event_mlock_kb", "kernel/perf_event_mlock_kb"},
    [CAIRN_SETTING_SAMPLE_RATE] = {"kernel.perf_event_max_sample_rate",
                                   "kernel/perf_event_max_sample_rate"},
    [CAIRN_SETTING_MAX_STACK] = {"kernel.perf_event_max_stack", "kernel/perf_event_max_stack"},
    [CAIRN_SETTING_KPTR] = {"kernel.kptr_restrict", "kernel/kptr_restrict"},
    [CAIRN_SETTING_YAMA] = {"kernel.yama.ptrace_scope", "kernel/yama/ptrace_scope"},
    [CAIRN_SETTING_UNPRIVILEGED_BPF] = {"kernel.unprivileged_bpf_disabled",
                                        "kernel/unprivileged_bpf_disabled"},
    [CAIRN_SETTING_BPF_STATS] = {"kernel.bpf_stats_enabled", "kernel/bpf_stats_enabled"},
    [CAIRN_SETTING_BPF_JIT] = {"net.core.bpf_jit_enable", "net/core/bpf_jit_enable"},
};

const char *cairn_doctor_setting_name(enum cairn_doctor_setting setting)
{
    return setting_files[setting].name;
}

/* ROOT/PATH; "" where it cannot be read. Holds until the buffer's next use. */
static const char *slurp(const char *root, const char *path, struct cairn_buffer *text)
{
    char where[PATH_MAX];
    cairn_buffer_clear(text);
    if (snprintf(where, sizeof where, "%s%s", root, path) >= (int)sizeof where ||
        cairn_file_slurp(where, FILE_BYTES_MAX, text, NULL) < 0)
        cairn_buffer_clear(text);
    if (!text->size)
        return "";
    return cairn_buffer_text(text);
}

/* The first line, cut to what has room. */
static void read_line(const char *root, const char *path, char ret_text[CAIRN_FACT_TEXT])
{
    struct cairn_buffer text = {0};
    const char *at = slurp(root, path, &text);
    snprintf(ret_text, CAIRN_FACT_TEXT, "%.*s", (int)strcspn(at, "\n"), at);
    cairn_buffer_done(&text);
}

/* A folder that may not be looked into is one: a mount point on which nothing is mounted may be. */
static bool exists(const char *root, const char *path)
{
    char where[PATH_MAX];
    return snprintf(where, sizeof where, "%s%s", root, path) < (int)sizeof where &&
           (access(where, F_OK) == 0 || errno == EACCES);
}

static void read_settings(const char *root, struct cairn_doctor_facts *f)
{
    struct cairn_buffer text = {0};
    char path[CAIRN_FACT_TEXT], *end;
    for (int i = 0; i < CAIRN_N_SETTINGS; i++) {
        snprintf(path, sizeof path, "/proc/sys/%s", setting_files[i].path);
        const char *at = slurp(root, path, &text);
        long long value = strtoll(at, &end, 10);
        f->settings[i].is_there = end != at;
        f->settings[i].value = end != at ? value : 0;
    }
    cairn_buffer_done(&text);
}

static unsigned long long number_field(const char *text, const char *name, int base,
                                       unsigned long long otherwise)
{
    const char *field = cairn_process_field(text, name);
    return field && isxdigit((unsigned char)*field) ? strtoull(field, NULL, base) : otherwise;
}

static void read_status(const char *root, struct cairn_doctor_facts *f)
{
    struct cairn_buffer bytes = {0};
    const char *text = slurp(root, "/proc/self/status", &bytes);
    unsigned uid = 0, euid = 0;
    const char *uids = cairn_process_field(text, "Uid");
    if (uids && sscanf(uids, "%u %u", &uid, &euid) == 2)
        f->euid = euid;
    f->caps = number_field(text, "CapEff", 16, 0);
    f->caps_bounding = number_field(text, "CapBnd", 16, 0);
    unsigned long long seccomp = number_field(text, "Seccomp", 10, UINT64_MAX);
    f->seccomp = seccomp <= 2 ? (int)seccomp : -1;
    f->no_new_privs = number_field(text, "NoNewPrivs", 10, 0) == 1;
    cairn_buffer_done(&bytes);
}

/* "Max open files            1024                 1048576              files" */
static void read_limit(const char *text, const char *name, struct cairn_doctor_limit *limit)
{
    const char *at = strstr(text, name);
    uint64_t values[2];
    if (!at)
        return;
    at += strlen(name);
    for (int i = 0; i < 2; i++) {
        char *end;
        at += strspn(at, " ");
        bool unlimited = strncmp(at, "unlimited", 9) == 0;
        values[i] = unlimited ? UINT64_MAX : strtoull(at, &end, 10);
        if (!unlimited && end == at)
            return;
        at = unlimited ? at + 9 : end;
    }
    *limit = (struct cairn_doctor_limit){true, values[0], values[1]};
}

static void read_limits(const char *root, struct cairn_doctor_facts *f)
{
    struct cairn_buffer bytes = {0};
    const char *text = slurp(root, "/proc/self/limits", &bytes);
    read_limit(text, "Max locked memory", &f->memlock);
    read_limit(text, "Max open files", &f->nofile);
    read_limit(text, "Max core file size", &f->core);
    cairn_buffer_done(&bytes);
}

/* Is it another namespace than the machine's first one? Not known is no. */
static bool is_inner(const char *root, const char *path, const char *first)
{
    char where[PATH_MAX], link[LINK_BYTES] = "";
    if (snprintf(where, sizeof where, "%s%s", root, path) >= (int)sizeof where)
        return false;
    ssize_t got = readlink(where, link, sizeof link - 1);
    return got > 0 && strcmp(link, first) != 0;
}

/* Each leaves a mark of its own, which is in images of virtual machines, too: there are namespaces
 * only in a container. */
static void find_container(const char *root, struct cairn_doctor_facts *f)
{
    if (!f->in_pid_ns && !is_inner(root, "/proc/self/ns/uts", first_uts_ns) &&
        !is_inner(root, "/proc/self/ns/ipc", first_ipc_ns) &&
        !is_inner(root, "/proc/self/ns/cgroup", first_cgroup_ns))
        return;
    if (exists(root, "/.dockerenv"))
        snprintf(f->container, sizeof f->container, "docker");
    else if (exists(root, "/run/.containerenv"))
        snprintf(f->container, sizeof f->container, "podman");
    else if (exists(root, "/var/run/secrets/kubernetes.io"))
        snprintf(f->container, sizeof f->container, "kubernetes");
    else
        read_line(root, "/run/systemd/container", f->container);
}

void cairn_doctor_read_facts(const char *root, struct cairn_doctor_facts *ret_facts)
{
    struct utsname names;
    struct cairn_doctor_facts f = {.seccomp = -1};
    if (uname(&names) == 0)
        snprintf(f.machine, sizeof f.machine, "%s", names.machine);
    read_line(root, "/proc/sys/kernel/osrelease", f.release);
    if (sscanf(f.release, "%u.%u", &f.major, &f.minor) != 2)
        f.major = f.minor = 0;
    read_settings(root, &f);
    read_status(root, &f);
    read_limits(root, &f);
    f.in_pid_ns = is_inner(root, "/proc/self/ns/pid", first_pid_ns);
    f.in_user_ns = is_inner(root, "/proc/self/ns/user", first_user_ns);
    find_container(root, &f);
    read_line(root, "/proc/sys/kernel/core_pattern", f.core_pattern);
    read_line(root, "/sys/kernel/security/lockdown", f.lockdown);
    read_line(root, "/sys/kernel/security/lsm", f.lsm);
    f.has_btf = exists(root, "/sys/kernel/btf/vmlinux");
    f.has_tracefs = exists(root, "/sys/kernel/tracing/events");
    cairn_doctor_config_read(root, f.release, &f.config);
    *ret_facts = f;
}
