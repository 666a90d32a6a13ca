/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Late originals: the functions that the replacements of libcairn-track call, beside those that
 * heap/real.h has; NULL: the program has none. Filled before anything leads to the replacements.
 */
#ifndef CAIRN_HEAP_LATE_ORIGINALS_H
#define CAIRN_HEAP_LATE_ORIGINALS_H

#include <stdarg.h>
#include <stdio.h>
#include <wchar.h>

#include "heap/real.h"

/* C++'s operators, in the order of heap/interpose_cpp.c. */
enum cairn_late_operator {
    CAIRN_LATE_NEW,
    CAIRN_LATE_NEW_ARRAY,
    CAIRN_LATE_NEW_NOTHROW,
    CAIRN_LATE_NEW_ARRAY_NOTHROW,
    CAIRN_LATE_NEW_ALIGNED,
    CAIRN_LATE_NEW_ARRAY_ALIGNED,
    CAIRN_LATE_NEW_ALIGNED_NOTHROW,
    CAIRN_LATE_NEW_ARRAY_ALIGNED_NOTHROW,
    CAIRN_LATE_DELETE,
    CAIRN_LATE_DELETE_ARRAY,
    CAIRN_LATE_DELETE_SIZED,
    CAIRN_LATE_DELETE_ARRAY_SIZED,
    CAIRN_LATE_DELETE_NOTHROW,
    CAIRN_LATE_DELETE_ARRAY_NOTHROW,
    CAIRN_LATE_DELETE_ALIGNED,
    CAIRN_LATE_DELETE_ARRAY_ALIGNED,
    CAIRN_LATE_DELETE_SIZED_ALIGNED,
    CAIRN_LATE_DELETE_ARRAY_SIZED_ALIGNED,
    CAIRN_LATE_DELETE_ALIGNED_NOTHROW,
    CAIRN_LATE_DELETE_ARRAY_ALIGNED_NOTHROW,
    CAIRN_LATE_OPERATORS
};

struct cairn_late_more {
    void *(*reallocarray)(void *, size_t, size_t);
    void (*free_sized)(void *, size_t);
    void (*free_aligned_sized)(void *, size_t, size_t);
    void (*cfree)(void *);
    void *operators[CAIRN_LATE_OPERATORS];
    int (*dlclose)(void *);
    void (*cxa_finalize)(void *);
    void *(*dlsym)(void *, const char *);
    void *(*dlvsym)(void *, const char *, const char *);

    char *(*strdup)(const char *);
    char *(*strndup)(const char *, size_t);
    wchar_t *(*wcsdup)(const wchar_t *);
    ssize_t (*getline)(char **, size_t *, FILE *);
    ssize_t (*getdelim)(char **, size_t *, int, FILE *);
    int (*vasprintf)(char **, const char *, va_list);
    /* Variadic ones are not called: ours call the forms with va_list. */
    void *asprintf, *asprintf_chk;
    int (*vasprintf_chk)(char **, int, const char *, va_list);
    char *(*realpath)(const char *, char *);
    char *(*realpath_chk)(const char *, char *, size_t);
    char *(*canonicalize)(const char *);
    char *(*getcwd)(char *, size_t);
    char *(*getcwd_chk)(char *, size_t, size_t);
    char *(*current_dir)(void);
    FILE *(*open_memstream)(char **, size_t *);
    FILE *(*open_wmemstream)(wchar_t **, size_t *);
    int (*fclose)(FILE *);
};
extern struct cairn_late_more cairn_late_more __attribute__((visibility("hidden")));

#endif /* CAIRN_HEAP_LATE_ORIGINALS_H */
