/* SPDX-License-Identifier: MIT */
/*
 * Blocks that a leak checker must judge, each of a size of its own: heap_truth [exit | kill |
 * fork]. What lives at the end is the same whatever becomes of it; heap_truth.py has the list.
 */
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define CASE __attribute__((noinline)) static void

/* Somebody might read them. */
static void *volatile global, *volatile chained, *volatile inside, *volatile tagged_pointer;
static _Thread_local void *volatile of_thread;

/* The compiler must not know that nobody has it any more. */
CASE drop(void *block)
{
    __asm__ volatile("" ::"r"(block) : "memory");
}

CASE definite(void)
{
    for (int i = 0; i < 5; i++)
        drop(malloc(1001));
}

CASE reachable(void)
{
    global = malloc(1002);
}

/* The second by the first alone. */
CASE chain(void)
{
    void **first = malloc(1003);
    *first = malloc(1004);
    chained = first;
}

CASE indirect(void)
{
    void **first = malloc(1005);
    *first = malloc(1006);
    drop(first);
}

CASE cycle(void)
{
    void **one = malloc(1007), **other = malloc(1008);
    *one = other;
    *other = one;
    drop(one);
}

CASE interior(void)
{
    inside = (char *)malloc(1009) + 16;
}

CASE in_tls(void)
{
    of_thread = malloc(1010);
}

CASE in_mapping(void)
{
    static void **volatile mapping;
    void **page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mapping = page;
    if (page != MAP_FAILED)
        page[3] = malloc(1011);
}

/* As Android's allocator hands them out: a tag in the top byte. */
CASE tagged(void)
{
    tagged_pointer = (void *)((uintptr_t)malloc(1012) | (uintptr_t)0xb4 << 56);
}

CASE by_freed(void)
{
    void **freed = malloc(1013);
    freed[4] = malloc(1014);
    drop(freed);
    free(freed);
}

CASE by_memalign(void)
{
    drop(memalign(64, 1039));
}

CASE by_posix_memalign(void)
{
    void *block;
    if (posix_memalign(&block, 64, 1040) == 0)
        drop(block);
}

CASE by_realloc(void)
{
    void *block = malloc(10);
    drop(block);
    drop(realloc(block, 1041));
}

CASE by_strdup(void)
{
    char text[1042];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = 0;
    drop(strdup(text));
}

CASE by_reallocarray(void)
{
    drop(reallocarray(NULL, 7, 149));
}

CASE by_aligned_alloc(void)
{
    drop(aligned_alloc(32, 1056));
}

/* Its variable is gone with the thread. */
static void *in_thread(void *unused)
{
    of_thread = malloc(1015);
    return unused;
}

/* No pointer is left in what the calls left on the stack. */
CASE scrub(void)
{
    char room[4096];
    memset(room, 0, sizeof room);
    drop(room);
}

CASE fork_once(void)
{
    pid_t child = fork();
    if (child == 0) {
        drop(malloc(2001));
        exit(0);
    }
    waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
    static void (*const cases[])(void) = {
        definite,   reachable,  chain,           indirect,         cycle,       interior,
        in_tls,     in_mapping, tagged,          by_freed,         by_memalign, by_posix_memalign,
        by_realloc, by_strdup,  by_reallocarray, by_aligned_alloc,
    };
    const char *how = argc > 1 ? argv[1] : "";
    pthread_t thread;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cases[i]();
    if (pthread_create(&thread, NULL, in_thread, NULL) == 0)
        pthread_join(thread, NULL);
    scrub();
    if (strcmp(how, "fork") == 0)
        fork_once();
    if (strcmp(how, "exit") == 0)
        _exit(0);
    if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    return 0;
}
