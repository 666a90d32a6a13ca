/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "rt/self.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "rt/seal.h"

enum {
    SMALLEST_PAGE = 4096,
    NO_SUCH_HOW = 0x7fff, /* so that the mask is read and then nothing is done */
    KERNEL_SIGSET_BYTES = 8
};

/* Set once the kernel refused process_vm_readv; a race sets it twice. */
static atomic_bool refused;

bool cairn_self_readable(uintptr_t va)
{
    /* The kernel copies the mask before it looks at `how`: EFAULT or EINVAL. NULL is no mask. */
    if (va < 8 || cairn_seal_forbids_files())
        return false;
    int saved = errno;
    syscall(SYS_rt_sigprocmask, NO_SUCH_HOW, va & ~(uintptr_t)7, NULL, KERNEL_SIGSET_BYTES);
    bool readable = errno != EFAULT;
    errno = saved;
    return readable;
}

/* Words at any address, of any type. `volatile`, or the compiler makes a memcpy() of the loop. */
struct __attribute__((packed, may_alias)) any_word {
    uint64_t bits;
};

__attribute__((no_sanitize("address", "thread"))) void cairn_self_copy(uintptr_t va, void *to,
                                                                       size_t size)
{
    uint8_t *out = to;
    size_t i = 0;
    for (; size - i >= sizeof(struct any_word); i += sizeof(struct any_word))
        ((struct any_word *)(void *)(out + i))->bits =
            ((const volatile struct any_word *)(va + i))->bits;
    for (; i < size; i++)
        out[i] = ((const volatile uint8_t *)va)[i];
}

static bool read_probed(uintptr_t va, void *to, size_t size)
{
    uintptr_t last = va + size - 1;
    for (uintptr_t at = va; at <= last; at = (at | (SMALLEST_PAGE - 1)) + 1)
        if (!cairn_self_readable(at) || (at | (SMALLEST_PAGE - 1)) == UINTPTR_MAX)
            return false;
    cairn_self_copy(va, to, size);
    return true;
}

bool cairn_self_read(uintptr_t va, void *to, size_t size)
{
    if (size == 0)
        return true;
    if (va > UINTPTR_MAX - (size - 1) || cairn_seal_forbids_files())
        return false;
    if (atomic_load_explicit(&refused, memory_order_relaxed))
        return read_probed(va, to, size);
    int saved = errno;
    struct iovec local = {to, size}, remote = {(void *)va, size};
    long got = syscall(SYS_process_vm_readv, (long)getpid(), &local, 1L, &remote, 1L, 0L);
    bool denied = got < 0 && errno != EFAULT && errno != ENOMEM;
    errno = saved;
    if (!denied)
        return got == (long)size;
    atomic_store_explicit(&refused, true, memory_order_relaxed);
    return read_probed(va, to, size);
}

static bool read_memory(void *ctx, uint64_t va, void *to, size_t size)
{
    (void)ctx;
    return va <= UINTPTR_MAX && cairn_self_read((uintptr_t)va, to, size);
}

const struct cairn_memory cairn_self_memory = {read_memory, NULL};
