/* SPDX-License-Identifier: MIT */
#include "embed/renew.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "embed/place.h"
#include "embed/plan.h"
#include "rt/pages.h"
#include "rt/sys.h"

enum {
    BLOCK_BYTES = 4096, /* no page is smaller */
    PATH_BYTES = 64,
    STAT_BYTES = 1024
};

/* The pages of the bytes. */
struct renewal {
    const struct cairn_embed_memory *memory;
    struct cairn_embed_place place;
    uint64_t from;
    size_t n_bytes;
    uint8_t *fresh; /* what is to come there */
};

/* Field 20 of /proc/PID/stat counts the threads, proc(5); the name in field 2 may hold anything. */
static bool is_alone(void)
{
    enum { NAME = 2, N_THREADS = 20 };
    char text[STAT_BYTES];
    const int fd = cairn_sys_open("/proc/self/stat", O_RDONLY, 0);
    const long n = fd < 0 ? -1 : cairn_sys_read(fd, text, sizeof text - 1);
    if (fd >= 0)
        cairn_sys_close(fd);
    if (n <= 0)
        return false;
    text[n] = 0;
    const char *at = strrchr(text, ')');
    for (unsigned field = NAME; at && field < N_THREADS; field++)
        at = strchr(at + 1, ' ');
    return at && strncmp(at, " 1 ", 3) == 0;
}

static void unmap(void *pages, size_t n_bytes)
{
    syscall(SYS_munmap, pages, n_bytes);
}

/* Is the file of the new mapping that of the old one? Both are the kernel's words. */
static bool is_same_file(const struct renewal *r, const void *fresh)
{
    struct cairn_embed_place place;
    return cairn_embed_place_find((uintptr_t)fresh, &place) && place.inode == r->place.inode &&
           place.dev_major == r->place.dev_major && place.dev_minor == r->place.dev_minor;
}

static bool map_path(struct renewal *r, const char *path)
{
    const int fd = cairn_sys_open(path, O_RDONLY, 0);
    if (fd < 0)
        return false;
    r->fresh = cairn_embed_map_any(r->n_bytes, fd, r->place.off + (r->from - r->place.from));
    cairn_sys_close(fd);
    if (r->fresh && !is_same_file(r, r->fresh)) {
        unmap(r->fresh, r->n_bytes);
        r->fresh = NULL;
    }
    return r->fresh;
}

/* The last way finds a file that was deleted, and asks for CAP_CHECKPOINT_RESTORE. */
static bool map_file(struct renewal *r)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/proc/self/map_files/%llx-%llx", (unsigned long long)r->place.from,
             (unsigned long long)r->place.to);
    return map_path(r, r->place.path) || map_path(r, "/proc/self/exe") || map_path(r, path);
}

static bool map_memory(struct renewal *r)
{
    r->fresh = cairn_embed_map_any(r->n_bytes, -1, 0);
    return r->fresh;
}

static int map_fresh(struct renewal *r, struct cairn_err *err)
{
    if (r->place.inode ? map_file(r) : map_memory(r))
        return CAIRN_OK;
    if (!r->place.inode)
        return cairn_fail_memory(err);
    cairn_fail(err, CAIRN_E_MISSING,
               "code at 0x%llx: %s cannot be mapped again: it is not the file that runs here",
               (unsigned long long)r->from, r->place.path);
    cairn_hint(err, "other threads run, so the page is replaced by one of the same file: hook "
                    "before threads start, restart the process after an upgrade, or give it "
                    "CAP_CHECKPOINT_RESTORE");
    return CAIRN_E_MISSING;
}

/* All that the old pages hold, and the new bytes. */
static bool fill(const struct renewal *r, uint64_t va, const void *from, size_t n)
{
    static uint8_t block[BLOCK_BYTES]; /* under the room's lock */
    const uint64_t fresh_va = (uintptr_t)r->fresh;
    bool done = true;
    for (size_t at = 0; done && at < r->n_bytes; at += sizeof block)
        done = cairn_embed_read(r->memory, r->from + at, block, sizeof block) &&
               cairn_embed_write(r->memory, fresh_va + at, block, sizeof block);
    return done && cairn_embed_write(r->memory, fresh_va + (va - r->from), from, n);
}

static int put(struct renewal *r, uint64_t va, const void *from, size_t n, struct cairn_err *err)
{
    if (!fill(r, va, from, n))
        return cairn_embed_fail_write(err, va);
    if (syscall(SYS_mremap, r->fresh, r->n_bytes, r->n_bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
                r->from) != -1) {
        r->fresh = NULL;
        return CAIRN_OK;
    }
    const int code = cairn_fail_os(err, errno, "code at 0x%llx: its page cannot be replaced",
                                   (unsigned long long)r->from);
    cairn_hint(err, "is the mapping sealed (mseal), or are there too many (vm.max_map_count)? hook "
                    "before threads start");
    return code;
}

int cairn_embed_renew(const struct cairn_embed_memory *memory, uint64_t va, const void *from,
                      size_t n, struct cairn_err *err)
{
    const uint64_t page = cairn_pages_size(), low = va & ~(page - 1);
    struct renewal r = {.memory = memory,
                        .from = low,
                        .n_bytes = (size_t)(((va + n + page - 1) & ~(page - 1)) - low)};
    if (is_alone())
        return cairn_embed_write(memory, va, from, n) ? CAIRN_OK : cairn_embed_fail_write(err, va);
    if (!cairn_embed_place_find(va, &r.place) || low + r.n_bytes > r.place.to)
        return cairn_embed_fail_write(err, va);
    int code = map_fresh(&r, err);
    if (code == CAIRN_OK)
        code = put(&r, va, from, n, err);
    if (r.fresh)
        unmap(r.fresh, r.n_bytes);
    return code;
}
