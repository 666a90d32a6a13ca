/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "rt/thread.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rt/pages.h"
#include "rt/seal.h"

enum { LOOKS = 16 /* at other blocks, before a new one is made */ };

static long call(long number, long a, long b, long c)
{
    int saved = errno;
    long got = syscall(number, a, b, c);
    long failed = -errno;
    errno = saved;
    return got < 0 ? failed : got;
}

#ifdef CAIRN_NO_TLS
/* A block belongs to a thread pointer (rt/mine.h), and so to whoever has that pointer next. */
enum { BY_NUMBER = 0 };
#else
enum { BY_NUMBER = 1 };
#endif

static bool is_ended(uint32_t tid)
{
    return BY_NUMBER && call(SYS_tgkill, getpid(), tid, 0) == -ESRCH;
}

static bool is_dead(uint32_t tid, uint32_t self)
{
    /* Of those that live one has our number: a block that says so is left from one before us. */
    return tid == 0 || (BY_NUMBER && tid == self) || is_ended(tid);
}

static _Atomic(uintptr_t) *table_of(struct cairn_thread_blocks *blocks)
{
    _Atomic(uintptr_t) *table = atomic_load_explicit(&blocks->table, memory_order_acquire);
    if (table)
        return table;
    _Atomic(uintptr_t) *fresh = cairn_pages_map(CAIRN_THREAD_MAX * sizeof(*fresh));
    if (!fresh)
        return NULL;
    if (atomic_compare_exchange_strong(&blocks->table, &table, fresh))
        return fresh;
    cairn_pages_unmap(fresh, CAIRN_THREAD_MAX * sizeof(*fresh));
    return table;
}

/* The count in the upper half makes sure that who found the owner dead, and slept, takes it from
 * nobody who came in between. */
CAIRN_THREAD_BLOCK_ACCESS static bool take(struct cairn_thread_head *head, uint32_t self,
                                           const struct cairn_thread_blocks *blocks)
{
    uint64_t owner = atomic_load(&head->owner);
    uint64_t mine = ((owner >> 32) + 1) << 32 | self;
    if (!is_dead((uint32_t)owner, self) ||
        !atomic_compare_exchange_strong(&head->owner, &owner, mine))
        return false;
    /* Its first page holds the owner, and must not be nobody's for a moment. */
    size_t first = cairn_pages_size();
    volatile uint64_t *word = (volatile uint64_t *)(void *)head;
    for (size_t i = (sizeof(*head) + blocks->kept) / sizeof(*word); i < first / sizeof(*word); i++)
        word[i] = 0;
    if (blocks->bytes > first)
        cairn_pages_drop((char *)head + first, blocks->bytes - first);
    return true;
}

static void *take_dead(struct cairn_thread_blocks *blocks, _Atomic(uintptr_t) *table, uint32_t self)
{
    uint32_t n = atomic_load(&blocks->n);
    if (n > CAIRN_THREAD_MAX)
        n = CAIRN_THREAD_MAX;
    uint32_t looks = n < LOOKS ? n : LOOKS;
    uint32_t hand = atomic_fetch_add(&blocks->hand, looks);
    for (uint32_t i = 0; i < looks; i++) {
        struct cairn_thread_head *head =
            (struct cairn_thread_head *)atomic_load(&table[(hand + i) % n]);
        if (head && take(head, self, blocks))
            return head;
    }
    return NULL;
}

void *cairn_thread_claim(struct cairn_thread_blocks *blocks)
{
    if (cairn_seal_forbids_files())
        return NULL;
    _Atomic(uintptr_t) *table = table_of(blocks);
    uint32_t self = (uint32_t)call(SYS_gettid, 0, 0, 0);
    if (!table)
        return NULL;
    void *dead = take_dead(blocks, table, self);
    if (dead)
        return dead;
    struct cairn_thread_head *head = cairn_pages_map(blocks->bytes);
    if (!head)
        return NULL;
    bool wiped = cairn_pages_wipe_on_fork(head, blocks->bytes);
    atomic_store(&head->owner, UINT64_C(1) << 32 | self);
    uint32_t at = atomic_fetch_add(&blocks->n, 1);
    if (at >= CAIRN_THREAD_MAX) {
        atomic_store(&blocks->n, CAIRN_THREAD_MAX);
        cairn_pages_unmap(head, blocks->bytes);
        return NULL;
    }
    /* A child that has a copy could not tell the parent's threads from its own: such a block is in
     * no table, and never taken again. */
    if (wiped)
        atomic_store(&table[at], (uintptr_t)head);
    else
        atomic_store(&blocks->is_hiding, true);
    return head;
}

struct cairn_thread_head *cairn_thread_at(const struct cairn_thread_blocks *blocks, uint32_t i)
{
    _Atomic(uintptr_t) *table = atomic_load(&blocks->table);
    return table ? (struct cairn_thread_head *)atomic_load(&table[i]) : NULL;
}

CAIRN_THREAD_BLOCK_ACCESS bool cairn_thread_is_gone(const struct cairn_thread_head *head)
{
    uint32_t owner = (uint32_t)atomic_load(&head->owner);
    return owner == 0 || (!cairn_seal_forbids_files() && is_ended(owner));
}

uint32_t cairn_thread_count(const struct cairn_thread_blocks *blocks)
{
    uint32_t n = atomic_load(&blocks->n);
    return n < CAIRN_THREAD_MAX ? n : CAIRN_THREAD_MAX;
}
