/* SPDX-License-Identifier: MIT */
/*
 * Profile: modules, frames, a tree of stacks, samples with values and labels. Every reader fills
 * one, every writer drains one.
 *
 * Threads: one profile may be used by one thread at a time.
 */
#ifndef CAIRN_PROFILE_H
#define CAIRN_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include <cairn/api.h>
#include <cairn/error.h>
#include <cairn/frame.h>
#include <cairn/guest.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cairn_profile;

/* What a frame is and how it was found, as one letter: those of the pprof label `cairn.frames`
 * (docs/formats/pprof.md). <cairn/frame.h> tells the two apart. */
enum cairn_frame_kind {
    CAIRN_FRAME_UNKNOWN = '-', /* nobody said */
    CAIRN_FRAME_KERNEL = 'k',
    CAIRN_FRAME_CFI = 'c',
    CAIRN_FRAME_POINTER = 'f',
    CAIRN_FRAME_GUESSED = 'g',
    CAIRN_FRAME_JIT = 'j',
    CAIRN_FRAME_LUA = 'l',
    CAIRN_FRAME_OWN = 'o', /* native code of an interpreter, whose frames are on the stack, too */
    CAIRN_FRAME_INLINED = 'i' /* a frame of its own in formats that know no call sites */
};

enum cairn_format {
    CAIRN_FORMAT_AUTO,        /* reading: by the bytes; writing: by the name's ending */
    CAIRN_FORMAT_PPROF,       /* pprof protobuf, gzip */
    CAIRN_FORMAT_COLLAPSED,   /* frame;frame;frame COUNT */
    CAIRN_FORMAT_HEAP,        /* what a heap tracker writes (cairn/heap.h); cannot be written */
    CAIRN_FORMAT_PERF_SCRIPT, /* text of perf script; cannot be written */
    CAIRN_FORMAT_FIREFOX,     /* the Firefox Profiler's JSON, not packed; cannot be read */
    CAIRN_FORMAT_SPEEDSCOPE,  /* speedscope's JSON, not packed; cannot be read */
    CAIRN_FORMAT_CALLGRIND,   /* text for callgrind_annotate and kcachegrind; cannot be read */
    CAIRN_FORMAT_PERF_DATA,   /* a recording of perf */
    CAIRN_FORMAT_SANITIZER,   /* text of sanitizers' reports; cannot be written */
    CAIRN_FORMAT_VALGRIND,    /* text of valgrind's; cannot be written */
    CAIRN_FORMAT_TOMBSTONE,   /* text of Android's crash dumps; cannot be written */
    CAIRN_FORMAT_DEBUGGER,    /* text of gdb, pstack, eu-stack and coredumpctl; cannot be written */
    CAIRN_FORMAT_GO,          /* text of panics and goroutines of Go; cannot be written */
    CAIRN_FORMAT_RUST,        /* text of panics of Rust; cannot be written */
    CAIRN_FORMAT_BACKTRACE,   /* text of backtrace_symbols(), abseil, Boost; cannot be written */
    CAIRN_FORMAT_JAVA,   /* text of thread dumps of Java and of Android's ANRs; cannot be written */
    CAIRN_FORMAT_BPF,    /* text of bpftrace and bcc: stacks with counts; cannot be written */
    CAIRN_FORMAT_FTRACE, /* text of ftrace's stacks; cannot be written */
    CAIRN_FORMAT_CHROME, /* trace events for Perfetto, JSON, not packed; cannot be read */
    CAIRN_FORMAT_OTLP    /* OpenTelemetry's profiles, protobuf, not packed; cannot be read */
};

CAIRN_API int cairn_profile_new(struct cairn_profile **ret_profile, struct cairn_err *err);
CAIRN_API void cairn_profile_free(struct cairn_profile *profile); /* accepts NULL */

/*
 * Gives the next piece of input: fills `buf`, returns the number of bytes, 0 at the end, negative
 * for failure (the reader then returns CAIRN_E_IO).
 */
typedef long (*cairn_read_fn)(void *ctx, void *buf, size_t size);

/* Takes the next piece of output; nonzero stops the writer with CAIRN_E_IO. */
typedef int (*cairn_write_fn)(void *ctx, const void *bytes, size_t size);

/* Reads a whole profile. CAIRN_E_FORMAT says where it stopped making sense, CAIRN_E_LIMIT which
 * named limit was reached. */
CAIRN_API int cairn_profile_read(cairn_read_fn read, void *ctx, enum cairn_format format,
                                 struct cairn_profile **ret_profile, struct cairn_err *err);

CAIRN_API int cairn_profile_write(const struct cairn_profile *profile, enum cairn_format format,
                                  cairn_write_fn write, void *ctx, struct cairn_err *err);

/* The format that a file name's ending asks for, or its start ("callgrind.out.42");
 * CAIRN_FORMAT_AUTO where it asks for none. */
CAIRN_API enum cairn_format cairn_format_of_name(const char *name);

/* The format that a file begins as, not packed; CAIRN_FORMAT_AUTO where it begins as none. More
 * bytes tell more: some texts have their mark not in the first line. */
CAIRN_API enum cairn_format cairn_format_of_bytes(const void *head, size_t size);

/* "pprof" for its number and back; NULL and CAIRN_FORMAT_AUTO for what is none. */
CAIRN_API const char *cairn_format_name(enum cairn_format format);
CAIRN_API enum cairn_format cairn_format_of(const char *name);

/* What the values of each sample are. Borrowed until the profile changes. */
struct cairn_value_type {
    const char *type; /* "samples" */
    const char *unit; /* "count" */
};
CAIRN_API size_t cairn_profile_value_types(const struct cairn_profile *profile,
                                           const struct cairn_value_type **ret_types);

/* The one to show first: what the file says, else the first. */
CAIRN_API size_t cairn_profile_default_value(const struct cairn_profile *profile);

/* Makes another one the first to show; formats that hold one value write that one. CAIRN_E_ARG
 * where there is no such type. */
CAIRN_API int cairn_profile_set_default_value(struct cairn_profile *profile, size_t value_type,
                                              struct cairn_err *err);

/* Totals for a quality line. */
struct cairn_profile_stats {
    size_t size;        /* set to sizeof(struct cairn_profile_stats) */
    uint64_t n_samples; /* the sum of the values "samples" where there are such, else of rows */
    uint64_t n_stacks, n_frames, n_modules, n_functions; /* different ones that samples use */
    uint64_t n_unnamed;   /* frames without a function name; "module+0x10 [function]" is none */
    uint64_t duration_ns; /* 0: unknown */
    uint64_t n_cut;       /* samples whose stack ends early, counted as in n_samples */
    uint64_t n_judged;    /* samples of which it is known: those that were cut or have a gap, and
                             those that the recorder found whole; of others nobody can say */
    uint64_t n_gap;       /* samples whose stack reaches its root, but is so deep that frames in the
                             middle are left out: neither cut nor whole */
    uint64_t n_events;    /* kept one by one, each with its time, as cairn trace --timeline does; no
                             samples, and in no sum */
};
CAIRN_API void cairn_profile_stats(const struct cairn_profile *profile,
                                   struct cairn_profile_stats *stats);

/* Why stacks end early: reason and number of samples, largest first; those with a gap do not.
 * Returns how many rows there are, 0 too where memory is gone; fills at most `n`. Texts are
 * borrowed until the profile changes.
 */
struct cairn_cut_row {
    const char *reason;
    uint64_t n_samples;
};
CAIRN_API size_t cairn_profile_cuts(const struct cairn_profile *profile, struct cairn_cut_row *rows,
                                    size_t n);

/* One comment line (pprof's comment field). One that begins as the words of a note do, such as
 * "command: ", is that note. */
CAIRN_API int cairn_profile_add_comment(struct cairn_profile *profile, const char *text);
CAIRN_API size_t cairn_profile_comments(const struct cairn_profile *profile,
                                        const char *const **ret_comments);

/* What is known of a recording as a whole; files have each as a comment, "command: ./server". */
enum cairn_note {
    CAIRN_NOTE_OTHER,    /* any comment */
    CAIRN_NOTE_COMMAND,  /* what was recorded, or by which command */
    CAIRN_NOTE_KERNEL,   /* release of the kernel that ran */
    CAIRN_NOTE_HOST,     /* name of the host that recorded */
    CAIRN_NOTE_CPU,      /* its kind, as uname(2) calls it */
    CAIRN_NOTE_LEFT_OUT, /* what a reader could not take in */
    CAIRN_NOTE_QUALITY,  /* what the recording was worth, as its recorder said at the end */
    CAIRN_NOTE_CLOCK     /* "1700000000000000000 ns": the samples' times less their recorder's */
};

/* CAIRN_E_NOMEM. Several of a kind stand in the order they came. */
CAIRN_API int cairn_profile_add_note(struct cairn_profile *profile, enum cairn_note kind,
                                     const char *text);
/* Number `index` of a kind, without the word for the kind; NULL behind the last. Borrowed until the
 * profile changes. */
CAIRN_API const char *cairn_profile_note(const struct cairn_profile *profile, enum cairn_note kind,
                                         size_t index);

/* Adds all of `from` to `into`: equal modules, frames, stacks and labels become one, durations are
 * summed. Value types must agree by name and unit (CAIRN_E_ARG), in any order; a profile without
 * any takes those of the other. On failure no sample was added. */
CAIRN_API int cairn_profile_merge(struct cairn_profile *into, const struct cairn_profile *from,
                                  struct cairn_err *err);

/* Gives every sample this label, but for those that have one of that key. CAIRN_E_ARG for an empty
 * text; CAIRN_E_NOMEM, also where a sample has 256 labels already: nothing is changed then. */
CAIRN_API int cairn_profile_label_all(struct cairn_profile *profile, const char *key,
                                      const char *value, struct cairn_err *err);

/* Which samples to keep; a zero field keeps all. */
struct cairn_filter {
    size_t size;             /* sizeof(struct cairn_filter) */
    const char *label_key;   /* with label_value: samples that carry this label */
    const char *label_value; /* text, or decimal for numeric labels; NULL: any */
    const char *function;    /* samples with a frame whose function contains this text */
};
/* CAIRN_E_ARG for a value without a key. */
CAIRN_API int cairn_profile_filter(struct cairn_profile *profile, const struct cairn_filter *filter,
                                   struct cairn_err *err);

/* Takes frames out of stacks that have frames of an interpreter: those that the view does not show.
 * CAIRN_E_NOMEM: nothing is changed. */
CAIRN_API int cairn_profile_view_guests(struct cairn_profile *profile, enum cairn_guest_view view,
                                        struct cairn_err *err);

/* One line of the table: a function with what it did itself and with all it called. A function that
 * is several times on one stack is counted once in `total`. */
struct cairn_top_row {
    const char *function; /* never NULL; "0x1234" or "module+0x10" for a frame without a name,
                             "module+0x10 [function]" where it is known where its function begins */
    const char *file;     /* "" where unknown */
    const char *module;   /* base name of the module; "" where unknown */
    int64_t self, total;
    enum cairn_frame_kind kind;
};
struct cairn_top;

/* The table for one value type, sorted by self, then total, then name. */
CAIRN_API int cairn_profile_top(const struct cairn_profile *profile, size_t value_type,
                                struct cairn_top **ret_top, struct cairn_err *err);
CAIRN_API size_t cairn_top_rows(const struct cairn_top *top, const struct cairn_top_row **ret_rows);
CAIRN_API int64_t cairn_top_sum(const struct cairn_top *top); /* of all samples */
CAIRN_API void cairn_top_free(struct cairn_top *top);         /* accepts NULL */

/* A frame as it stands in a profile. Texts are borrowed until the profile changes. Set .size. */
struct cairn_frame_info {
    size_t size;
    uint64_t address; /* va to look up: of a return address one byte less; 0: unknown */
    enum cairn_frame_kind kind;
    const char *module;                /* path; "" where it is unknown */
    const char *build_id;              /* lower-case hex; "" */
    uint64_t module_start, module_off; /* its mapping's va and offset in the file */
    uint32_t n_lines;    /* source frames: all but the last are inlined into the next. 0: unnamed */
    uint64_t module_end; /* of that mapping */
    uint64_t function_start; /* va; not 0: the function has no name but its start, and its line
                                calls it "module+0x10 [function]" */
    enum cairn_frame_what what;
    enum cairn_frame_how how; /* CAIRN_HOW_TEXT: nobody said */
    enum cairn_language language;
    int own; /* nonzero: native code of an interpreter, whose frames are on the stack, too */
};
struct cairn_frame_line {
    const char *function, *file; /* "" where unknown */
    uint32_t line;               /* 0: unknown */
    uint32_t defined;            /* the line where the function begins; 0: unknown */
};

/* The frames of a stack, the leaf first, by number: fills at most `n`, returns how many there are.
 * Stack numbers are what other calls give. */
CAIRN_API size_t cairn_profile_stack(const struct cairn_profile *profile, uint32_t stack,
                                     uint32_t *frames, size_t n);
/* CAIRN_E_ARG: there is no such frame. */
CAIRN_API int cairn_profile_frame(const struct cairn_profile *profile, uint32_t frame,
                                  struct cairn_frame_info *ret_info);
/* The innermost source frame is number 0; CAIRN_E_ARG: there is no such one. */
CAIRN_API int cairn_profile_frame_line(const struct cairn_profile *profile, uint32_t frame,
                                       uint32_t index, struct cairn_frame_line *ret_line);

#ifdef __cplusplus
}
#endif
#endif /* CAIRN_PROFILE_H */
