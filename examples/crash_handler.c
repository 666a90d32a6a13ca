/* SPDX-License-Identifier: MIT */
/* Tells where a program crashed. It dies of it all the same, so that core dumps and exit statuses
 * stay what they were. cc -g crash_handler.c $(pkg-config --cflags --libs cairn); ./a.out abort */
#define _XOPEN_SOURCE 700
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/unwind.h>

static void on_crash(int number, siginfo_t *info, void *ucontext)
{
    (void)info; /* nothing here allocates, locks or uses stdio */
    cairn_unwind_print_context(2, ucontext);
    raise(number); /* with SA_RESETHAND: its default, once this handler returns */
}

static int overflow(volatile int depth)
{
    return depth < 0 ? 0 : overflow(depth + 1) + depth;
}

int main(int argc, char **argv)
{
    static char stack[1 << 16]; /* for the handler: the thread's own stack may be full */
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    stack_t alternative = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_sigaction = on_crash,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND};
    sigaltstack(&alternative, NULL);
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        sigaction(crashes[i], &action, NULL);
    if (argc > 1 && strcmp(argv[1], "overflow") == 0)
        return overflow(0);
    if (argc > 1 && strcmp(argv[1], "abort") == 0)
        abort();
    puts("crash_handler overflow | abort: shows the stack of the crash");
    return 0;
}
