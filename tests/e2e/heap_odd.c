/* SPDX-License-Identifier: MIT */
/*
 * Programs that do to themselves what servers, sandboxes and shells do: heap_odd CASE. Each then
 * allocates 3000 blocks of 1001 bytes from as many sites as need room, keeps them, and checks that
 * nobody else has touched what is its own: exit status 0.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BLOCKS = 3000, SIZE = 1001, FILES = 1100, SPARE_FILES = 8 };

static void *volatile kept[BLOCKS];

__attribute__((noinline)) static int deeper(unsigned n, unsigned at)
{
    volatile char room[64];
    room[0] = (char)n;
    if (n == 0) {
        kept[at] = malloc(SIZE);
        return kept[at] == NULL;
    }
    int failed = at >> n & 1 ? deeper(n - 1, at) : deeper(n - 1, at) | (room[0] == 99);
    return failed;
}

static int allocate(void)
{
    int failed = 0;
    for (unsigned i = 0; i < BLOCKS; i++)
        failed |= deeper(12, i);
    return failed;
}

/* A daemon: nothing of whoever started it stays open, and numbers are taken anew. What is in its
 * own files at the end is what it wrote. */
static int become_daemon(void)
{
    for (int fd = 3; fd < FILES; fd++)
        close(fd);
    if (fork() != 0)
        _exit(0);
    setsid();
    char name[] = "/tmp/cairn-heap-odd.XXXXXX", byte = 'x';
    int fd = mkstemp(name), failed = 0;
    if (fd < 0)
        return 1;
    unlink(name);
    int n = 1;
    if (write(fd, &byte, 1) != 1)
        return 1;
    while (n < FILES && dup(fd) >= 0)
        n++;
    /* Where no more may be open than that, the lowest are given back: a state needs some. */
    int first = fd + 1 + (n < FILES ? SPARE_FILES : 0);
    for (int i = fd + 1; i < first; i++)
        failed |= close(i) != 0;
    failed |= allocate();
    struct stat st;
    failed |= fstat(fd, &st) != 0 || st.st_size != 1;
    for (int i = first; i < fd + n; i++)
        failed |= close(i) != 0 && i < fd + n - 1;
    return failed;
}

static int in_prison(void)
{
    if (chroot(".") != 0 || chdir("/") != 0)
        return 77;
    for (int fd = 3; fd < FILES; fd++)
        close(fd);
    return allocate();
}

static int without_files(void)
{
    const struct rlimit none = {0, 0};
    for (int fd = 3; fd < FILES; fd++)
        close(fd);
    return setrlimit(RLIMIT_NOFILE, &none) != 0 || allocate();
}

static int as_nobody(void)
{
    if (setgid(65534) != 0 || setuid(65534) != 0)
        return 77;
    return allocate();
}

/* What a parser's sandbox leaves: memory, what is open, and the end. Else EPERM, or the end. */
static int enter_sandbox(unsigned otherwise)
{
    static const unsigned may[] = {
        SYS_read,          SYS_write,  SYS_exit,    SYS_exit_group,   SYS_mmap,
        SYS_mremap,        SYS_brk,    SYS_madvise, SYS_rt_sigreturn, SYS_mprotect,
        SYS_futex,         SYS_munmap, SYS_clone,   SYS_wait4,        SYS_set_robust_list,
        SYS_rt_sigprocmask};
    enum { N = sizeof may / sizeof *may };
    struct sock_filter code[N + 3];
    code[0] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (unsigned i = 0; i < N; i++)
        code[1 + i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, may[i],
                                                   (unsigned char)(N - i), 0);
    code[N + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, otherwise);
    code[N + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog program = {N + 3, code};
    free(malloc(SIZE)); /* so that the tracker has begun */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return 77;
    return 0;
}

static int in_sandbox(unsigned otherwise)
{
    int failed = enter_sandbox(otherwise);
    return failed ? failed : allocate();
}

/* Each call that is not malloc's own is the end of the child too. */
static int fork_in_sandbox(void)
{
    int status = 1, failed = enter_sandbox(SECCOMP_RET_KILL_PROCESS);
    if (failed)
        return failed;
    pid_t pid = fork();
    if (pid == 0)
        _exit(allocate());
    return wait4(pid, &status, 0, NULL) != pid || status != 0 || allocate();
}

/* read, write, exit of this thread, and the return from a handler: all else ends the process. What
 * malloc needs for the blocks is made before, and a second passes, in which the tracker looks at
 * its clock. */
static int in_strict_mode(void)
{
    enum { ROOM = 16 << 20 };
    mallopt(M_MMAP_THRESHOLD, 2 * ROOM);
    mallopt(M_TRIM_THRESHOLD, 2 * ROOM);
    free(malloc(ROOM));
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) != 0)
        return 77;
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &start); /* of the vdso */
    int failed = allocate();
    do {
        for (int i = 0; i < 1000; i++)
            free(malloc(SIZE));
        clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    } while (now.tv_sec - start.tv_sec < 3);
    syscall(SYS_exit, failed);
    return 1;
}

/* What the tracker asks about a program before it is executed is the end. */
static int forbid_statx(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_statx, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const struct sock_fprog program = {sizeof code / sizeof *code, code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0;
}

static void *allocate_in_thread(void *failed)
{
    *(int *)failed = allocate();
    return NULL;
}

/* A child of vfork(2), which has this process's memory, locks itself in before it executes another
 * program. This process is as free as before: a thread that it starts then is recorded. */
static int lock_in_child(char *self)
{
    char *argv[] = {self, "nothing", NULL}, *none[] = {NULL};
    int status = 1, failed = 1;
    pthread_t thread;
    free(malloc(SIZE));
    pid_t pid = vfork();
    if (pid == 0) {
        if (forbid_statx() != 0)
            _exit(77);
        execve(self, argv, none);
        _exit(1);
    }
    if (waitpid(pid, &status, 0) != pid || status != 0)
        return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    if (pthread_create(&thread, NULL, allocate_in_thread, &failed) != 0)
        return 1;
    pthread_join(thread, NULL);
    return failed;
}

static volatile sig_atomic_t handled;
static void *volatile leaves[512];

/* Each block has a leaf of its own in the tracker's table. The next signal comes once this is done,
 * however long it took. */
static void on_alarm(int number)
{
    const struct itimerval once = {{0, 0}, {0, 500}};
    (void)number;
    leaves[handled % 512] = malloc(256 << 10);
    handled++;
    setitimer(ITIMER_REAL, &once, NULL);
}

/* A handler allocates while prctl(2) makes the tracker ready for a filter, which needs the state's
 * lock. The program itself allocates nothing meanwhile. */
static int in_handlers(void)
{
    const struct itimerval never = {{0, 0}, {0, 0}};
    free(malloc(SIZE));
    signal(SIGALRM, on_alarm);
    raise(SIGALRM);
    while (handled < 200)
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
            return 77;
    setitimer(ITIMER_REAL, &never, NULL);
    return allocate();
}

static int spawn(char *self)
{
    extern char **environ;
    char *argv[] = {self, "plain", NULL};
    pid_t pid;
    int status = 1;
    if (posix_spawn(&pid, self, NULL, NULL, argv, environ) != 0 || waitpid(pid, &status, 0) != pid)
        return 1;
    char command[4200];
    snprintf(command, sizeof command, "%s plain", self);
    int by_shell = system(command);
    if ((pid = vfork()) == 0) {
        execve(self, argv, environ);
        _exit(1);
    }
    int last = 1;
    waitpid(pid, &last, 0);
    return status || by_shell || last || allocate();
}

/* A child that no fork handler knows of. */
static int by_raw_clone(void)
{
    int failed = allocate(), status = 1;
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
        for (unsigned i = 0; i < BLOCKS; i++)
            free(kept[i]);
        _exit(allocate());
    }
    waitpid(pid, &status, 0);
    return failed || status;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    if (strcmp(how, "plain") == 0)
        return allocate();
    if (strcmp(how, "daemon") == 0)
        return become_daemon();
    if (strcmp(how, "prison") == 0)
        return in_prison();
    if (strcmp(how, "files") == 0)
        return without_files();
    if (strcmp(how, "nobody") == 0)
        return as_nobody();
    if (strcmp(how, "kill") == 0)
        return in_sandbox(SECCOMP_RET_KILL_PROCESS);
    if (strcmp(how, "strict") == 0)
        return in_strict_mode();
    if (strcmp(how, "sandbox") == 0)
        return in_sandbox(SECCOMP_RET_ERRNO | EPERM);
    if (strcmp(how, "fork") == 0)
        return fork_in_sandbox();
    if (strcmp(how, "nothing") == 0)
        return 0;
    if (strcmp(how, "child") == 0)
        return lock_in_child(argv[0]);
    if (strcmp(how, "handlers") == 0)
        return in_handlers();
    if (strcmp(how, "spawn") == 0)
        return spawn(argv[0]);
    if (strcmp(how, "clone") == 0)
        return by_raw_clone();
    if (strcmp(how, "abort") == 0 && allocate() == 0)
        abort();
    if (strcmp(how, "segv") == 0 && allocate() == 0)
        raise(SIGSEGV);
    return 2;
}
