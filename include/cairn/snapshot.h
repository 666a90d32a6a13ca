/* SPDX-License-Identifier: MIT */
/*
 * Snapshot: what every thread of one process is doing now, or was when a core file was made: its
 * state, the system call it is in, its stack in the kernel and outside of it.
 *
 * Four methods obtain the registers and the stack of a thread. The first that works is taken, and
 * each thread reports its method:
 *
 *     thread         method     what happens                                        the thread
 *     not on a CPU   ITERATOR   a BPF program copies registers and stack            is not stopped
 *     in a system    MEMORY     /proc/PID/task/TID/syscall gives ip and sp,         is not stopped
 *       call                    process_vm_readv(2) copies the stack; a check
 *                               afterwards shows that the thread did not run
 *     on a CPU       SAMPLE     an interrupt of its CPU copies registers and        is not stopped
 *                               stack (perf_event_open(2))
 *     any            PTRACE     ptrace(2) reads registers and 32 KiB of stack,      is stopped for
 *                               the copy is walked after the thread goes on         microseconds
 *
 *     struct cairn_snapshot_opts opts = {.size = sizeof opts, .pid = pid};
 *     cairn_snapshot_new(&opts, &snapshot, &err);
 *     cairn_snapshot_take(snapshot, &err);
 *     cairn_resolve_profile(resolver, cairn_snapshot_profile(snapshot), &err);
 *     for (size_t i = 0; i < cairn_snapshot_threads(snapshot); i++)
 *         cairn_snapshot_thread(snapshot, i, &thread), ...
 *
 * Threads: a snapshot belongs to one OS thread, for ptrace(2) knows its tracer; two are
 * independent. Nothing here may be called in a signal handler. Linux 3.4 and later.
 */
#ifndef CAIRN_SNAPSHOT_H
#define CAIRN_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>

#include <cairn/api.h>
#include <cairn/error.h>
#include <cairn/guest.h>
#include <cairn/profile.h>
#include <cairn/unwind.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cairn_snapshot;

/* How a thread's registers and stack were had. Later versions add values at the end. */
enum cairn_snapshot_way {
    CAIRN_SNAPSHOT_NONE,     /* not at all. As an option: what is best for each thread */
    CAIRN_SNAPSHOT_MEMORY,   /* it slept: /proc/PID/task/TID/syscall and process_vm_readv(2); it was
                                not stopped */
    CAIRN_SNAPSHOT_PTRACE,   /* it was stopped for some microseconds. System calls that this ends
                                go on, with a whole timeout; on 32-bit arm they may return EINTR
                                (ptrace(2), signal(7)) */
    CAIRN_SNAPSHOT_CORE,     /* out of a core file */
    CAIRN_SNAPSHOT_ITERATOR, /* it was not on a CPU, and a program in the kernel copied its
                                registers and stack; it was not stopped. Root, or CAP_BPF and
                                CAP_PERFMON, and Linux 5.18 */
    CAIRN_SNAPSHOT_SAMPLE    /* it ran, and one interrupt of perf_event_open(2) copied its registers
                                and at most 64 KiB of its stack; it was not stopped.
                                perf_event_paranoid 2 or less, or CAP_PERFMON; Linux 3.7 */
};
/* "memory", "ptrace", ...; static. NULL for a value that is none. */
CAIRN_API const char *cairn_snapshot_way_text(int way);

/* 1: a system call that a stop of ours interrupts may return EINTR on this CPU (signal(7)); 0: it
 * goes on. */
CAIRN_API int cairn_snapshot_stops_end_calls(void);

/* Set .size to sizeof(struct cairn_snapshot_opts); zero means the default. Exactly one of `pid` and
 * `core` is set. Texts are borrowed until cairn_snapshot_free(). */
struct cairn_snapshot_opts {
    size_t size;
    int pid;                                 /* any thread of the process */
    const char *core;                        /* path of a core file */
    const struct cairn_unwind_opts *modules; /* where their files are; NULL: their own places */
    enum cairn_snapshot_way way;             /* this one alone; NONE: any */
    int no_stop;      /* nonzero: no thread is ever stopped; those that run have no stack then */
    int consistent;   /* nonzero: all threads are stopped together, walked, and let go */
    int user_only;    /* nonzero: no kernel frames */
    unsigned stop_ms; /* how long to wait until a thread stops; 0: 100. With no_stop: until one that
                         runs is sampled */
    uint32_t max_frames; /* frames of the program in one stack, the innermost ones; 0: all, which
                            are CAIRN_CURSOR_MAX_FRAMES at most */
    int no_guests;       /* nonzero: frames of interpreters are not looked for */
    int coroutines;      /* nonzero: each take also searches the heap for coroutines that no thread
                            runs; without a stop, some 0.5 s for a gigabyte */
};

/* CAIRN_E_SUPPORT: the one way that was asked for is not there, in this build or kernel.
 * CAIRN_E_MISSING: no such process or file. CAIRN_E_ACCESS: not allowed; the hint says what to do.
 * CAIRN_E_ARG: options that contradict each other. CAIRN_E_FORMAT: no core file. */
CAIRN_API int cairn_snapshot_new(const struct cairn_snapshot_opts *opts,
                                 struct cairn_snapshot **ret_snapshot, struct cairn_err *err);
CAIRN_API void cairn_snapshot_free(struct cairn_snapshot *snapshot); /* accepts NULL */

/*
 * Looks at all threads, once; those of an earlier call are forgotten, what they added to the
 * profile stays. What fails for one thread is told there. CAIRN_E_MISSING: the process has ended.
 * CAIRN_E_NOMEM. CAIRN_E_ACCESS: no thread may be looked at.
 */
CAIRN_API int cairn_snapshot_take(struct cairn_snapshot *snapshot, struct cairn_err *err);

/* The process: its pid, and its main thread's machine as ELF numbers it; 0: it has no code. */
CAIRN_API int cairn_snapshot_pid(const struct cairn_snapshot *snapshot);
CAIRN_API uint32_t cairn_snapshot_machine(const struct cairn_snapshot *snapshot);
/* The command line, for people; "" for a core file or a kernel thread. May hold any bytes. */
CAIRN_API const char *cairn_snapshot_command(const struct cairn_snapshot *snapshot);

/* What a core file says of its process. Texts are borrowed until cairn_snapshot_free(), and may
 * hold any bytes. */
struct cairn_snapshot_core {
    size_t size;           /* set to sizeof(struct cairn_snapshot_core) */
    int pid;               /* 0: not told */
    const char *name;      /* of the program, 15 bytes at most; "": not told */
    const char *arguments; /* blanks between them, 79 bytes at most: the kernel keeps no more */
    int signal;            /* that ended it; 0: none did, as in a file that gcore(1) made */
    int tid;               /* the thread that got it */
    int has_code;          /* nonzero: si_code is told (Linux 3.7) */
    int code;              /* enum of sigaction(2): SEGV_MAPERR, SI_USER, ... */
    int has_address;       /* nonzero: it is a fault, */
    uint64_t address;      /* at this address */
    int sender;            /* pid of the process that sent it; 0: the kernel did, or not told */
};
/* Returns 0 where the snapshot is of no core file. */
CAIRN_API int cairn_snapshot_core(const struct cairn_snapshot *snapshot,
                                  struct cairn_snapshot_core *ret_core);

/* One thread. Texts are borrowed until the next call of take or free; they may hold any bytes. */
struct cairn_snapshot_thread {
    size_t size; /* set to sizeof(struct cairn_snapshot_thread) */
    int tid;
    const char *name; /* "": it has none; in a core file the main thread alone has one */
    char state;       /* as in proc(5): R S D T t Z X I; '?' in a core file */
    int is_kernel;    /* nonzero: a thread of the kernel */
    int in_syscall;   /* nonzero: it is in the system call `syscall_number` */
    int n_arguments;  /* -1: not known how many of `arguments` count */
    long syscall_number;
    const char *syscall;   /* its name; NULL: not known */
    uint64_t arguments[6]; /* as the program gave them */
    const char *wchan;     /* the kernel's function it sleeps in; "": not told */
    enum cairn_snapshot_way way;
    const char *reason; /* why there is no stack at all, or why the way before the one that was
                           taken failed; "" */
    uint64_t held_ns;   /* from the moment it was seen to be stopped until it was let go; 0 */
    uint64_t asked_ns;  /* the same from the moment it was asked to stop */
    uint32_t n_kernel;  /* frames in the kernel; the first ones */
    uint32_t n_frames;  /* all of them, the kernel's too */
    uint32_t stack;     /* of the profile; 0: none */
    enum cairn_unwind_end end; /* of the walk */
    int has_regs;
    struct cairn_cursor_regs regs; /* by way of memory only ip and sp are known */
    const char *end_detail; /* CAIRN_END_UNREADABLE: which memory is not read, and why; or "" */
    uint32_t n_guests;      /* states of interpreters that run on it: cairn_snapshot_guest() */
};
/* The main thread is number 0, the others follow by tid. */
CAIRN_API size_t cairn_snapshot_threads(const struct cairn_snapshot *snapshot);
CAIRN_API int cairn_snapshot_thread(const struct cairn_snapshot *snapshot, size_t index,
                                    struct cairn_snapshot_thread *ret_thread);

/* One frame, the innermost is number 0. */
struct cairn_snapshot_frame {
    size_t size;
    uint32_t frame;  /* of the profile: module and names */
    int is_kernel;   /* nonzero: there is no more than its name */
    uint64_t ip, sp; /* as struct cairn_cursor_frame has them */
    enum cairn_frame_how how;
    int exact, signal;
    int is_guest; /* nonzero: of an interpreter. It has no address; `guest_kind` says what it is */
    int own;      /* nonzero: native code of an interpreter, whose frames are on the stack, too */
    enum cairn_guest_kind guest_kind;
    int is_tail_called; /* nonzero: a tail call has removed its caller from the stack */
    int is_about;       /* nonzero: the line is near the true one, in the same function */
    uint32_t trace;     /* number of the compiled code; 0: none */
};
/* CAIRN_E_ARG: there is no such one. */
CAIRN_API int cairn_snapshot_frame(const struct cairn_snapshot *snapshot, size_t thread,
                                   size_t index, struct cairn_snapshot_frame *ret_frame);

/* A state of an interpreter, such as a lua_State, that runs on a thread. Texts are borrowed until
 * the next call of take or free. */
struct cairn_snapshot_guest {
    size_t size;
    const char *language; /* "lua" */
    const char *version;  /* "Lua 5.4.4" */
    const char *module;   /* path of the file that holds the interpreter */
    uint64_t state;       /* va; 0: not found */
    const char *mode;     /* of LuaJIT: "interpreted", "compiled", "gc", ...; "": unknown */
    const char *reason;   /* why the frames may be wrong, or are missing; "": they fit */
    int is_unread;        /* nonzero: they are missing, as of a thread that runs with no_stop */
};
/* CAIRN_E_ARG: there is no such one. */
CAIRN_API int cairn_snapshot_guest(const struct cairn_snapshot *snapshot, size_t thread,
                                   size_t index, struct cairn_snapshot_guest *ret_guest);

/* What a search for coroutines found: those that no thread runs, equal stacks together. */
struct cairn_snapshot_coroutines {
    size_t size;
    size_t n_groups;         /* stacks that differ: cairn_snapshot_coroutine() */
    uint64_t n;              /* coroutines */
    uint64_t n_unlisted;     /* of them, which are in no group, for there are too many frames */
    uint64_t n_moving;       /* more of them, which changed each time they were read */
    int is_cut;              /* nonzero: the search ended early, at 67 million frames */
    uint64_t searched_bytes; /* of the heap */
    uint64_t unread_bytes;   /* bytes of it that could not be read */
    uint64_t search_ns;
};
/* All zero without opts.coroutines. CAIRN_E_ARG: `size` is too small. */
CAIRN_API int cairn_snapshot_coroutines(const struct cairn_snapshot *snapshot,
                                        struct cairn_snapshot_coroutines *ret_coroutines);

/* Coroutines with the same stack. */
struct cairn_snapshot_coroutine {
    size_t size;
    uint64_t n;           /* of them */
    int is_begun;         /* nonzero: they have yielded. 0: they have not run; the one frame is the
                          function that will be called */
    int may_be_collected; /* nonzero: some were collected maybe, for LuaJIT's allocator leaves freed
                             memory as it was and its blocks could not be followed */
    uint32_t n_frames;    /* the innermost is number 0: cairn_snapshot_coroutine_frame() */
    uint32_t stack;       /* of the profile; its sample has the label lua.coroutine */
    struct cairn_snapshot_guest guest; /* the state of the first of them */
};
/* The group with most coroutines is number 0. CAIRN_E_ARG: there is no such one. */
CAIRN_API int cairn_snapshot_coroutine(const struct cairn_snapshot *snapshot, size_t index,
                                       struct cairn_snapshot_coroutine *ret_coroutine);
CAIRN_API int cairn_snapshot_coroutine_frame(const struct cairn_snapshot *snapshot,
                                             size_t coroutine, size_t index,
                                             struct cairn_snapshot_frame *ret_frame);

/*
 * All stacks of all calls of take as a raw profile, a sample for each stack: value type
 * samples/count, labels pid, tid, thread and, where a stack ends early, cairn.cut. Borrowed; its
 * frames may be named (cairn_resolve_profile()).
 */
CAIRN_API struct cairn_profile *cairn_snapshot_profile(struct cairn_snapshot *snapshot);

/* The processes whose name (comm) or whose program's base name is `name`, ascending, the caller's
 * own left out: writes at most `cap` pids, `*ret_n` says how many there are. */
CAIRN_API int cairn_snapshot_find(const char *name, int *ret_pids, size_t cap, size_t *ret_n,
                                  struct cairn_err *err);

#ifdef __cplusplus
}
#endif
#endif /* CAIRN_SNAPSHOT_H */
