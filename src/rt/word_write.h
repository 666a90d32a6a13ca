/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Word write: stores of one word in memory of this process that may be read-only: slots behind
 * RELRO. Their page is made writable for the store, so that no thread reads half a word: the kernel
 * copies what is written to /proc/self/mem by "rep movsb", which an interrupt can part after any
 * byte. That file is the way where mprotect(2) is refused (a sealed mapping), and where the page
 * has code. Within dl_iterate_phdr(3), whose lock keeps other libraries from the same page.
 */
#ifndef CAIRN_RT_WORD_WRITE_H
#define CAIRN_RT_WORD_WRITE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct cairn_word_writer {
    int fd;              /* of /proc/self/mem; negative: it cannot be opened */
    uintptr_t low, high; /* of PT_GNU_RELRO, the module's that is written to */
    bool is_read_only;   /* the segment: the loader has relocated text (DT_TEXTREL) */
};

void cairn_word_writer_open(struct cairn_word_writer *writer);
void cairn_word_writer_close(struct cairn_word_writer *writer);

/* False: the word is not `before`, or cannot be written; then it is as it was. */
bool cairn_word_write(const struct cairn_word_writer *writer, _Atomic(uintptr_t) *place,
                      uintptr_t before, uintptr_t value);

#endif /* CAIRN_RT_WORD_WRITE_H */
