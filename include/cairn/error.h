/* SPDX-License-Identifier: MIT */
/*
 * Errors a user can act on: what failed, on what, and what to try next.
 *
 * Functions that can fail return CAIRN_OK or a negative code and, where the caller passes a
 * `struct cairn_err`, fill it. On failure every other output is left untouched.
 */
#ifndef CAIRN_ERROR_H
#define CAIRN_ERROR_H

#include <stddef.h>

#include <cairn/api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Codes are stable, messages are not. Zero is success, failures are negative; later versions add
 * values at the end. */
enum cairn_code {
    CAIRN_OK = 0,
    CAIRN_E_NOMEM = -1,
    CAIRN_E_IO = -2,      /* the operating system refused; os_errno says why */
    CAIRN_E_FORMAT = -3,  /* the bytes are not what their format demands */
    CAIRN_E_MISSING = -4, /* no such symbol, section, process, file or note */
    CAIRN_E_ACCESS = -5,  /* a permission is lacking; hint says which */
    CAIRN_E_LIMIT = -6,   /* a limit of ours was reached, on purpose */
    CAIRN_E_ARG = -7,     /* the caller asked for something that cannot be meant */
    CAIRN_E_EXISTS = -8,  /* the output is there already and may not be replaced */
    CAIRN_E_SUPPORT = -9, /* sound, but this build or this machine cannot do it */
    CAIRN_E_STOPPED = -10 /* a callback of the caller asked to stop */
};

/* Lives on the caller's stack and never allocates, so it also serves when memory is gone. */
struct cairn_err {
    enum cairn_code code;
    int os_errno;   /* 0 unless code is CAIRN_E_IO or CAIRN_E_ACCESS */
    char msg[512];  /* "libfoo.so: note at 0x1c: name runs past the segment" */
    char hint[256]; /* what to do next, a command where there is one; or "" */
};

/* One line for a log: the message, then the hint in parentheses where there is one. Control
 * characters and broken UTF-8 come out escaped. Returns the length that the whole line needs, as
 * snprintf does. Thread-safe. */
CAIRN_API int cairn_err_line(const struct cairn_err *err, char *buf, size_t size);

/* "CAIRN_E_FORMAT" for CAIRN_E_FORMAT; "CAIRN_E_?" for a code of a later version. Static text. */
CAIRN_API const char *cairn_code_name(enum cairn_code code);

#ifdef __cplusplus
}
#endif
#endif /* CAIRN_ERROR_H */
