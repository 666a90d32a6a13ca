/* SPDX-License-Identifier: MIT */
#include "bpf/load.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "proc/process.h"

#define BTF_PATH "/sys/kernel/btf/vmlinux"

enum { REASON_SIZE = 200 };

/* Under `loading`: one program is loaded at a time. */
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;
static char *verifier_log; /* what it said of it; NULL: nothing */

/* Capabilities count in the first user namespace alone, whatever root may do in another. */
static bool has_rights(void)
{
    return cairn_process_has_capability(CAP_SYS_ADMIN) ||
           (cairn_process_has_capability(CAP_BPF) && cairn_process_has_capability(CAP_PERFMON));
}

static bool is_first_user_namespace(void)
{
    struct cairn_buffer text = {0};
    unsigned long inside, outside, n;
    bool is = cairn_file_slurp("/proc/self/uid_map", 4096, &text, NULL) < 0 ||
              sscanf(cairn_buffer_text(&text), "%lu %lu %lu", &inside, &outside, &n) != 3 ||
              (inside == 0 && outside == 0 && n == UINT32_MAX);
    cairn_buffer_done(&text);
    return is;
}

static bool is_filtered(void)
{
    struct cairn_process_status status;
    return cairn_process_status(getpid(), &status, NULL) == CAIRN_OK && status.seccomp == 2;
}

bool cairn_bpf_is_new_enough(const struct cairn_bpf_need *need)
{
    struct utsname name;
    unsigned major, minor;
    if (uname(&name) < 0 || sscanf(name.release, "%u.%u", &major, &minor) != 2)
        return true;
    return major != need->major ? major > need->major : minor >= need->minor;
}

static int fail_rights(struct cairn_err *err, const struct cairn_bpf_need *need)
{
    cairn_fail(err, CAIRN_E_ACCESS,
               "%s needs root, or CAP_BPF and CAP_PERFMON, to run in the kernel", need->what);
    cairn_hint(err, "run with sudo, or once: sudo setcap "
                    "cap_bpf,cap_perfmon,cap_sys_ptrace,cap_syslog+ep \"$(command -v cairn)\"");
    return CAIRN_E_ACCESS;
}

static int fail_namespace(struct cairn_err *err, const struct cairn_bpf_need *need)
{
    cairn_fail(err, CAIRN_E_ACCESS,
               "%s needs rights on the machine, and root of a user namespace (a container) has "
               "none",
               need->what);
    cairn_hint(err, "run outside of the container, as root");
    return CAIRN_E_ACCESS;
}

static int fail_old(struct cairn_err *err, const struct cairn_bpf_need *need)
{
    struct utsname name = {0};
    (void)uname(&name);
    return cairn_fail(err, CAIRN_E_SUPPORT, "%s needs Linux %u.%u, this is %s", need->what,
                      need->major, need->minor, name.release);
}

int cairn_bpf_check(const struct cairn_bpf_need *need, struct cairn_err *err)
{
    if (!cairn_bpf_is_new_enough(need))
        return fail_old(err, need);
    if (!has_rights())
        return fail_rights(err, need);
    if (!is_first_user_namespace())
        return fail_namespace(err, need);
    if (access(BTF_PATH, R_OK) < 0) {
        cairn_fail(err, CAIRN_E_SUPPORT,
                   "%s needs the kernel's type information, and there is no " BTF_PATH, need->what);
        cairn_hint(err, "a kernel with CONFIG_DEBUG_INFO_BTF=y has it; in a container /sys must be "
                        "mounted");
        return CAIRN_E_SUPPORT;
    }
    return CAIRN_OK;
}

static int fail_refused(struct cairn_err *err, int os_errno, const struct cairn_bpf_need *need,
                        const char *doing)
{
    if (!has_rights())
        return fail_rights(err, need);
    if (is_filtered()) {
        cairn_fail(err, CAIRN_E_ACCESS,
                   "cannot %s %s: bpf(2) is refused by a seccomp filter, as "
                   "in a container",
                   doing, need->what);
        cairn_hint(err, "docker run --cap-add BPF --cap-add PERFMON --cap-add SYS_PTRACE "
                        "--security-opt seccomp=unconfined");
    } else {
        cairn_fail(err, CAIRN_E_ACCESS, "cannot %s %s: %s", doing, need->what, strerror(os_errno));
        cairn_hint(err, "a security module may refuse it (lockdown=confidentiality, SELinux, "
                        "AppArmor): see dmesg");
    }
    if (err)
        err->os_errno = os_errno;
    return CAIRN_E_ACCESS;
}

int cairn_bpf_fail(struct cairn_err *err, int os_errno, const struct cairn_bpf_need *need,
                   const char *doing)
{
    switch (os_errno) {
    case EPERM:
    case EACCES:
        return fail_refused(err, os_errno, need, doing);
    case ENOSYS:
        return cairn_fail(err, CAIRN_E_SUPPORT,
                          "cannot %s %s: this kernel has no bpf(2) (CONFIG_BPF_SYSCALL)", doing,
                          need->what);
    case ENOMEM:
        return cairn_fail_memory(err);
    default:
        return cairn_fail_os(err, os_errno, "cannot %s %s", doing, need->what);
    }
}

/* The line before "processed N insns" says what the verifier did not like. */
static void find_reason(const char *log, char ret_reason[REASON_SIZE])
{
    ret_reason[0] = 0;
    while (*log) {
        size_t size = strcspn(log, "\n");
        if (strncmp(log, "processed ", 10) == 0 || strncmp(log, "-- END", 6) == 0)
            return;
        if (size > 0)
            snprintf(ret_reason, REASON_SIZE, "%.*s", (int)size, log);
        log += size + (log[size] == '\n');
    }
}

int cairn_bpf_fail_load(struct cairn_err *err, int os_errno, const struct cairn_bpf_need *need,
                        const char *log)
{
    struct utsname name = {0};
    char why[REASON_SIZE];
    find_reason(log, why);
    if (!why[0])
        return cairn_bpf_fail(err, os_errno, need, "load");
    (void)uname(&name);
    return cairn_fail(err, CAIRN_E_SUPPORT, "the kernel %s does not take %s: %s", name.release,
                      need->what, why);
}

__attribute__((format(printf, 2, 0))) static int listen(enum libbpf_print_level level,
                                                        const char *format, va_list args)
{
    static const char begin[] = "-- BEGIN PROG LOAD LOG --\n";
    char *text = NULL;
    if (level == LIBBPF_DEBUG || vasprintf(&text, format, args) < 0)
        return 0;
    const char *log = strstr(text, begin);
    if (log) {
        free(verifier_log);
        verifier_log = strdup(log + sizeof begin - 1);
    }
    text[strcspn(text, "\n")] = 0;
    cairn_log(CAIRN_LOG_DEBUG, "%s", text);
    free(text);
    return 0;
}

int cairn_bpf_load(struct bpf_object_skeleton *skeleton, const struct cairn_bpf_need *need,
                   struct cairn_err *err)
{
    int os_errno = errno;
    int code = cairn_bpf_check(need, err);
    if (code < 0)
        return code;
    if (!skeleton)
        return cairn_bpf_fail(err, os_errno, need, "read");
    pthread_mutex_lock(&loading);
    libbpf_print_fn_t before = libbpf_set_print(listen);
    os_errno = -bpf_object__load_skeleton(skeleton);
    libbpf_set_print(before);
    if (os_errno)
        code = cairn_bpf_fail_load(err, os_errno, need, verifier_log ? verifier_log : "");
    free(verifier_log);
    verifier_log = NULL;
    pthread_mutex_unlock(&loading);
    return code;
}
