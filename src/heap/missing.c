/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Missing: what glibc has, which this library is built with, and musl lacks: a name that is not
 * found ends a program of musl before it starts. Of this library alone, by its list of exported
 * names.
 */
#undef _FORTIFY_SOURCE
#include <stddef.h>
#include <string.h>

/* What _FORTIFY_SOURCE makes of memcpy and memmove. */
void *cairn_memcpy_chk(void *to, const void *from, size_t n,
                       size_t capacity) __asm__("__memcpy_chk");
void *cairn_memmove_chk(void *to, const void *from, size_t n,
                        size_t capacity) __asm__("__memmove_chk");
void *cairn_memset_chk(void *to, int byte, size_t n, size_t capacity) __asm__("__memset_chk");

void *cairn_memcpy_chk(void *to, const void *from, size_t n, size_t capacity)
{
    if (n > capacity)
        __builtin_trap();
    return memcpy(to, from, n);
}

void *cairn_memmove_chk(void *to, const void *from, size_t n, size_t capacity)
{
    if (n > capacity)
        __builtin_trap();
    return memmove(to, from, n);
}

void *cairn_memset_chk(void *to, int byte, size_t n, size_t capacity)
{
    if (n > capacity)
        __builtin_trap();
    return memset(to, byte, n);
}
