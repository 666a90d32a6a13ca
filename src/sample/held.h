/* SPDX-License-Identifier: MIT */
/*
 * Held: files of modules that samples lie in, opened while a process has them mapped, so that they
 * can give names when the process has ended, or where their path leads to another file, or nowhere.
 *
 *     /proc/PID/map_files/START-END   the very file, whatever became of its path; root alone
 *     ROOT/PATH                       ROOT is the process's own, of another mount namespace; it was
 *                                     opened before, and stays when a short process has ended
 *
 * One file for each module of the profile; processes share modules, and namespaces.
 */
#ifndef CAIRN_SAMPLE_HELD_H
#define CAIRN_SAMPLE_HELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where paths of a process begin. */
struct cairn_held_root {
    uint64_t space; /* inode of its mount namespace */
    uint64_t dev, inode;
    int fd;
};

struct cairn_held {
    int *fds; /* by number of the profile's module; -1: none */
    size_t n, cap;
    size_t n_open;
    struct cairn_held_root *roots; /* others than ours */
    size_t n_roots, cap_roots;
    struct cairn_held_root ours;
    bool knows_ours;
};

void cairn_held_done(struct cairn_held *held); /* all-zero is fine */

/* The number of the root of a process, by which it is found later; 0: ours. False: it has ended, or
 * may not be asked, and `*ret_root` is untouched; or its root is not ours, but not held either, and
 * `*ret_root` is a number of no root. */
bool cairn_held_find_root(struct cairn_held *held, int pid, uint32_t *ret_root);

/* A mapping of a module's file. */
struct cairn_held_mapping {
    int pid;
    uint32_t root; /* of the process */
    uint64_t start, end;
    uint64_t inode; /* 0: unknown */
    const char *path;
    bool is_deleted; /* the path is another file's, or nobody's */
    bool is_program; /* it is the process's main program */
};

/* Takes hold of a module's file, unless that was done; what cannot be had is tried again with the
 * next process. */
void cairn_held_take(struct cairn_held *held, uint32_t module,
                     const struct cairn_held_mapping *mapping);

#endif /* CAIRN_SAMPLE_HELD_H */
