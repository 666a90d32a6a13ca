/* SPDX-License-Identifier: MIT */
/*
 * Maps: what lies where in a process's memory, as /proc/PID/maps tells it (proc(5)).
 * Threads: an object may be read by many threads; it never changes after it was made.
 */
#ifndef CAIRN_MAPS_H
#define CAIRN_MAPS_H

#include <stddef.h>
#include <stdint.h>

#include <cairn/api.h>
#include <cairn/error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cairn_maps;

enum cairn_map_flag {
    CAIRN_MAP_READ = 1,
    CAIRN_MAP_WRITE = 2,
    CAIRN_MAP_EXEC = 4,
    CAIRN_MAP_SHARED = 8,
    CAIRN_MAP_DELETED = 16, /* the kernel wrote " (deleted)" behind the path; it is cut off */
    CAIRN_MAP_FILE = 32     /* backed by a file: `path` begins with '/' */
};

/* One line. Strings are borrowed until cairn_maps_free(). */
struct cairn_map {
    uint64_t start, end; /* va, [start, end) */
    uint64_t off;        /* in the file */
    uint64_t inode;
    uint32_t dev_major, dev_minor;
    uint32_t flags;   /* enum cairn_map_flag */
    const char *path; /* unescaped ("\012" is a line break again); "[vdso]", "[heap]", ""; also ""
                         for shared anonymous memory ("/dev/zero (deleted)", "/SYSV00000000") */
};

/*
 * Parses the text of a maps file, CRLF and a missing last line break allowed. Lines that are no
 * mapping are CAIRN_E_FORMAT, with their number. Lines out of order are sorted; where two overlap,
 * the later line of the text wins and the log says so once. At most 1,048,576 mappings, lines of at
 * most 65,536 bytes: CAIRN_E_LIMIT.
 */
CAIRN_API int cairn_maps_parse(const void *text, size_t size, struct cairn_maps **ret_maps,
                               struct cairn_err *err);

/* A copy of a maps file. */
CAIRN_API int cairn_maps_read_file(const char *path, struct cairn_maps **ret_maps,
                                   struct cairn_err *err);

/* Of a live process; its paths are those of its own mount namespace. */
CAIRN_API int cairn_maps_read_pid(int pid, struct cairn_maps **ret_maps, struct cairn_err *err);

CAIRN_API void cairn_maps_free(struct cairn_maps *maps); /* accepts NULL */

CAIRN_API size_t cairn_maps_count(const struct cairn_maps *maps);
CAIRN_API const struct cairn_map *cairn_maps_get(const struct cairn_maps *maps, size_t index);

/* The mapping that holds `va`, or NULL. */
CAIRN_API const struct cairn_map *cairn_maps_find(const struct cairn_maps *maps, uint64_t va);

#ifdef __cplusplus
}
#endif
#endif /* CAIRN_MAPS_H */
