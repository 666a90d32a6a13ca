/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE, but for its constructor and destructor */
/*
 * Lifetime: what is done when the program is loaded and when it leaves by exit(3), for what needs
 * no first block: a program that asks for no memory has a state all the same. In libcairn-heap
 * alone.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/ask.h"
#include "heap/exec.h"
#include "heap/fork.h"
#include "heap/real.h"
#include "heap/settings.h"
#include "heap/start.h"
#include "unwind/loader.h"

extern char **environ;
extern void *__dso_handle __attribute__((visibility("hidden")));

/* Programs that this one starts are not to be recorded. */
static void stay_alone(void)
{
    const char *const *list = (const char *const *)environ;
    const char *follow = cairn_heap_settings_find(list, "CAIRN_HEAP_FOLLOW");
    char *preload = (char *)cairn_heap_settings_find(list, "LD_PRELOAD");
    uint64_t value;
    if (follow && preload && cairn_heap_settings_number(follow, &value) && value == 0)
        cairn_heap_exec_take_out(preload);
}

/* pthread_atfork(3) of whichever libc this is: linked in, it is glibc's alone. */
static void register_fork(void)
{
    typedef void handler(void);
    typedef int of_musl(handler *, handler *, handler *);
    typedef int of_glibc(handler *, handler *, handler *, void *);
    of_glibc *glibcs = (of_glibc *)cairn_loader_libc("__register_atfork");
    of_musl *musls = (of_musl *)(glibcs ? 0 : cairn_loader_musl("pthread_atfork"));
    if (glibcs)
        glibcs(cairn_heap_fork_prepare, cairn_heap_fork_parent, cairn_heap_fork_child,
               &__dso_handle);
    else if (musls)
        musls(cairn_heap_fork_prepare, cairn_heap_fork_parent, cairn_heap_fork_child);
}

/* Functions of jemalloc, mimalloc and tcmalloc that allocate or free, and that no C library has. */
static bool calls_by_other_names(void)
{
    static const char *const marks[] = {"mallocx", "mi_malloc", "tc_malloc"};
    static const char *const starts[] = {
        "mallocx",   "rallocx",    "xallocx",   "sdallocx",  "dallocx",    "mi_malloc",
        "mi_calloc", "mi_realloc", "mi_free",   "mi_zalloc", "mi_new",     "mi_heap_",
        "mi_re",     "mi_str",     "mi_align",  "mi_posix_", "mi_memalig", "mi_valloc",
        "tc_malloc", "tc_calloc",  "tc_free",   "tc_cfree",  "tc_realloc", "tc_new",
        "tc_delete", "tc_memalig", "tc_posix_", "tc_valloc", "tc_pvalloc",
    };
    for (unsigned i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        if (cairn_loader_next(marks[i]))
            return cairn_loader_uses(starts, sizeof(starts) / sizeof(starts[0]));
    return false;
}

CAIRN_THREAD_BLOCK_ACCESS __attribute__((constructor)) static void begin(void)
{
    struct cairn_tracked_heap *heap;
    cairn_heap_real_find();
    cairn_heap_starts_later = false; /* constructors of libraries behind this one are done */
    struct cairn_heap_own *own = cairn_heap_start_thread(&heap, cairn_heap_sp());
    if (own)
        cairn_heap_call_end(own);
    /* Its own malloc comes before ours, or one that is preloaded too. */
    if (heap && cairn_loader_before("malloc"))
        atomic_fetch_or(&heap->state.header->flags, CAIRN_HEAP_NOT_ASKED);
    cairn_heap_exec_begin(environ);
    if (heap)
        stay_alone();
    cairn_heap_ask_at_exit();
    if (heap && calls_by_other_names())
        atomic_fetch_or(&heap->state.header->flags, CAIRN_HEAP_OTHER_NAMES);
    register_fork();
}

__attribute__((destructor)) static void end(void)
{
    struct cairn_tracked_heap *heap = cairn_heap_present();
    if (!heap)
        return;
    /* A library that was loaded since may call them. */
    if (calls_by_other_names())
        atomic_fetch_or(&heap->state.header->flags, CAIRN_HEAP_OTHER_NAMES);
    atomic_fetch_or(&heap->state.header->flags, CAIRN_HEAP_ENDED);
    atomic_fetch_and(&heap->state.header->flags, ~(unsigned)CAIRN_HEAP_LIVE);
}
