/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"

int cairn_fail(struct cairn_err *err, enum cairn_code code, const char *fmt, ...)
{
    if (!err)
        return code;
    va_list args;
    va_start(args, fmt);
    *err = (struct cairn_err){.code = code};
    vsnprintf(err->msg, sizeof err->msg, fmt, args);
    va_end(args);
    return code;
}

static enum cairn_code code_of_errno(int os_errno)
{
    switch (os_errno) {
    case EACCES:
    case EPERM:
        return CAIRN_E_ACCESS;
    case ENOENT:
    case ESRCH:
    case ENOTDIR:
        return CAIRN_E_MISSING;
    case ENOMEM:
        return CAIRN_E_NOMEM;
    default:
        return CAIRN_E_IO;
    }
}

int cairn_fail_os(struct cairn_err *err, int os_errno, const char *fmt, ...)
{
    enum cairn_code code = code_of_errno(os_errno);
    if (!err)
        return code;
    va_list args;
    va_start(args, fmt);
    *err = (struct cairn_err){.code = code, .os_errno = os_errno};
    int used = vsnprintf(err->msg, sizeof err->msg, fmt, args);
    va_end(args);
    if (used >= 0 && (size_t)used < sizeof err->msg)
        snprintf(err->msg + used, sizeof err->msg - (size_t)used, ": %s", strerror(os_errno));
    return code;
}

int cairn_fail_memory(struct cairn_err *err)
{
    return cairn_fail(err, CAIRN_E_NOMEM, "out of memory");
}

void cairn_hint(struct cairn_err *err, const char *fmt, ...)
{
    if (!err)
        return;
    va_list args;
    va_start(args, fmt);
    vsnprintf(err->hint, sizeof err->hint, fmt, args);
    va_end(args);
}

int cairn_fail_in(struct cairn_err *err, int code, const char *who)
{
    if (!err)
        return code;
    char inner[sizeof err->msg];
    memcpy(inner, err->msg, sizeof inner);
    /* A long chain is cut at its far end: the outermost name is the one users look for. */
    if (snprintf(err->msg, sizeof err->msg, "%s: %s", who, inner) >= (int)sizeof err->msg)
        memcpy(err->msg + sizeof err->msg - 4, "...", 4);
    return code;
}

int cairn_err_line(const struct cairn_err *err, char *buf, size_t size)
{
    struct cairn_buffer line = {0};
    cairn_escape_terminal(&line, err->msg, strnlen(err->msg, sizeof err->msg));
    if (err->hint[0]) {
        cairn_buffer_str(&line, " (");
        cairn_escape_terminal(&line, err->hint, strnlen(err->hint, sizeof err->hint));
        cairn_buffer_char(&line, ')');
    }
    /* Without memory the code's name has to do: it needs none. */
    const char *text = line.failed ? cairn_code_name(err->code) : cairn_buffer_text(&line);
    int needed = snprintf(buf, size, "%s", text);
    cairn_buffer_done(&line);
    return needed;
}

const char *cairn_code_name(enum cairn_code code)
{
    switch (code) {
    case CAIRN_OK:
        return "CAIRN_OK";
    case CAIRN_E_NOMEM:
        return "CAIRN_E_NOMEM";
    case CAIRN_E_IO:
        return "CAIRN_E_IO";
    case CAIRN_E_FORMAT:
        return "CAIRN_E_FORMAT";
    case CAIRN_E_MISSING:
        return "CAIRN_E_MISSING";
    case CAIRN_E_ACCESS:
        return "CAIRN_E_ACCESS";
    case CAIRN_E_LIMIT:
        return "CAIRN_E_LIMIT";
    case CAIRN_E_ARG:
        return "CAIRN_E_ARG";
    case CAIRN_E_EXISTS:
        return "CAIRN_E_EXISTS";
    case CAIRN_E_SUPPORT:
        return "CAIRN_E_SUPPORT";
    case CAIRN_E_STOPPED:
        return "CAIRN_E_STOPPED";
    }
    return "CAIRN_E_?";
}
