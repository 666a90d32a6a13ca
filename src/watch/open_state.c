/* SPDX-License-Identifier: MIT */
#include "watch/open_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cairn/maps.h>

#include "base/error.h"
#include "base/foreign.h"
#include "base/open.h"
#include "proc/mapped_file.h"
#include "proc/process.h"
#include "watch/heap.h"

enum {
    LINK_BYTES = 64,
    READS_MAX = 8, /* of the mappings */
    STALE = 1      /* the mapping has grown since it was read */
};

static const struct cairn_map *find_state(const struct cairn_maps *maps)
{
    const uint32_t wanted = CAIRN_MAP_SHARED | CAIRN_MAP_WRITE | CAIRN_MAP_FILE;
    for (size_t i = 0; i < cairn_maps_count(maps); i++) {
        const struct cairn_map *map = cairn_maps_get(maps, i);
        if ((map->flags & wanted) == wanted && cairn_heap_is_state_name(map->path))
            return map;
    }
    return NULL;
}

/* The mapping itself; that folder of /proc is root's alone. */
static int find_mapped(int pid, const struct cairn_map *map, struct cairn_buffer *who)
{
    const struct cairn_mapped_file file = {pid, map->start, map->end, map->path};
    return cairn_mapped_name(&file, CAIRN_MAPPED_BY_LINK, who)
               ? open(cairn_buffer_text(who), O_PATH | O_CLOEXEC)
               : -1;
}

/* A link, or a file that took the path since, may be any other user's. */
static bool is_the_mappings(int fd, int pid, const struct cairn_map *map)
{
    struct stat st;
    struct cairn_process_status status;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
           (uint32_t)st.st_ino == (uint32_t)map->inode &&
           cairn_process_status(pid, &status, NULL) == CAIRN_OK &&
           (st.st_uid == geteuid() || st.st_uid == status.uid || st.st_uid == status.euid);
}

static int find_by_path(int pid, const struct cairn_map *map, struct cairn_buffer *who)
{
    char root[LINK_BYTES];
    snprintf(root, sizeof root, "/proc/%d/root", pid);
    cairn_buffer_clear(who);
    cairn_buffer_printf(who, "%s%s", root, map->path);
    int folder = who->failed ? -1 : open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int place = folder < 0 ? -1 : cairn_open_place_in(folder, map->path, CAIRN_OPEN_NO_LINKS),
        os_errno = errno;
    if (folder >= 0)
        close(folder);
    if (place >= 0 && !is_the_mappings(place, pid, map)) {
        close(place);
        place = -1;
        os_errno = ESTALE;
    }
    errno = os_errno;
    return place;
}

/* The tracker's mapping grows while the process runs, and map_files names it by its end: STALE,
 * unless this `is_last`. */
static int open_mapped(int pid, const struct cairn_map *map, int flags, bool is_last,
                       struct cairn_buffer *who, int *ret_fd, struct cairn_err *err)
{
    int place = find_mapped(pid, map, who), fd = -1;
    if (place < 0 && errno == ENOENT && !is_last)
        return STALE;
    if (place >= 0 && flags == O_RDONLY) { /* it may lie on FUSE */
        close(place);
        int result = cairn_foreign_open_path(cairn_buffer_text(who), ret_fd, err);
        return result == CAIRN_E_MISSING && !is_last ? STALE : result;
    }
    if (place >= 0)
        fd = cairn_open_again(place, NULL, flags);
    if (place < 0 && (errno == EPERM || errno == EACCES || errno == ENOENT)) {
        place = find_by_path(pid, map, who);
        fd = place < 0 ? -1 : cairn_open_again(place, NULL, flags);
    }
    int os_errno = errno;
    if (place >= 0)
        close(place);
    if (who->failed)
        return cairn_fail_memory(err);
    if (fd < 0)
        return cairn_fail_os(err, os_errno, "%s", cairn_buffer_text(who));
    *ret_fd = fd;
    return CAIRN_OK;
}

static int fail_untracked(int pid, struct cairn_err *err)
{
    cairn_fail(err, CAIRN_E_MISSING, "process %d is not tracked", pid);
    cairn_hint(err, "start it as cairn heap run -- COMMAND, or attach to it: cairn heap attach %d",
               pid);
    return CAIRN_E_MISSING;
}

int cairn_heap_open_state(int pid, int flags, struct cairn_buffer *ret_who, int *ret_fd,
                          struct cairn_err *err)
{
    int result = STALE;
    for (int reads = 1; result == STALE; reads++) {
        struct cairn_maps *maps;
        result = cairn_maps_read_pid(pid, &maps, err);
        if (result < 0)
            return result;
        const struct cairn_map *found = find_state(maps);
        result = found ? open_mapped(pid, found, flags, reads == READS_MAX, ret_who, ret_fd, err)
                       : fail_untracked(pid, err);
        cairn_maps_free(maps);
    }
    return result;
}

bool cairn_heap_turn_state(int fd)
{
    const off_t turn_at = offsetof(struct cairn_heap_header, turn);
    uint32_t turn;
    if (pread(fd, &turn, sizeof turn, turn_at) != sizeof turn)
        return false;
    turn += CAIRN_HEAP_OTHERS_TURN;
    return pwrite(fd, &turn, sizeof turn, turn_at) == sizeof turn;
}
