/* SPDX-License-Identifier: MIT */
/*
 * Go runtime: call frame information for the functions of Go's runtime at which a walk must end.
 *
 *     root    runtime.goexit, to which each goroutine's first function returns; runtime.rt0_go
 *     switch  runtime.systemstack, mcall, morestack and asmcgocall call a function on the thread's
 *             own stack. The caller is on the goroutine's stack; the words above the callee's frame
 *             are left over from older calls.
 *
 * They are found by name in Go's table of functions (elf/go_table.h). Their own DWARF describes the
 * switches as plain calls.
 *
 * Sources: src/runtime/asm_amd64.s and asm_arm64.s of Go 1.19.
 */
#ifndef CAIRN_UNWIND_GO_RUNTIME_H
#define CAIRN_UNWIND_GO_RUNTIME_H

#include "elf/image.h"

enum { CAIRN_GO_BYTES = 512 };

/* Writes a .debug_frame with one entry for each of those functions; returns its size in bytes, 0:
 * the file has none. Rows of a switch are those that cairn_cfi_row_is_switch() tells. */
size_t cairn_go_frames(const struct cairn_elf *elf, uint8_t ret_bytes[CAIRN_GO_BYTES]);

#endif /* CAIRN_UNWIND_GO_RUNTIME_H */
