/* SPDX-License-Identifier: MIT */
#include "proc/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/error.h"
#include "proc/process.h"

enum { PAGE = 4096, PAGES_AT_ONCE = 16 };

static ssize_t read_once(struct cairn_mem *mem, uint64_t va, void *out, size_t size)
{
    if (mem->by_fd)
        return pread(mem->fd, out, size, (off_t)va);
    /* An iovec is copied whole or not at all by the letter of the manual: one for each page, so
     * that what lies before a hole still comes. */
    struct iovec to = {out, 0}, from[PAGES_AT_ONCE];
    size_t n = 0;
    for (; n < PAGES_AT_ONCE && to.iov_len < size; n++) {
        uint64_t at = va + to.iov_len;
        size_t to_page_end = PAGE - (size_t)(at % PAGE), left = size - to.iov_len;
        from[n] = (struct iovec){(void *)(uintptr_t)at, to_page_end < left ? to_page_end : left};
        to.iov_len += from[n].iov_len;
    }
    return process_vm_readv(mem->pid, &to, 1, from, n, 0);
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
    if (read_once(&mem, 0, &probe, 1) < 0 && errno != EFAULT)
        return errno == ESRCH ? fail_open(pid, ESRCH, err) : cairn_mem_open_file(pid, ret_mem, err);
    *ret_mem = mem;
    return CAIRN_OK;
}

void cairn_mem_close(struct cairn_mem *mem)
{
    if (mem->by_fd)
        close(mem->fd);
    *mem = (struct cairn_mem){.fd = -1};
}

size_t cairn_mem_read(struct cairn_mem *mem, uint64_t va, void *out, size_t size)
{
    if (size > UINT64_MAX - va)
        size = (size_t)(UINT64_MAX - va);
    size_t done = 0;
    while (done < size) {
        ssize_t got = read_once(mem, va + done, (uint8_t *)out + done, size - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        done += (size_t)got;
    }
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
