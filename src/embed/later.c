/* SPDX-License-Identifier: MIT */
#include "embed/later.h"

#include <link.h>
#include <stdatomic.h>

#include <cairn/hook.h>

#include "embed/slots.h"
#include "unwind/loader.h"

typedef int catch_fn(void *exception, void (*operate)(void *), void *args);

static void *original;

/* It calls constructors, or other work of the loader's. That may leave by longjmp(3). */
static int watch(void *exception, void (*operate)(void *), void *args)
{
    cairn_embed_slots_look(false);
    return ((catch_fn *)original)(exception, operate, args);
}

/* Within dl_iterate_phdr, so that no module goes. */
static int find(struct dl_phdr_info *info, size_t size, void *context)
{
    void **ret = context;
    (void)info;
    (void)size;
    *ret = (void *)cairn_loader_next("_dl_catch_exception");
    return 1;
}

bool cairn_embed_later_watch(void)
{
    static atomic_int tried; /* 1: it is hooked, -1: it cannot be */
    struct cairn_hook *hook;
    void *function = NULL;
    int none = 0;
    if (!atomic_compare_exchange_strong(&tried, &none, -1))
        return none > 0;
    dl_iterate_phdr(find, &function);
    if (function &&
        cairn_hook_function(function, (void *)watch, 0, &original, &hook, NULL) == CAIRN_OK)
        atomic_store(&tried, 1);
    return atomic_load(&tried) > 0;
}
