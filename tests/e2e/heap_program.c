/* SPDX-License-Identifier: MIT */
/*
 * What `cairn heap` is tried on: blocks of known sizes by known functions. Each case has a size of
 * its own, so that the size in a report names the case.
 *
 *     heap_program            leaves 3 x 1001 (lose), 1 x 5000000 (keep), 0 of what churn freed
 *     heap_program wait       the same, then 100 x 77 for each line on stdin, until it ends
 *     heap_program fork       the same; a child leaves 1 x 333 more of its own
 *     heap_program map        the same, and 3 mappings of 8192 bytes (map_it)
 *     heap_program exit | kill    ends by _exit(2), by SIGKILL
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static void *lose(size_t size)
{
    return malloc(size);
}

__attribute__((noinline)) static void *keep(size_t size)
{
    return calloc(1, size);
}

__attribute__((noinline)) static void churn(void)
{
    for (int i = 0; i < 1000; i++) {
        char *block = malloc(64);
        block = realloc(block, 128);
        block[0] = 1;
        free(block);
    }
}

__attribute__((noinline)) static void *grow(void)
{
    return malloc(77);
}

__attribute__((noinline)) static void *map_it(void)
{
    return mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void *volatile kept[400];

int main(int argc, char **argv)
{
    static char line[64];
    const char *how = argc > 1 ? argv[1] : "";
    size_t n = 0;
    for (int i = 0; i < 3; i++)
        kept[n++] = lose(1001);
    kept[n++] = keep(5000000);
    churn();
    for (int i = 0; strcmp(how, "map") == 0 && i < 3; i++)
        kept[n++] = map_it();
    if (strcmp(how, "fork") == 0) {
        pid_t child = fork();
        if (child == 0) {
            free(kept[0]);
            kept[n++] = lose(333);
            exit(0);
        }
        waitpid(child, NULL, 0);
    }
    for (setvbuf(stdin, line, _IOLBF, sizeof line); strcmp(how, "wait") == 0 && getchar() != EOF;)
        for (int i = 0; i < 100 && n < 400; i++)
            kept[n++] = grow();
    if (strcmp(how, "kill") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(how, "exit") == 0)
        _exit(5);
    return 0;
}
