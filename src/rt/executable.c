/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "rt/executable.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rt/pages.h"
#include "rt/seal.h"
#include "rt/self.h"

enum {
    PAGE = 4096, /* the smallest there is */
    KEPT = 256,
    YES = PAGE - 1,     /* in the bits below the page's: a yes, or how often no is the answer yet */
    ASKED_AGAIN = 64,   /* questions after which a no is no answer any more */
    TEXT_BYTES = 16384, /* read at once */
    QUERY_EXECUTABLE = 4 /* PROCMAP_QUERY_VMA_EXECUTABLE */
};

/* include/uapi/linux/fs.h of Linux 6.11, struct procmap_query. */
struct query {
    uint64_t size, query_flags, query_addr;
    uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
    uint32_t dev_major, dev_minor, vma_name_size, build_id_size;
    uint64_t vma_name_addr, build_id_addr;
};
#define QUERY _IOWR('f', 17, struct query)

static _Atomic(uintptr_t) kept[KEPT];
static atomic_bool has_no_query; /* once the kernel said so */

static int open_maps(void)
{
    if (cairn_seal_forbids_files())
        return -1;
    return (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
}

static enum cairn_executable_answer ask(uintptr_t va)
{
    struct query query = {.size = sizeof query, .query_addr = va};
    int fd = open_maps();
    if (fd < 0)
        return CAIRN_EXECUTABLE_UNKNOWN;
    long failed = syscall(SYS_ioctl, fd, QUERY, &query);
    int reason = errno;
    syscall(SYS_close, fd);
    if (!failed)
        return query.vma_flags & QUERY_EXECUTABLE ? CAIRN_EXECUTABLE_YES : CAIRN_EXECUTABLE_NO;
    if (reason == ENOENT)
        return CAIRN_EXECUTABLE_NO;
    atomic_store_explicit(&has_no_query, true, memory_order_relaxed);
    return CAIRN_EXECUTABLE_UNKNOWN;
}

enum cairn_executable_answer cairn_executable_ask(uintptr_t va)
{
    int saved = errno;
    enum cairn_executable_answer answer = ask(va);
    errno = saved;
    return answer;
}

/* A line as it comes, a byte after the other: FROM-TO rwxp ... */
struct line {
    uintptr_t numbers[2];
    unsigned n_numbers, n_letters;
    bool is_over, executes;
};

static void take(struct line *line, char c)
{
    if (c == '\n') {
        *line = (struct line){{0}};
    } else if (line->is_over) {
        return;
    } else if (line->n_numbers < 2) {
        unsigned digit = c >= 'a' ? (unsigned)(c - 'a') + 10 : (unsigned)(c - '0');
        uintptr_t *number = &line->numbers[line->n_numbers];
        if (c == '-' || c == ' ')
            line->n_numbers++;
        else
            *number = *number << 4 | (digit & 15);
    } else if (line->n_letters++ == 2) {
        line->executes = c == 'x';
        line->is_over = true;
    }
}

static enum cairn_executable_answer search(int fd, char *text, uintptr_t va)
{
    struct line line = {{0}};
    for (;;) {
        long n = syscall(SYS_read, fd, text, TEXT_BYTES);
        if (n <= 0)
            return n < 0 ? CAIRN_EXECUTABLE_UNKNOWN : CAIRN_EXECUTABLE_NO;
        for (long i = 0; i < n; i++) {
            take(&line, text[i]);
            if (line.is_over && va >= line.numbers[0] && va < line.numbers[1])
                return line.executes ? CAIRN_EXECUTABLE_YES : CAIRN_EXECUTABLE_NO;
        }
    }
}

enum cairn_executable_answer cairn_executable_read(uintptr_t va)
{
    enum cairn_executable_answer answer = CAIRN_EXECUTABLE_UNKNOWN;
    int saved = errno, fd = open_maps();
    char *text = fd < 0 ? NULL : cairn_pages_map(TEXT_BYTES);
    if (text)
        answer = search(fd, text, va);
    cairn_pages_unmap(text, TEXT_BYTES);
    if (fd >= 0)
        syscall(SYS_close, fd);
    errno = saved;
    return answer;
}

/* Every 64th page of a thread's many shares a place, so that pages next to each other do not. */
static _Atomic(uintptr_t) *place_of(uintptr_t page)
{
    return &kept[(page / PAGE ^ page / PAGE / KEPT) % KEPT];
}

bool cairn_executable(uintptr_t va)
{
    uintptr_t page = va & ~(uintptr_t)(PAGE - 1);
    _Atomic(uintptr_t) *place = place_of(page);
    uintptr_t known = atomic_load_explicit(place, memory_order_relaxed), left = known & (PAGE - 1);
    if (known - left == page && left == YES)
        return true;
    if (known - left == page && left > 0) {
        atomic_store_explicit(place, known - 1, memory_order_relaxed);
        return false;
    }
    enum cairn_executable_answer answer = CAIRN_EXECUTABLE_UNKNOWN;
    if (!atomic_load_explicit(&has_no_query, memory_order_relaxed))
        answer = cairn_executable_ask(va);
    if (answer == CAIRN_EXECUTABLE_UNKNOWN)
        answer = cairn_executable_read(va);
    bool yes = answer == CAIRN_EXECUTABLE_UNKNOWN ? cairn_self_readable(va)
                                                  : answer == CAIRN_EXECUTABLE_YES;
    atomic_store_explicit(place, page | (yes ? YES : ASKED_AGAIN), memory_order_relaxed);
    return yes;
}

void cairn_executable_forget(void)
{
    for (unsigned i = 0; i < KEPT; i++)
        atomic_store_explicit(&kept[i], 0, memory_order_relaxed);
}
