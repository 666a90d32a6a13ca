/* SPDX-License-Identifier: MIT */
#include "proc/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/apart.h"
#include "base/error.h"
#include "proc/process.h"

enum { PAGE = 4096, PAGES_AT_ONCE = 16, DATA_OFF = 64 };

/* What the helper is asked for; the bytes lie in io from DATA_OFF on. */
struct wish {
    int pid;
    int reserved; /* no padding: it would bring bytes of our stack to the helper */
    uint64_t va;
    uint64_t size;
};

static ssize_t read_once(int pid, int fd, uint64_t va, void *out, size_t size)
{
    if (fd >= 0)
        return pread(fd, out, size, (off_t)va);
    /* An iovec is copied whole or not at all by the letter of the manual: one for each page, so
     * that what lies before a hole still comes. */
    struct iovec to = {out, 0}, from[PAGES_AT_ONCE];
    size_t n = 0;
    for (; n < PAGES_AT_ONCE && to.iov_len < size; n++) {
        uint64_t at = va + to.iov_len;
        if (at > UINTPTR_MAX) /* a 32-bit cairn, and an address that no pointer of it can hold */
            break;
        size_t to_page_end = PAGE - (size_t)(at % PAGE), left = size - to.iov_len;
        from[n] = (struct iovec){(void *)(uintptr_t)at, to_page_end < left ? to_page_end : left};
        to.iov_len += from[n].iov_len;
    }
    errno = EFAULT;
    return n ? process_vm_readv(pid, &to, 1, from, n, 0) : -1;
}

/* The bytes that came, or a negative errno where none did. */
static long read_all(int pid, int fd, uint64_t va, uint8_t *out, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t got = read_once(pid, fd, va + done, out + done, size - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && !done)
            return -errno;
        if (got <= 0)
            break;
        done += (size_t)got;
    }
    return (long)done;
}

static long read_for_caller(uint8_t *io, int fd, int *ret_fd)
{
    struct wish wish;
    (void)ret_fd;
    memcpy(&wish, io, sizeof wish);
    return read_all(wish.pid, fd, wish.va, io + DATA_OFF, (size_t)wish.size);
}

/* At most CAIRN_APART_BYTES - DATA_OFF. */
static long read_apart(const struct cairn_mem *mem, uint64_t va, void *out, size_t size)
{
    const struct wish wish = {.pid = mem->pid, .va = va, .size = size};
    const struct cairn_apart_call call = {
        .fn = read_for_caller,
        .fd = mem->by_fd ? mem->fd : -1,
        .in = &wish,
        .in_size = sizeof wish,
        .out = out,
        .out_off = DATA_OFF,
        .out_size = size,
        .out_is_result = true,
    };
    return cairn_apart_do(&call);
}

static int fail_open(int pid, int os_errno, struct cairn_err *err)
{
    if (os_errno == ESRCH || os_errno == ENOENT)
        return cairn_fail_os(err, ESRCH, "pid %d", pid);
    int code = cairn_fail_os(err, os_errno, "pid %d: cannot read its memory", pid);
    if (code == CAIRN_E_ACCESS)
        cairn_process_hint_access(pid, err);
    return code;
}

int cairn_mem_open_file(int pid, struct cairn_mem *ret_mem, struct cairn_err *err)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/mem", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail_open(pid, errno, err);
    *ret_mem = (struct cairn_mem){.pid = pid, .fd = fd, .by_fd = true};
    return CAIRN_OK;
}

int cairn_mem_open(int pid, struct cairn_mem *ret_mem, struct cairn_err *err)
{
    struct cairn_mem mem = {.pid = pid, .fd = -1};
    uint8_t probe;
    /* Page zero is never mapped: EFAULT means that all else is in order. */
    long result = read_apart(&mem, 0, &probe, 1);
    if (result == -EPERM) {
        result = read_all(pid, -1, 0, &probe, 1);
        mem.here = result == -EFAULT;
    }
    if (result == -ESRCH)
        return fail_open(pid, ESRCH, err);
    if (result < 0 && result != -EFAULT)
        return cairn_mem_open_file(pid, ret_mem, err);
    *ret_mem = mem;
    return CAIRN_OK;
}

void cairn_mem_close(struct cairn_mem *mem)
{
    if (mem->by_fd)
        close(mem->fd);
    cairn_unread_done(&mem->unread);
    *mem = (struct cairn_mem){.fd = -1};
}

/* One piece. `*ret_ended`: a page behind it cannot be read. */
static size_t read_piece(struct cairn_mem *mem, uint64_t va, uint8_t *out, size_t size,
                         bool *ret_ended)
{
    enum { PIECE = CAIRN_APART_BYTES - PAGE };
    size = cairn_unread_clip(&mem->unread, va, size < PIECE ? size : PIECE);
    *ret_ended = true;
    if (!size || mem->gone)
        return 0;
    long got = mem->here ? read_all(mem->pid, mem->by_fd ? mem->fd : -1, va, out, size)
                         : read_apart(mem, va, out, size);
    if (got == -ETIMEDOUT) {
        cairn_unread_hung(&mem->unread, mem->pid, va, size);
        /* What lies before the range that it found is sound. */
        size_t sound = cairn_unread_clip(&mem->unread, va, size);
        return sound && sound < size ? read_piece(mem, va, out, sound, ret_ended) : 0;
    }
    mem->gone = got == -ESRCH;
    *ret_ended = got < (long)size;
    return got > 0 ? (size_t)got : 0;
}

size_t cairn_mem_read(struct cairn_mem *mem, uint64_t va, void *out, size_t size)
{
    if (size > UINT64_MAX - va)
        size = (size_t)(UINT64_MAX - va);
    size_t done = 0;
    bool ended = false;
    while (done < size && !ended)
        done += read_piece(mem, va + done, (uint8_t *)out + done, size - done, &ended);
    return done;
}

int cairn_mem_read_exact(struct cairn_mem *mem, uint64_t va, void *out, size_t size,
                         struct cairn_err *err)
{
    size_t got = cairn_mem_read(mem, va, out, size);
    if (got == size)
        return CAIRN_OK;
    return cairn_fail(err, CAIRN_E_MISSING,
                      "pid %d: cannot read memory at 0x%llx: %zu of %zu bytes", mem->pid,
                      (unsigned long long)va, got, size);
}
