/* SPDX-License-Identifier: MIT */
#include "proc/process.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/foreign.h"
#include "base/reader.h"

enum {
    PROC_PATH_SIZE = 64,
    INITIAL_PID_NS = 0xEFFFFFFC, /* include/linux/proc_ns.h, PROC_PID_INIT_INO */
    STATUS_MAX_BYTES = 1 << 16,
    YAMA_NOBODY = 3,              /* Documentation/admin-guide/LSM/Yama.rst */
    CMDLINE_MAX_BYTES = 16 << 20, /* the kernel's own limit is a quarter of the stack limit */
    AUXV_MAX_BYTES = 16 * CAIRN_AUXV_ENTRY_MAX
};

static void proc_path(char path[PROC_PATH_SIZE], int pid, const char *name)
{
    snprintf(path, PROC_PATH_SIZE, "/proc/%d/%s", pid, name);
}

static int fail_refused(int pid, const char *name, int os_errno, struct cairn_err *err)
{
    if (os_errno == ENOENT || os_errno == ESRCH)
        return cairn_fail_os(err, ESRCH, "pid %d", pid);
    int code = cairn_fail_os(err, os_errno, "pid %d: cannot read /proc/%d/%s", pid, pid, name);
    if (code == CAIRN_E_ACCESS)
        cairn_process_hint_access(pid, err);
    return code;
}

/* The kernel makes these of the target's memory, or under the lock of its mappings. */
static bool may_wait(const char *name)
{
    return strcmp(name, "maps") == 0 || strcmp(name, "smaps") == 0 || strcmp(name, "cmdline") == 0;
}

int cairn_process_slurp(int pid, const char *name, size_t limit, struct cairn_buffer *ret_bytes,
                        struct cairn_err *err)
{
    char path[PROC_PATH_SIZE];
    proc_path(path, pid, name);
    struct cairn_err inner;
    bool is_foreign = pid != getpid() && may_wait(name);
    int code = is_foreign ? cairn_foreign_slurp(path, limit, ret_bytes, &inner)
                          : cairn_file_slurp(path, limit, ret_bytes, &inner);
    if (code < 0 && inner.os_errno)
        return fail_refused(pid, name, inner.os_errno, err);
    if (code < 0 && err)
        *err = inner;
    return code;
}

const char *cairn_process_field(const char *text, const char *name)
{
    size_t size = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, size) == 0 && line[size] == ':')
            return line + size + 1 + strspn(line + size + 1, " \t");
    }
    return NULL;
}

static long long number_field(const char *text, const char *name, long long otherwise)
{
    const char *field = cairn_process_field(text, name);
    return field ? strtoll(field, NULL, 10) : otherwise;
}

/* "NSpid: 4242 17 1": outermost namespace first. */
static void read_ns_pids(const char *text, struct cairn_process_status *status)
{
    const char *field = cairn_process_field(text, "NSpid");
    while (field && *field >= '0' && *field <= '9' && status->n_namespaces < CAIRN_PID_DEPTH_MAX) {
        char *end;
        status->ns_pid = (int)strtol(field, &end, 10);
        status->n_namespaces++;
        field = end + strspn(end, " \t");
    }
}

int cairn_process_status(int pid, struct cairn_process_status *ret_status, struct cairn_err *err)
{
    struct cairn_buffer bytes = {0};
    int result = cairn_process_slurp(pid, "status", STATUS_MAX_BYTES, &bytes, err);
    if (result < 0) {
        cairn_buffer_done(&bytes);
        return result;
    }
    const char *text = cairn_buffer_text(&bytes);
    struct cairn_process_status status = {
        .tgid = (int)number_field(text, "Tgid", pid),
        .ppid = (int)number_field(text, "PPid", 0),
        .tracer_pid = (int)number_field(text, "TracerPid", 0),
        .n_threads = (uint32_t)number_field(text, "Threads", 1),
        .seccomp = (int)number_field(text, "Seccomp", -1),
        .ns_pid = pid,
    };
    const char *name = cairn_process_field(text, "Name"),
               *state = cairn_process_field(text, "State");
    if (name)
        snprintf(status.name, sizeof status.name, "%.*s", (int)strcspn(name, "\n"), name);
    status.state = state ? *state : '?';
    const char *uids = cairn_process_field(text, "Uid");
    if (uids)
        sscanf(uids, "%u %u", &status.uid, &status.euid);
    read_ns_pids(text, &status);
    cairn_buffer_done(&bytes);
    *ret_status = status;
    return CAIRN_OK;
}

bool cairn_process_is_inside(void)
{
    struct stat ns;
    return stat("/proc/self/ns/pid", &ns) == 0 && ns.st_ino != INITIAL_PID_NS;
}

int cairn_process_check_proc(struct cairn_err *err)
{
    char number[PROC_PATH_SIZE] = "";
    if (readlink("/proc/self", number, sizeof number - 1) <= 0 || atoi(number) == getpid())
        return CAIRN_OK;
    cairn_fail(err, CAIRN_E_SUPPORT,
               "/proc is another pid namespace's: it has us as %s, and our number is %d", number,
               (int)getpid());
    cairn_hint(err, "unshare --pid --fork --mount-proc mounts the right one; in a container: mount "
                    "-t proc proc /proc");
    return CAIRN_E_SUPPORT;
}

int cairn_process_exe(int pid, struct cairn_buffer *ret_path, bool *ret_deleted,
                      struct cairn_err *err)
{
    static const char deleted[] = " (deleted)";
    char path[PROC_PATH_SIZE], target[PATH_MAX];
    proc_path(path, pid, "exe");
    ssize_t got = readlink(path, target, sizeof target);
    if (got < 0) {
        int os_errno = errno;
        proc_path(path, pid, "stat");
        if (os_errno == ENOENT && access(path, F_OK) == 0)
            return cairn_fail(err, CAIRN_E_MISSING,
                              "pid %d: runs no program: a kernel thread, or "
                              "it has ended",
                              pid);
        return fail_refused(pid, "exe", os_errno, err);
    }
    size_t size = (size_t)got, suffix = sizeof deleted - 1;
    bool is_deleted = size > suffix && memcmp(target + size - suffix, deleted, suffix) == 0;
    cairn_buffer_add(ret_path, target, is_deleted ? size - suffix : size);
    if (ret_path->failed)
        return cairn_fail_memory(err);
    *ret_deleted = is_deleted;
    return CAIRN_OK;
}

int cairn_process_cmdline(int pid, struct cairn_buffer *ret_text, struct cairn_err *err)
{
    size_t start = ret_text->size;
    int result = cairn_process_slurp(pid, "cmdline", CMDLINE_MAX_BYTES, ret_text, err);
    if (result < 0)
        return result;
    while (ret_text->size > start && ret_text->data[ret_text->size - 1] == 0)
        ret_text->size--;
    for (size_t i = start; i < ret_text->size; i++)
        if (!ret_text->data[i])
            ret_text->data[i] = ' ';
    return CAIRN_OK;
}

/* 4 where the program is a 32-bit ELF file, else 8. */
static unsigned address_width(int pid)
{
    char path[PROC_PATH_SIZE];
    proc_path(path, pid, "exe");
    unsigned char ident[EI_NIDENT] = {0};
    bool is_32 = cairn_foreign_head(path, ident, sizeof ident) == sizeof ident &&
                 ident[EI_CLASS] == ELFCLASS32;
    return is_32 ? 4 : 8;
}

bool cairn_process_stat_field(int pid, unsigned number, uint64_t *ret_value)
{
    enum { STAT_BYTES = 4096 };
    struct cairn_buffer text = {0};
    const char *at = NULL;
    if (cairn_process_slurp(pid, "stat", STAT_BYTES, &text, NULL) == CAIRN_OK)
        at = strrchr(cairn_buffer_text(&text), ')'); /* the name may hold anything */
    for (unsigned field = 2; at && field < number; field++) {
        at = strchr(at, ' ');
        at += at != NULL;
    }
    *ret_value = at ? strtoull(at, NULL, 10) : 0;
    cairn_buffer_done(&text);
    return at != NULL;
}

uint64_t cairn_process_stack_start(int pid)
{
    uint64_t start;
    (void)cairn_process_stat_field(pid, 28, &start);
    return start;
}

uint64_t cairn_process_break_start(int pid)
{
    uint64_t start;
    (void)cairn_process_stat_field(pid, 47, &start);
    return start;
}

int cairn_process_auxv(int pid, uint64_t type, uint64_t *ret_value, struct cairn_err *err)
{
    struct cairn_buffer bytes = {0};
    int result = cairn_process_slurp(pid, "auxv", AUXV_MAX_BYTES, &bytes, err);
    if (result < 0) {
        cairn_buffer_done(&bytes);
        return result;
    }
    unsigned width = address_width(pid);
    struct cairn_reader r = cairn_reader_of(cairn_buffer_span(&bytes), false);
    bool found = false;
    uint64_t value = 0;
    while (!found && cairn_reader_more(&r)) {
        uint64_t key = cairn_reader_word(&r, width);
        value = cairn_reader_word(&r, width);
        if (key == AT_NULL)
            break;
        found = key == type && !r.failed;
    }
    cairn_buffer_done(&bytes);
    if (!found)
        return cairn_fail(err, CAIRN_E_MISSING, "pid %d: no entry %llu in its auxiliary vector",
                          pid, (unsigned long long)type);
    *ret_value = value;
    return CAIRN_OK;
}

/* Yama's setting; 0 where there is no Yama. */
static int yama_scope(void)
{
    struct cairn_buffer text = {0};
    cairn_file_slurp("/proc/sys/kernel/yama/ptrace_scope", 16, &text, NULL);
    int scope = atoi(cairn_buffer_text(&text));
    cairn_buffer_done(&text);
    return scope;
}

bool cairn_process_has_capability(unsigned number)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};
    if (syscall(SYS_capget, &header, data) != 0)
        return geteuid() == 0;
    return data[number / 32].effective >> (number % 32) & 1;
}

void cairn_process_hint_access(int pid, struct cairn_err *err)
{
    struct cairn_process_status status;
    int scope = yama_scope();
    if (cairn_process_status(pid, &status, NULL) < 0)
        cairn_hint(err, "run it with sudo, or as the user whose process it is");
    else if (status.tracer_pid)
        cairn_hint(err, "pid %d traces it already; detach that debugger first", status.tracer_pid);
    else if (status.euid != geteuid() && geteuid() != 0)
        cairn_hint(err, "it runs as uid %u: use sudo, or become that user", status.euid);
    else if (scope < YAMA_NOBODY && cairn_process_has_capability(CAP_SYS_PTRACE))
        cairn_hint(err,
                   "CAP_SYS_PTRACE is there, but not over this process: it is of an outer user "
                   "namespace, or a security module (SELinux, AppArmor) forbids it");
    else if (scope > 0)
        cairn_hint(err,
                   "kernel.yama.ptrace_scope is %d: sudo sysctl kernel.yama.ptrace_scope=0, "
                   "or use sudo",
                   scope);
    else if (geteuid() == 0)
        cairn_hint(err, "root lacks CAP_SYS_PTRACE here; in a container: --cap-add SYS_PTRACE");
    else
        cairn_hint(err, "it forbids being looked into (prctl PR_SET_DUMPABLE, setuid): use sudo");
}
