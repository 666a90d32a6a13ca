/* SPDX-License-Identifier: MIT */
/*
 * Memory tracker: a program asks the allocation tracker in itself (libcairn-heap.so) what it has
 * allocated and not freed. Linking it (-lcairn-heap) or preloading it makes the tracker live, from
 * the first block on; memory_tracker_init() says whether it is. Linked with libcairn instead, the
 * same functions are there and find a preloaded tracker, or none.
 *
 * libcairn-track.so is the tracker for late loading, by dlopen(3) or from Java: it records what
 * chosen libraries ask for, from memory_tracker_init() and memory_tracker_hook() on.
 *
 * From outside, `cairn heap` reads the same: with file:line, inlined calls and demangled names.
 *
 * Threads: every function may be called from any thread at any time. None takes a lock that an
 * allocation waits for; of libcairn-track, init and hook take the loader's for a moment. What a
 * function needs for itself does not show up in any number. What other threads do meanwhile may be
 * counted or not. In a signal handler only memory_tracker_set_backtrace_enabled() and
 * _is_backtrace_enabled() may be called.
 *
 * fork(2): a child counts from nothing, what it allocates itself.
 */
#ifndef MEMORY_TRACKER_H
#define MEMORY_TRACKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Zero is success, failures are negative, and their numbers are those of enum cairn_code
 * (<cairn/error.h>). Later versions add values. */
enum memory_tracker_code {
    MEMORY_TRACKER_OK = 0,
    MEMORY_TRACKER_E_NOMEM = -1,
    MEMORY_TRACKER_E_IO = -2,       /* a file could not be written: errno says why */
    MEMORY_TRACKER_E_NOT_LIVE = -4, /* neither linked nor preloaded; or another malloc comes first:
                                       one of the program's own, or that of a library before */
    MEMORY_TRACKER_E_STATE = -5,    /* the tracker has no room for its state: no folder of this
                                       user alone, a full disk, or a setuid program */
    MEMORY_TRACKER_E_ARG = -7,      /* it cannot be meant: NULL, or a number out of range */
    MEMORY_TRACKER_E_SUPPORT = -9   /* sound, but this version cannot do it */
};

/* What a code means, in a sentence. Static text; never NULL. */
CAIRN_API const char *memory_tracker_strerror(int code);

/*
 * Says whether the tracker is live, and sets it up: `enable_backtrace`, whether blocks that are
 * born from now on get their stacks. `debug`: what it does is said, to the function that was given
 * to cairn_log_set() (<cairn/log.h>), else on stderr. Calling it again sets both anew. The other
 * functions work without it.
 * MEMORY_TRACKER_E_NOT_LIVE, MEMORY_TRACKER_E_STATE: nothing is tracked, nor will be.
 */
CAIRN_API int memory_tracker_init(bool debug, bool enable_backtrace);

/* From now on: a block keeps what it was born with. Without stacks a block costs less; then a
 * report names the library that asked for it (so=), and has no backtrace. */
CAIRN_API void memory_tracker_set_backtrace_enabled(bool enabled);
CAIRN_API bool memory_tracker_is_backtrace_enabled(void); /* false also where it is not live */

/* Frames that are kept of stacks from now on, from the innermost on, 1 to 1,024 (the default).
 * MEMORY_TRACKER_E_ARG, _E_NOT_LIVE. */
CAIRN_API int memory_tracker_set_depth(unsigned depth);

/* libcairn-track: to record what these libraries ask for, those that are loaded and those that
 * come, in addition to the ones before: file names, or paths where they have a slash, with * and ?.
 * Blocks are known until any module frees them. _unhook ignores names that were not
 * given to _hook; NULL, 0: all. MEMORY_TRACKER_E_ARG (an empty list, an empty name), _E_NOT_LIVE
 * (before memory_tracker_init()), _E_NOMEM. Of libcairn-heap, which records the whole program:
 * MEMORY_TRACKER_E_SUPPORT. They take the loader's lock. */
CAIRN_API int memory_tracker_hook(const char *const *libraries, size_t n);
CAIRN_API int memory_tracker_unhook(const char *const *libraries, size_t n);

/* Since the program began, or since memory_tracker_reset_stats(). It will not change. */
struct memory_stats {
    uint64_t total_allocations, total_allocated_bytes;
    uint64_t total_frees, total_freed_bytes;
    uint64_t current_allocations, current_bytes; /* that live, whenever they were born */
    uint64_t peak_bytes; /* the highest current_bytes: right to 1/128 of it, or with several threads
                            to 4 KiB for each of them if that is more */
};
/* MEMORY_TRACKER_E_ARG, _E_NOT_LIVE. */
CAIRN_API int memory_tracker_get_stats(struct memory_stats *ret_stats);

/* Totals count from 0 again, and the peak from what lives now, also for `cairn heap report`. Blocks
 * that live stay what they are. */
CAIRN_API void memory_tracker_reset_stats(void);

/*
 * Every live block, by address, with its stack: text as `cairn heap leaks --format tracker` prints
 * it, which `cairn resolve` reads back to name what has no name here (libraries without symbols)
 * and to demangle; or one JSON object. Linkage names, found in the files of the modules. The caller
 * frees it; until then it is no block of the program. NULL with errno: ENOMEM; ENOTSUP, the tracker
 * is not live.
 *
 *     {"allocations": {"blocks": N, "bytes": N}, "frees": {...}, "live": {...},
 *      "leaks": [{"ptr": "0x..", "size": N, "age_ms": N, "so": "FILE NAME", "frames": [
 *          {"address": "0x..", "module": "PATH", "offset": "0x..", "build_id": "..",
 *           "function": ".."}, ...]}, ...]}
 *
 * Of a frame what is not known is left out; a block that was born without a stack has no frames.
 */
CAIRN_API char *memory_tracker_get_leak_report(void);
CAIRN_API char *memory_tracker_get_leaks_json(void);

/*
 * What nothing points to any more, as `cairn heap lost` prints it, or its one JSON object
 * (docs/formats/heap-json.md); the caller frees it. A child process executes the cairn command,
 * which reads this process while its other threads run on: a second or more for the caller. The
 * command is looked for beside the tracker's library, and in the bin folder above it. The child
 * ends without SIGCHLD, and no wait(2) of the program's finds it. Under Yama it is allowed to
 * trace this process (PR_SET_PTRACER, in place of another process that was).
 * NULL with errno: ENOTSUP, the tracker is not live; ENOENT, there is no such command; EIO, it
 * failed (memory_tracker_init() with `debug` has it say why); EPERM, this process has locked itself
 * in (seccomp(2)); ENOMEM, EAGAIN, EMFILE: no child, no pipes; EFBIG: more than 256 MiB.
 */
CAIRN_API char *memory_tracker_get_lost_report(void);
CAIRN_API char *memory_tracker_get_lost_json(void);

/*
 * Sets a mark, as `cairn heap mark` does, and returns its number. Both kinds of marks are numbered
 * together, from 1 on. Negative: MEMORY_TRACKER_E_NOT_LIVE, _E_STATE (no room for one more).
 */
CAIRN_API int memory_tracker_mark(void);
/* The reports above, of those live blocks that were born after mark number `mark`. 0: of all live
 * blocks. Their totals are of the whole run. NULL with errno EINVAL: there is no such mark. */
CAIRN_API char *memory_tracker_get_leak_report_since(int mark);
CAIRN_API char *memory_tracker_get_leaks_json_since(int mark);

/* The text, into a file: replaced whole or not at all, but for what is no regular file (a pipe, a
 * terminal, a link), which is written to. MEMORY_TRACKER_E_IO, _E_NOMEM, _E_ARG, _E_NOT_LIVE. */
CAIRN_API int memory_tracker_dump_leak_report(const char *path);

#ifdef __cplusplus
}
#endif
#endif /* MEMORY_TRACKER_H */
