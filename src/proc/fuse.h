/* SPDX-License-Identifier: MIT */
/*
 * FUSE: the devices of mounted FUSE file systems, by the numbers that /proc/PID/maps shows. Whoever
 * serves one may be the target itself, and may never answer. Asking a file (stat, statfs) would ask
 * the server, so the kernel's list of mounts is read. A mount that was detached is not in it.
 */
#ifndef CAIRN_PROC_FUSE_H
#define CAIRN_PROC_FUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cairn_fuse_devices {
    uint64_t *devices; /* major << 32 | minor */
    size_t n, cap;
};

/* Of the mount namespaces of `pid` and of the caller; an unreadable list is an empty one. */
void cairn_fuse_devices_read(int pid, struct cairn_fuse_devices *ret_devices);
void cairn_fuse_devices_done(struct cairn_fuse_devices *devices); /* all-zero is fine */
bool cairn_fuse_has(const struct cairn_fuse_devices *devices, uint32_t major, uint32_t minor);

/* Adds the devices of one mountinfo text; false: memory is gone. */
bool cairn_fuse_devices_parse(struct cairn_fuse_devices *devices, const char *text);

#endif /* CAIRN_PROC_FUSE_H */
