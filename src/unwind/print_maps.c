/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/print_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* A number in base 10 or 16, and the character behind it. False: none is there. */
static bool take_number(const char **at, unsigned base, char end, uint64_t *ret)
{
    const char *start = *at;
    uint64_t value = 0;
    for (;; (*at)++) {
        unsigned c = (unsigned char)**at, lower = c | 0x20;
        unsigned digit = c - '0' < 10 ? c - '0' : lower - 'a' < 6 ? lower - 'a' + 10 : 99;
        if (digit >= base)
            break;
        value = value * base + digit;
    }
    if (*at == start || **at != end)
        return false;
    (*at)++;
    *ret = value;
    return true;
}

static bool holds_any(uintptr_t from, uintptr_t to, const uintptr_t *vas, size_t n_vas)
{
    for (size_t i = 0; i < n_vas; i++)
        if (vas[i] >= from && vas[i] < to)
            return true;
    return false;
}

/* 7f12a000-7f12c000 r-xp 00001000 fd:01 1234     /usr/lib/libx.so (proc(5)) */
void cairn_print_maps_add(struct cairn_print_maps *maps, const char *line, const uintptr_t *vas,
                          size_t n_vas)
{
    uint64_t from, to, off, major, minor, inode;
    if (!take_number(&line, 16, '-', &from) || !take_number(&line, 16, ' ', &to))
        return;
    line += strcspn(line, " ");
    line += strspn(line, " ");
    if (!take_number(&line, 16, ' ', &off) || !take_number(&line, 16, ':', &major) ||
        !take_number(&line, 16, ' ', &minor))
        return;
    inode = 0;
    for (; *line >= '0' && *line <= '9'; line++)
        inode = inode * 10 + (uint64_t)(*line - '0');
    if (off == 0) {
        maps->image = (uintptr_t)from;
        maps->inode = inode;
    }
    if (!holds_any((uintptr_t)from, (uintptr_t)to, vas, n_vas) || maps->n == CAIRN_PRINT_MAPS)
        return;
    line += strspn(line, " ");
    size_t size = strlen(line) + 1;
    if (size > sizeof maps->paths - maps->n_paths)
        return;
    memcpy(maps->paths + maps->n_paths, line, size);
    maps->maps[maps->n++] = (struct cairn_print_map){
        .from = (uintptr_t)from,
        .to = (uintptr_t)to,
        .off = off,
        .inode = inode,
        .image = inode && inode == maps->inode ? maps->image : 0,
        .path = (uint32_t)maps->n_paths,
    };
    maps->n_paths += size;
}

static void read_lines(struct cairn_print_maps *maps, int fd, const uintptr_t *vas, size_t n_vas)
{
    size_t n = 0;
    for (;;) {
        ssize_t got = read(fd, maps->line + n, sizeof maps->line - 1 - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return;
        n += (size_t)got;
        char *line = maps->line, *end;
        while ((end = memchr(line, '\n', n))) {
            *end = 0;
            cairn_print_maps_add(maps, line, vas, n_vas);
            n -= (size_t)(end + 1 - line);
            line = end + 1;
        }
        if (n == sizeof maps->line - 1)
            n = 0; /* no line of the kernel's is so long */
        memmove(maps->line, line, n);
    }
}

bool cairn_print_maps_read(struct cairn_print_maps *maps, const uintptr_t *vas, size_t n_vas)
{
    int saved = errno;
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        read_lines(maps, fd, vas, n_vas);
        close(fd);
    }
    errno = saved;
    return fd >= 0;
}

const struct cairn_print_map *cairn_print_maps_find(const struct cairn_print_maps *maps,
                                                    uintptr_t va)
{
    for (size_t i = 0; i < maps->n; i++)
        if (va >= maps->maps[i].from && va < maps->maps[i].to)
            return &maps->maps[i];
    return NULL;
}
