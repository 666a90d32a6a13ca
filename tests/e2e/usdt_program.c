/* SPDX-License-Identifier: MIT */
/*
 * Static probes whose places, counts and arguments are known: usdt_program CASE [N].
 *
 *     counts N   four threads hit own:count N times each, at three places or more
 *     operands   one hit for each group of operands (x86-64, aarch64)
 *     guarded N  own:guarded N times, if it is traced; prints how often it was, and again after a
 *                line on stdin, with what the semaphore is by then
 *     long N     own:long N times, where a nop of five bytes follows
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/usdt.h"

#define PLACE __attribute__((noinline, noclone))

USDT_SEMAPHORE(own_guarded);
static volatile int sink;

/* Inlined into two functions, so that it has two places. */
static inline __attribute__((always_inline)) void hit(int i, long twice, const char *text)
{
    USDT3("own", "count", i, twice, text);
    sink = i;
}

PLACE static void even(int i)
{
    hit(i, 2l * i, "even");
    sink = 0;
}

PLACE static void odd(int i)
{
    hit(i, -2l * i, "odd");
    sink = 1;
}

/* Another type: the place has one argument alone. */
PLACE static void last(unsigned char i)
{
    USDT1("own", "count", i);
    sink = 2;
}

static void *work(void *ctx)
{
    const int n = *(int *)ctx;
    for (int i = 0; i < n; i++)
        i == n - 1 ? last((unsigned char)i) : i % 2 ? odd(i) : even(i);
    return NULL;
}

static void count(int n)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, work, &n);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

__attribute__((used)) static int32_t table[8] = {10, -11, 12, -13, 14, -15, 16, -17};
static struct {
    float small;
    double large;
} numbers = {1.5f, -2.25};

PLACE static void operands(void)
{
#ifdef __x86_64__
    register uint64_t r10 __asm__("r10") = 0x1122334485868788u;
    USDT_RAW(
        USDT_NOP, "0", "own", "registers",
        "8@%%r10 -8@%%r10 4@%%r10d -4@%%r10d 2@%%r10w -2@%%r10w 1@%%r10b -1@%%r10b 4@%%r10 %%r10w",
        "r"(r10));
    USDT_RAW(USDT_NOP, "0", "own", "bytes", "1@%%ah 1@%%al -1@%%bh -2@%%dx", "a"(0x1234),
             "b"(0xff00), "d"(-2));
    USDT_RAW(USDT_NOP, "0", "own", "constants",
             "4@$5 -4@$-5 8@$0x10 8@$-1 -8@$-9223372036854775808 1@$255", "i"(0));
    USDT_RAW(
        USDT_NOP, "0", "own", "memory",
        "-4@(%%rbx) -4@4(%%rbx) -4@12(%%rbx) -4@(%%rbx,%%rcx,4) -4@-4(%%rbx,%%rcx,4) 2@4(,%%rdx,2) "
        "-4@table+20(%%rip) 4@table(%%rip) 1@4(%%rbx) 8@0(%%rbx)",
        "b"(table), "c"(6l), "d"((uintptr_t)table / 2), "m"(table));
    USDT_RAW(USDT_NOP, "0", "own", "odd",
             "4f@(%%rbx) 8f@8(%%rbx) 8f@%%xmm0 8@(%%rax) 4@%%fs:0 3@%%rax", "b"(&numbers), "a"(16l),
             "m"(numbers));
    USDT_RAW(USDT_NOP, "0", "own", "twelve",
             "4@$0 4@$1 4@$2 4@$3 4@$4 4@$5 4@$6 4@$7 4@$8 4@$9 4@$10 4@$11 4@$12", "i"(0));
#elif defined(__aarch64__)
    register uint64_t x9 __asm__("x9") = 0x1122334485868788u;
    USDT_RAW(USDT_NOP, "0", "own", "registers",
             "8@x9 -8@x9 4@w9 -4@w9 2@w9 -2@w9 1@w9 -1@w9 4@x9 w9", "r"(x9));
    USDT_RAW(USDT_NOP, "0", "own", "constants",
             "4@5 -4@-5 8@0x10 8@-1 -8@-9223372036854775808 1@255", "i"(0));
#endif
}

PLACE static int guard(int n)
{
    int n_hit = 0;
    for (int i = 0; i < n; i++)
        if (own_guarded) {
            USDT_RAW(USDT_NOP, "own_guarded", "own", "guarded", "-4@%0", "r"(i));
            n_hit++;
        }
    return n_hit;
}

static void guarded(int n)
{
    char line[8];
    printf("%d\n", guard(n));
    fflush(stdout);
    if (fgets(line, sizeof line, stdin))
        printf("%d %d\n", guard(n), own_guarded);
}

PLACE static void long_nops(int n)
{
#ifdef USDT_NOP5
    for (int i = 0; i < n; i++)
        USDT_RAW(USDT_NOP5, "0", "own", "long", "-4@%0 -4@table+12(%%rip)", "r"(i), "m"(table));
#endif
    sink = n;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    const int n = argc > 2 ? atoi(argv[2]) : 1;
    if (strcmp(what, "counts") == 0)
        count(n);
    else if (strcmp(what, "operands") == 0)
        operands();
    else if (strcmp(what, "guarded") == 0)
        guarded(n);
    else if (strcmp(what, "long") == 0)
        long_nops(n);
    else
        return 2;
    return 0;
}
