/* SPDX-License-Identifier: MIT */
/*
 * Files by build ID, in folders of several layouts:
 *
 *     DIR/.build-id/xx/yyy.debug            debug files; so distributions install them
 *     DIR/.build-id/xx/yyy                  binaries, or links to them
 *     DIR/.build-id/xx/yyy/elf, debug       perf's folder, ~/.debug: the name is a link to a folder
 *     FETCHED/xxyyy/debuginfo, executable   what debuginfod's client fetched
 *
 * Beside the places of each finder there are two folders of the whole program, for which nobody
 * gives an option: the local store, and what was fetched. Of these only files count that are the
 * caller's and that nobody else can write.
 */
#ifndef CAIRN_DEBUGFILE_BY_ID_H
#define CAIRN_DEBUGFILE_BY_ID_H

#include <cairn/error.h>

#include "debugfile/search.h"

/* What a search lacks. */
enum { CAIRN_LACKS_DEBUG = 1, CAIRN_LACKS_IMAGE = 2 };

struct cairn_lacking {
    const char *build_id, *path; /* the path as the process knows it, for messages */
    uint64_t weight;             /* what the missing names cost the reader; 0: nobody counted */
    unsigned lacks;
};

/* Fetches what it can of `wanted`, the heaviest first, into the folder of fetched files; tells the
 * user itself what it could not. */
typedef void (*cairn_fetch_fn)(void *ctx, const struct cairn_lacking *wanted, size_t n);

/* The folder of the local store from now on; NULL: none. It may appear later. Set these while no
 * other thread searches. CAIRN_E_NOMEM. */
int cairn_by_id_set_store(const char *folder, struct cairn_err *err);

/* The same of what was fetched. `fetch` NULL: nothing is fetched, what is there is used. */
int cairn_by_id_set_fetched(const char *folder, cairn_fetch_fn fetch, void *ctx,
                            struct cairn_err *err);

/* Is there anybody who fetches? */
bool cairn_by_id_can_fetch(void);
void cairn_by_id_fetch(const struct cairn_lacking *wanted, size_t n);

/* Does the path lie in one of the two folders? */
bool cairn_by_id_vouches(const char *path);

/* Tries debug files, then binaries, of this build ID for the search. */
void cairn_by_id_try_debug(struct cairn_search *s, const char *id);
void cairn_by_id_try_images(struct cairn_search *s, const char *id);

/* Asks for what the search lacks, where somebody fetches, and tries what came. */
void cairn_by_id_try_fetched(struct cairn_search *s);

/* The path of that file in the folders of the program, for supplementary files (.gnu_debugaltlink);
 * `number` from 0 on. Left empty where there is none that is trusted. False: there are no more. */
bool cairn_by_id_put_path(struct cairn_buffer *out, unsigned number, const char *id);

#endif /* CAIRN_DEBUGFILE_BY_ID_H */
