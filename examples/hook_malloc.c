/* SPDX-License-Identifier: MIT */
/* Counts the blocks that a part of the program asks malloc for, and hooks it only meanwhile.
 * cc hook_malloc.c $(pkg-config --cflags --libs cairn-hook); ./a.out */
#include <stdio.h>
#include <stdlib.h>

#include <cairn/hook.h>

static void *(*original)(size_t); /* the real malloc, by the moved instructions */
static unsigned long n_blocks;

static void *counted(size_t size)
{
    __atomic_fetch_add(&n_blocks, 1, __ATOMIC_RELAXED);
    return original(size);
}

static void work(void)
{
    void *volatile block; /* so that the compiler keeps the calls */
    for (int i = 0; i < 100; i++, free(block))
        block = malloc(64);
}

int main(void)
{
    struct cairn_hook *hook;
    struct cairn_err err;
    if (cairn_hook_function((void *)malloc, (void *)counted, 0, (void **)&original, &hook, &err)) {
        printf("hook_malloc: %s (%s)\n", err.msg, err.hint);
        return err.code != CAIRN_E_SUPPORT; /* another CPU */
    }
    work();
    if (cairn_hook_remove(hook, &err))
        printf("hook_malloc: %s (%s)\n", err.msg, err.hint);
    work(); /* not counted any more */
    printf("%lu blocks\n", n_blocks);
    return 0;
}
