/* SPDX-License-Identifier: MIT */
#include "sample/held.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/foreign.h"
#include "proc/mapped_file.h"

enum { NAME_BYTES = 96, ROOTS_MAX = 512, FILES_MAX = 1024 };

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

/* `process`: "self", or a number. 0 or a negative errno, as of cairn_foreign_stat(). */
static int ask_root(const char *process, struct cairn_held_root *root)
{
    char name[NAME_BYTES];
    struct stat st;
    snprintf(name, sizeof name, "/proc/%s/ns/mnt", process);
    if (stat(name, &st) < 0)
        return -errno;
    root->space = st.st_ino;
    snprintf(name, sizeof name, "/proc/%s/root/", process);
    int code = cairn_foreign_stat(name, &st, NULL); /* it may be a mount of the process's own */
    if (code < 0)
        return code;
    root->dev = st.st_dev;
    root->inode = st.st_ino;
    return 0;
}

static bool is_same_root(const struct cairn_held_root *a, const struct cairn_held_root *b)
{
    return a->space == b->space && a->dev == b->dev && a->inode == b->inode;
}

bool cairn_held_find_root(struct cairn_held *held, int pid, uint32_t *ret_root)
{
    enum { ANOTHER = UINT32_MAX }; /* not ours, and not held */
    char process[sizeof "-2147483648"], name[NAME_BYTES];
    struct cairn_held_root root;
    held->knows_ours = held->knows_ours || ask_root("self", &held->ours) == 0;
    snprintf(process, sizeof process, "%d", pid);
    int code = held->knows_ours ? ask_root(process, &root) : -ENOENT;
    if (code == -ETIMEDOUT || code == -EUSERS) /* ours answers */
        *ret_root = ANOTHER;
    if (code < 0)
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
    *ret_root = ANOTHER;
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

/* A number that file systems of several layers mark in its upper half is the same for all that. */
static int open_file(const char *path, int folder, uint64_t inode)
{
    /* Links in a container lead to places in it. */
    const struct cairn_foreign_wish wish = {.path = path, .folder = folder, .inode = inode};
    int fd;
    return cairn_foreign_open(&wish, &fd, NULL) < 0 ? -1 : fd;
}

/* Where a path leads to in our own root. What a process mapped there under that name may be
 * another file, mounted over it: the module stands for all processes with that path. */
static bool is_ours(const struct cairn_held_mapping *mapping)
{
    struct stat st;
    return !mapping->root && !mapping->is_deleted && cairn_file_stat(mapping->path, &st);
}

struct opening {
    const struct cairn_held *held;
    const struct cairn_held_mapping *mapping;
    int fd;
};

static bool open_by(void *ctx, enum cairn_mapped_by by, const char *name)
{
    struct opening *o = ctx;
    const struct cairn_held_mapping *mapping = o->mapping;
    int folder = -1;
    if ((by == CAIRN_MAPPED_BY_EXE && !mapping->is_program) ||
        (by == CAIRN_MAPPED_BY_PATH && (mapping->is_deleted || mapping->root > o->held->n_roots)))
        return false;
    if (by == CAIRN_MAPPED_BY_PATH && mapping->root)
        folder = o->held->roots[mapping->root - 1].fd;
    o->fd = open_file(name, folder, mapping->inode);
    return o->fd >= 0;
}

static int open_mapped(const struct cairn_held *held, const struct cairn_held_mapping *mapping)
{
    static const enum cairn_mapped_by ours[] = {CAIRN_MAPPED_BY_PATH, CAIRN_MAPPED_BY_NONE};
    static const enum cairn_mapped_by others[] = {CAIRN_MAPPED_BY_LINK, CAIRN_MAPPED_BY_EXE,
                                                  CAIRN_MAPPED_BY_PATH, CAIRN_MAPPED_BY_NONE};
    const struct cairn_mapped_file file = {mapping->pid, mapping->start, mapping->end,
                                           mapping->path};
    struct opening o = {held, mapping, -1};
    (void)cairn_mapped_find(&file, is_ours(mapping) ? ours : others, open_by, &o);
    return o.fd;
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
