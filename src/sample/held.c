/* SPDX-License-Identifier: MIT */
#include "sample/held.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"

enum { NAME_BYTES = 96, ROOTS_MAX = 512, FILES_MAX = 1024, OPEN_FLAGS = O_RDONLY | O_CLOEXEC };

void cairn_held_done(struct cairn_held *held)
{
    for (size_t i = 0; i < held->n; i++)
        if (held->fds[i] >= 0)
            close(held->fds[i]);
    for (size_t i = 0; i < held->n_roots; i++)
        close(held->roots[i].fd);
    cairn_free(held->fds);
    cairn_free(held->roots);
    *held = (struct cairn_held){0};
}

/* `process`: "self", or a number. */
static bool ask_root(const char *process, struct cairn_held_root *root)
{
    char name[NAME_BYTES];
    struct stat st;
    snprintf(name, sizeof name, "/proc/%s/ns/mnt", process);
    if (stat(name, &st) < 0)
        return false;
    root->space = st.st_ino;
    snprintf(name, sizeof name, "/proc/%s/root/", process);
    if (stat(name, &st) < 0)
        return false;
    root->dev = st.st_dev;
    root->inode = st.st_ino;
    return true;
}

static bool is_same_root(const struct cairn_held_root *a, const struct cairn_held_root *b)
{
    return a->space == b->space && a->dev == b->dev && a->inode == b->inode;
}

bool cairn_held_find_root(struct cairn_held *held, int pid, uint32_t *ret_root)
{
    char process[sizeof "-2147483648"], name[NAME_BYTES];
    struct cairn_held_root root;
    held->knows_ours = held->knows_ours || ask_root("self", &held->ours);
    snprintf(process, sizeof process, "%d", pid);
    if (!held->knows_ours || !ask_root(process, &root))
        return false;
    *ret_root = 0;
    if (is_same_root(&root, &held->ours))
        return true;
    for (size_t i = 0; i < held->n_roots; i++)
        if (is_same_root(&root, &held->roots[i])) {
            *ret_root = (uint32_t)i + 1;
            return true;
        }
    snprintf(name, sizeof name, "/proc/%d/root", pid);
    if (held->n_roots == ROOTS_MAX ||
        cairn_grow((void **)&held->roots, &held->cap_roots, held->n_roots + 1, sizeof root) < 0)
        return false;
    root.fd = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root.fd < 0)
        return false;
    held->roots[held->n_roots++] = root;
    *ret_root = (uint32_t)held->n_roots;
    return true;
}

/* Links in a container lead to places in it. Before Linux 5.6, or behind a filter, there is no way
 * to say so, and the last part of the path must be no link then; the kernel tells paths without
 * any. */
static int open_below(int root, const char *path)
{
    struct open_how how = {.flags = OPEN_FLAGS | O_NONBLOCK, .resolve = RESOLVE_IN_ROOT};
    int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof how);
    if (fd < 0 && (errno == ENOSYS || errno == EPERM))
        fd = openat(root, path + 1, OPEN_FLAGS | O_NONBLOCK | O_NOFOLLOW);
    return fd;
}

/* A number that file systems of several layers mark in its upper half is the same for all that. */
static bool is_file(int fd, uint64_t inode)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
           (!inode || (uint32_t)st.st_ino == (uint32_t)inode);
}

static int checked(int fd, uint64_t inode)
{
    if (fd < 0 || is_file(fd, inode))
        return fd;
    close(fd);
    return -1;
}

static int open_mapped(const struct cairn_held *held, const struct cairn_held_mapping *mapping)
{
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, mapping->pid,
             mapping->start, mapping->end);
    int fd = checked(open(name, OPEN_FLAGS | O_NONBLOCK), mapping->inode);
    if (fd < 0 && mapping->is_program) {
        snprintf(name, sizeof name, "/proc/%d/exe", mapping->pid);
        fd = checked(open(name, OPEN_FLAGS | O_NONBLOCK), mapping->inode);
    }
    if (fd >= 0 || mapping->is_deleted)
        return fd;
    fd = mapping->root ? open_below(held->roots[mapping->root - 1].fd, mapping->path)
                       : open(mapping->path, OPEN_FLAGS | O_NONBLOCK);
    return checked(fd, mapping->inode);
}

void cairn_held_take(struct cairn_held *held, uint32_t module,
                     const struct cairn_held_mapping *mapping)
{
    if (mapping->path[0] != '/' || (module < held->n && held->fds[module] >= 0) ||
        held->n_open == FILES_MAX ||
        cairn_grow((void **)&held->fds, &held->cap, module + 1, sizeof *held->fds) < 0)
        return;
    for (; held->n <= module; held->n++)
        held->fds[held->n] = -1;
    held->fds[module] = open_mapped(held, mapping);
    held->n_open += held->fds[module] >= 0;
}
