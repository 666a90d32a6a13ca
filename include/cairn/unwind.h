/* SPDX-License-Identifier: MIT */
/*
 * Unwind: the calls that led to an instruction, as addresses, without frame pointers.
 *
 * The local part walks the calling thread's own stack. It may be used in a signal handler and
 * inside malloc: it takes no lock, calls no malloc, asks the loader nothing that could wait, and
 * leaves errno alone. Threads need not be prepared for it. The shared libraries stay in the process
 * once they are loaded (DF_1_NODELETE), for a handler or a capture would outlive them; a module
 * that has the archive in it and is unloaded must be linked with -z nodelete itself.
 *
 * What a frame's address is: that of the instruction to which it returns, so that who looks it up
 * takes one byte less; where the frame was found as CAIRN_HOW_START or CAIRN_HOW_SIGNAL, the
 * instruction that runs, exact. cairn_frame_is_exact() tells.
 *
 * Sources: System V ABI AMD64 1.0, 3.4 and 6.2; LSB Core 5.0, 10.6 (.eh_frame); DWARF 5, 6.4; ARM
 * IHI 0038 (EHABI 32); Linux 2.6 and later for the layout of signal frames.
 */
#ifndef CAIRN_UNWIND_H
#define CAIRN_UNWIND_H

#include <stddef.h>
#include <stdint.h>

#include <cairn/api.h>
#include <cairn/error.h>
#include <cairn/frame.h>
#include <cairn/maps.h>
#include <cairn/regs.h>
#include <cairn/unwind_end.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The most that a cursor can be told to give. */
#define CAIRN_CURSOR_MAX_FRAMES (1u << 20)

/* What a local walk has to say beside its addresses. Set .size to sizeof(struct cairn_unwind_info)
 * and .how before. */
struct cairn_unwind_info {
    size_t size;
    uint8_t *how;        /* room for an enum cairn_frame_how of each frame, or NULL */
    int end;             /* enum cairn_unwind_end */
    uint32_t n_guessed;  /* frames of which cairn_frame_is_guess() */
    uint64_t generation; /* of the list of modules; another one: modules were unloaded since */
};

/*
 * The calling thread's stack: the first address is behind the call of this function, as
 * backtrace(3) has it. Returns the number of frames stored, at most `max`; `ret_info` may be NULL.
 *
 * Signal-safe and thread-safe, also while another capture of the same thread is interrupted. The
 * first call of a thread maps some pages of its own, which a later thread reuses; if there is no
 * memory for that, it walks without remembering. Needs 2 KiB of stack at most. Costs about a
 * nanosecond a frame where the outer frames are those of the thread's last capture.
 */
CAIRN_API size_t cairn_unwind_here(uintptr_t *ret_ips, size_t max,
                                   struct cairn_unwind_info *ret_info);

/*
 * The stack of the code that a signal interrupted: `ucontext` is the third argument of a handler
 * installed with SA_SIGINFO (or what getcontext(3) filled), of the calling thread. The first
 * address is where that code was, exact. Otherwise as cairn_unwind_here().
 */
CAIRN_API size_t cairn_unwind_context(const void *ucontext, uintptr_t *ret_ips, size_t max,
                                      struct cairn_unwind_info *ret_info);

/*
 * The same two by frame pointers alone, as profilers without tables walk: for comparison, and where
 * everything is built with -fno-omit-frame-pointer. Every record is checked: aligned, above the one
 * before, within 8 MiB of it, readable, its return address in memory of code and behind a call. A
 * function that keeps no frame pointer hides its caller or ends the walk; one that was interrupted
 * in its prologue or epilogue hides its caller, too. CAIRN_END_OUTERMOST where the chain ends with
 * 0, as the ABIs say; CAIRN_END_NO_RULE where a record is not to be believed.
 *
 * Signal-safe, thread-safe, remembers nothing; some system calls a frame, about a microsecond.
 */
CAIRN_API size_t cairn_unwind_frame_pointers(uintptr_t *ret_ips, size_t max,
                                             struct cairn_unwind_info *ret_info);
CAIRN_API size_t cairn_unwind_frame_pointers_context(const void *ucontext, uintptr_t *ret_ips,
                                                     size_t max,
                                                     struct cairn_unwind_info *ret_info);

/*
 * Takes the list of modules anew and forgets every rule that was looked up. Not signal-safe: it
 * asks the loader, and may wait for it. Thread-safe.
 *
 * Nobody needs it where the C library has _dl_find_object (glibc 2.35): modules are found as they
 * come, and noticed when they go, by dlclose(3) or by libc itself (converters of iconv), as long as
 * this shared library comes before libc: linked to the program, or preloaded. Not noticed are
 * modules without a compiler's start files that are closed past this library's dlclose, and all of
 * them where the program has the archive in it. Elsewhere call it after dlopen(3) too (musl's
 * dlclose unloads nothing); cairn_unwind_wants_refresh() is nonzero once a walk has met an address
 * of no known module. Returns the new generation.
 */
CAIRN_API uint64_t cairn_unwind_refresh(void);
/* Signal-safe, thread-safe. */
CAIRN_API int cairn_unwind_wants_refresh(void);

/*
 * The stack of another thread of this process, `tid` as gettid(2) has it. The thread is sent a
 * signal and walks itself in the handler; the first address is where it was, exact. Waits at most
 * `timeout_ns` (nanoseconds of CLOCK_MONOTONIC) and never longer, whatever the thread does. Returns
 * the number of frames; where it is 0, ret_info->end says why: CAIRN_END_TIMEOUT (it blocks the
 * signal, is stopped, or waits for a CPU), CAIRN_END_NO_THREAD, CAIRN_END_BUSY (32 others ask, no
 * memory, or the program handles all signals itself).
 *
 * Signal-safe, and any number of threads may ask, also for the same one. The signal is one that the
 * program has no handler for, so that none of its own is ever lost: SIGURG, else the last real-time
 * signal that is free. The first call installs a handler (SA_RESTART, SA_ONSTACK) for good; where
 * the program then installs one of its own for the same signal, the next call takes another signal.
 * A program that waits for SIGURG without a handler, by sigwait(3) or signalfd(2), will see these
 * too; with a real-time signal, a thread that calls execve(2) while it is asked may find the new
 * program ended by it. A system call of the thread may fail with EINTR where signal(7) says so.
 */
CAIRN_API size_t cairn_unwind_thread(int tid, uint64_t timeout_ns, uintptr_t *ret_ips, size_t max,
                                     struct cairn_unwind_info *ret_info);

/*
 * Writes the calling thread's stack to `fd` as text, a line a frame: its number from the innermost
 * on, the address, symbol and offset where there is one, the module and the address from its load
 * base on; then why the stack ends, if that is not its beginning. Names are as the linker has them,
 * not demangled; in them and in paths all but printable ASCII is escaped as \xHH. The first line is
 * the caller. Returns the number of frames, 0 where there is no memory.
 *
 *     #0   0x00005581d5a3f1c4 _ZN3foo3barEv+0x24 (/usr/bin/foo+0x11c4)
 *
 * For crash handlers: signal-safe, in 2 KiB of stack, no malloc, no lock, no stdio. Symbols
 * come from the modules' files (.symtab, .dynsym), which are opened and read; of a file that was
 * deleted or replaced since from what the kernel or the memory still has of it. errno is left
 * alone; what `fd` does not take is lost.
 */
CAIRN_API size_t cairn_unwind_print(int fd);
/* The same for the code that a signal interrupted; see cairn_unwind_context(). */
CAIRN_API size_t cairn_unwind_print_context(int fd, const void *ucontext);

/*
 * ---- Any stack: the cursor ----
 *
 * Walks a stack in any address space: another process's, a core file's, a copy's, or one that the
 * caller reads. All registers that the rules (DWARF 5, 6.4; ARM IHI 0038) recover are recovered
 * where they are asked for. A frame costs half a microsecond, a quarter of that where its module
 * has a table of rules; see cairn_unwind_space_load().
 *
 *     struct cairn_unwind_space *space;
 *     struct cairn_cursor_regs regs;
 *     struct cairn_cursor cursor;
 *     cairn_unwind_space_open_pid(pid, NULL, &space, &err);
 *     cairn_unwind_hold(space, pid, 1000, &err);
 *     cairn_unwind_thread_regs(space, pid, &regs, &err);
 *     cairn_cursor_init(&cursor, space, &regs, &err);
 *     do
 *         cairn_cursor_frame(&cursor, &frame);
 *     while (cairn_cursor_step(&cursor));
 *     cairn_unwind_space_free(space);
 *
 * Threads: a space and its cursors belong to one thread at a time; two spaces are independent. That
 * of a pid belongs to one OS thread as long as it holds a thread of the process (ptrace(2)). None
 * of this may be called in a signal handler.
 */

/* The same registers of any CPU, for cairn_cursor_get_reg(). */
enum cairn_unwind_reg {
    CAIRN_REG_IP = 256,
    CAIRN_REG_SP,
    CAIRN_REG_FP /* rbp, ebp, x29, r11 */
};

/* What lies at an address. A file's bytes stay valid until the space is freed or refreshed. */
struct cairn_unwind_region {
    uint64_t start, end; /* va [start, end) */
    uint64_t off;        /* of `start` in the file */
    uint32_t flags;      /* enum cairn_map_flag; CAIRN_MAP_EXEC is what counts */
    uint32_t reserved;
    const char *path; /* NULL or "": none; "[vdso]" */
    const void *file; /* the ELF file that is mapped here, whole; NULL: none, or not at hand */
    size_t file_size;
    const void *debug_file; /* its separate debug file; NULL: none */
    size_t debug_file_size;
};

/* Memory and modules as the caller knows them. Both are called while a cursor steps, and may get
 * any address. */
struct cairn_unwind_accessors {
    size_t size; /* of this struct */
    void *ctx;
    /* All of [va, va + size) into `to`: 0, or nonzero where not all can be read. */
    int (*read)(void *ctx, uint64_t va, void *to, size_t size);
    /* What lies at `va`: 0, or nonzero where nothing does. */
    int (*find)(void *ctx, uint64_t va, struct cairn_unwind_region *ret_region);
};

/* All-zero, and NULL, is fine. */
struct cairn_unwind_opts {
    size_t size;                    /* of this struct */
    const char *root;               /* paths of modules are looked for below it; NULL: /, or for a
                                       process its own root */
    const char *const *symbol_dirs; /* folders with files of modules, by build ID or name */
    size_t n_symbol_dirs;
    const char *debug_dir; /* of separate debug files; NULL: /usr/lib/debug */
    const char *program; /* its path, where it is not as the core file tells (it was moved, or is on
                            another machine; or there is no NT_FILE note); NULL: as it was
                            started */
};

/* A copy of the top of a stack. The bytes are borrowed until the space is freed. */
struct cairn_unwind_stack {
    uint64_t va;
    const void *bytes;
    size_t size;
};

struct cairn_unwind_space;

/* CAIRN_E_ARG, CAIRN_E_NOMEM. `accessors` is copied. */
CAIRN_API int cairn_unwind_space_new(const struct cairn_unwind_accessors *accessors,
                                     struct cairn_unwind_space **ret_space, struct cairn_err *err);

/* Of a process. Files that were deleted or replaced since are read through /proc/PID/map_files, or
 * made again out of the process's memory. CAIRN_E_MISSING, CAIRN_E_ACCESS. */
CAIRN_API int cairn_unwind_space_open_pid(int pid, const struct cairn_unwind_opts *opts,
                                          struct cairn_unwind_space **ret_space,
                                          struct cairn_err *err);

/* Of a core file (core(5), gcore). Modules are those of its NT_FILE note; without one, the program
 * and what the dynamic linker's own list names. A file whose build ID is not that in the core is
 * not taken. CAIRN_E_FORMAT: no core file, or one without threads. */
CAIRN_API int cairn_unwind_space_open_core(const char *path, const struct cairn_unwind_opts *opts,
                                           struct cairn_unwind_space **ret_space,
                                           struct cairn_err *err);

/* Of a copy of a stack; `maps` says which file was mapped where, and may be freed afterwards. What
 * is not in the copy is read from the files where it cannot be written. */
CAIRN_API int cairn_unwind_space_open_stack(const struct cairn_unwind_stack *stack,
                                            const struct cairn_maps *maps,
                                            const struct cairn_unwind_opts *opts,
                                            struct cairn_unwind_space **ret_space,
                                            struct cairn_err *err);

/* Makes the tables of unwind rules of all modules at once: 3 ms for each MB of .eh_frame, and some
 * 0.7 to 1.1 times its memory. Nobody has to: a cursor makes that of a module when so many frames
 * were in it that it would have paid. Of a space from accessors: of the modules that were met.
 * CAIRN_E_NOMEM: some are made. */
CAIRN_API int cairn_unwind_space_load(struct cairn_unwind_space *space, struct cairn_err *err);

/* Forgets what lies where, for a process that went on and may have loaded or unloaded modules;
 * cursors of the space end. */
CAIRN_API void cairn_unwind_space_refresh(struct cairn_unwind_space *space);

/* Lets go all threads that are held; accepts NULL. */
CAIRN_API void cairn_unwind_space_free(struct cairn_unwind_space *space);

/* The threads of a process (as they are now) or a core file (the one that got the signal first). At
 * most `cap` tids are written, `*ret_n` says how many there are. CAIRN_E_SUPPORT: the space knows
 * no threads. */
CAIRN_API int cairn_unwind_threads(struct cairn_unwind_space *space, int *ret_tids, size_t cap,
                                   size_t *ret_n, struct cairn_err *err);

/* Stops a thread of a process by ptrace(2), waiting at most `timeout_ms`; it goes on at
 * cairn_unwind_release(). A system call in which it slept may return EINTR. Nothing happens where
 * the calling thread traces it already, or in a core file. CAIRN_E_MISSING, CAIRN_E_ACCESS,
 * CAIRN_E_LIMIT: it did not stop in time. */
CAIRN_API int cairn_unwind_hold(struct cairn_unwind_space *space, int tid, int timeout_ms,
                                struct cairn_err *err);
CAIRN_API void cairn_unwind_release(struct cairn_unwind_space *space, int tid);

/* The registers of a thread that is held, or that the caller traces and has stopped; of a core
 * file's thread. CAIRN_E_MISSING, CAIRN_E_ARG: it is not stopped. */
CAIRN_API int cairn_unwind_thread_regs(struct cairn_unwind_space *space, int tid,
                                       struct cairn_cursor_regs *ret_regs, struct cairn_err *err);

/* On the caller's stack; nothing to free. Its contents are nobody's business. */
struct cairn_cursor {
    uint64_t words[128];
};

struct cairn_cursor_frame {
    uint64_t ip;
    uint64_t
        sp; /* behind a frame pointer that was believed, on aarch64 and arm, it is at least this:
               the record does not lie at the frame's end. CAIRN_REG_SP is missing then */
    enum cairn_frame_how how;
    int exact;        /* ip is where the CPU was: the first frame, or one that a signal interrupted;
                         else it lies behind a call */
    int signal;       /* the kernel's frame of a signal handler */
    const char *path; /* of the module; NULL: none. Until the space is freed or refreshed */
    uint64_t mapping; /* va where the mapping that holds ip begins, */
    uint64_t file_off; /* and what ip is in the file */
};

/* Stands at the first frame then. `space` must outlive the cursor. CAIRN_E_SUPPORT: the machine of
 * the registers is not known here. CAIRN_E_ARG: ip or sp is not known. */
CAIRN_API int cairn_cursor_init(struct cairn_cursor *ret_cursor, struct cairn_unwind_space *space,
                                const struct cairn_cursor_regs *regs, struct cairn_err *err);

/* Goes to the caller's frame: 1; or stays, for cairn_cursor_end() tells why: 0. Allocates only in
 * the first step into a module. Gives at most CAIRN_MAX_FRAMES frames, or as many as
 * cairn_cursor_limit() said, whatever the memory holds. */
CAIRN_API int cairn_cursor_step(struct cairn_cursor *cursor);
/* Sets the number of frames, the first one included, after which the walk ends with
 * CAIRN_END_MAX_FRAMES: at most CAIRN_CURSOR_MAX_FRAMES; 0 means just these. A walk takes no memory
 * for its frames. */
CAIRN_API void cairn_cursor_limit(struct cairn_cursor *cursor, uint32_t n_frames);
CAIRN_API enum cairn_unwind_end cairn_cursor_end(const struct cairn_cursor *cursor);

CAIRN_API void cairn_cursor_frame(const struct cairn_cursor *cursor,
                                  struct cairn_cursor_frame *ret_frame);

/* A register in this frame: enum cairn_unwind_reg or DWARF's number. CAIRN_E_MISSING: not known
 * here, as registers that a call may change. CAIRN_E_ARG: no such register. For others than the
 * three of the enum, frames that were walked by tables are walked once more, by rows of CFI. */
CAIRN_API int cairn_cursor_get_reg(struct cairn_cursor *cursor, unsigned reg, uint64_t *ret_value);

/* The ELF symbol that holds the frame's address, as the linker knows it, NUL-terminated and cut to
 * `size`, and how far into it ip is. From .symtab, the debug file's, .gnu_debugdata or .dynsym;
 * never the nearest one. CAIRN_E_MISSING: none. May allocate and read files. */
CAIRN_API int cairn_cursor_proc_name(struct cairn_cursor *cursor, char *ret_name, size_t size,
                                     uint64_t *ret_offset);

#ifdef __cplusplus
}
#endif
#endif /* CAIRN_UNWIND_H */
