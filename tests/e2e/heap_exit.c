/* SPDX-License-Identifier: MIT */
/*
 * Blocks at the end of a program, for cairn heap run --lost: lose() drops ten of 1,000 bytes,
 * hold() keeps 500 in a variable, each of three threads holds 77 on its stack, and ignore() tells
 * LeakSanitizer of all blocks but one of 1,500. heap_exit [SECONDS] says "ready" and ends with
 * status 7, at once or after so long; SIGUSR1 adds a line.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void *kept;
static pthread_barrier_t begun;
static volatile sig_atomic_t got;

__attribute__((noinline)) static void hold(void)
{
    kept = malloc(500);
}

__attribute__((noinline)) static void lose(void)
{
    for (int i = 0; i < 10; i++) {
        char *volatile block = malloc(1000);
        memset(block, 0, 1000);
        block = NULL;
    }
}

/* What a call leaves on the stack is no part of the case. */
__attribute__((noinline)) static void wipe(void)
{
    volatile char room[16 << 10];
    for (size_t i = 0; i < sizeof room; i++)
        room[i] = 0;
    __asm__ volatile("" ::: "memory");
}

/* LeakSanitizer's interface, where something in the process has it. */
__attribute__((weak)) void __lsan_ignore_object(const void *object);
__attribute__((weak)) void __lsan_register_root_region(const void *region, size_t size);
__attribute__((weak)) void __lsan_unregister_root_region(const void *region, size_t size);

/* What hangs on an ignored block is no more lost than that. */
__attribute__((noinline)) static void ignore(void)
{
    for (int i = 0; i < 70000 && __lsan_register_root_region && __lsan_unregister_root_region;
         i++) {
        __lsan_register_root_region(&kept, sizeof kept);
        __lsan_unregister_root_region(&kept, sizeof kept);
    }
    void **volatile block = malloc(20000);
    block[3] = malloc(3000);
    if (__lsan_ignore_object)
        __lsan_ignore_object(block);
    void **volatile region = calloc(50, sizeof *region);
    region[2] = malloc(4000);
    if (__lsan_register_root_region)
        __lsan_register_root_region(region, 100);
    void *volatile dropped = malloc(1500);
    if (__lsan_register_root_region && __lsan_unregister_root_region) {
        __lsan_register_root_region(dropped, 1500);
        __lsan_unregister_root_region(dropped, 1500);
    }
    block = region = NULL;
    dropped = NULL;
}

static void *hold_on_stack(void *unused)
{
    void *volatile own = malloc(77);
    (void)unused;
    pthread_barrier_wait(&begun);
    pause();
    free(own);
    return NULL;
}

static void on_signal(int signal)
{
    got = signal;
}

int main(int argc, char **argv)
{
    enum { THREADS = 3 };
    time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 0);
    pthread_t id;
    signal(SIGUSR1, on_signal);
    hold();
    lose();
    ignore();
    wipe();
    pthread_barrier_init(&begun, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&id, NULL, hold_on_stack, NULL);
    pthread_barrier_wait(&begun);
    puts("ready");
    fflush(stdout);
    while (time(NULL) < end)
        usleep(10000);
    if (got)
        puts("got a signal");
    return 7;
}
