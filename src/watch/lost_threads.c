/* SPDX-License-Identifier: MIT */
#include "watch/lost_threads.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "bpf/threads.h"
#include "proc/ptrace.h"
#include "proc/threads.h"
#include "snapshot/facts.h"
#include "snapshot/syscall.h"
#include "watch/core.h"

enum {
    RED_ZONE = 128,
    STOP_MS = 100,
    TRIES = 3,
    STACK_BYTES = 4096,
    LEFT_WORDS = 5 /* what a thread that has ended leaves on its stack */
};

/* One look. */
struct reading {
    struct cairn_lost_threads *threads;
    int pid;
    enum cairn_lost_stop stop;
    const int *tids;
    bool *is_read; /* by tid */
    size_t n;
    bool failed; /* memory is gone */
};

void cairn_lost_threads_open(struct cairn_lost_threads *threads)
{
    struct cairn_err err;
    *threads = (struct cairn_lost_threads){0};
    if (cairn_bpf_threads_open(&threads->iterator, &err) < 0) {
        cairn_log_err(CAIRN_LOG_INFO, &err);
        threads->iterator = NULL;
    }
}

void cairn_lost_threads_close(struct cairn_lost_threads *threads)
{
    cairn_bpf_threads_close(threads->iterator);
    cairn_free(threads->words);
    cairn_free(threads->list);
    *threads = (struct cairn_lost_threads){0};
}

static bool add_word(struct cairn_lost_threads *t, uint64_t word, int tid,
                     enum cairn_lost_word_kind kind)
{
    if (cairn_grow((void **)&t->words, &t->cap_words, t->n_words + 1, sizeof *t->words) < 0)
        return false;
    t->words[t->n_words++] = (struct cairn_lost_word){word, tid, kind};
    return true;
}

static bool add_sp(struct cairn_lost_threads *t, int tid, uint64_t sp, uint64_t tp)
{
    if (cairn_grow((void **)&t->list, &t->cap_list, t->n_list + 1, sizeof *t->list) < 0)
        return false;
    t->list[t->n_list++] = (struct cairn_lost_thread){tid, sp, tp};
    return true;
}

/* As PTRACE_GETREGSET gives them: every word may be a pointer. */
static bool add_regs(struct cairn_lost_threads *t, int tid, struct cairn_span raw)
{
    struct cairn_regs regs;
    bool done = cairn_regs_read(raw, &regs) && add_sp(t, tid, regs.sp, regs.tp);
    for (size_t at = 0; done && at + sizeof(uint64_t) <= raw.size; at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, raw.data + at, sizeof word);
        done = add_word(t, word, tid, CAIRN_LOST_REGISTER);
    }
    return done;
}

int cairn_lost_threads_read_core(struct cairn_lost_threads *threads,
                                 const struct cairn_heap_core *core, struct cairn_err *err)
{
    const struct cairn_core_notes *notes = &core->file->notes;
    threads->n_words = threads->n_list = threads->n_unread = 0;
    threads->n_threads = notes->n_threads;
    for (size_t i = 0; i < notes->n_threads; i++) {
        struct cairn_regs regs;
        bool is_read = cairn_regs_read(notes->threads[i].regs, &regs);
        threads->n_unread += !is_read;
        if (is_read && !add_regs(threads, notes->threads[i].tid, notes->threads[i].regs))
            return cairn_fail_memory(err);
    }
    return CAIRN_OK;
}

/* The list is ascending. `n`: it is a thread that was born since. */
static size_t number_of(const struct reading *r, int tid)
{
    size_t low = 0, high = r->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->tids[middle] < tid)
            low = middle + 1;
        else
            high = middle;
    }
    return low < r->n && r->tids[low] == tid ? low : r->n;
}

static int see(void *ctx, const struct cairn_bpf_thread *thread)
{
    struct reading *r = ctx;
    size_t i = number_of(r, thread->tid);
    if (thread->alt_stack)
        r->failed |= !add_word(r->threads, thread->alt_stack, thread->tid, CAIRN_LOST_SIGNAL_STACK);
    if (i >= r->n || r->is_read[i])
        return 0;
    if (thread->found == CAIRN_BPF_NO_USER) /* it has ended */
        r->is_read[i] = true;
    else if (thread->found == CAIRN_BPF_STILL)
        r->is_read[i] = add_regs(r->threads, thread->tid, thread->regs);
    return 0;
}

static void read_by_iterator(struct reading *r)
{
    const struct cairn_bpf_threads_opts opts = {.pid = r->pid, .stack_bytes = STACK_BYTES};
    size_t n_read = 0;
    for (int i = 0; r->threads->iterator && i < TRIES && n_read < r->n; i++) {
        struct cairn_err err;
        if (cairn_bpf_threads_each(r->threads->iterator, &opts, see, r, &err) < 0) {
            /* Alternate stacks are not known from here on, as where BPF never was there. */
            cairn_log_err(CAIRN_LOG_INFO, &err);
            cairn_bpf_threads_close(r->threads->iterator);
            r->threads->iterator = NULL;
            return;
        }
        n_read = 0;
        for (size_t k = 0; k < r->n; k++)
            n_read += r->is_read[k];
    }
}

static bool add_stopped(struct cairn_lost_threads *t, struct cairn_tracer *tracer, int tid)
{
    uint8_t raw[CAIRN_PRSTATUS_MAX];
    size_t size;
    return cairn_tracer_prstatus(tracer, tid, raw, &size, NULL) == CAIRN_OK &&
           add_regs(t, tid, (struct cairn_span){raw, size});
}

/* -1: it has ended. */
static int read_by_stop(struct reading *r, int tid)
{
    struct cairn_tracer *tracer;
    int code = cairn_tracer_new(tid, CAIRN_TRACER_ONE_THREAD, &tracer, NULL);
    if (code < 0)
        return code == CAIRN_E_MISSING ? -1 : 0;
    code = cairn_tracer_stop(tracer, tid, STOP_MS, NULL);
    bool done = code == CAIRN_OK && add_stopped(r->threads, tracer, tid);
    cairn_tracer_free(tracer);
    return done ? 1 : code == CAIRN_E_MISSING ? -1 : 0;
}

/* What a stop ends with EINTR, whatever SA_RESTART says (signal(7)). */
static bool ends_by_stop(long number)
{
    static const char *const calls[] = {"epoll_wait",   "epoll_pwait",   "epoll_pwait2",
                                        "semop",        "semtimedop",    "rt_sigtimedwait",
                                        "io_getevents", "io_pgetevents", "msgrcv",
                                        "msgsnd",       "io_uring_enter"};
    const char *name = cairn_syscall_name(number);
    for (size_t i = 0; name && i < sizeof calls / sizeof *calls; i++)
        if (strcmp(calls[i], name) == 0)
            return true;
    return !name;
}

/* Without BPF. */
static void read_one(struct reading *r, size_t i)
{
    struct cairn_lost_threads *t = r->threads;
    struct cairn_thread_place place = {0};
    int tid = r->tids[i], code = cairn_place_read(r->pid, tid, &place, NULL);
    bool sleeps = code == CAIRN_OK && place.known;
    if (code == CAIRN_E_MISSING) {
        r->is_read[i] = true;
        return;
    }
    bool may_stop = !sleeps || (r->stop == CAIRN_LOST_STOP_ANY &&
                                !(place.in_syscall && ends_by_stop(place.number)));
    int done = may_stop ? read_by_stop(r, tid) : 0;
    r->is_read[i] = done != 0;
    if (done || !sleeps)
        return;
    r->is_read[i] = add_sp(t, tid, place.sp, 0);
    for (size_t k = 0; place.in_syscall && k < 6; k++)
        r->failed |= !add_word(t, place.arguments[k], tid, CAIRN_LOST_REGISTER);
    t->n_partly++;
}

static void read_held(struct reading *r, struct cairn_tracer *tracer)
{
    for (size_t i = 0; i < r->n; i++)
        if (!r->is_read[i])
            r->is_read[i] = add_stopped(r->threads, tracer, r->tids[i]);
}

static void read_standing(struct reading *r)
{
    uint8_t raw[CAIRN_PRSTATUS_MAX];
    size_t size, i = number_of(r, r->pid);
    if (i < r->n && !r->is_read[i] && cairn_ptrace_prstatus(r->pid, raw, &size) == 0)
        r->is_read[i] = add_regs(r->threads, r->pid, (struct cairn_span){raw, size});
}

static int read_all(struct reading *r, struct cairn_tracer *tracer, struct cairn_err *err)
{
    struct cairn_lost_threads *t = r->threads;
    t->n_words = t->n_list = t->n_partly = t->n_unread = 0;
    t->n_threads = r->n;
    read_by_iterator(r);
    if (tracer)
        read_held(r, tracer);
    if (t->at_exit)
        read_standing(r);
    for (size_t i = 0; !tracer && !t->at_exit && i < r->n; i++)
        if (!r->is_read[i])
            read_one(r, i);
    for (size_t i = 0; i < r->n; i++)
        t->n_unread += !r->is_read[i];
    return r->failed ? cairn_fail_memory(err) : CAIRN_OK;
}

int cairn_lost_threads_read(struct cairn_lost_threads *threads, int pid, enum cairn_lost_stop stop,
                            struct cairn_tracer *tracer, struct cairn_err *err)
{
    struct cairn_threads list = {0};
    struct reading r = {.threads = threads, .pid = pid, .stop = stop};
    int code = cairn_threads_read(pid, &list, err);
    if (code == CAIRN_OK && !(r.is_read = cairn_alloc(list.n + 1, sizeof *r.is_read)))
        code = cairn_fail_memory(err);
    r.tids = list.tids;
    r.n = list.n;
    if (code == CAIRN_OK)
        code = read_all(&r, tracer, err);
    cairn_free(r.is_read);
    cairn_threads_done(&list);
    return code;
}

/* The mapping right below it, if nothing can be read or written there. In gdb's core files all
 * mappings can be read. */
static const struct cairn_lost_map *guard_of(struct cairn_lost_space *space,
                                             const struct cairn_lost_map *map)
{
    const uint32_t readable = space->core ? 0 : CAIRN_MAP_READ;
    const uint32_t access = readable | CAIRN_MAP_WRITE | CAIRN_MAP_EXEC | CAIRN_MAP_FILE;
    const struct cairn_lost_map *below = cairn_lost_space_map(space, map->start - 1);
    bool has_access = below && (below->flags & access);
    return has_access ? NULL : below;
}

/*
 * Is it one thread's stack and nothing else? The C library's record of the thread, at the top of
 * the stack, says where the guard begins, how large both are, and how large the guard is (glibc:
 * struct pthread, stackblock and the two words behind it; musl: map_base, and the guard's size four
 * words on). Any other mapping with a guard may be coroutine stacks side by side, or other memory
 * that the kernel joined with a stack.
 */
static bool is_stack(struct cairn_lost_space *space, const struct cairn_lost_map *map)
{
    uint64_t words[2 * CAIRN_LOST_PAGE / sizeof(uint64_t)];
    const struct cairn_lost_map *guard = guard_of(space, map);
    uint64_t bytes = map->end - map->start < sizeof words ? map->end - map->start : sizeof words;
    if (!guard || !cairn_lost_space_read(space, map->end - bytes, (uint8_t *)words, (size_t)bytes))
        return false;
    for (size_t i = 0; i + 4 < bytes / sizeof *words; i++) {
        uint64_t start = words[i], end = start + words[i + 1], guard_bytes = map->start - start;
        if (start >= guard->start && start < map->start && end > map->start && end <= map->end &&
            (words[i + 2] == guard_bytes || words[i + 4] == guard_bytes))
            return true;
    }
    return false;
}

static int compare_sps(const void *x, const void *y)
{
    const struct cairn_lost_thread *a = x, *b = y;
    return a->sp < b->sp ? -1 : a->sp > b->sp;
}

static bool has_block(const struct cairn_reach_blocks *blocks, const struct cairn_lost_map *map)
{
    uint32_t first = cairn_reach_blocks_first(blocks, map->start);
    return first < blocks->n && cairn_reach_blocks_get(blocks, first).va < map->end;
}

bool cairn_lost_find_pthread(struct cairn_span bytes, uint64_t va, size_t least, size_t *at,
                             int32_t *ret_tid)
{
    enum { SELF_AT = 0x10, TID_AT = 0x2d0 };
    for (; *at + least <= bytes.size; *at += CAIRN_LOST_PTHREAD_ALIGN) {
        uint64_t self[2];
        memcpy(&self[0], bytes.data + *at, sizeof *self);
        memcpy(&self[1], bytes.data + *at + SELF_AT, sizeof *self);
        memcpy(ret_tid, bytes.data + *at + TID_AT, sizeof *ret_tid);
        if (self[0] == va + *at && self[1] == va + *at)
            return true;
    }
    return false;
}

/*
 * glibc keeps the stacks of threads that have ended for the next ones (nptl/allocatestack.c). Such
 * a stack's last page has struct pthread. The kernel sets the thread's number there to 0 when the
 * thread ends, and pthread_join() sets it to -1. Until then what the thread returned is there. The
 * next thread gets the DTV, too. Of x86-64; on other machines none is found, and all of it is a
 * root.
 */
static bool is_dead(struct cairn_lost_space *space, const struct cairn_lost_map *map,
                    uint64_t ret_left[LEFT_WORDS])
{
    enum { DTV_AT = 8, DTV_HEAD = 16 }; /* the pointer is to its second slot */
    /* The result is at 0x630; before it is a thread, behind it how it was scheduled. */
    enum { RESULT_AT = 0x620, LEAST = RESULT_AT + (LEFT_WORDS - 1) * 8 };
    uint8_t page[CAIRN_LOST_PAGE];
    uint64_t va = map->end - sizeof page;
    size_t at = 0;
    int32_t tid;
    if (map->end - map->start < 2 * sizeof page ||
        !cairn_lost_space_read(space, va, page, sizeof page) ||
        !cairn_lost_find_pthread((struct cairn_span){page, sizeof page}, va, LEAST, &at, &tid))
        return false;
    memset(ret_left, 0, LEFT_WORDS * sizeof *ret_left);
    memcpy(ret_left, page + at + DTV_AT, sizeof *ret_left);
    ret_left[0] -= DTV_HEAD;
    if (tid == 0)
        memcpy(ret_left + 1, page + at + RESULT_AT, (LEFT_WORDS - 1) * sizeof *ret_left);
    return tid <= 0;
}

/* Nothing else of a stack that no thread has is read. False: memory is gone. */
static bool cut_dead(struct cairn_lost_threads *t, const struct cairn_reach_blocks *blocks,
                     struct cairn_lost_space *space)
{
    size_t k = 0;
    uint64_t left[LEFT_WORDS];
    const uint32_t access = CAIRN_MAP_READ | CAIRN_MAP_WRITE;
    for (size_t i = 0; i < space->n_maps && space->has_glibc && space->machine == EM_X86_64; i++) {
        struct cairn_lost_map *map = &space->maps[i];
        while (k < t->n_list && t->list[k].sp < map->start)
            k++;
        bool has_thread = k < t->n_list && t->list[k].sp < map->end;
        if (!has_thread && map->kind == CAIRN_LOST_OTHER && map->flags == access &&
            guard_of(space, map) && is_dead(space, map, left) && !has_block(blocks, map)) {
            map->live = map->end;
            for (size_t n = 0; n < LEFT_WORDS; n++)
                if (!add_word(t, left[n], 0, CAIRN_LOST_ENDED))
                    return false;
        }
    }
    return true;
}

bool cairn_lost_threads_cut(struct cairn_lost_threads *threads,
                            const struct cairn_reach_blocks *blocks, struct cairn_lost_space *space)
{
    const struct cairn_lost_thread *list = threads->list;
    if (threads->n_list)
        qsort(threads->list, threads->n_list, sizeof *threads->list, compare_sps);
    for (size_t i = 0; i < threads->n_list; i++) {
        struct cairn_lost_map *map = cairn_lost_space_map(space, list[i].sp);
        if (!map || (map->flags & (CAIRN_MAP_SHARED | CAIRN_MAP_FILE)) ||
            (i > 0 && list[i - 1].sp >= map->start) || /* it is not alone, and was looked at */
            (map->kind != CAIRN_LOST_STACK && !is_stack(space, map)))
            continue;
        bool is_alone = i + 1 == threads->n_list || list[i + 1].sp >= map->end;
        if (is_alone && list[i].sp - map->start > RED_ZONE && !has_block(blocks, map))
            map->live = list[i].sp - RED_ZONE;
    }
    /* A thread that was not seen may have any stack; so may one that ended with its process. */
    return threads->n_unread || threads->at_exit || cut_dead(threads, blocks, space);
}
