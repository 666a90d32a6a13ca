/* SPDX-License-Identifier: MIT */
/*
 * Renew: changes bytes of code, or words that code reads, while threads run there.
 *
 * No write through /proc/self/mem will do: the kernel copies by "rep movsb", which may stand after
 * any byte while an interrupt is served or the thread waits for its CPU. (Measured on Emerald
 * Rapids, at load: one of 40,000 words of 8 aligned bytes was seen half changed, and run.) So the
 * page is replaced: a copy that holds the new bytes is mapped elsewhere, of the same file, and
 * mremap(2) puts it in the old one's place. A thread that runs there meanwhile faults, waits until
 * the kernel has done it, and goes on in one of the two pages, never between them.
 */
#ifndef CAIRN_EMBED_RENEW_H
#define CAIRN_EMBED_RENEW_H

#include "embed/code.h"

enum { CAIRN_EMBED_RENEW_MAX = 16 };

/*
 * Changes `n` bytes at `va`, at most CAIRN_EMBED_RENEW_MAX. In a process of one thread they are
 * written in place. Under the room's lock. CAIRN_E_ACCESS: the kernel refuses the write or the
 * mapping. CAIRN_E_MISSING: the file that is mapped there is no longer at its path; the process
 * cannot map it again.
 */
int cairn_embed_renew(const struct cairn_embed_memory *memory, uint64_t va, const void *from,
                      size_t n, struct cairn_err *err);

#endif /* CAIRN_EMBED_RENEW_H */
