/* SPDX-License-Identifier: MIT */
/* Probe file: a file by a path or a library's plain name, and the place of a function in it. */
#ifndef CAIRN_TRACE_PROBE_FILE_H
#define CAIRN_TRACE_PROBE_FILE_H

#include "base/buffer.h"
#include "elf/image.h"
#include "trace/probe.h"

/* The path by which we can open the file: as it is, below a target's root, what a target has mapped
 * under that plain name, what the command maps under it, else in the folders of libraries, in PATH
 * and beside the command. CAIRN_E_MISSING. */
int cairn_probe_find_file(const struct cairn_probes *probes, const char *file,
                          struct cairn_buffer *ret_path, struct cairn_err *err);

struct cairn_map;

/* The path by which we can open what a process has mapped: false, it is no code of a file that is
 * there. */
bool cairn_probe_mapped_path(int pid, const struct cairn_map *map, struct cairn_buffer *ret_path);

/* The offset in the file of code at `vaddr`, and the bytes there. False: there is no code. */
bool cairn_probe_find_code(const struct cairn_elf *elf, uint64_t vaddr, uint64_t *ret_off,
                           struct cairn_span *ret_code);
/* Is that the file's name, as others call it? "libc.so.6" and "libc" are both libc.so.6. */
bool cairn_probe_is_called(const char *path, const char *file);

/* Where in the file a probe on `function`, at `vaddr` + `off`, is put. At its begin it may stand
 * behind an endbr64, where the registers and the stack are the same and the kernel need not
 * single-step. CAIRN_E_MISSING: no code is there. CAIRN_E_ARG: `off` is no instruction's begin. */
int cairn_probe_place(const char *path, const char *function, uint64_t vaddr, uint64_t off,
                      uint64_t *ret_off, const char **ret_how, struct cairn_err *err);

#endif /* CAIRN_TRACE_PROBE_FILE_H */
