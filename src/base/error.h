/* SPDX-License-Identifier: MIT */
#ifndef CAIRN_BASE_ERROR_H
#define CAIRN_BASE_ERROR_H

#include <cairn/error.h>

/* Fills `err` (may be NULL) and returns `code`, so that a failure is one statement. The text starts
 * in lower case and ends without a full stop. */
__attribute__((format(printf, 3, 4))) int cairn_fail(struct cairn_err *err, enum cairn_code code,
                                                     const char *fmt, ...);

/* The same for a refusal of the operating system: keeps errno, appends ": " and its text. The code
 * is CAIRN_E_ACCESS for EACCES and EPERM, CAIRN_E_MISSING for ENOENT and ESRCH, CAIRN_E_NOMEM for
 * ENOMEM, else CAIRN_E_IO. Returns that code. */
__attribute__((format(printf, 3, 4))) int cairn_fail_os(struct cairn_err *err, int os_errno,
                                                        const char *fmt, ...);

/* CAIRN_E_NOMEM with a text that is the same everywhere. */
int cairn_fail_memory(struct cairn_err *err);

/* Adds what to try next. */
__attribute__((format(printf, 2, 3))) void cairn_hint(struct cairn_err *err, const char *fmt, ...);

/* Puts "who: " before the message on the way up; returns `code`. */
int cairn_fail_in(struct cairn_err *err, int code, const char *who);

#endif /* CAIRN_BASE_ERROR_H */
