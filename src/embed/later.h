/* SPDX-License-Identifier: MIT */
/*
 * Later: notices libraries that are loaded, between their relocation and their constructors. glibc
 * calls the constructors through _dl_catch_exception() (elf/dl-open.c, since 2.31), which is
 * hooked.
 */
#ifndef CAIRN_EMBED_LATER_H
#define CAIRN_EMBED_LATER_H

#include <stdbool.h>

/* Once. False: libraries are noticed at the next call of cairn_hook_refresh() alone. */
bool cairn_embed_later_watch(void);

#endif /* CAIRN_EMBED_LATER_H */
