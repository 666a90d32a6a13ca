/* SPDX-License-Identifier: MIT */
/*
 * Attach: the allocation tracker (<cairn/heap.h>) into a process that runs already, and out of it
 * again. One thread of the process is held for about a tenth of a millisecond; none of its calls
 * fails for it. No lock of the process's is needed, and none of its own functions is called.
 *
 * All calls of one process come from one thread: ptrace(2) demands it.
 */
#ifndef CAIRN_ATTACH_H
#define CAIRN_ATTACH_H

#include <stddef.h>
#include <stdint.h>

#include <cairn/api.h>
#include <cairn/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is being done, a line each: "malloc of libc.so.6: pun, island at 0x7f...". Names in it are
 * the process's: escape them for a terminal. */
typedef void cairn_attach_say_fn(void *context, const char *line);

/* Set .size to sizeof(struct cairn_attach_opts); all else may be 0. */
struct cairn_attach_opts {
    size_t size;
    const char *library;   /* NULL: libcairn-track.so beside the program, or as it was installed */
    uint64_t max_memory;   /* of what is recorded, bytes; 0: a tenth of the machine's */
    uint64_t sample_bytes; /* one block in so many bytes is recorded; 0: all */
    uint32_t depth;        /* frames that are kept of a stack; 0: 1,024 */
    uint32_t no_stacks;
    cairn_attach_say_fn *say; /* NULL: no messages */
    void *say_context;
    /* Only what these modules ask for is recorded: names, paths, or globs ("libsample*.so"; one
     * with a slash is held against the whole path). n_modules 0: what all ask for. Modules that are
     * loaded later are not seen. Of a process that is tracked so already, these take the place of
     * those before; blocks that are known stay known until they are freed. */
    const char *const *modules;
    size_t n_modules;
};

/* What is known of the blocks that are older than the tracker. */
enum cairn_attach_older {
    CAIRN_OLDER_UNKNOWN, /* the allocator is not glibc's, its structures were not found, or the
                            tracker did not take the list */
    CAIRN_OLDER_LISTED,
    CAIRN_OLDER_SAMPLED, /* only some blocks are recorded (sample_bytes): none from before */
    CAIRN_OLDER_CHOSEN   /* only those of chosen modules (modules): none from before */
};

/* What was done. Set .size. */
struct cairn_attach_report {
    size_t size;
    uint64_t took_ns;     /* the whole call */
    uint64_t held_ns;     /* how long a thread of the process was held; 0: none was */
    int held_tid;         /* that thread */
    uint32_t mended;      /* 1: its system call had to be started again */
    uint32_t n_functions; /* lead to the tracker now; after a detach: do not any more */
    uint32_t n_one, n_pad, n_pun, n_late; /* of these by the way it was done (<cairn/hook.h>) */
    uint32_t n_refused;                   /* functions of the allocator that stay as they are */
    uint32_t n_foreign;                   /* hold what another tool wrote there: left alone */
    uint32_t n_modules;                   /* that the process has loaded */
    uint32_t again;                       /* the tracker was there from an earlier attach */
    uint64_t code_bytes;                  /* of ours that stay mapped after a detach */
    uint32_t older;                       /* enum cairn_attach_older */
    uint64_t n_older, older_bytes;        /* blocks from before, and what they can hold */
    uint64_t older_unread_bytes;          /* of the heap: overwritten, or changed too often */
    uint32_t n_chosen;                    /* modules that `modules` chose */
    uint32_t n_slots; /* of theirs (<cairn/slots.h>), that lead to the tracker now; after a detach:
                         do not any more */
    uint32_t has_filters; /* 1: threads of the process have filters of system calls */
};

/*
 * From now on cairn_heap_read_pid() reads what `pid` allocates and frees. CAIRN_E_ACCESS: the hint
 * says what gives the right. CAIRN_E_SUPPORT: it cannot be done with this process, and why: the
 * process is as before. CAIRN_E_EXISTS: it is tracked already. CAIRN_E_MISSING: no module has one
 * of these names.
 */
CAIRN_API int cairn_attach(int pid, const struct cairn_attach_opts *opts,
                           struct cairn_attach_report *ret_report, struct cairn_err *err);

/* Would cairn_attach() work? Nothing in the process is touched, and nobody is held; filters of
 * system calls (seccomp) are not read: `has_filters` says whether there are any. Of the report are
 * given n_functions (that would lead to the tracker), the ways, n_refused, n_modules and n_chosen.
 * The errors are those of cairn_attach(). */
CAIRN_API int cairn_attach_check(int pid, const struct cairn_attach_opts *opts,
                                 struct cairn_attach_report *ret_report, struct cairn_err *err);

/* Every changed byte is as before, and checked; the state is closed, and can be read as long as the
 * process runs. CAIRN_E_MISSING: no tracker was attached. Also undoes what a killed attach left
 * behind. */
CAIRN_API int cairn_detach(int pid, const struct cairn_attach_opts *opts,
                           struct cairn_attach_report *ret_report, struct cairn_err *err);

#ifdef __cplusplus
}
#endif
#endif /* CAIRN_ATTACH_H */
