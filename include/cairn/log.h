/* SPDX-License-Identifier: MIT */
/*
 * What a library call found worth knowing that is no failure: a module skipped, a fallback taken,
 * a file chosen. The library itself never prints.
 */
#ifndef CAIRN_LOG_H
#define CAIRN_LOG_H

#include <cairn/api.h>

#ifdef __cplusplus
extern "C" {
#endif

enum cairn_log_level {
    CAIRN_LOG_HINT = -1, /* where what the result lacks can be had; for the end of the output */
    CAIRN_LOG_WARNING,   /* the result is poorer than it could be; the text says what to do */
    CAIRN_LOG_INFO,      /* a decision: which file was chosen, which way was taken */
    CAIRN_LOG_DEBUG      /* tables and details */
};

/* `text` is one line without a line break, safe for a terminal, borrowed until the function
 * returns. */
typedef void (*cairn_log_fn)(void *ctx, enum cairn_log_level level, const char *text);

/*
 * Sends what every part of the library has to say, up to `level`, to `fn`; NULL turns it off, which
 * is the default. Set it before other threads use the library: it is one setting per process and
 * takes no lock. `fn` may be called from any thread that calls into the library.
 */
CAIRN_API void cairn_log_set(cairn_log_fn fn, void *ctx, enum cairn_log_level level);

#ifdef __cplusplus
}
#endif
#endif /* CAIRN_LOG_H */
