/* SPDX-License-Identifier: MIT */
/*
 * What hooks cost: hook_speed [RUNS]. A function of libc is called through a slot; each replacement
 * calls the original. The lowest of RUNS is printed, and all kinds are measured in turn in each
 * run.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cairn/hook.h>

enum { CALLS = 50000, ROUNDS = 40, PAIRS = 2000, KINDS = 5 };

typedef long function_fn(long);

static function_fn *original;
static struct cairn_err err;

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void check(int code)
{
    if (code == CAIRN_OK)
        return;
    fprintf(stderr, "hook_speed: %s (%s)\n", err.msg, err.hint);
    exit(1);
}

static __attribute__((noinline)) long replacement(long value)
{
    return original(value) + 1;
}

/* Through this program's slot. */
static double call_ns(void)
{
    const double from = now_ns();
    long sum = 0;
    for (long i = 0; i < CALLS; i++)
        sum += labs(-i);
    __asm__ volatile("" : : "r"(sum));
    return (now_ns() - from) / CALLS;
}

/* A call of the replacement as a program would write it, by a pointer. */
static double direct_ns(void)
{
    function_fn *volatile called = replacement;
    original = (function_fn *)dlsym(RTLD_DEFAULT, "labs");
    const double from = now_ns();
    long sum = 0;
    for (long i = 0; i < CALLS; i++)
        sum += called(-i);
    __asm__ volatile("" : : "r"(sum));
    return (now_ns() - from) / CALLS;
}

static double slot_ns(void)
{
    struct cairn_hook *hook;
    check(cairn_hook_slots("labs", (void *)replacement, NULL, (void **)&original, &hook, &err));
    const double ns = call_ns();
    check(cairn_hook_remove(hook, &err));
    return ns;
}

static double inline_ns(unsigned flags)
{
    struct cairn_hook *hook;
    void *function = dlsym(RTLD_DEFAULT, "labs");
    check(
        cairn_hook_function(function, (void *)replacement, flags, (void **)&original, &hook, &err));
    const double ns = call_ns();
    check(cairn_hook_remove(hook, &err));
    return ns;
}

static double measure(int kind)
{
    switch (kind) {
    case 0:
        return call_ns();
    case 1:
        return direct_ns();
    case 2:
        return slot_ns();
    case 3:
        return inline_ns(0);
    default:
        return inline_ns(CAIRN_HOOK_GUARDED);
    }
}

static double install_us(const char *name, unsigned flags)
{
    void *function = dlsym(RTLD_DEFAULT, name);
    const double from = now_ns();
    for (int i = 0; i < PAIRS; i++) {
        struct cairn_hook *hook;
        check(cairn_hook_function(function, (void *)replacement, flags, (void **)&original, &hook,
                                  &err));
        check(cairn_hook_remove(hook, &err));
    }
    return (now_ns() - from) / PAIRS / 1000;
}

int main(int argc, char **argv)
{
    static const char *const names[KINDS] = {
        "a call of labs() through a slot", "a replacement, called by a pointer", "hook of the slot",
        "hook of the function", "hook of the function, guarded"};
    const int runs = argc > 1 ? atoi(argv[1]) : 3;
    double best[KINDS] = {0};
    for (int run = 0; run < runs * ROUNDS; run++)
        for (int kind = 0; kind < KINDS; kind++) {
            const double ns = measure(kind);
            best[kind] = best[kind] > 0 && best[kind] < ns ? best[kind] : ns;
        }
    for (int kind = 0; kind < KINDS; kind++)
        printf("%-36s %6.2f ns\n", names[kind], best[kind]);
    printf("%-36s %6.1f us\n", "install and remove", install_us("labs", 0));
    printf("%-36s %6.1f us\n", "the same, padding kept",
           install_us("labs", CAIRN_HOOK_KEEP_PADDING));
    return 0;
}
