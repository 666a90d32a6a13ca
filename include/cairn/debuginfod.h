/* SPDX-License-Identifier: MIT */
/*
 * debuginfod: debug files by build ID over HTTP, from servers that the user names. Nothing is asked
 * before cairn_debuginfod_use(). What comes is kept in the folder of debuginfod's own client, in
 * its layout, so that either finds what the other fetched.
 *
 * A file counts only if it is an ELF file with the build ID that was asked for. HTTP is libcurl's,
 * which is loaded when the first file is asked for.
 */
#ifndef CAIRN_DEBUGINFOD_H
#define CAIRN_DEBUGINFOD_H

#include <stddef.h>
#include <stdint.h>

#include <cairn/api.h>
#include <cairn/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How far it is, several times a second; `name` is the module that was heard of last, NULL at the
 * end of one fetch. Nonzero stops: what is missing is not asked for any more. */
struct cairn_debuginfod_progress {
    size_t size;
    const char *name;
    uint64_t n_done, n_files, bytes;
};

/* Set .size to sizeof; zero means the default. Texts are copied. */
struct cairn_debuginfod_opts {
    size_t size;
    const char *urls;   /* with spaces between them; NULL: DEBUGINFOD_URLS, else what the files
                           /etc/debuginfod/NAME.urls say */
    const char *folder; /* NULL: cairn_debuginfod_folder() */
    unsigned timeout_s; /* without as much as a kilobyte a second; 0: DEBUGINFOD_TIMEOUT, else 10 */
    uint64_t max_bytes; /* of all files of this run; 0: 2 GB */
    int (*progress)(void *ctx, const struct cairn_debuginfod_progress *progress);
    void *ctx;
};

/* The folder of debuginfod's client: $DEBUGINFOD_CACHE_PATH, else debuginfod_client in
 * $XDG_CACHE_HOME, else in $HOME/.cache. CAIRN_E_MISSING: none of them holds an absolute path. */
CAIRN_API int cairn_debuginfod_folder(char *ret_path, size_t size, struct cairn_err *err);

/*
 * From now on whoever names addresses in this program asks the servers for what is not found: a
 * profile's modules at once, those with the most samples first. The kernel's files are not asked
 * for. What cannot be had is logged, and costs no more than the names that it had. `opts` NULL: no
 * more of it. Call it while no other thread names addresses.
 *
 * CAIRN_E_ARG: no server is known, or a URL is none. CAIRN_E_SUPPORT: this build has no HTTP.
 */
CAIRN_API int cairn_debuginfod_use(const struct cairn_debuginfod_opts *opts, struct cairn_err *err);

#ifdef __cplusplus
}
#endif
#endif /* CAIRN_DEBUGINFOD_H */
