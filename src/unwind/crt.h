/* SPDX-License-Identifier: MIT */
/*
 * Crt: call frame information for the little code that every C program and library has and that
 * nothing describes: what the C library and the compiler put before and behind a module's own
 * (crti.o, crtbegin.o). A process that ends runs it in each of its libraries, and faults on most of
 * their pages there, so that who forks much is seen in it often.
 *
 *     .init, .fini                      ──► _init, _fini
 *     .init_array, .fini_array          ──► frame_dummy, __do_global_dtors_aux
 *     what those call or jump to        ──► register_tm_clones, deregister_tm_clones
 *
 * Each instruction is read from the first to the last; a function with one beyond the two dozen
 * forms that such code has is left out. So what is said of a function is what it does, whoever
 * wrote it.
 *
 * And the first function of all, which no call leads to, on aarch64 it alone. The loader's has no
 * description, and a short program is seen below it more often than in its own code.
 */
#ifndef CAIRN_UNWIND_CRT_H
#define CAIRN_UNWIND_CRT_H

#include "elf/image.h"

/* CAIRN_CRT_ENTRY_BYTES: so much behind a file's entry is taken to be of it, where its code does
 * not say; CAIRN_CRT_ENTRY_MAX: and so much at most where it does. */
enum {
    CAIRN_CRT_FUNCTIONS = 16,
    CAIRN_CRT_BYTES = 1024,
    CAIRN_CRT_ENTRY_BYTES = 64,
    CAIRN_CRT_ENTRY_MAX = 128
};

/* Bytes of the function where the file begins to run: up to behind the first instruction that never
 * leads to the next one. Free Pascal's calls main 67 bytes behind its start. */
uint64_t cairn_crt_entry_bytes(const struct cairn_elf *elf);

/* Writes a .debug_frame of those functions; returns its size in bytes, 0: none was found, or it is
 * a file of another CPU. `entry` is where the file begins to run; 0: that is described already. */
size_t cairn_crt_frames(const struct cairn_elf *elf, uint64_t entry,
                        uint8_t ret_bytes[CAIRN_CRT_BYTES]);

#endif /* CAIRN_UNWIND_CRT_H */
