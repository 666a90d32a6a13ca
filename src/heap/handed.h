/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Handed: blocks that the tracker got from the real malloc and handed to the program, which frees
 * them: the free of such a one is none that the tracker missed the birth of.
 */
#ifndef CAIRN_HEAP_HANDED_H
#define CAIRN_HEAP_HANDED_H

#include <stdbool.h>

enum { CAIRN_HEAP_HANDED = 64 /* at a time; frees of further ones are counted as unknown */ };

void cairn_heap_handed_put(const void *block);
/* Was it one? It is none any more. */
bool cairn_heap_handed_take(const void *block);

#endif /* CAIRN_HEAP_HANDED_H */
