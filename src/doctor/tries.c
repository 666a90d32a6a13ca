/* SPDX-License-Identifier: MIT */
#include "doctor/tries.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cairn/log.h>

#include "base/buffer.h"
#include "base/error.h"
#include "proc/process.h"

/* TIMEOUT_MS: the longest take tenths of a second, and much longer on a machine that is busy. */
enum {
    TIMEOUT_MS = 20000,
    ENTRIES_MAX = 4096,
    CMDLINE_BYTES_MAX = 1 << 22,
    ROUNDS = 100000 /* some tens of microseconds */
};

static const struct {
    const char *key, *name;
    cairn_doctor_try_fn run;
    bool is_foreign; /* needs another user's process */
} rows[CAIRN_N_TRIES] = {
    /* clang-format off */
    [CAIRN_TRY_PERF_USER] = {"perf.user", "perf_event_open, user code", cairn_try_perf_user},
    [CAIRN_TRY_PERF_KERNEL] = {"perf.kernel", "perf_event_open, kernel code",
                               cairn_try_perf_kernel},
    [CAIRN_TRY_PERF_ALL] = {"perf.all", "perf_event_open, all processes", cairn_try_perf_all},
    [CAIRN_TRY_PERF_FOREIGN] = {"perf.foreign", "perf_event_open, another user's process",
                                cairn_try_perf_foreign, true},
    [CAIRN_TRY_PERF_COUNTER] = {"perf.counter", "perf_event_open, CPU cycles",
                                cairn_try_perf_counter},
    [CAIRN_TRY_PERF_STACK] = {"perf.stack", "perf_event_open, registers and stack",
                              cairn_try_perf_stack},
    [CAIRN_TRY_PERF_RING] = {"perf.ring", "perf_event ring buffer", cairn_try_perf_ring},
    [CAIRN_TRY_PTRACE_CHILD] = {"ptrace.child", "ptrace, a child", cairn_try_ptrace_child},
    [CAIRN_TRY_PTRACE_OTHER] = {"ptrace.other", "ptrace, a process that is no child",
                                cairn_try_ptrace_other},
    [CAIRN_TRY_READ_OTHER] = {"read.other", "process_vm_readv, no child", cairn_try_read_other},
    [CAIRN_TRY_READ_FOREIGN] = {"read.foreign", "process_vm_readv, another user's process",
                                cairn_try_read_foreign, true},
    [CAIRN_TRY_SYSCALL_OTHER] = {"proc.syscall", "/proc/PID/syscall", cairn_try_syscall_other},
    [CAIRN_TRY_STACK_OTHER] = {"proc.stack", "/proc/PID/stack", cairn_try_stack_other},
    [CAIRN_TRY_MAP_FILES] = {"proc.map_files", "/proc/PID/map_files", cairn_try_map_files},
    [CAIRN_TRY_KALLSYMS] = {"kallsyms", "addresses in /proc/kallsyms", cairn_try_kallsyms},
    [CAIRN_TRY_BPF_PROGRAM] = {"bpf.program", "BPF program for samples", cairn_try_bpf_program},
    [CAIRN_TRY_BPF_ITERATOR] = {"bpf.iterator", "BPF task iterator", cairn_try_bpf_iterator},
    [CAIRN_TRY_TRACEFS] = {"tracefs", "tracepoints in tracefs", cairn_try_tracefs},
    [CAIRN_TRY_WIPE] = {"heap.wipe", "MADV_WIPEONFORK", cairn_try_wipe},
    [CAIRN_TRY_HEAP_FOLDER] = {"heap.folder", "files of the heap tracker", cairn_try_heap_folder},
    [CAIRN_TRY_RECORD_PID] = {"sampler.pid", "sampler of a process", cairn_try_record_pid},
    [CAIRN_TRY_RECORD_COMMAND] = {"sampler.command", "sampler of a command",
                                  cairn_try_record_command},
    [CAIRN_TRY_RECORD_TABLES] = {"sampler.tables", "sampler by unwind tables",
                                 cairn_try_record_tables},
    [CAIRN_TRY_RECORD_ALL] = {"sampler.all", "sampler of all processes", cairn_try_record_all},
    [CAIRN_TRY_RECORD_CGROUP] = {"sampler.cgroup", "sampler of a cgroup",
                                 cairn_try_record_cgroup},
    [CAIRN_TRY_RECORD_OFF_CPU] = {"sampler.off_cpu", "sampler of time off the CPU",
                                  cairn_try_record_off_cpu},
    [CAIRN_TRY_TRACE_BPF] = {"trace.bpf", "trace by programs in the kernel", cairn_try_trace_bpf},
    [CAIRN_TRY_TRACE_PERF] = {"trace.perf", "trace by perf events", cairn_try_trace_perf},
    [CAIRN_TRY_TRACE_SECCOMP] = {"trace.seccomp", "trace of a command, by seccomp",
                                 cairn_try_trace_seccomp},
    [CAIRN_TRY_TRACE_PTRACE] = {"trace.ptrace", "trace of a process, by ptrace",
                                cairn_try_trace_ptrace},
    [CAIRN_TRY_STACK_SLEEPING] = {"snapshot.sleeping", "snapshot of a thread that sleeps",
                                  cairn_try_stack_sleeping},
    [CAIRN_TRY_STACK_RUNNING] = {"snapshot.running", "snapshot of a thread that runs",
                                 cairn_try_stack_running},
    /* clang-format on */
};

const char *cairn_doctor_try_key(enum cairn_doctor_try number)
{
    return rows[number].key;
}

const char *cairn_doctor_try_name(enum cairn_doctor_try number)
{
    return rows[number].name;
}

/* What an attempt leaves behind. */
struct slip {
    bool done;
    int os_errno;
    struct cairn_doctor_answer answer;
};

/* Nobody wants a core file of a child that a filter has ended; 1 also keeps the kernel from
 * starting a program that takes it (core(5)). */
static void leave_no_core(void)
{
    if (setrlimit(RLIMIT_CORE, &(struct rlimit){1, 1}) < 0)
        (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
}

static int wait_for(int pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return 0; /* the program lets the kernel wait for its children */
    return status;
}

/* False where the other end is still open after so long. */
static bool wait_closed(int fd, int timeout_ms)
{
    struct pollfd end = {.fd = fd, .events = POLLIN};
    int got;
    while ((got = poll(&end, 1, timeout_ms)) < 0 && errno == EINTR)
        continue;
    return got > 0;
}

static struct cairn_doctor_result read_slip(const struct slip *slip, bool in_time, int status)
{
    struct cairn_doctor_result result = {.answer = slip->answer, .os_errno = slip->os_errno};
    if (slip->done)
        result.outcome = slip->os_errno ? CAIRN_TRIED_REFUSED : CAIRN_TRIED_OK;
    else if (!in_time)
        result.outcome = CAIRN_TRIED_LATE;
    else
        result.outcome = CAIRN_TRIED_KILLED;
    if (result.outcome == CAIRN_TRIED_KILLED)
        result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : SIGSYS;
    return result;
}

struct cairn_doctor_result cairn_doctor_try_one(cairn_doctor_try_fn try,
                                                const struct cairn_doctor_subject *subject,
                                                int timeout_ms)
{
    struct cairn_doctor_result none = {.outcome = CAIRN_TRIED_REFUSED};
    int ends[2];
    struct slip *slip =
        mmap(NULL, sizeof *slip, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (slip == MAP_FAILED || pipe2(ends, O_CLOEXEC) < 0) {
        none.os_errno = errno;
        if (slip != MAP_FAILED)
            munmap(slip, sizeof *slip);
        return none;
    }
    int pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        leave_no_core();
        cairn_log_set(NULL, NULL, CAIRN_LOG_WARNING); /* what is found out is told once */
        slip->os_errno = try(subject, &slip->answer);
        slip->done = true;
        _exit(0);
    }
    none.os_errno = errno;
    close(ends[1]);
    struct cairn_doctor_result result = none;
    if (pid > 0) {
        bool in_time = wait_closed(ends[0], timeout_ms);
        if (!in_time)
            kill(pid, SIGKILL);
        result = read_slip(slip, in_time, wait_for(pid));
    }
    close(ends[0]);
    munmap(slip, sizeof *slip);
    return result;
}

/* Until the next byte comes, or none will. */
static void run_on_cpu(int fd)
{
    struct pollfd told = {.fd = fd, .events = POLLIN};
    while (poll(&told, 1, 0) == 0)
        for (volatile int i = 0; i < ROUNDS; i++)
            continue;
}

static void be_subject(int fd, int parent)
{
    char byte;
    ssize_t got = 1;
    while (getppid() == parent && got != 0) {
        got = read(fd, &byte, 1);
        if (got > 0 && byte == 'r')
            run_on_cpu(fd);
    }
}

/* Sleeps until the other end of the pipe is closed. It may be looked into by its user, as a program
 * that was started is: one with file capabilities, as cairn may be, may not. */
static int start_subject(int *ret_fd)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    int parent = getpid(), pid = fork();
    if (pid == 0) {
        close(ends[1]);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)prctl(PR_SET_DUMPABLE, 1);
        be_subject(ends[0], parent);
        _exit(0);
    }
    close(ends[0]);
    *ret_fd = ends[1];
    if (pid < 0)
        close(ends[1]);
    return pid;
}

/* Has it a program, and is it another user's? */
static bool is_foreign(int pid)
{
    struct cairn_process_status status;
    struct cairn_buffer cmdline = {0};
    bool is = pid != getpid() && cairn_process_status(pid, &status, NULL) == CAIRN_OK &&
              status.euid != geteuid() && status.state != 'Z' &&
              cairn_process_slurp(pid, "cmdline", CMDLINE_BYTES_MAX, &cmdline, NULL) == CAIRN_OK &&
              cmdline.size > 0;
    cairn_buffer_done(&cmdline);
    return is;
}

/* The first process is the last choice: it is protected in more ways than others. */
static int find_foreign(void)
{
    DIR *folder = opendir("/proc");
    int found = 0;
    const struct dirent *entry = NULL;
    for (int n = 0; !found && folder && n < ENTRIES_MAX && (entry = readdir(folder)); n++) {
        int pid = atoi(entry->d_name);
        if (pid > 1 && is_foreign(pid))
            found = pid;
    }
    if (folder)
        closedir(folder);
    return found || !is_foreign(1) ? found : 1;
}

int cairn_doctor_try_all(struct cairn_doctor_tries *ret_tries, struct cairn_err *err)
{
    int fd = -1;
    struct cairn_doctor_subject subject = {.pid = start_subject(&fd), .foreign = find_foreign()};
    subject.tell_fd = fd;
    if (subject.pid < 0)
        return cairn_fail_os(err, errno, "cannot start a child to try things on");
    for (int i = 0; i < CAIRN_N_TRIES; i++) {
        ret_tries->results[i] = (struct cairn_doctor_result){.outcome = CAIRN_TRIED_NOT};
        if (!rows[i].is_foreign || subject.foreign)
            ret_tries->results[i] = cairn_doctor_try_one(rows[i].run, &subject, TIMEOUT_MS);
        if (rows[i].is_foreign)
            ret_tries->results[i].answer.number = (uint64_t)subject.foreign;
    }
    close(fd);
    kill(subject.pid, SIGKILL); /* it may be held by who traces it */
    (void)wait_for(subject.pid);
    return CAIRN_OK;
}
