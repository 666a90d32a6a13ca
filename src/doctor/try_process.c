/* SPDX-License-Identifier: MIT */
/* Tries of what one process may see of another: ptrace(2), process_vm_readv(2), files of /proc. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "doctor/tries.h"
#include "proc/ptrace.h"

enum { PATH_BYTES = 256, KALLSYMS_BYTES = 1 << 14, STATE_BYTES = 4096 };

/* Stops it for a moment. What goes wrong on the way leaves it to the kernel, which lets it go on
 * when we end. */
static int stop_and_read(int pid)
{
    uint8_t raw[CAIRN_PRSTATUS_MAX];
    size_t size;
    int status;
    if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0 || ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) < 0)
        return errno;
    while (waitpid(pid, &status, __WALL) < 0)
        if (errno != EINTR)
            return errno;
    const int os_errno = cairn_ptrace_prstatus(pid, raw, &size);
    if (os_errno)
        return os_errno;
    return ptrace(PTRACE_DETACH, pid, NULL, NULL) < 0 ? errno : 0;
}

int cairn_try_ptrace_child(const struct cairn_doctor_subject *subject,
                           struct cairn_doctor_answer *answer)
{
    (void)subject, (void)answer;
    int parent = getpid(), pid = fork();
    if (pid < 0)
        return errno;
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a filter may end us before we end it */
        while (getppid() == parent)
            pause();
        _exit(0);
    }
    int os_errno = stop_and_read(pid);
    kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, __WALL);
    return os_errno;
}

int cairn_try_ptrace_other(const struct cairn_doctor_subject *subject,
                           struct cairn_doctor_answer *answer)
{
    (void)answer;
    return stop_and_read(subject->pid);
}

/* Nothing is mapped at 0: EFAULT means that all else is in order. */
static int read_memory(int pid)
{
    char byte;
    struct iovec to = {&byte, 1}, from = {NULL, 1};
    if (process_vm_readv(pid, &to, 1, &from, 1, 0) >= 0 || errno == EFAULT)
        return 0;
    return errno;
}

int cairn_try_read_other(const struct cairn_doctor_subject *subject,
                         struct cairn_doctor_answer *answer)
{
    (void)answer;
    return read_memory(subject->pid);
}

int cairn_try_read_foreign(const struct cairn_doctor_subject *subject,
                           struct cairn_doctor_answer *answer)
{
    (void)answer;
    return read_memory(subject->foreign);
}

static int read_some(const char *path, void *out, size_t size, size_t *ret_got)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return errno;
    ssize_t got = read(fd, out, size);
    int os_errno = got < 0 ? errno : 0;
    close(fd);
    *ret_got = got < 0 ? 0 : (size_t)got;
    return os_errno;
}

static int read_of(int pid, const char *name)
{
    char path[PATH_BYTES], bytes[PATH_BYTES];
    size_t got = 0;
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    int os_errno = read_some(path, bytes, sizeof bytes, &got);
    return os_errno || got ? os_errno : ENODATA;
}

int cairn_try_syscall_other(const struct cairn_doctor_subject *subject,
                            struct cairn_doctor_answer *answer)
{
    (void)answer;
    return read_of(subject->pid, "syscall");
}

int cairn_try_stack_other(const struct cairn_doctor_subject *subject,
                          struct cairn_doctor_answer *answer)
{
    (void)answer;
    return read_of(subject->pid, "stack");
}

/* The first mapping of our own program: the subject's, too. */
int cairn_try_map_files(const struct cairn_doctor_subject *subject,
                        struct cairn_doctor_answer *answer)
{
    (void)subject, (void)answer;
    char line[PATH_BYTES] = "", path[PATH_BYTES];
    unsigned long long start, end;
    size_t got = 0;
    int os_errno = read_some("/proc/self/maps", line, sizeof line - 1, &got);
    if (os_errno)
        return os_errno;
    if (sscanf(line, "%llx-%llx", &start, &end) != 2)
        return ENODATA;
    snprintf(path, sizeof path, "/proc/self/map_files/%llx-%llx", start, end);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return errno;
    close(fd);
    return 0;
}

/* Who may not see addresses sees zeros. */
int cairn_try_kallsyms(const struct cairn_doctor_subject *subject,
                       struct cairn_doctor_answer *answer)
{
    (void)subject, (void)answer;
    char bytes[KALLSYMS_BYTES];
    size_t got = 0;
    int os_errno = read_some("/proc/kallsyms", bytes, sizeof bytes, &got);
    if (os_errno)
        return os_errno;
    for (size_t line = 0; line < got;) {
        for (size_t i = line; i < got && bytes[i] != ' ' && bytes[i] != '\n'; i++)
            if (bytes[i] != '0')
                return 0;
        const char *next = memchr(bytes + line, '\n', got - line);
        line = next ? (size_t)(next - bytes) + 1 : got;
    }
    return EPERM;
}

int cairn_try_tracefs(const struct cairn_doctor_subject *subject,
                      struct cairn_doctor_answer *answer)
{
    (void)subject, (void)answer;
    char bytes[32];
    size_t got = 0;
    int os_errno =
        read_some("/sys/kernel/tracing/events/sched/sched_switch/id", bytes, sizeof bytes, &got);
    return os_errno || got ? os_errno : ENODATA;
}

int cairn_try_wipe(const struct cairn_doctor_subject *subject, struct cairn_doctor_answer *answer)
{
    (void)subject, (void)answer;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *at = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return errno;
    return madvise(at, page, MADV_WIPEONFORK) < 0 ? errno : 0;
}

/* In one of the folders that trackers take that were told none. */
int cairn_try_heap_folder(const struct cairn_doctor_subject *subject,
                          struct cairn_doctor_answer *answer)
{
    (void)subject, (void)answer;
    const char *folders[] = {getenv("XDG_RUNTIME_DIR"), "/dev/shm", getenv("TMPDIR"), "/tmp"};
    char path[PATH_BYTES];
    int os_errno = ENOENT;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        if (!folders[i] || snprintf(path, sizeof path, "%s/cairn-doctor.%d", folders[i],
                                    getpid()) >= (int)sizeof path)
            continue;
        int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        os_errno = errno;
        if (fd < 0)
            continue;
        unlink(path);
        void *at = ftruncate(fd, STATE_BYTES) < 0
                       ? MAP_FAILED
                       : mmap(NULL, STATE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (at != MAP_FAILED)
            return 0;
        os_errno = errno;
    }
    return os_errno;
}
