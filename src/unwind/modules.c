/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE, but for cairn_modules_refresh */
#include "unwind/modules.h"

#include <link.h>
#include <sched.h>
#include <stdatomic.h>

#include "rt/pages.h"
#include "unwind/loader.h"

#ifndef PT_ARM_EXIDX
#define PT_ARM_EXIDX 0x70000001
#endif

enum { NO_FUNCTION = 1 };
enum { FRAMES_SEGMENT = sizeof(void *) == 4 ? PT_ARM_EXIDX : PT_GNU_EH_FRAME, FIRST_ROOM = 64 };

/* What glibc's <dlfcn.h> calls struct dl_find_object: older ones lack it, and other libcs. Room for
 * the fields that it keeps for later, and on i386 has before them. */
struct found_object {
    unsigned long long flags;
    void *map_start, *map_end;
    void *link_map;
    void *eh_frame;
    int exidx_count; /* arm alone */
    unsigned long long reserved[12];
};
typedef int find_object_fn(void *address, struct found_object *ret_object);

struct entry {
    struct cairn_local_module module;
    atomic_bool is_gone;
};

/* Sorted by `from`. Replaced whole. */
struct list {
    struct list *older; /* to be given back once nobody reads */
    size_t bytes;
    size_t n, room;
    struct entry entries[];
};

static _Atomic(struct list *) current;
static atomic_uint n_readers; /* of the list; each for some hundred instructions */
static atomic_bool wanted, use_list;
static _Atomic(uintptr_t) find_object; /* 0: not looked for yet; NO_FUNCTION */
static atomic_flag refreshing = ATOMIC_FLAG_INIT;

/* NULL: the list is to be asked. */
static find_object_fn *loader(void)
{
    uintptr_t va = atomic_load_explicit(&find_object, memory_order_relaxed);
    if (va == 0) {
        va = cairn_loader_libc("_dl_find_object");
        va = va ? va : NO_FUNCTION;
        atomic_store_explicit(&find_object, va, memory_order_relaxed);
    }
    if (va == NO_FUNCTION || atomic_load_explicit(&use_list, memory_order_relaxed))
        return NULL;
    return (find_object_fn *)va;
}

static bool ask_loader(find_object_fn *ask, uintptr_t va, struct cairn_local_module *ret_module)
{
    struct found_object object;
    if (ask((void *)va, &object) != 0)
        return false;
    *ret_module = (struct cairn_local_module){
        .from = (uintptr_t)object.map_start,
        .to = (uintptr_t)object.map_end,
        .frames = (uintptr_t)object.eh_frame,
        .n_exidx = FRAMES_SEGMENT == PT_ARM_EXIDX ? (size_t)object.exidx_count : 0,
    };
    return true;
}

static struct entry *search(struct list *list, uintptr_t va)
{
    size_t low = 0, high = list ? list->n : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct entry *entry = &list->entries[middle];
        if (va < entry->module.from)
            high = middle;
        else if (va >= entry->module.to)
            low = middle + 1;
        else
            return entry;
    }
    return NULL;
}

bool cairn_modules_find(uintptr_t va, struct cairn_local_module *ret_module)
{
    find_object_fn *ask = loader();
    if (ask)
        return ask_loader(ask, va, ret_module);
    atomic_fetch_add(&n_readers, 1);
    struct entry *entry = search(atomic_load(&current), va);
    bool found = entry && !atomic_load(&entry->is_gone);
    if (found)
        *ret_module = entry->module;
    atomic_fetch_sub(&n_readers, 1);
    if (!found)
        atomic_store_explicit(&wanted, true, memory_order_relaxed);
    return found;
}

void cairn_modules_drop(uintptr_t va)
{
    atomic_fetch_add(&n_readers, 1);
    struct entry *entry = search(atomic_load(&current), va);
    if (entry)
        atomic_store(&entry->is_gone, true);
    atomic_fetch_sub(&n_readers, 1);
}

static int add_module(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)size;
    struct list *list = ctx;
    struct cairn_local_module module = {.from = UINTPTR_MAX};
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t from = (uintptr_t)(info->dlpi_addr + segment->p_vaddr);
        if (segment->p_type == FRAMES_SEGMENT) {
            module.frames = from;
            module.n_exidx = FRAMES_SEGMENT == PT_ARM_EXIDX ? segment->p_memsz / 8 : 0;
        } else if (segment->p_type == PT_LOAD) {
            module.from = from < module.from ? from : module.from;
            module.to = from + segment->p_memsz > module.to ? from + segment->p_memsz : module.to;
        }
    }
    if (module.from >= module.to)
        return 0;
    if (list->n == list->room)
        return 1;
    size_t at = list->n++;
    for (; at > 0 && list->entries[at - 1].module.from > module.from; at--)
        list->entries[at].module = list->entries[at - 1].module;
    list->entries[at].module = module;
    return 0;
}

static struct list *take_list(void)
{
    for (size_t room = FIRST_ROOM;; room *= 2) {
        size_t bytes = sizeof(struct list) + room * sizeof(struct entry);
        struct list *list = cairn_pages_map(bytes);
        if (!list)
            return NULL;
        list->bytes = bytes;
        list->room = room;
        if (dl_iterate_phdr(add_module, list) == 0)
            return list;
        cairn_pages_unmap(list, bytes);
    }
}

/* A reader that a longjmp(3) threw out of its search counts for ever: then nothing is given back,
 * which costs some pages a refresh and breaks nobody. */
static void drop_older(struct list *list)
{
    if (atomic_load(&n_readers) != 0)
        return;
    for (struct list *older = list->older; older;) {
        struct list *next = older->older;
        cairn_pages_unmap(older, older->bytes);
        older = next;
    }
    list->older = NULL;
}

void cairn_modules_refresh(void)
{
    if (loader())
        return;
    while (atomic_flag_test_and_set_explicit(&refreshing, memory_order_acquire))
        sched_yield();
    atomic_store(&wanted, false);
    struct list *list = take_list();
    if (list) {
        list->older = atomic_load(&current);
        atomic_store(&current, list);
        drop_older(list);
    }
    atomic_flag_clear_explicit(&refreshing, memory_order_release);
}

bool cairn_modules_wanted(void)
{
    return atomic_load_explicit(&wanted, memory_order_relaxed);
}

void cairn_modules_use_list(bool use)
{
    atomic_store(&use_list, use);
    if (use)
        cairn_modules_refresh();
}

/* The modules that a program starts with are known without anybody's asking. */
__attribute__((constructor)) static void take_first(void)
{
    cairn_modules_refresh();
}
