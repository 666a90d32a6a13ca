/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE, but for what the originals do */
/*
 * Late text: the replacements of libc functions that allocate for their caller (heap/late.h). The
 * block is the library's that called them, with the stack of that call. In libcairn-track alone.
 *
 * How much libc has asked its malloc for is not known here: a text counts with its length and the
 * zero behind it, a buffer with the capacity that its caller is told.
 */
#include <stdint.h>
#include <string.h>

#include "heap/late_call.h"
#include "heap/late_originals.h"
#include "heap/late_rows.h"

#define MORE   cairn_late_more
#define CALLER ((struct cairn_local_frame_at)CAIRN_HEAP_CALLER)

static void *born(const struct cairn_mine *mine, void *block, size_t size,
                  struct cairn_local_frame_at caller)
{
    return mine ? cairn_heap_adopt(block, size, CAIRN_HEAP_KIND_MALLOC, caller) : block;
}

static size_t text_size(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

#define TEXT_BY(call)                                                                              \
    do {                                                                                           \
        struct cairn_mine *mine_ = cairn_late_enter();                                             \
        char *text_ = (call);                                                                      \
        cairn_late_leave(mine_);                                                                   \
        return born(mine_, text_, text_size(text_), CALLER);                                       \
    } while (0)

char *cairn_late_strdup(const char *text)
{
    TEXT_BY(MORE.strdup(text));
}

char *cairn_late_strndup(const char *text, size_t n)
{
    TEXT_BY(MORE.strndup(text, n));
}

wchar_t *cairn_late_wcsdup(const wchar_t *text)
{
    struct cairn_mine *mine = cairn_late_enter();
    wchar_t *copy = MORE.wcsdup(text);
    cairn_late_leave(mine);
    size_t n = 0;
    while (copy && copy[n])
        n++;
    return born(mine, copy, (n + 1) * sizeof(*copy), CALLER);
}

char *cairn_late_canonicalize(const char *path)
{
    TEXT_BY(MORE.canonicalize(path));
}

char *cairn_late_current_dir(void)
{
    TEXT_BY(MORE.current_dir());
}

/* With memory of the caller's they allocate nothing. */
char *cairn_late_realpath(const char *path, char *resolved)
{
    if (resolved)
        return MORE.realpath(path, resolved);
    TEXT_BY(MORE.realpath(path, NULL));
}

char *cairn_late_realpath_chk(const char *path, char *resolved, size_t capacity)
{
    if (resolved)
        return MORE.realpath_chk(path, resolved, capacity);
    TEXT_BY(MORE.realpath_chk(path, NULL, capacity));
}

char *cairn_late_getcwd(char *to, size_t size)
{
    if (to)
        return MORE.getcwd(to, size);
    struct cairn_mine *mine = cairn_late_enter();
    char *text = MORE.getcwd(NULL, size);
    cairn_late_leave(mine);
    return born(mine, text, size ? size : text_size(text), CALLER);
}

char *cairn_late_getcwd_chk(char *to, size_t size, size_t capacity)
{
    if (to)
        return MORE.getcwd_chk(to, size, capacity);
    struct cairn_mine *mine = cairn_late_enter();
    char *text = MORE.getcwd_chk(NULL, size, capacity);
    cairn_late_leave(mine);
    return born(mine, text, size ? size : text_size(text), CALLER);
}

/* The buffer, where the call has made it or moved it: libc's realloc has said that the old one is
 * gone. What is as it was before was recorded before, or was not asked for by this library. */
static void note_line(struct cairn_mine *mine, char *const *line, const size_t *n,
                      const char *old_line, size_t old_n, struct cairn_local_frame_at caller)
{
    if (line && n && *line && (*line != old_line || *n != old_n))
        born(mine, *line, *n, caller);
}

ssize_t cairn_late_getline(char **line, size_t *n, FILE *stream)
{
    const char *old_line = line ? *line : NULL;
    size_t old_n = n ? *n : 0;
    struct cairn_mine *mine = cairn_late_enter();
    ssize_t got = MORE.getline(line, n, stream);
    cairn_late_leave(mine);
    note_line(mine, line, n, old_line, old_n, CALLER);
    return got;
}

ssize_t cairn_late_getdelim(char **line, size_t *n, int delimiter, FILE *stream)
{
    const char *old_line = line ? *line : NULL;
    size_t old_n = n ? *n : 0;
    struct cairn_mine *mine = cairn_late_enter();
    ssize_t got = MORE.getdelim(line, n, delimiter, stream);
    cairn_late_leave(mine);
    note_line(mine, line, n, old_line, old_n, CALLER);
    return got;
}

static int note_print(struct cairn_mine *mine, char **ret, int n,
                      struct cairn_local_frame_at caller)
{
    if (n >= 0)
        born(mine, *ret, (size_t)n + 1, caller);
    return n;
}

int cairn_late_vasprintf(char **ret, const char *format, va_list args)
{
    struct cairn_mine *mine = cairn_late_enter();
    int n = MORE.vasprintf(ret, format, args);
    cairn_late_leave(mine);
    return note_print(mine, ret, n, CALLER);
}

int cairn_late_vasprintf_chk(char **ret, int flag, const char *format, va_list args)
{
    struct cairn_mine *mine = cairn_late_enter();
    int n = MORE.vasprintf_chk(ret, flag, format, args);
    cairn_late_leave(mine);
    return note_print(mine, ret, n, CALLER);
}

int cairn_late_asprintf(char **ret, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct cairn_mine *mine = cairn_late_enter();
    int n = MORE.vasprintf(ret, format, args);
    cairn_late_leave(mine);
    va_end(args);
    return note_print(mine, ret, n, CALLER);
}

int cairn_late_asprintf_chk(char **ret, int flag, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct cairn_mine *mine = cairn_late_enter();
    int n = MORE.vasprintf_chk(ret, flag, format, args);
    cairn_late_leave(mine);
    va_end(args);
    return note_print(mine, ret, n, CALLER);
}
