/* SPDX-License-Identifier: MIT */
/*
 * record_bounds spin SECONDS [LIBRARY...]    opens the libraries, then spins
 * record_bounds made SECONDS                 spins below 40 to 99 frames of code made at run time
 * record_bounds threads N SECONDS            with N more threads, which wait: spins, and so do
 *                                            children that it starts, in turn
 *
 * Each says "ready" once it is.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { NOPS = 30, FRAMES_MIN = 40, FRAMES_RANGE = 60, STACK_BYTES = 16 << 10 };

static volatile unsigned long sink;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void say_ready(void)
{
    puts("ready");
    fflush(stdout);
}

__attribute__((noinline)) static void spin(double seconds)
{
    const double end = now() + seconds;
    while (now() < end)
        for (unsigned i = 0; i < 2000000; i++)
            sink += i;
}

__attribute__((noinline)) static void child_spin(double seconds)
{
    spin(seconds);
    sink++;
}

#ifdef __x86_64__
/*
 * f(n): cmp edi,0; je leaf; sub rsp,0x18; dec edi; call f; nop...; add rsp,0x18; ret
 * leaf: mov ecx,1000000; loop: dec ecx; jne loop; ret
 */
static void (*make_code(void))(int)
{
    static const uint8_t head[] = {0x83, 0xff, 0, 0x74, 0, 0x48, 0x83, 0xec, 0x18, 0xff, 0xcf};
    static const uint8_t tail[] = {0x48, 0x83, 0xc4, 0x18, 0xc3};
    static const uint8_t leaf[] = {0xb9, 0x40, 0x42, 0x0f, 0, 0xff, 0xc9, 0x75, 0xfc, 0xc3};
    uint8_t *code =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t n = sizeof head;
    if (code == MAP_FAILED)
        exit(1);
    memcpy(code, head, sizeof head);
    const int32_t back = -(int32_t)(n + 5);
    code[n] = 0xe8;
    memcpy(code + n + 1, &back, sizeof back);
    n += 5;
    memset(code + n, 0x90, NOPS);
    n += NOPS;
    memcpy(code + n, tail, sizeof tail);
    n += sizeof tail;
    code[4] = (uint8_t)(n - 5);
    memcpy(code + n, leaf, sizeof leaf);
    return (void (*)(int))(void *)code;
}
#else
static void (*make_code(void))(int)
{
    exit(1);
}
#endif

static void run_made(double seconds)
{
    void (*made)(int) = make_code();
    const double end = now() + seconds;
    say_ready();
    while (now() < end)
        made(FRAMES_MIN + rand() % FRAMES_RANGE);
}

static void *wait_for_ever(void *ctx)
{
    (void)ctx;
    for (;;)
        pause();
    return NULL;
}

static void run_threads(long n, double seconds)
{
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    for (long i = 0; i < n; i++)
        if (pthread_create(&thread, &attr, wait_for_ever, NULL) != 0) {
            printf("only %ld threads\n", i);
            exit(1);
        }
    say_ready();
    for (const double end = now() + seconds; now() < end;) {
        spin(0.5);
        pid_t child = fork();
        if (child == 0) {
            child_spin(0.5);
            _exit(0);
        }
        if (child > 0)
            (void)waitpid(child, NULL, 0);
    }
}

int main(int argc, char **argv)
{
    if (argc >= 3 && strcmp(argv[1], "spin") == 0) {
        for (int i = 3; i < argc; i++)
            if (!dlopen(argv[i], RTLD_NOW)) {
                puts(dlerror());
                return 1;
            }
        say_ready();
        spin(atof(argv[2]));
    } else if (argc == 3 && strcmp(argv[1], "made") == 0) {
        run_made(atof(argv[2]));
    } else if (argc == 4 && strcmp(argv[1], "threads") == 0) {
        run_threads(atol(argv[2]), atof(argv[3]));
    } else {
        return 2;
    }
    return 0;
}
