/* SPDX-License-Identifier: MIT */
#include "attach/renew.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/foreign.h"

enum { PAGE = 4096, PATH_BYTES = 64 };

/* How its file may be opened, in this order. */
enum file_way { FILE_BY_PATH, FILE_OF_PROGRAM, FILE_MAPPED, FILE_WAYS };

static int fail_gone(const struct cairn_renewal *r, uint64_t va, struct cairn_err *err)
{
    return cairn_fail(err, CAIRN_E_MISSING, "pid %d: no code is mapped at 0x%llx any more",
                      r->target->pid, (unsigned long long)va);
}

static bool is_of_file(const struct cairn_renewal *r, const struct cairn_map *map)
{
    return map && map->inode == r->inode && map->dev_major == r->dev_major &&
           map->dev_minor == r->dev_minor;
}

/* Without a file: anonymous memory. */
static int map_spare(const struct cairn_renewal *r, const struct cairn_map *old, uint64_t page_va,
                     uint64_t *ret_va, struct cairn_err *err)
{
    const bool has_file = r->their_fd >= 0;
    const struct cairn_foothold_mapping spare = {
        .size = PAGE,
        .off = has_file ? old->off + (page_va - old->start) : 0,
        .prot = (old->flags & CAIRN_MAP_READ ? PROT_READ : 0) |
                (old->flags & CAIRN_MAP_WRITE ? PROT_WRITE : 0) | PROT_EXEC,
        .flags = MAP_PRIVATE | (has_file ? 0 : MAP_ANONYMOUS),
        .fd = r->their_fd};
    return cairn_foothold_map(r->foothold, &spare, ret_va, err);
}

/* By the process: a path that it chose leads to nothing that it may not read itself. */
static int open_there(const struct cairn_renewal *r, const char *path)
{
    const uint64_t path_va = r->foothold->page_va;
    const uint64_t args[CAIRN_CALL_ARGS] = {(uint64_t)AT_FDCWD, path_va,
                                            O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY};
    uint64_t fd;
    if (strlen(path) >= PATH_MAX ||
        cairn_target_write(r->target, path_va, path, strlen(path) + 1, NULL) < 0 ||
        cairn_foothold_call(r->foothold, "cannot open", SYS_openat, args, &fd, NULL) < 0)
        return -1;
    return (int)fd;
}

/* By us: the very file that is mapped, though its path is gone. */
static int hand_mapped(const struct cairn_renewal *r, const struct cairn_map *old)
{
    char path[PATH_BYTES];
    int fd, their_fd;
    snprintf(path, sizeof path, "/proc/%d/map_files/%llx-%llx", r->target->pid,
             (unsigned long long)old->start, (unsigned long long)old->end);
    if (cairn_foreign_open_path(path, &fd, NULL) < 0)
        return -1;
    int result = cairn_foothold_hand(r->foothold, fd, &their_fd, NULL);
    close(fd);
    return result < 0 ? -1 : their_fd;
}

static int open_file(const struct cairn_renewal *r, const struct cairn_map *old, enum file_way way)
{
    if (way == FILE_BY_PATH)
        return old->flags & CAIRN_MAP_DELETED ? -1 : open_there(r, old->path);
    return way == FILE_OF_PROGRAM ? open_there(r, "/proc/self/exe") : hand_mapped(r, old);
}

/* Is the spare page one of that file? Both are the kernel's words. */
static bool is_file_at(const struct cairn_renewal *r, uint64_t va)
{
    struct cairn_maps *maps;
    if (cairn_maps_read_pid(r->target->pid, &maps, NULL) < 0)
        return false;
    bool is = is_of_file(r, cairn_maps_find(maps, va));
    cairn_maps_free(maps);
    return is;
}

/* False: in none of the ways. */
static bool map_of_file(struct cairn_renewal *r, const struct cairn_map *old, uint64_t page_va,
                        uint64_t *ret_va)
{
    if (r->their_fd >= 0 && is_of_file(r, old))
        return map_spare(r, old, page_va, ret_va, NULL) == CAIRN_OK;
    for (enum file_way way = 0; way < FILE_WAYS; way++) {
        cairn_renewal_done(r);
        r->their_fd = open_file(r, old, way);
        r->inode = old->inode;
        r->dev_major = old->dev_major;
        r->dev_minor = old->dev_minor;
        if (r->their_fd < 0 || map_spare(r, old, page_va, ret_va, NULL) < 0)
            continue;
        if (is_file_at(r, *ret_va))
            return true;
        cairn_foothold_unmap(r->foothold, *ret_va, PAGE, NULL);
    }
    cairn_renewal_done(r);
    return false;
}

static int map_again(struct cairn_renewal *r, const struct cairn_map *old, uint64_t page_va,
                     uint64_t *ret_va, struct cairn_err *err)
{
    if (old->inode && map_of_file(r, old, page_va, ret_va))
        return CAIRN_OK;
    cairn_renewal_done(r);
    int result = map_spare(r, old, page_va, ret_va, err);
    r->n_nameless += result == CAIRN_OK && old->inode;
    return result;
}

/* What the program itself changes there between the two is lost: no program does so that runs. */
static int fill(const struct cairn_renewal *r, uint64_t spare_va, uint64_t va, const void *bytes,
                size_t n, struct cairn_err *err)
{
    uint8_t page[PAGE];
    int result = cairn_target_read(r->target, va - va % PAGE, page, sizeof page, err);
    if (result < 0)
        return result;
    memcpy(page + va % PAGE, bytes, n);
    return cairn_target_write(r->target, spare_va, page, sizeof page, err);
}

static int put(const struct cairn_renewal *r, uint64_t spare_va, uint64_t page_va,
               struct cairn_err *err)
{
    const uint64_t args[CAIRN_CALL_ARGS] = {spare_va, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
                                            page_va};
    uint64_t ignored;
    int result = cairn_foothold_call(r->foothold, "cannot replace a page of code (mremap)",
                                     SYS_mremap, args, &ignored, err);
    if (result < 0)
        cairn_hint(err, "is the mapping sealed (mseal), or are there too many (vm.max_map_count)?");
    return result;
}

static int replace(struct cairn_renewal *r, const struct cairn_map *old, uint64_t va,
                   const void *bytes, size_t n, struct cairn_err *err)
{
    const uint64_t page_va = va - va % PAGE;
    uint64_t spare_va;
    int result = map_again(r, old, page_va, &spare_va, err);
    if (result < 0)
        return result;
    result = fill(r, spare_va, va, bytes, n, err);
    if (result == CAIRN_OK)
        result = put(r, spare_va, page_va, err);
    if (result < 0)
        cairn_foothold_unmap(r->foothold, spare_va, PAGE, NULL);
    return result;
}

int cairn_renewal_write(struct cairn_renewal *renewal, uint64_t va, const void *bytes, size_t n,
                        struct cairn_err *err)
{
    struct cairn_maps *maps;
    if (!renewal->foothold)
        return cairn_target_write(renewal->target, va, bytes, n, err);
    int result = cairn_maps_read_pid(renewal->target->pid, &maps, err);
    if (result < 0)
        return result;
    const struct cairn_map *old = cairn_maps_find(maps, va);
    if (!old || !(old->flags & CAIRN_MAP_EXEC) || va % PAGE + n > PAGE)
        result = fail_gone(renewal, va, err);
    else
        result = replace(renewal, old, va, bytes, n, err);
    cairn_maps_free(maps);
    return result;
}

void cairn_renewal_done(struct cairn_renewal *renewal)
{
    if (renewal->their_fd >= 0)
        cairn_foothold_close_fd(renewal->foothold, renewal->their_fd, NULL);
    renewal->their_fd = -1;
}
