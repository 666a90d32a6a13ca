/* SPDX-License-Identifier: MIT */
/*
 * Klog: the stack dumps of a kernel log, as the log prints them: symbols of the kernel, raw
 * addresses of user code. docs/guide/kernel-log.md lists the forms. <cairn/resolve.h> names them.
 *
 * Threads: one reader may be used by one thread at a time.
 */
#ifndef CAIRN_KLOG_H
#define CAIRN_KLOG_H

#include <stddef.h>
#include <stdint.h>

#include <cairn/api.h>
#include <cairn/error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cairn_klog;

enum cairn_klog_part { CAIRN_KLOG_KERNEL, CAIRN_KLOG_USER };

/* What is to be known of a frame; bits. */
enum cairn_klog_mark {
    CAIRN_KLOG_UNPROVEN = 1, /* "? f": the kernel's unwinder could not vouch for it */
    CAIRN_KLOG_EXACT = 2,    /* a program counter. All others are return addresses */
    CAIRN_KLOG_INLINED = 4,  /* inlined into the next: the log was decoded before */
    CAIRN_KLOG_HOLE = 8,     /* lines before it are missing */
    CAIRN_KLOG_CUT = 16,     /* its line was cut: not an address to look up */
    CAIRN_KLOG_MAYBE = 32,   /* it and those behind it may be another dump's: see `others` */
    CAIRN_KLOG_NO_CODE = 64 /* the kernel found no code at this address: the stack ends before it */
};

struct cairn_klog_frame {
    uint64_t va;      /* as printed, with the bits that sign or tag it; 0: the log gives none */
    const char *text; /* kernel: "f+0x1a/0x40 [mod]"; user: "lib/libx.so+0x5b9", a place in the file
                         of that name. "": none. One text is one pointer */
    uint32_t index;   /* as printed; else counted from 0 in its part */
    uint8_t part;     /* enum cairn_klog_part */
    uint8_t marks;    /* enum cairn_klog_mark */
};

enum cairn_klog_kind {
    CAIRN_KLOG_CAPTURE, /* "TAG: pid= comm=", [kNN], [uNN] */
    CAIRN_KLOG_TRACE,   /* the kernel's own: oops, warning, KASAN, lockdep, hung task, NMI */
    CAIRN_KLOG_FAULT,   /* one line: a user program that faulted */
    CAIRN_KLOG_PROC     /* the text of /proc/PID/stack */
};

enum { CAIRN_KLOG_OTHERS_MAX = 8 };

/* Texts are borrowed until the reader is freed, the rest until the callback returns. */
struct cairn_klog_dump {
    size_t size;
    enum cairn_klog_kind kind;
    const char *title;    /* the tag, or the first line of the report: what triggered it */
    const char *section;  /* "Allocated by task 12": which stack of a report; "" */
    const char *comm;     /* "" */
    const char *time;     /* as the log has it; "" */
    const char *build_id; /* of the kernel, where it prints it; "" */
    const char *no_user;  /* why the thread has no user stack, in the log's words; "" */
    uint64_t time_us;     /* since boot, or since 1970 where `is_date`; UINT64_MAX: unknown */
    int is_date;
    int pid;               /* the thread; -1: unknown */
    int tgid;              /* its process; -1: unknown */
    int cpu;               /* -1: unknown */
    unsigned boot;         /* from 1: the log of several boots starts anew with each */
    uint64_t line;         /* its first line in the log, from 1 */
    uint64_t printed;      /* the number that the log gives it; 0: none */
    uint64_t same_as;      /* the log says that it equals the dump of this number, whose frames
                              it has here; without frames that dump is not in the log; 0 */
    int is_32_bit;         /* the log says that the program is of 32 bits */
    int is_headless;       /* its head is missing: lost lines, or the log starts inside it */
    int is_cut_short;      /* it was closed for lack of space: more of it may follow */
    int has_user;          /* a user part was announced */
    int is_user_supported; /* 0: the kernel says that it cannot walk user stacks */
    /* Lines of these dumps and of this one could not be told apart. `is_whose`: the frames are one
     * stack, but it is unknown whose: this thread's or one of `others`. `is_mixed`: from frame
     * `n_frames` on lines fit several dumps; they are left out. Else frames have
     * CAIRN_KLOG_MAYBE; `is_open_ended`: such frames of another dump may be this one's. */
    int is_whose, is_mixed, is_open_ended;
    int others[CAIRN_KLOG_OTHERS_MAX]; /* pids */
    size_t n_others;                   /* of all; more than fit are only counted */
    const struct cairn_klog_frame *frames;
    size_t n_frames;
};

/* Takes the next dump, in the order of their heads. Nonzero stops the reader with CAIRN_E_IO. */
typedef int (*cairn_klog_fn)(void *ctx, const struct cairn_klog_dump *dump);

CAIRN_API int cairn_klog_new(cairn_klog_fn each, void *ctx, struct cairn_klog **ret_klog,
                             struct cairn_err *err);
CAIRN_API void cairn_klog_free(struct cairn_klog *klog); /* accepts NULL */

/* The next bytes of the log, cut anywhere. CAIRN_E_NOMEM; CAIRN_E_IO: the callback refused. */
CAIRN_API int cairn_klog_feed(struct cairn_klog *klog, const void *bytes, size_t size,
                              struct cairn_err *err);

/* No line follows for now: hands out every dump that is open. Also what ends a log. */
CAIRN_API int cairn_klog_flush(struct cairn_klog *klog, struct cairn_err *err);

/* What was read so far. */
struct cairn_klog_counts {
    size_t size;
    uint64_t n_lines, n_dumps, n_frames;
    uint64_t n_mixed;     /* dumps with is_mixed, is_whose or CAIRN_KLOG_MAYBE */
    uint64_t n_holes;     /* places with missing lines */
    uint64_t n_long;      /* lines longer than 64 KiB, of which the first 64 KiB were read */
    uint64_t n_closed;    /* dumps closed because 10,000 were open */
    uint64_t n_astray;    /* dump lines that fit no dump */
    uint64_t n_unprinted; /* dumps that the kernel left out to limit its log, as it says there */
};
CAIRN_API void cairn_klog_counts(const struct cairn_klog *klog, struct cairn_klog_counts *counts);

/* Is this the start of a kernel log? From its first bytes; `size` of 4,096 is enough for most. */
CAIRN_API int cairn_klog_recognize(const void *bytes, size_t size);

/* The parts of "f+0x1a/0x40 [mod BUILDID]", with "? " in front or not. Borrowed from `text`. */
struct cairn_klog_symbol {
    const char *name, *module, *build_id; /* not terminated */
    size_t name_size, module_size, build_id_size;
    uint64_t off, function_size;
    int has_off, has_function_size;
};
/* Bytes of `text` that are the symbol with its offset and module; 0: no symbol starts there. */
CAIRN_API size_t cairn_klog_symbol(const char *text, size_t size, struct cairn_klog_symbol *symbol);

#ifdef __cplusplus
}
#endif
#endif /* CAIRN_KLOG_H */
