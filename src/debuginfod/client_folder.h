/* SPDX-License-Identifier: MIT */
/*
 * The folder of debuginfod's client (elfutils), as its library keeps it:
 *
 *     FOLDER/BUILDID/debuginfo, executable    what came; empty: no server had it when the file was
 *                                             made, and for cache_miss_s seconds nobody asks again
 *     FOLDER/cache_miss_s                     that number; 600 where there is no such file
 *
 * Source: elfutils, debuginfod/debuginfod-client.c (debuginfod_query_server).
 */
#ifndef CAIRN_DEBUGINFOD_CLIENT_FOLDER_H
#define CAIRN_DEBUGINFOD_CLIENT_FOLDER_H

#include <stdbool.h>

#include <cairn/error.h>

struct cairn_client_folder {
    int fd; /* -1: closed */
    char *path;
};

enum cairn_client_state { CAIRN_CLIENT_ABSENT, CAIRN_CLIENT_HELD, CAIRN_CLIENT_MISS };

/* Opens it, or makes it. It must be ours, as base/own_folder.h has it. */
int cairn_client_folder_open(const char *path, struct cairn_client_folder *ret_folder,
                             struct cairn_err *err);
void cairn_client_folder_close(struct cairn_client_folder *folder); /* of fd -1 is fine */

/* Is there a file, or the note that there is none? An old note is removed. */
enum cairn_client_state cairn_client_folder_look(const struct cairn_client_folder *folder,
                                                 const char *id, const char *name);

/* A file without a name that becomes that of `id` by cairn_client_folder_put(). */
int cairn_client_folder_temp(const struct cairn_client_folder *folder, const char *id, int *ret_fd,
                             struct cairn_err *err);
int cairn_client_folder_put(const struct cairn_client_folder *folder, const char *id,
                            const char *name, int fd, struct cairn_err *err);

/* Notes that no server has it. */
void cairn_client_folder_miss(const struct cairn_client_folder *folder, const char *id,
                              const char *name);

#endif /* CAIRN_DEBUGINFOD_CLIENT_FOLDER_H */
