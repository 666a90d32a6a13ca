/* SPDX-License-Identifier: MIT */
/*
 * Renew: changes a word of code while threads of the process run it.
 *
 * No write through /proc/PID/mem will do: the kernel copies by "rep movsb", which an interrupt can
 * part after any byte, and threads run what is half changed (src/embed/renew.h has the figures). So
 * the page is replaced, by calls of our thread:
 *
 *     mmap      a spare page of the same file, anywhere
 *     outside   the old page is copied there, with the new bytes
 *     mremap    the spare takes the old page's place
 *
 * A thread that runs there meanwhile faults, waits until the kernel has done it, and goes on in one
 * of the two pages, never between them. No thread is stopped. Processes that share the memory
 * (vfork) are safe, too.
 */
#ifndef CAIRN_ATTACH_RENEW_H
#define CAIRN_ATTACH_RENEW_H

#include "attach/foothold.h"

struct cairn_renewal {
    const struct cairn_target_process *target;
    struct cairn_foothold *foothold; /* NULL: no thread runs there; bytes are written in place */
    int their_fd;                    /* the file that was mapped last, kept open; -1: none */
    uint32_t dev_major, dev_minor;   /* of that file, as the kernel's maps have them */
    uint64_t inode;
    uint32_t n_nameless; /* pages that are no longer the file's, for it could not be opened */
};

/*
 * Changes `n` bytes at `va`, within one page. The page stays one of its file where that can be
 * opened: by its path and the process's own rights, or if it was deleted by ours
 * (/proc/PID/map_files, which asks for CAP_CHECKPOINT_RESTORE). Else anonymous memory holds the
 * code. CAIRN_E_MISSING: no code is mapped there. Other errors: the kernel refuses a spare page, or
 * the replacement; the old page is as before.
 */
int cairn_renewal_write(struct cairn_renewal *renewal, uint64_t va, const void *bytes, size_t n,
                        struct cairn_err *err);

/* Closes the file. */
void cairn_renewal_done(struct cairn_renewal *renewal);

#endif /* CAIRN_ATTACH_RENEW_H */
