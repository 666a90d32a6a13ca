/* SPDX-License-Identifier: MIT */
/*
 * Programs that do not keep still while they are looked at; each goes on until it is killed:
 *
 *     exec      becomes itself anew every 2 ms
 *     fork      has children that come and go
 *     threads   has threads that come and go
 *     remap     maps its own file at ever other places, with code
 *     sleep     20 threads that sleep
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MANY = 20, NAP_US = 2000, BYTES = 4096 };

static void *nap(void *ctx)
{
    usleep((useconds_t)(uintptr_t)ctx);
    return NULL;
}

static void start_threads(uintptr_t sleep_us, int wait)
{
    pthread_t threads[MANY];
    for (int i = 0; i < MANY; i++)
        if (pthread_create(&threads[i], NULL, nap, (void *)sleep_us))
            exit(1);
    for (int i = 0; wait && i < MANY; i++)
        pthread_join(threads[i], NULL);
}

static void fork_many(void)
{
    for (int i = 0; i < MANY; i++)
        if (fork() == 0) {
            usleep(NAP_US);
            _exit(0);
        }
    while (wait(NULL) > 0)
        ;
}

static void map_elsewhere(int fd)
{
    void *at[MANY];
    for (int i = 0; i < MANY; i++)
        at[i] = mmap(NULL, BYTES * (size_t)(i + 1), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    usleep(NAP_US);
    for (int i = 0; i < MANY; i++)
        if (at[i] != MAP_FAILED)
            munmap(at[i], BYTES * (size_t)(i + 1));
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (argc == 2 && write(1, "up\n", 3) != 3)
        return 1;
    if (strcmp(what, "exec") == 0) {
        char *again[] = {argv[0], argv[1], "again", NULL};
        usleep(NAP_US);
        execv("/proc/self/exe", again);
    }
    if (strcmp(what, "sleep") == 0)
        start_threads(900000000, 0);
    for (;;) {
        if (strcmp(what, "fork") == 0)
            fork_many();
        else if (strcmp(what, "threads") == 0)
            start_threads(NAP_US, 1);
        else if (strcmp(what, "remap") == 0)
            map_elsewhere(fd);
        else
            pause();
    }
}
