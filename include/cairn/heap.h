/* SPDX-License-Identifier: MIT */
/*
 * Heap: what the allocation tracker (libcairn-heap.so, preloaded or linked) knows of a process,
 * read from outside: while the process runs, which is never stopped for it, or from what it left.
 *
 * Threads: one object may be used by one thread at a time.
 */
#ifndef CAIRN_HEAP_H
#define CAIRN_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include <cairn/api.h>
#include <cairn/error.h>
#include <cairn/profile.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The states of one process or of several, as they were when they were read. */
struct cairn_heap;

/* Of a running process, `pid` as we see it. CAIRN_E_MISSING: there is no such process, or no
 * tracker in it. CAIRN_E_ACCESS: it is another's. */
CAIRN_API int cairn_heap_read_pid(int pid, struct cairn_heap **ret_heap, struct cairn_err *err);

/* What cairn_heap_save() wrote, or a state file as a tracker left it; or a core file. Of one that
 * has no tracker's state the blocks are those of glibc's malloc: in place of stacks are the classes
 * of C++ and sizes. CAIRN_E_MISSING: it has neither. */
CAIRN_API int cairn_heap_read_file(const char *path, struct cairn_heap **ret_heap,
                                   struct cairn_err *err);

/* Every state file of a folder (CAIRN_HEAP_DIR). CAIRN_E_MISSING: there is none in it. A damaged
 * one is passed over, with a warning. */
CAIRN_API int cairn_heap_read_folder(const char *path, struct cairn_heap **ret_heap,
                                     struct cairn_err *err);

/* Nonzero if the file begins as a core file does. */
CAIRN_API int cairn_heap_is_core(const char *path);

CAIRN_API void cairn_heap_free(struct cairn_heap *heap); /* accepts NULL */

/* All of it, compressed: one file that can be read anywhere. */
CAIRN_API int cairn_heap_save(const struct cairn_heap *heap, cairn_write_fn write, void *ctx,
                              struct cairn_err *err);

/* Sums over all processes. Set .size to sizeof(struct cairn_heap_totals). */
struct cairn_heap_totals {
    size_t size;
    uint64_t n_processes, n_threads, n_stacks; /* threads that ever allocated or freed */
    uint64_t n_allocs, alloc_bytes;
    uint64_t n_frees, free_bytes; /* allocations that do not live any more */
    uint64_t n_live, live_bytes;
    uint64_t peak_bytes;  /* the highest live bytes, of each process by itself */
    uint64_t n_temporary; /* blocks freed before their thread's next allocation */
    uint64_t duration_ns; /* of the process that ran longest */
    /* What the numbers above do not know of. */
    uint64_t n_unrecorded,
        unrecorded_bytes;       /* blocks that found no room: memory limit, full disk */
    uint64_t n_without_stack;   /* recorded without their stack */
    uint64_t n_unknown_frees;   /* of blocks from before the tracker, or of another allocator */
    uint64_t n_inherited_frees; /* in a child of fork(2), of blocks of its parent's */
    uint64_t n_mismatched;      /* freed by another function than belongs to what allocated them */
    uint64_t n_damaged;         /* entries of the state that make no sense */
    /* Where one block in so many bytes was recorded, at random (0: all were), the sums are what is
     * to be expected of all, and bytes have a standard error of at most so many. */
    uint64_t sample_bytes;
    uint64_t live_error, peak_error, alloc_error;
    /* Mappings that live, where they are recorded (mmap and its kin), but for the allocator's own;
     * none of them is in the sums above. */
    uint64_t n_mapped, mapped_bytes, peak_mapped_bytes;
    uint64_t n_unrecorded_maps; /* made or unmade while it could not be told */
    uint64_t n_not_asked; /* processes that the sums know nothing of: their malloc is another */
    uint64_t n_apart;     /* processes that loaded libraries by RTLD_DEEPBIND or dlmopen(3) */
    uint64_t
        n_other_names; /* processes that call jemalloc's mallocx, mimalloc's mi_malloc or such */
    uint64_t peak_bound_bytes; /* peak_bytes is right to so many: threads hold back some each */
    uint64_t n_untracked; /* programs that these processes started, and that no tracker was in */
    uint64_t n_running;   /* processes that were running while their states were read */
    uint64_t n_changed;   /* inconsistent entries of those: they were being written */
    uint64_t n_late;      /* processes that ran before the tracker was in them */
    uint64_t n_chosen;    /* processes of which only chosen libraries are recorded */
    uint64_t n_paused;    /* processes that were not recorded for a time: cairn_heap_record() */
    uint64_t n_unmade_checks; /* looks for lost blocks that programs asked for
                                 (__lsan_do_leak_check()), and nobody made */
    /* Of the n_late ones those whose blocks from before are known, how many of these live, and the
     * bytes of the heap in which they were not found. */
    uint64_t n_late_known, n_older, older_bytes, older_unread_bytes;
};
CAIRN_API void cairn_heap_totals(const struct cairn_heap *heap, struct cairn_heap_totals *totals);

/* A line on how far the numbers can be trusted: "1,204 stacks, 1,204 whole; every block recorded".
 * `profile` is that of cairn_heap_profile(). Returns the length of the whole, as snprintf does. */
CAIRN_API int cairn_heap_quality_text(const struct cairn_heap *heap,
                                      const struct cairn_profile *profile, char *buf, size_t size);

/* One process of them. Texts are borrowed until cairn_heap_free(). Returns 0 where there is no
 * number `index`. Set .size. */
struct cairn_heap_process {
    size_t size;
    int pid, parent;     /* parent: of a child of fork(2) that was tracked too, else 0 */
    const char *command; /* blanks between its words */
    uint64_t start_ns;   /* CLOCK_REALTIME */
    uint64_t n_live, live_bytes, peak_bytes, n_allocs;
    int n_marks;
    int has_ended;    /* as far as it could say so itself */
    uint64_t peak_ns; /* when peak_bytes was reached, since it began; 0: not known */
};
CAIRN_API int cairn_heap_process(const struct cairn_heap *heap, size_t index,
                                 struct cairn_heap_process *process);

/* Which live blocks count. All-zero: all of them. Set .size. */
struct cairn_heap_filter {
    size_t size;
    uint64_t older_than_ns; /* born at least so long before the state was read, or ended */
    uint32_t since_mark;    /* born after mark number N of cairn_heap_mark(); 0: at any time */
    uint32_t before_mark;   /* the same, born before it */
    uint64_t min_bytes;     /* stacks whose live blocks have fewer together are left out */
    int all_stacks;         /* nonzero: cairn_heap_leaks() lists stacks without live blocks too */
};

/*
 * A raw profile (no names): for each stack inuse_objects, inuse_space, alloc_objects, alloc_space,
 * peak_objects, peak_space (what it had when the process's live bytes were highest),
 * temporary_objects, mapped_objects and mapped_space (mappings that live, as cairn_heap_mapped()
 * has them, but for the allocator's own). `filter` (or NULL) is for the first two; with one, stacks
 * without such blocks are left out. CAIRN_E_ARG: there is no such mark.
 */
CAIRN_API int cairn_heap_profile(struct cairn_heap *heap, const struct cairn_heap_filter *filter,
                                 struct cairn_profile **ret_profile, struct cairn_err *err);

/* The live blocks of one stack. */
struct cairn_heap_leak {
    uint32_t process, stack; /* stack: of cairn_heap_leaks()'s profile, for cairn_profile_stack() */
    uint64_t n_blocks, bytes;
    uint64_t oldest_ns, youngest_ns; /* how long ago the first and the last of them were born;
                                        UINT64_MAX: not known, as of a core file */
    const char *cut;                 /* why the stack ends early; NULL: it is whole */
    const char *kind;     /* of cairn_heap_mapped(): what asked for it, a static text; else NULL */
    uint64_t error_bytes; /* the standard error of `bytes`, at most; 0: every block is recorded */
    /* Of the whole run, whatever the filter says. */
    uint64_t n_allocs, alloc_bytes;
    uint64_t peak_blocks, peak_bytes; /* when the process's live bytes were highest */
    uint64_t n_temporary;             /* freed before their thread's next allocation */
    uint64_t n_processes; /* 1; after cairn_heap_merge_leaks() of how many it is, and `process` is
                             the one that has most of it */
    uint64_t n_indirect,
        indirect_bytes; /* of cairn_heap_lost(): what hangs on these blocks alone */
};

/* Live blocks by stack, the most bytes first. The profile has what the filter keeps; name it before
 * its frames are asked for. `ret_leaks` is freed by cairn_heap_leaks_free(). */
CAIRN_API int cairn_heap_leaks(struct cairn_heap *heap, const struct cairn_heap_filter *filter,
                               struct cairn_profile **ret_profile,
                               struct cairn_heap_leak **ret_leaks, size_t *ret_n,
                               struct cairn_err *err);
CAIRN_API void cairn_heap_leaks_free(struct cairn_heap_leak *leaks); /* accepts NULL */

/* Mappings that live, by stack and kind, the most bytes first: as for cairn_heap_leaks(), and freed
 * like those. None where mmap(2) and its kin are not recorded. */
CAIRN_API int cairn_heap_mapped(struct cairn_heap *heap, struct cairn_profile **ret_profile,
                                struct cairn_heap_leak **ret_rows, size_t *ret_n,
                                struct cairn_err *err);

/* Makes one of those whose stacks have their frames at the same places of the same builds, or, of
 * modules without a build ID, of files of one path: of several processes, where modules lie at
 * other addresses in each. For what cairn_heap_leaks() and cairn_heap_mapped() gave; the order is
 * as theirs, `*n` is how many are left. On failure nothing was changed. */
CAIRN_API int cairn_heap_merge_leaks(const struct cairn_profile *profile,
                                     struct cairn_heap_leak *leaks, size_t *n,
                                     struct cairn_err *err);

/*
 * Stacks of several looks, known by number: equal stacks have equal keys in every look that one
 * object was asked about. `both` (or NULL): named profiles of processes that may be of different
 * builds, known beforehand; frames in modules of which there are two builds are then compared by
 * their functions, all others by their place in the module.
 */
struct cairn_heap_keys;
CAIRN_API int cairn_heap_keys_new(const struct cairn_profile *const *both, size_t n,
                                  struct cairn_heap_keys **ret_keys, struct cairn_err *err);
CAIRN_API void cairn_heap_keys_free(struct cairn_heap_keys *keys); /* accepts NULL */
/* The key of each leak's stack, 0 for no stack; `ret_keys` has room for `n`. */
CAIRN_API int cairn_heap_keys_of(struct cairn_heap_keys *keys, const struct cairn_profile *profile,
                                 const struct cairn_heap_leak *leaks, size_t n, uint32_t *ret_keys,
                                 struct cairn_err *err);

/* What cairn_heap_leaks() gave, with the profile named. Borrowed. */
struct cairn_heap_look {
    const struct cairn_profile *profile;
    const struct cairn_heap_leak *leaks;
    size_t n;
};

/* A stack whose live blocks are not the same in two looks; [0] is before, [1] after. */
struct cairn_heap_change {
    uint32_t stack;  /* of the later look's profile where that has it, */
    int is_of_after; /* else (0) of the earlier one's */
    uint64_t bytes[2], blocks[2];
};

/* What differs between two looks, of one process or of two runs, also of other builds: what grew
 * most comes first, what shrank most last. `ret_changes` is freed by cairn_heap_changes_free(). */
CAIRN_API int cairn_heap_diff(const struct cairn_heap_look *before,
                              const struct cairn_heap_look *after,
                              struct cairn_heap_change **ret_changes, size_t *ret_n,
                              struct cairn_err *err);
CAIRN_API void cairn_heap_changes_free(struct cairn_heap_change *changes); /* accepts NULL */

/* Stacks that are not to be told, in LeakSanitizer's form: lines "leak:PATTERN", a part of the name
 * of a function, a source file or a module; * stands for anything, ^ and $ for begin and end.
 * CAIRN_E_FORMAT names the line that is none. */
struct cairn_heap_suppressions;
CAIRN_API int cairn_heap_suppressions_read(const char *path, struct cairn_heap_suppressions **ret_s,
                                           struct cairn_err *err);
/* None yet. */
CAIRN_API int cairn_heap_suppressions_new(struct cairn_heap_suppressions **ret_s,
                                          struct cairn_err *err);

/* Adds the default rules: what the C and the C++ library keep until the end of every program, such
 * as buffers of stdio. They take out what no pattern does. */
CAIRN_API void cairn_heap_suppressions_add_defaults(struct cairn_heap_suppressions *s);

/* Adds the patterns that programs and libraries of the profile bring along: the text that their
 * function
 * __lsan_default_suppressions() returns. The function is not run: its text is read from the
 * program's file, where the function does nothing but return a constant. A file that is gone, or is
 * of another build, adds nothing. A function that does more, and a text that is wrong, are told to
 * cairn_log(). CAIRN_E_NOMEM. */
CAIRN_API int cairn_heap_suppressions_add_programs(struct cairn_heap_suppressions *s,
                                                   const struct cairn_profile *profile,
                                                   struct cairn_err *err);
CAIRN_API void cairn_heap_suppressions_free(struct cairn_heap_suppressions *s); /* accepts NULL */

/* Takes those out of the first `*n` leaks and counts them, by the pattern that met a frame first,
 * from the innermost on. The profile is named. */
CAIRN_API int cairn_heap_suppress(struct cairn_heap_suppressions *s,
                                  const struct cairn_profile *profile,
                                  struct cairn_heap_leak *leaks, size_t *n, struct cairn_err *err);

/* What each pattern took out the last time, by its number in the file; behind them the default
 * rules. Returns 0 where there is
 * none of that number. Set .size. */
struct cairn_heap_suppressed {
    size_t size;
    const char *pattern; /* borrowed until cairn_heap_suppressions_free() */
    uint64_t n_stacks, n_blocks, bytes;
    int is_default; /* `pattern` says what a default rule is for: "buffers of stdio" */
};
CAIRN_API int cairn_heap_suppressed(const struct cairn_heap_suppressions *s, size_t index,
                                    struct cairn_heap_suppressed *suppressed);

/* One live block. */
struct cairn_heap_block_info {
    uint64_t va, size, age_ns; /* UINT64_MAX: not known */
    uint32_t process, stack;   /* as in struct cairn_heap_leak */
    int has_stack; /* 0: born while stacks were off, or none could be taken. Then `stack`
                                has the caller of the allocation function alone, or is 0 */
};

/* Every live block that the filter keeps, by process and address; its min_bytes is that of a block
 * here. `ret_blocks` is freed by cairn_heap_blocks_free(). */
CAIRN_API int cairn_heap_blocks(struct cairn_heap *heap, const struct cairn_heap_filter *filter,
                                struct cairn_profile **ret_profile,
                                struct cairn_heap_block_info **ret_blocks, size_t *ret_n,
                                struct cairn_err *err);
CAIRN_API void cairn_heap_blocks_free(struct cairn_heap_block_info *blocks); /* accepts NULL */

/* How lost blocks are looked for. Set .size; zero means the default. */
struct cairn_heap_lost_opts {
    size_t size;
    const struct cairn_heap_filter *filter; /* which lost blocks are listed; NULL: all */
    int consistent;   /* nonzero: the process is stopped while it is read, and read once */
    int at_exit;      /* nonzero: it stands still at its end (CAIRN_HEAP_TURN_STANDS), held by this
                    thread. Stacks of threads that ended with it hold what is on them */
    const char *core; /* path of a core file, which is read in place of the process; `pid` does not
                         count. NULL: none */
};

/*
 * Blocks of a running process that nothing points to any more. Set .size to sizeof(struct
 * cairn_heap_lost). What is owned is freed by cairn_heap_lost_done().
 */
struct cairn_heap_lost {
    size_t size;
    struct cairn_heap *heap;          /* the state behind the last pass */
    struct cairn_profile *profile;    /* stacks of the rows; name it before frames are asked for */
    struct cairn_heap_leak *lost;     /* heads: nothing points to them but what they hold */
    struct cairn_heap_leak *possibly; /* only doubtful pointers lead to them */
    size_t n_lost, n_possibly;        /* rows, the most bytes first */
    uint64_t n_blocks, bytes;         /* that live, and were looked at */
    uint64_t n_passes, n_saved;       /* blocks that a later pass found to be held after all */
    uint64_t read_bytes, duration_ns;
    uint64_t stopped_ns; /* how long the process was stopped; with `consistent` */
    uint64_t n_threads, n_epoll_sets;
    char unsure[512]; /* why nothing can be claimed to be lost: all of it is among `possibly` then;
                         "": it is sure */
    char notes[512];  /* what else was not as usual; "" */
};

/*
 * Reads the process while it runs, several times: what no pass reaches from a root is lost. Roots
 * are its writable memory but for free memory of glibc's malloc, its threads' stacks and registers,
 * and what the kernel keeps in epoll sets and timers. A block must be older than a second, but for
 * `consistent`, which judges all.
 * CAIRN_E_MISSING: it is not there, is not tracked, or ended meanwhile. CAIRN_E_SUPPORT: its malloc
 * is another than the tracker's, or it is a program of 32 bits.
 */
CAIRN_API int cairn_heap_lost(int pid, const struct cairn_heap_lost_opts *opts,
                              struct cairn_heap_lost *ret_lost, struct cairn_err *err);
/* Makes `profile` one of the rows: in place of its samples it has one for each of them, with values
 * lost_space, lost_objects (with what hangs on the heads), possibly_space and possibly_objects. */
CAIRN_API int cairn_heap_lost_make_profile(struct cairn_heap_lost *lost, struct cairn_err *err);
CAIRN_API void cairn_heap_lost_done(struct cairn_heap_lost *lost); /* all-zero is fine */

/* The address of a frame as its ELF file counts it, which is also its distance from the load base.
 * `root`: the folder that module paths are below (/proc/PID/root of a running process), NULL: /. */
CAIRN_API uint64_t cairn_heap_rel(struct cairn_heap *heap, const char *root,
                                  const struct cairn_frame_info *frame);

/* How far the address of a frame is behind the start of its function, by the symbols in its
 * module's own file. 0: they do not say; else 1. */
CAIRN_API int cairn_heap_function_off(struct cairn_heap *heap, const char *root,
                                      const struct cairn_frame_info *frame, uint64_t *ret_off);

/* The line over time: what lived when each epoch began, the first process's. */
struct cairn_heap_moment {
    uint64_t time_ns;              /* since it began */
    int64_t live_bytes, rss_bytes; /* -1: not known */
    uint32_t mark;                 /* the number of the mark that was set then; 0: none */
};
/* Fills at most `n`; returns how many there are. */
CAIRN_API size_t cairn_heap_moments(const struct cairn_heap *heap, size_t process,
                                    struct cairn_heap_moment *moments, size_t n);

/* Sets a mark in a running process, from outside: blocks born later can be told from those born
 * before. The process is not stopped. */
CAIRN_API int cairn_heap_mark(int pid, uint32_t *ret_mark, struct cairn_err *err);

/* Blocks that are born in a running process are recorded again, or not; those that die always are,
 * so that what was freed meanwhile is no leak. From outside, as a mark is set. */
CAIRN_API int cairn_heap_record(int pid, int on, struct cairn_err *err);

/*
 * How a program is tracked from its start. Set .size; zero means the default.
 */
struct cairn_heap_opts {
    size_t size;
    const char *library; /* libcairn-heap.so; NULL: beside this program, or where it is installed */
    uint32_t depth;      /* frames that are kept of a stack; 0: 1,024 */
    int no_stacks, mappings, no_follow;
    uint64_t
        sample_bytes;    /* record one block in so many bytes, and reckon all from those; 0: all */
    uint64_t max_memory; /* bytes of the state; 0: a tenth of the machine's memory */
    int fork_copy;       /* children of fork(2) begin with their parent's blocks */
    int hold_exit; /* what is started stands still at its end: cairn_heap_session_turn(). It is
                      traced for that (ptrace(2)) by the thread that starts it */
    int answer;    /* what is started can ask for looks at what it has lost:
                      cairn_heap_session_asked() */
};

/* A folder for states, private and of this user, and the environment that makes a program use it.
 */
struct cairn_heap_session;
CAIRN_API int cairn_heap_session_new(const struct cairn_heap_opts *opts,
                                     struct cairn_heap_session **ret_session,
                                     struct cairn_err *err);
/* Removes the folder and what is in it, and frees. Accepts NULL. */
CAIRN_API void cairn_heap_session_free(struct cairn_heap_session *session);
/* The folder and what is in it stay where they are when the session is freed. */
CAIRN_API void cairn_heap_session_keep(struct cairn_heap_session *session);
CAIRN_API const char *cairn_heap_session_folder(const struct cairn_heap_session *session);
/* "NAME=VALUE", in the order of `index` from 0; NULL behind the last. */
CAIRN_API const char *cairn_heap_session_env(const struct cairn_heap_session *session,
                                             size_t index);
/* Starts argv[0] (by PATH) under it. CAIRN_E_MISSING, CAIRN_E_ACCESS: it cannot be started.
 * Afterwards waitpid(2) belongs to the caller; with hold_exit to cairn_heap_session_turn(). */
CAIRN_API int cairn_heap_session_start(struct cairn_heap_session *session, char *const *argv,
                                       int *ret_pid, struct cairn_err *err);
/* Where what was started is. Without waiting; answers its signals where it is traced. */
enum cairn_heap_turn {
    CAIRN_HEAP_TURN_RUNS,
    CAIRN_HEAP_TURN_STANDS, /* with hold_exit: it is at its end, behind its destructors, its memory
                               is whole, and cairn_heap_lost() can look at it (at_exit) */
    CAIRN_HEAP_TURN_ENDED   /* `*ret_status` is as waitpid(2) has it; reported once */
};
CAIRN_API enum cairn_heap_turn cairn_heap_session_turn(struct cairn_heap_session *session,
                                                       int *ret_status);
/* What stands goes on to end. */
CAIRN_API void cairn_heap_session_let_go(struct cairn_heap_session *session);
/* With `answer`: a process of the session asks what it has lost, and waits for the answer. */
enum cairn_heap_asked_kind {
    CAIRN_HEAP_ASKED_CHECK = 1,   /* __lsan_do_leak_check(): its end if blocks are lost */
    CAIRN_HEAP_ASKED_RECOVERABLE, /* __lsan_do_recoverable_leak_check() */
    CAIRN_HEAP_ASKED_EXIT         /* what was started is about to run its destructors (exit(3)) */
};
enum cairn_heap_asked_verdict {
    CAIRN_HEAP_ASKED_UNKNOWN, /* nobody looked, or nothing is sure; it goes on */
    CAIRN_HEAP_ASKED_CLEAN,
    CAIRN_HEAP_ASKED_LOST
};
/* Returns 1 with a process that waits until cairn_heap_session_answer(); 0: none. Until then
 * cairn_heap_lost() can look at it, consistently too: what was started is not traced meanwhile. */
CAIRN_API int cairn_heap_session_asked(struct cairn_heap_session *session, int *ret_pid,
                                       enum cairn_heap_asked_kind *ret_kind);
/* `exit_status`: how CAIRN_HEAP_ASKED_CHECK ends a process that has lost blocks; 0: it goes on. */
CAIRN_API void cairn_heap_session_answer(struct cairn_heap_session *session,
                                         enum cairn_heap_asked_verdict verdict, int exit_status);
/* Readable, as poll(2) has it, when a process asks; -1: none can. */
CAIRN_API int cairn_heap_session_fd(const struct cairn_heap_session *session);

/* Does the program of a running process say that leak checks are off? True where its
 * __lsan_is_turned_off() returns a constant other than 0. The function is not run: its file is
 * read. */
CAIRN_API int cairn_heap_is_turned_off(int pid);

/* Looks which programs what was started runs by now, itself and all that descends from it. Takes a
 * fraction of a millisecond for a few processes; who calls it ten times a second misses what ends
 * faster than that. */
CAIRN_API void cairn_heap_session_look(struct cairn_heap_session *session);
/* A program that was seen, other than argv[0], and that no tracker can be in. Returns 0 where there
 * is none of that number. Set .size. */
struct cairn_heap_missed {
    size_t size;
    const char *path;   /* as its process knows it; borrowed until the next look */
    const char *reason; /* a static text */
    uint64_t n;         /* how often it was started; 0: not known */
};
CAIRN_API int cairn_heap_session_missed(const struct cairn_heap_session *session, size_t index,
                                        struct cairn_heap_missed *missed);
/* The states that the session's processes left, as cairn_heap_read_folder() reads them; the first
 * of them also names the programs of cairn_heap_session_missed(). */
CAIRN_API int cairn_heap_session_read(struct cairn_heap_session *session,
                                      struct cairn_heap **ret_heap, struct cairn_err *err);
/* A program that a tracked process started, or became, and that no tracker was in, as its state
 * notes it. Texts are borrowed until cairn_heap_free(). Returns 0 where there is none of that
 * number. Set .size. */
CAIRN_API int cairn_heap_untracked(struct cairn_heap *heap, size_t index,
                                   struct cairn_heap_missed *missed);
/* Why a program would leave no state: it is static, or has a malloc of its own, or runs as another
 * user. "" where nothing speaks against it. Static texts. */
CAIRN_API const char *cairn_heap_unreachable(const char *program);

/*
 * State files where they lie: of processes that run, and what those that ended left. A tracker that
 * was told no folder makes one of its user (CAIRN_HEAP_DIR in cairn-heap(1)), and keeps the states
 * of the last 16 that ended there.
 */
enum cairn_heap_stored_status {
    CAIRN_HEAP_STORED_RUNNING,
    CAIRN_HEAP_STORED_ENDED,
    CAIRN_HEAP_STORED_EXECED, /* its process goes on as another program */
    CAIRN_HEAP_STORED_UNKNOWN /* of another pid namespace (pid_namespaces(7)), or no state at all */
};
struct cairn_heap_stored {
    size_t size;         /* of this struct, as the library has it */
    const char *path;    /* any bytes but NUL */
    const char *command; /* as in struct cairn_heap_process; "" where it is not known */
    int pid;
    enum cairn_heap_stored_status status;
    uint64_t bytes;      /* on the disk, or of memory where that is a tmpfs */
    uint64_t start_ns;   /* CLOCK_REALTIME; 0: not known */
    uint64_t written_ns; /* CLOCK_REALTIME: when it last grew */
    int is_of_run;       /* what cairn_heap_session_new() made and nobody has freed yet */
};
/* Texts are borrowed for the call. Nonzero ends it with CAIRN_E_STOPPED. */
typedef int (*cairn_heap_stored_fn)(void *ctx, const struct cairn_heap_stored *stored);

/* Each state of a folder, the oldest first; `folder` NULL: of all that trackers and sessions of
 * this user have by themselves, and CAIRN_HEAP_DIR. A folder that is not there has none.
 * CAIRN_E_IO, CAIRN_E_ACCESS: one that was named cannot be read. */
CAIRN_API int cairn_heap_each_stored(const char *folder, cairn_heap_stored_fn each, void *ctx,
                                     struct cairn_err *err);

/* Removes one that cairn_heap_each_stored() is just giving, if its process has ended, nobody else
 * owns it, and no session that goes on waits for it; else returns CAIRN_E_ARG, and nothing
 * happens. */
CAIRN_API int cairn_heap_remove_stored(const struct cairn_heap_stored *stored,
                                       struct cairn_err *err);

#ifdef __cplusplus
}
#endif
#endif /* CAIRN_HEAP_H */
