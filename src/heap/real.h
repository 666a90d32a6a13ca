/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Real: the functions behind ours, those of the next module that has them (RTLD_NEXT): the
 * allocator that the program would have without us. Looked for at the first call of one, without
 * dlsym(3), which may allocate. In libcairn-heap alone.
 */
#ifndef CAIRN_HEAP_REAL_H
#define CAIRN_HEAP_REAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cairn_heap_real {
    void *(*malloc)(size_t);
    void (*free)(void *);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    void *(*memalign)(size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
};
extern struct cairn_heap_real cairn_heap_real __attribute__((visibility("hidden")));

/* Done by the first call of one of them. */
void cairn_heap_real_find(void);

/* Is the code at `va` that of an allocator which is not libc's? */
bool cairn_heap_real_has(uintptr_t va);

/* Our malloc, whoever's the program calls. */
void *cairn_heap_our_malloc(size_t size) __attribute__((visibility("hidden")));

#endif /* CAIRN_HEAP_REAL_H */
