/* SPDX-License-Identifier: MIT */
/*
 * Late look: dlsym(3) and dlvsym(3), by which libcairn-track notices libraries that were loaded
 * since: a program finds no function of a library before it has called one of them, unless that
 * library is a dependency of another one or announces itself in a constructor. dlopen(3) itself is
 * left alone. In libcairn-track alone.
 */
#include "heap/jump_by.h"
#include "heap/late_originals.h"
#include "heap/late_rows.h"
#include "heap/late_slots.h"

/* What the assembly below jumps to. */
__attribute__((used, visibility("hidden"))) void *cairn_heap_late_dlsym(void);
__attribute__((used, visibility("hidden"))) void *cairn_heap_late_dlvsym(void);

void *cairn_heap_late_dlsym(void)
{
    cairn_late_slots_look();
    return (void *)cairn_late_more.dlsym;
}

void *cairn_heap_late_dlvsym(void)
{
    cairn_late_slots_look();
    return (void *)cairn_late_more.dlvsym;
}

__asm__(".hidden cairn_late_dlsym\n.hidden cairn_late_dlvsym");
CAIRN_HEAP_JUMP_BY("cairn_late_dlsym", "late_dlsym");
CAIRN_HEAP_JUMP_BY("cairn_late_dlvsym", "late_dlvsym");
