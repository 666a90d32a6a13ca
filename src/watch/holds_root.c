/* SPDX-License-Identifier: MIT */
/* What a root is: a variable by its name, a thread, what the kernel keeps. */
#include <elf.h>
#include <inttypes.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "watch/holds.h"

/* struct pthread of glibc (2.26 to 2.41, x86-64), from the thread pointer on: the values of the
 * first keys, each behind a word of its own, and 32 pointers to tables of 32 more; nptl/descr.h. */
enum { KEYS_AT = 0x310, KEY_BYTES = 16, KEYS = 32, TABLES_AT = 0x510, PTHREAD_BYTES = 0x900 };
enum { LOCAL_MAX = 1 << 20 };

/* The thread whose data `va` is among: of those with a thread pointer near by the nearest. NULL:
 * none. */
static const struct cairn_lost_thread *thread_near(const struct cairn_heap_holds *h, uint64_t va)
{
    const struct cairn_lost_threads *t = &h->search.threads;
    const struct cairn_lost_thread *best = NULL;
    uint64_t least = LOCAL_MAX;
    for (size_t i = 0; i < t->n_list; i++) {
        uint64_t tp = t->list[i].tp, far = va > tp ? va - tp : tp - va;
        if (tp && far < least && (va < tp || far < PTHREAD_BYTES)) {
            best = &t->list[i];
            least = far;
        }
    }
    return best;
}

/* The thread on whose stack `va` is: the one with the nearest stack pointer below it. */
static const struct cairn_lost_thread *thread_on(struct cairn_heap_holds *h,
                                                 const struct cairn_lost_map *map, uint64_t va)
{
    const struct cairn_lost_threads *t = &h->search.threads;
    const uint64_t red_zone = 128;
    const struct cairn_lost_thread *nearest = NULL;
    for (size_t i = 0; map && i < t->n_list; i++)
        if (t->list[i].sp >= map->start && t->list[i].sp < map->end &&
            va + red_zone >= t->list[i].sp)
            nearest = &t->list[i];
    return nearest;
}

/* In struct pthread: the first keys, pointers to tables of the others, or something else. */
static void name_behind(struct cairn_heap_holds *h, uint64_t behind, struct cairn_holds_path *path,
                        struct cairn_buffer *text)
{
    bool is_glibc = h->search.space.has_glibc && h->search.space.machine == EM_X86_64;
    path->root = CAIRN_HEAP_ROOT_THREAD_LOCAL;
    if (is_glibc && behind >= KEYS_AT && behind < TABLES_AT) {
        path->root = CAIRN_HEAP_ROOT_KEY;
        path->number = (int)((behind - KEYS_AT) / KEY_BYTES);
    } else if (is_glibc && behind >= TABLES_AT && behind < TABLES_AT + KEYS * sizeof(uint64_t)) {
        uint64_t first = (behind - TABLES_AT) / sizeof(uint64_t) * KEYS;
        path->root = CAIRN_HEAP_ROOT_KEY;
        path->first_key = (int)first;
        cairn_buffer_printf(text, "%" PRIu64 " to %" PRIu64, first, first + KEYS - 1);
    } else {
        cairn_buffer_printf(text, "%" PRIu64 " bytes behind its thread pointer", behind);
    }
}

/* Thread-local data are in one mapping with their thread's pointer. */
static bool name_local(struct cairn_heap_holds *h, const struct cairn_reach_root *root,
                       struct cairn_holds_path *path, struct cairn_buffer *text)
{
    const struct cairn_lost_thread *thread = thread_near(h, root->va);
    const struct cairn_lost_map *map = cairn_lost_space_map(&h->search.space, root->va);
    if (!thread || !map || thread->tp < map->start || thread->tp >= map->end)
        return false;
    path->tid = thread->tid;
    path->root = CAIRN_HEAP_ROOT_THREAD_LOCAL;
    if (root->va >= thread->tp) {
        name_behind(h, root->va - thread->tp, path, text);
        return true;
    }
    return cairn_variables_thread_local(h->variables, thread->tp, root->va, text) ||
           root->rank != CAIRN_HOLDS_STACK;
}

static void name_stack(struct cairn_heap_holds *h, uint64_t va, struct cairn_holds_path *path)
{
    const struct cairn_lost_thread *thread =
        thread_on(h, cairn_lost_space_map(&h->search.space, va), va);
    path->root = CAIRN_HEAP_ROOT_STACK;
    path->tid = thread ? thread->tid : 0;
}

static void name_mapping(struct cairn_heap_holds *h, uint64_t va, struct cairn_holds_path *path,
                         struct cairn_buffer *text)
{
    const struct cairn_lost_map *map = cairn_lost_space_map(&h->search.space, va);
    path->root = CAIRN_HEAP_ROOT_MAPPING;
    if (map)
        cairn_buffer_printf(text, "0x%" PRIx64 " of the mapping at 0x%" PRIx64, va - map->start,
                            map->start);
}

static void name_word(const struct cairn_heap_holds *h, size_t number,
                      struct cairn_holds_path *path)
{
    const struct cairn_lost_word *word = &h->search.threads.words[number];
    path->tid = word->tid;
    path->root = word->kind == CAIRN_LOST_REGISTER       ? CAIRN_HEAP_ROOT_REGISTER
                 : word->kind == CAIRN_LOST_SIGNAL_STACK ? CAIRN_HEAP_ROOT_SIGNAL_STACK
                                                         : CAIRN_HEAP_ROOT_ENDED;
}

static void name_kernel(const struct cairn_heap_holds *h, size_t number,
                        struct cairn_holds_path *path)
{
    const struct cairn_lost_kernel_word *word = &h->search.kernel.words[number];
    path->root = word->set < 0 ? CAIRN_HEAP_ROOT_TIMER : CAIRN_HEAP_ROOT_EPOLL;
    path->number = word->set;
    path->fd = word->fd;
}

static void name_memory(struct cairn_heap_holds *h, const struct cairn_reach_root *root,
                        bool with_off, struct cairn_holds_path *path, struct cairn_buffer *text)
{
    path->va = root->va;
    if (root->rank == CAIRN_HOLDS_FREE)
        path->root = CAIRN_HEAP_ROOT_FREE;
    else if (root->rank == CAIRN_HOLDS_DATA &&
             cairn_variables_name(h->variables, root->va, with_off, text))
        path->root = CAIRN_HEAP_ROOT_VARIABLE;
    else if (name_local(h, root, path, text))
        return;
    else if (root->rank == CAIRN_HOLDS_STACK)
        name_stack(h, root->va, path);
    else
        name_mapping(h, root->va, path, text);
}

static void name(struct cairn_heap_holds *h, const struct cairn_reach_root *root, bool with_off,
                 struct cairn_holds_path *path, struct cairn_buffer *text)
{
    path->fd = path->number = -1;
    if (root->rank == CAIRN_HOLDS_WORD)
        name_word(h, (size_t)root->va, path);
    else if (root->rank == CAIRN_HOLDS_KERNEL)
        name_kernel(h, (size_t)root->va, path);
    else
        name_memory(h, root, with_off, path, text);
}

int cairn_holds_name_root(struct cairn_heap_holds *holds, const struct cairn_reach_root *root,
                          struct cairn_holds_path *ret_path, struct cairn_err *err)
{
    struct cairn_buffer text = {0};
    name(holds, root, true, ret_path, &text);
    ret_path->name = cairn_strings_add_str(&holds->strings, cairn_buffer_text(&text));
    bool failed = text.failed || ret_path->name == UINT32_MAX;
    cairn_buffer_done(&text);
    return failed ? cairn_fail_memory(err) : CAIRN_OK;
}

static const char *kind_text(enum cairn_heap_root root)
{
    switch (root) {
    case CAIRN_HEAP_ROOT_VARIABLE:
        return "variables";
    case CAIRN_HEAP_ROOT_THREAD_LOCAL:
        return "thread-local data";
    case CAIRN_HEAP_ROOT_KEY:
        return "pthread keys";
    case CAIRN_HEAP_ROOT_STACK:
        return "stacks of threads";
    case CAIRN_HEAP_ROOT_REGISTER:
        return "registers";
    case CAIRN_HEAP_ROOT_SIGNAL_STACK:
        return "signal stacks";
    case CAIRN_HEAP_ROOT_EPOLL:
        return "epoll sets";
    case CAIRN_HEAP_ROOT_TIMER:
        return "timers";
    case CAIRN_HEAP_ROOT_ENDED:
        return "threads that have ended";
    case CAIRN_HEAP_ROOT_FREE:
        return "memory between blocks";
    default:
        return "other mappings";
    }
}

uint32_t cairn_holds_root_text(struct cairn_heap_holds *holds, const struct cairn_reach_root *root)
{
    struct cairn_buffer text = {0};
    struct cairn_holds_path path = {0};
    name(holds, root, false, &path, &text);
    bool has_name = path.root == CAIRN_HEAP_ROOT_VARIABLE && text.size;
    uint32_t number = cairn_strings_add_str(&holds->strings, has_name ? cairn_buffer_text(&text)
                                                                      : kind_text(path.root));
    if (text.failed)
        number = UINT32_MAX;
    cairn_buffer_done(&text);
    return number;
}
