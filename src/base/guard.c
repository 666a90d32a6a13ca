/* SPDX-License-Identifier: MIT */
/*
 * The SIGBUS guard: knows our mappings, and gives a page of zeros where one lost its file.
 *
 *     newest block -> block -> ... -> first block (static)
 *        | start size n_mended | start size n_mended | ...
 *
 * The handler walks the blocks without a lock: a block is never freed, and a slot counts only once
 * its `start` is set, which happens last. Blocks are added by whoever maps a file, never by the
 * handler. The handler calls nothing but mmap, sigaction and raise.
 */
#include "base/guard.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"

enum { SLOTS = 64, CLAIMED = 1 }; /* no mapping starts at 1 */

struct slot {
    atomic_uintptr_t start; /* 0: free; CLAIMED: being filled */
    atomic_size_t size;
    atomic_size_t n_mended; /* pages that lost their file */
};

struct block {
    struct block *next;
    struct slot slots[SLOTS];
};

static struct block first_block;
static _Atomic(struct block *) blocks = &first_block;

static struct sigaction previous; /* written once, before our handler can run */
static uintptr_t page_bytes;
static atomic_bool any_mended;
static atomic_flag installed = ATOMIC_FLAG_INIT;

static struct slot *claim_in(struct block *block)
{
    for (size_t i = 0; i < SLOTS; i++) {
        uintptr_t expected = 0;
        if (atomic_compare_exchange_strong(&block->slots[i].start, &expected, CLAIMED))
            return &block->slots[i];
    }
    return NULL;
}

static struct slot *claim_slot(void)
{
    for (struct block *block = atomic_load(&blocks); block; block = block->next) {
        struct slot *slot = claim_in(block);
        if (slot)
            return slot;
    }
    struct block *grown = cairn_alloc(1, sizeof *grown);
    if (!grown)
        return NULL;
    atomic_store(&grown->slots[0].start, CLAIMED);
    grown->next = atomic_load(&blocks);
    while (!atomic_compare_exchange_weak(&blocks, &grown->next, grown))
        ;
    return &grown->slots[0];
}

bool cairn_guard_add(struct cairn_span mapping)
{
    if (!mapping.size)
        return true;
    struct slot *slot = claim_slot();
    if (!slot)
        return false;
    atomic_store(&slot->size, mapping.size);
    atomic_store(&slot->n_mended, 0);
    atomic_store(&slot->start, (uintptr_t)mapping.data);
    return true;
}

static struct slot *slot_holding(uintptr_t va)
{
    for (struct block *block = atomic_load(&blocks); block; block = block->next)
        for (size_t i = 0; i < SLOTS; i++) {
            struct slot *slot = &block->slots[i];
            uintptr_t start = atomic_load(&slot->start);
            if (start > CLAIMED && va - start < atomic_load(&slot->size))
                return slot;
        }
    return NULL;
}

void cairn_guard_remove(struct cairn_span mapping)
{
    struct slot *slot = mapping.size ? slot_holding((uintptr_t)mapping.data) : NULL;
    if (slot)
        atomic_store(&slot->start, 0);
}

bool cairn_file_any_cut(void)
{
    return atomic_load_explicit(&any_mended, memory_order_relaxed);
}

bool cairn_file_was_cut(const struct cairn_file *file)
{
    struct slot *slot = file->mapping.size ? slot_holding((uintptr_t)file->mapping.data) : NULL;
    return slot && atomic_load(&slot->n_mended);
}

/* Puts a page of zeros where the file has none any more. */
static bool mend_page(uintptr_t va)
{
    struct slot *slot = slot_holding(va);
    /* A page that faults again though it was mended would fault for ever (qemu-arm 7.2 does so). */
    if (!slot || atomic_fetch_add(&slot->n_mended, 1) > atomic_load(&slot->size) / page_bytes)
        return false;
    atomic_store(&any_mended, true);
    void *page = (void *)(va & ~(page_bytes - 1));
    void *mapped =
        mmap(page, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    return mapped != MAP_FAILED;
}

static void hand_on(int number, siginfo_t *info, void *context)
{
    bool sent = info->si_code <= 0; /* by kill() and the like: nothing will fault again */
    if (previous.sa_flags & SA_SIGINFO) {
        previous.sa_sigaction(number, info, context);
    } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
        previous.sa_handler(number);
    } else if (previous.sa_handler == SIG_DFL || !sent) {
        /* The kernel ends a process that ignores a fault of its own, too. */
        sigaction(number, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
        if (sent)
            raise(number);
    }
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    /* Only "no such page": a memory error of the machine must not become zeros. */
    if (info->si_code != BUS_ADRERR || !mend_page((uintptr_t)info->si_addr))
        hand_on(number, info, context);
    errno = saved;
}

int cairn_file_guard(struct cairn_err *err)
{
    if (atomic_flag_test_and_set(&installed))
        return CAIRN_OK;
    page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGBUS, NULL, &previous) == 0 && sigaction(SIGBUS, &action, NULL) == 0)
        return CAIRN_OK;
    int os_errno = errno;
    atomic_flag_clear(&installed);
    return cairn_fail_os(err, os_errno, "cannot handle SIGBUS");
}
