/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE, but for its constructor and destructor */
/*
 * Lifetime: what is done when the program is loaded and when it leaves by exit(3), for what needs
 * no first block: a program that asks for no memory has a state all the same. In libcairn-heap
 * alone.
 */
#include <pthread.h>

#include "heap/fork.h"
#include "heap/real.h"
#include "heap/settings.h"
#include "heap/start.h"
#include "unwind/loader.h"

extern char **environ;

static bool names_us(const char *text, size_t n)
{
    static const char ours[] = "libcairn-heap.so";
    for (size_t i = 0; i + sizeof(ours) - 1 <= n; i++) {
        size_t k = 0;
        while (k < sizeof(ours) - 1 && text[i + k] == ours[k])
            k++;
        if (k == sizeof(ours) - 1)
            return true;
    }
    return false;
}

/* Takes this library out of a list of libraries, in place (ld.so(8): by spaces or colons). */
static void take_out(char *list)
{
    char *to = list;
    for (char *from = list; *from;) {
        size_t n = 0;
        while (from[n] && from[n] != ' ' && from[n] != ':')
            n++;
        bool keeps = !names_us(from, n);
        if (from[n])
            n++;
        for (size_t i = 0; keeps && i < n; i++)
            *to++ = from[i];
        from += n;
    }
    *to = 0;
}

/* Programs that this one starts are not to be recorded. */
static void stay_alone(void)
{
    const char *const *list = (const char *const *)environ;
    const char *follow = cairn_heap_settings_find(list, "CAIRN_HEAP_FOLLOW");
    char *preload = (char *)cairn_heap_settings_find(list, "LD_PRELOAD");
    uint64_t value;
    if (follow && preload && cairn_heap_settings_number(follow, &value) && value == 0)
        take_out(preload);
}

CAIRN_THREAD_BLOCK_ACCESS __attribute__((constructor)) static void begin(void)
{
    struct cairn_heap *heap;
    cairn_heap_real_find();
    cairn_heap_starts_later = false; /* constructors of libraries behind this one are done */
    struct cairn_heap_own *own = cairn_heap_start_thread(&heap, cairn_heap_sp());
    if (own)
        cairn_heap_call_end(own);
    /* Its own malloc comes before ours, or one that is preloaded too. */
    if (heap && cairn_loader_before("malloc"))
        atomic_fetch_or(&heap->state.header->flags, CAIRN_HEAP_NOT_ASKED);
    if (heap)
        stay_alone();
    pthread_atfork(cairn_heap_fork_prepare, cairn_heap_fork_parent, cairn_heap_fork_child);
}

__attribute__((destructor)) static void end(void)
{
    struct cairn_heap *heap = cairn_heap_present();
    if (!heap)
        return;
    atomic_fetch_or(&heap->state.header->flags, CAIRN_HEAP_ENDED);
    atomic_fetch_and(&heap->state.header->flags, ~(unsigned)CAIRN_HEAP_LIVE);
}
