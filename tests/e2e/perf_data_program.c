/* SPDX-License-Identifier: MIT */
/* What a recording of perf must follow: threads, fork(2), execve(2), dlopen(3) and dlclose(3). */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile unsigned long sum;

__attribute__((noinline)) static void spin(void)
{
    for (int i = 0; i < 30 * 1000 * 1000; i++)
        sum = sum * 3 + (unsigned long)i;
}

__attribute__((noinline)) static void in_child(void)
{
    spin();
    sum++;
}

static void *in_thread(void *ctx)
{
    prctl(PR_SET_NAME, "a thread: of 2");
    spin();
    return ctx;
}

/* The second time the library may lie where another one was. */
__attribute__((noinline)) static void in_library(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    unsigned long (*work)(unsigned long) =
        library ? (unsigned long (*)(unsigned long))dlsym(library, "perf_data_work") : NULL;
    if (!work)
        exit(3);
    sum += work(20 * 1000 * 1000);
    dlclose(library);
}

/* perf_data_program LIBRARY LIBRARY [again] */
int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc < 3)
        return 2;
    if (pthread_create(&thread, NULL, in_thread, NULL) != 0)
        return 3;
    in_library(argv[1]);
    in_library(argv[2]);
    pthread_join(thread, NULL);
    if (argc > 3)
        return 0;
    pid_t child = fork();
    if (child == 0) {
        in_child();
        execl(argv[0], argv[0], argv[1], argv[2], "again", (char *)NULL);
        _exit(4);
    }
    int status;
    return child < 0 || waitpid(child, &status, 0) != child || status != 0 ? 5 : 0;
}
