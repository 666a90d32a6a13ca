/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Sys: system calls, most of them on files, bare: not cancellation points, not interposed, and
 * errno stays. What fails is a negative errno. Repeated where a signal came in between.
 */
#ifndef CAIRN_RT_SYS_H
#define CAIRN_RT_SYS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of an open(2) without a mode where nothing is made. */
int cairn_sys_open(const char *path, int flags, unsigned mode);
void cairn_sys_close(int fd);
/* The same descriptor at `at_least` or above, closed on exec. */
int cairn_sys_move(int fd, int at_least);
long cairn_sys_read(int fd, void *to, size_t size);
long cairn_sys_read_at(int fd, void *to, size_t size, uint64_t off);
/* Where a symbolic link leads, without a zero behind it; its bytes. */
long cairn_sys_read_link(const char *path, char *to, size_t size);
/* All that `size` has room for, from a file of /proc or another one. A zero is put behind it. */
long cairn_sys_read_file(const char *path, char *to, size_t size);
long cairn_sys_fallocate(int fd, int mode, uint64_t off, uint64_t bytes);
/* The file's size; no signal comes of it within RLIMIT_FSIZE. */
long cairn_sys_truncate(int fd, uint64_t bytes);
/* What got written: all of it or the beginning. */
long cairn_sys_write(int fd, const void *from, size_t size);
long cairn_sys_write_at(int fd, const void *from, size_t size, uint64_t off);
long cairn_sys_write_zeros(int fd, uint64_t off, uint64_t bytes);
/* A file's device and number, its owner, what it is (st_mode), what it takes, and when it was
 * written to last (CLOCK_REALTIME). Of a link: itself. */
struct cairn_sys_stat {
    uint64_t dev, ino;
    uint32_t uid, gid, mode;
    uint64_t bytes, written_ns;
};
int cairn_sys_stat_fd(int fd, struct cairn_sys_stat *ret);
int cairn_sys_stat_path(const char *path, struct cairn_sys_stat *ret);
/* Of what an open folder holds by that name. */
int cairn_sys_stat_in(int folder, const char *name, struct cairn_sys_stat *ret);
int cairn_sys_open_in(int folder, const char *name, int flags);
int cairn_sys_unlink_in(int folder, const char *name);
/* The next entries of a folder, as getdents64(2) gives them; their bytes, 0 at the end. */
struct cairn_sys_entry {
    uint64_t ino;
    int64_t off;
    uint16_t size; /* from this entry to the next one */
    uint8_t type;
    char name[];
};
long cairn_sys_list(int folder, void *entries, size_t size);
/* Is there no process of that number (ESRCH, kill(2))? */
bool cairn_sys_is_gone(uint32_t pid);
int cairn_sys_mkdir(const char *path, unsigned mode);
int cairn_sys_rename(const char *from, const char *to);
/* A second name of the file that a link of /proc/self/fd leads to. */
int cairn_sys_link(const char *from, const char *to);
int cairn_sys_unlink(const char *path);
uint32_t cairn_sys_uid(void);
uint32_t cairn_sys_gid(void);
/* Would the program of that file get capabilities (capabilities(7)) by being executed? */
bool cairn_sys_has_capabilities(int fd);
/* execve(2) may be tried: by the effective user, where the kernel can say it. */
bool cairn_sys_may_execute(const char *path);
/* The soft limit; UINT64_MAX: none. `resource` as for getrlimit(2). */
uint64_t cairn_sys_limit(int resource);
uint64_t cairn_sys_ram_bytes(void);
/* The stack that the calling thread keeps for signal handlers, as sigaltstack(2) has it; with
 * SS_ONSTACK it runs there now. */
int cairn_sys_signal_stack(stack_t *ret);

/* Of the calling thread: holds back all signals but those of its own faults (signal(7)), and lets
 * those through again that came through before. A mask has a bit a signal, from 1 on. */
uint64_t cairn_sys_hold_signals(void);
void cairn_sys_release_signals(uint64_t before);

#endif /* CAIRN_RT_SYS_H */
