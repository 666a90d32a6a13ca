/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "heap/tidy.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "heap/file.h"
#include "heap/settings.h"
#include "rt/heap_state.h"
#include "rt/pages.h"
#include "rt/sys.h"

enum {
    NAME_BYTES = 56, /* of our own names none is longer */
    CONSIDERED = 256 /* files at a time; the next process goes on */
};

struct left {
    uint64_t written_ns, bytes, ticks;
    uint32_t pid;
    char name[NAME_BYTES];
};

/* On pages: whose stack this is may be small. */
struct work {
    int folder;
    uint64_t space;
    struct left left[CONSIDERED]; /* the latest first */
    uint32_t n;
    char entries[1 << 15] __attribute__((aligned(8))), path[CAIRN_HEAP_PATH];
    struct cairn_heap_header header;
};

uint64_t cairn_heap_tidy_space(void)
{
    struct cairn_sys_stat found;
    int fd = cairn_sys_open("/proc/self/ns/pid", O_RDONLY, 0);
    if (fd < 0)
        return 0;
    uint64_t space = cairn_sys_stat_fd(fd, &found) == 0 ? found.ino : 0;
    cairn_sys_close(fd);
    return space;
}

/* Digits up to `end`, which `*text` is then behind. */
static bool take_number(const char **text, char end, uint64_t *ret)
{
    char digits[21];
    size_t n = 0;
    while ((*text)[n] >= '0' && (*text)[n] <= '9' && n < sizeof(digits) - 1)
        n++;
    memcpy(digits, *text, n);
    digits[n] = 0;
    if (!cairn_heap_settings_number(digits, ret) || (*text)[n] != end)
        return false;
    *text += n + 1;
    return true;
}

/* Is that the name of a state? */
static bool take_name(const char *name, struct left *ret)
{
    uint64_t pid, ticks, number;
    const char *at = name;
    if (strlen(name) >= NAME_BYTES || !take_number(&at, '-', &pid) || pid == 0 || pid > INT32_MAX ||
        !take_number(&at, '.', &ticks))
        return false;
    if (*at >= '0' && *at <= '9' && !take_number(&at, '.', &number))
        return false;
    if (memcmp(at, "heap", sizeof("heap")) != 0)
        return false;
    ret->pid = (uint32_t)pid;
    ret->ticks = ticks;
    memcpy(ret->name, name, strlen(name) + 1);
    return true;
}

static void add(struct work *work, const char *name)
{
    struct left left = {0};
    struct cairn_sys_stat found;
    if (work->n == CONSIDERED || !take_name(name, &left) ||
        cairn_sys_stat_in(work->folder, name, &found) != 0 || !S_ISREG(found.mode))
        return;
    left.written_ns = found.written_ns;
    left.bytes = found.bytes;
    uint32_t at = work->n++;
    for (; at > 0 && work->left[at - 1].written_ns < left.written_ns; at--)
        work->left[at] = work->left[at - 1];
    work->left[at] = left;
}

static void add_all(struct work *work)
{
    long n;
    while ((n = cairn_sys_list(work->folder, work->entries, sizeof(work->entries))) > 0)
        for (long at = 0; at < n;) {
            const struct cairn_sys_entry *entry =
                (const struct cairn_sys_entry *)(const void *)(work->entries + at);
            add(work, entry->name);
            at += entry->size;
        }
}

/* The file's own word for where its pid counts. */
static bool is_of_our_space(struct work *work, const char *name)
{
    int fd = cairn_sys_open_in(work->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return false;
    long n = cairn_sys_read(fd, &work->header, sizeof(work->header));
    cairn_sys_close(fd);
    return n == (long)sizeof(work->header) && work->space != 0 &&
           work->header.pid_space == work->space;
}

/* /proc hides processes of ours that may not be looked into (hidepid); a signal does not. */
static bool has_ended(struct work *work, const struct left *left)
{
    if (!is_of_our_space(work, left->name))
        return false;
    if (cairn_sys_is_gone(left->pid))
        return true;
    size_t at = sizeof("/proc/") - 1, n = 0;
    memcpy(work->path, "/proc/", at);
    for (; left->name[n] != '-'; n++)
        work->path[at++] = left->name[n];
    memcpy(work->path + at, "/stat", sizeof("/stat"));
    uint64_t ticks = cairn_heap_file_start_ticks(work->path);
    return ticks != 0 && left->ticks != 0 && ticks != left->ticks;
}

static void remove_oldest(struct work *work, uint64_t most_bytes)
{
    uint64_t n = 0, bytes = 0;
    for (uint32_t i = 0; i < work->n; i++) {
        const struct left *left = &work->left[i];
        if (!has_ended(work, left))
            continue;
        n++;
        bytes += left->bytes;
        if (n > 1 && (n > CAIRN_HEAP_TIDY_KEPT || bytes > most_bytes))
            cairn_sys_unlink_in(work->folder, left->name);
    }
}

static bool is_too_much(const struct work *work, uint64_t most_bytes)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < work->n; i++)
        bytes += work->left[i].bytes;
    return work->n > CAIRN_HEAP_TIDY_KEPT || bytes > most_bytes;
}

void cairn_heap_tidy(const char *dir, uint64_t most_bytes)
{
    struct cairn_sys_stat found;
    int folder = cairn_sys_open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (folder < 0)
        return;
    struct work *work = cairn_pages_map(sizeof(*work));
    if (work && cairn_sys_stat_fd(folder, &found) == 0 && found.uid == cairn_sys_uid() &&
        (found.mode & 077) == 0) {
        work->folder = folder;
        add_all(work);
        if (is_too_much(work, most_bytes)) {
            work->space = cairn_heap_tidy_space();
            remove_oldest(work, most_bytes);
        }
    }
    cairn_pages_unmap(work, sizeof(*work));
    cairn_sys_close(folder);
}
