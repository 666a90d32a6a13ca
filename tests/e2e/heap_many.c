/* SPDX-License-Identifier: MIT */
/*
 * heap_many BLOCKS: that many live blocks by 10,000 stacks, four levels of ten functions; then a
 * line on stdout, and it waits until stdin ends.
 */
#include <stdio.h>
#include <stdlib.h>

enum { LEVELS = 4, WAYS = 10, STACKS = 10000 };

static void *down(unsigned level, unsigned way);

/* The addition behind the call keeps it from becoming a jump. */
#define WAY(n)                                                                                     \
    __attribute__((noinline)) static void *way_##n(unsigned level, unsigned way)                   \
    {                                                                                              \
        char *block = down(level, way);                                                            \
        block[0] = (char)(n + 1);                                                                  \
        return block;                                                                              \
    }
WAY(0)
WAY(1)
WAY(2)
WAY(3)
WAY(4)
WAY(5)
WAY(6)
WAY(7)
WAY(8)
WAY(9)

static void *(*const ways[WAYS])(unsigned, unsigned) = {way_0, way_1, way_2, way_3, way_4,
                                                        way_5, way_6, way_7, way_8, way_9};

__attribute__((noinline)) static void *down(unsigned level, unsigned way)
{
    void *volatile block = level ? ways[way % WAYS](level - 1, way / WAYS) : malloc(24 + way);
    return block;
}

int main(int argc, char **argv)
{
    unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
    for (unsigned long i = 0; i < n; i++)
        if (!down(LEVELS, (unsigned)(i % STACKS)))
            return 1;
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    return 0;
}
