/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Late rows: what the table of heap/late.h is made of. In libcairn-track alone.
 */
#ifndef CAIRN_HEAP_LATE_ROWS_H
#define CAIRN_HEAP_LATE_ROWS_H

#include <stdarg.h>
#include <stdio.h>
#include <wchar.h>

#include "heap/late.h"

/* NULL behind the last one. */
const struct cairn_late_row *cairn_late_row(uint32_t i);

int cairn_late_start(const struct cairn_late_settings *settings);
void cairn_late_record(bool on);
void cairn_late_end(void);
const void *cairn_late_state(void);
int cairn_late_older(struct cairn_late_older *older);
int cairn_late_slots(struct cairn_late_slots *slots);

/* Takes all blocks for freed. Beside calls of the program's. */
struct cairn_tracked_heap;
void cairn_late_forget(struct cairn_tracked_heap *heap);

/* late_c.c */
void *cairn_late_malloc(size_t size);
void *cairn_late_calloc(size_t n, size_t size);
void cairn_late_free(void *block);
void cairn_late_free_sized(void *block, size_t size);
void cairn_late_free_aligned_sized(void *block, size_t alignment, size_t size);
void cairn_late_cfree(void *block);
void *cairn_late_realloc(void *block, size_t size);
void *cairn_late_reallocarray(void *block, size_t n, size_t size);
void *cairn_late_realloc_elsewhere(void *block, size_t size);
void *cairn_late_reallocarray_elsewhere(void *block, size_t n, size_t size);
void *cairn_late_realloc_chosen(void *block, size_t size);
void *cairn_late_reallocarray_chosen(void *block, size_t n, size_t size);
int cairn_late_posix_memalign(void **ret_block, size_t alignment, size_t size);
void *cairn_late_aligned_alloc(size_t alignment, size_t size);
void *cairn_late_memalign(size_t alignment, size_t size);
void *cairn_late_valloc(size_t size);
void *cairn_late_pvalloc(size_t size);

/* late_cpp.c */
void *cairn_late_new(size_t size);
void *cairn_late_new_array(size_t size);
void *cairn_late_new_nothrow(size_t size, const void *nothrow);
void *cairn_late_new_array_nothrow(size_t size, const void *nothrow);
void *cairn_late_new_aligned(size_t size, size_t alignment);
void *cairn_late_new_array_aligned(size_t size, size_t alignment);
void *cairn_late_new_aligned_nothrow(size_t size, size_t alignment, const void *nothrow);
void *cairn_late_new_array_aligned_nothrow(size_t size, size_t alignment, const void *nothrow);
void cairn_late_delete(void *block);
void cairn_late_delete_array(void *block);
void cairn_late_delete_sized(void *block, size_t size);
void cairn_late_delete_array_sized(void *block, size_t size);
void cairn_late_delete_nothrow(void *block, const void *nothrow);
void cairn_late_delete_array_nothrow(void *block, const void *nothrow);
void cairn_late_delete_aligned(void *block, size_t alignment);
void cairn_late_delete_array_aligned(void *block, size_t alignment);
void cairn_late_delete_sized_aligned(void *block, size_t size, size_t alignment);
void cairn_late_delete_array_sized_aligned(void *block, size_t size, size_t alignment);
void cairn_late_delete_aligned_nothrow(void *block, size_t alignment, const void *nothrow);
void cairn_late_delete_array_aligned_nothrow(void *block, size_t alignment, const void *nothrow);

/* late_modules.c */
int cairn_late_dlclose(void *handle);
void cairn_late_cxa_finalize(void *dso);

/* late_look.c */
void *cairn_late_dlsym(void *handle, const char *name);
void *cairn_late_dlvsym(void *handle, const char *name, const char *version);

/* late_text.c, late_stream.c */
char *cairn_late_strdup(const char *text);
char *cairn_late_strndup(const char *text, size_t n);
wchar_t *cairn_late_wcsdup(const wchar_t *text);
ssize_t cairn_late_getline(char **line, size_t *n, FILE *stream);
ssize_t cairn_late_getdelim(char **line, size_t *n, int delimiter, FILE *stream);
int cairn_late_asprintf(char **ret, const char *format, ...) __attribute__((format(printf, 2, 3)));
int cairn_late_vasprintf(char **ret, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
int cairn_late_asprintf_chk(char **ret, int flag, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int cairn_late_vasprintf_chk(char **ret, int flag, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));
char *cairn_late_realpath(const char *path, char *resolved);
char *cairn_late_realpath_chk(const char *path, char *resolved, size_t capacity);
char *cairn_late_canonicalize(const char *path);
char *cairn_late_getcwd(char *to, size_t size);
char *cairn_late_getcwd_chk(char *to, size_t size, size_t capacity);
char *cairn_late_current_dir(void);
FILE *cairn_late_open_memstream(char **ret, size_t *ret_size);
FILE *cairn_late_open_wmemstream(wchar_t **ret, size_t *ret_size);
int cairn_late_fclose(FILE *stream);

#endif /* CAIRN_HEAP_LATE_ROWS_H */
