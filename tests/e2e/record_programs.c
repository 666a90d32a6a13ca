/* SPDX-License-Identifier: MIT */
/*
 * What record.sh samples: one program, told by its first word what to do.
 *     spin SECONDS            nearly all CPU time in spin()
 *     late SECONDS            a thread in late_spin() that starts after half a second
 *     brief SECONDS           threads, one after the other, each much shorter than a period, for
 *                             SECONDS of CPU time
 *     fork SECONDS            a child in spin(), while the parent waits
 *     exec SECONDS PROGRAM    becomes PROGRAM spin SECONDS after a moment of its own
 *     load SECONDS LIBRARY    calls library_spin() of a library opened after half a second
 *     deep SECONDS            spin() at the bottom of 400 calls
 *     exit STATUS | signal    ends
 *     deny ERRNO COMMAND...   COMMAND, with perf_event_open refused, as in a container
 */
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* CPU time of the process, of all threads, in seconds: on a busy machine less than has passed. */
static double used(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static volatile unsigned long sink;

__attribute__((noinline)) static void spin_once(void)
{
    for (unsigned i = 0; i < 2000000; i++)
        sink += i;
}

__attribute__((noinline)) void spin(double seconds)
{
    const double end = now() + seconds;
    while (now() < end)
        spin_once();
}

__attribute__((noinline)) static void *late_spin(void *seconds)
{
    spin(*(double *)seconds);
    sink++;
    return NULL;
}

static void *be_brief(void *nothing)
{
    for (unsigned i = 0; i < 200000; i++)
        sink += i;
    return nothing;
}

static void start_brief(double seconds)
{
    pthread_t thread;
    while (used() < seconds && pthread_create(&thread, NULL, be_brief, NULL) == 0)
        pthread_join(thread, NULL);
}

static void start_late(double seconds)
{
    pthread_t thread;
    usleep(500000);
    if (pthread_create(&thread, NULL, late_spin, &seconds) == 0)
        pthread_join(thread, NULL);
}

static void fork_one(double seconds)
{
    if (fork() == 0) {
        spin(seconds);
        _exit(0);
    }
    wait(NULL);
}

static void load(double seconds, const char *path)
{
    usleep(500000);
    void *library = dlopen(path, RTLD_NOW);
    void (*library_spin)(double) =
        library ? (void (*)(double))dlsym(library, "library_spin") : NULL;
    if (!library_spin)
        exit(9);
    library_spin(seconds);
}

__attribute__((noinline)) static void go_down(unsigned depth, double seconds)
{
    if (depth == 0)
        spin(seconds);
    else
        go_down(depth - 1, seconds);
    sink++;
}

static void deny(int os_errno, char **command)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)os_errno),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        exit(77);
    execv(command[0], command);
    exit(127);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    double seconds = argc > 2 ? atof(argv[2]) : 1;
    if (strcmp(what, "spin") == 0)
        spin(seconds);
    else if (strcmp(what, "late") == 0)
        start_late(seconds);
    else if (strcmp(what, "brief") == 0)
        start_brief(seconds);
    else if (strcmp(what, "fork") == 0)
        fork_one(seconds);
    else if (strcmp(what, "exec") == 0 && argc > 3)
        spin(0.3), execl(argv[3], argv[3], "spin", argv[2], (char *)NULL);
    else if (strcmp(what, "load") == 0 && argc > 3)
        load(seconds, argv[3]);
    else if (strcmp(what, "deep") == 0)
        go_down(400, seconds);
    else if (strcmp(what, "deny") == 0 && argc > 3)
        deny(atoi(argv[2]), argv + 3);
    else if (strcmp(what, "exit") == 0)
        return (int)seconds;
    else if (strcmp(what, "signal") == 0)
        abort();
    sink++;
    return 0;
}
