/* SPDX-License-Identifier: MIT */
/*
 * Doctor: what this kernel, these rights and this container allow, tried out and not guessed, with
 * the reason and the command that would allow it; and what is there to unwind and name a process.
 *
 * Nothing that exists is changed or stopped: what is tried is tried on children of our own, which
 * have ended when cairn_doctor_new() returns. Other processes are opened, as a capture would, and
 * closed.
 *
 * Threads: one object, one thread at a time. cairn_doctor_new() forks; a program whose SIGCHLD is
 * handled sees its children end.
 */
#ifndef CAIRN_DOCTOR_H
#define CAIRN_DOCTOR_H

#include <stddef.h>
#include <stdint.h>

#include <cairn/api.h>
#include <cairn/error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cairn_doctor;

/* Set .size to sizeof(struct cairn_doctor_opts); zero means the default. */
struct cairn_doctor_opts {
    size_t size;
    int pid; /* look at this process, too */
};

enum cairn_doctor_level {
    CAIRN_DOCTOR_FACT, /* neither good nor bad */
    CAIRN_DOCTOR_YES,
    CAIRN_DOCTOR_PART, /* works, but gives less */
    CAIRN_DOCTOR_NO
};

/* Where a finding belongs. In this order they are listed. */
enum cairn_doctor_group {
    CAIRN_DOCTOR_COMMANDS, /* what each command can do here */
    CAIRN_DOCTOR_TRIED,    /* what was tried for that */
    CAIRN_DOCTOR_PROCESS,  /* the process that was asked for; only with one */
    CAIRN_DOCTOR_RIGHTS,   /* capabilities, filters, namespaces, limits of this process */
    CAIRN_DOCTOR_SETTINGS, /* the kernel's switches */
    CAIRN_DOCTOR_KERNEL    /* what it was built with */
};

/* Texts are borrowed until cairn_doctor_free(); none is NULL. What comes from a process is as it
 * was found: escape it where it is shown. */
struct cairn_doctor_finding {
    size_t size; /* of this struct */
    enum cairn_doctor_group group;
    enum cairn_doctor_level level;
    const char *key;   /* stable: "record.pid", "perf.kernel", "kernel.kptr_restrict" */
    const char *name;  /* for people */
    const char *value; /* what was found, in a few words; or "" */
    const char *why;   /* the reason, where `level` is not YES; what a value means; or "" */
    const char *fix;   /* the command that would allow more, or what to do; or "" */
};

/* One file with code that a process has mapped, or its memory with code of no file. */
struct cairn_doctor_module {
    size_t size;            /* of this struct */
    const char *path;       /* as the process sees it; "[vdso]"; "" for code of no file */
    uint64_t code_bytes;    /* mapped executable */
    const char *build_id;   /* lower-case hex, or "" */
    const char *tables;     /* what stacks are unwound by: ".eh_frame", ".eh_frame+.debug_frame",
                               ".debug_frame", ".ARM.exidx"; or "" */
    int covered_percent;    /* of the code that those tables speak of; -1: not known */
    const char *symbols;    /* ".symtab", ".gnu_debugdata", ".dynsym", "perf map"; or "" */
    int has_lines;          /* 1: line tables; 0: none */
    int has_inlines;        /* 1: functions and inlined calls by DWARF; 0: none */
    int is_deleted;         /* 1: its path is gone or leads to another file now */
    const char *debug_path; /* where lines and symbols come from, if not the file itself; or "" */
    const char *why;        /* what is missing; or "" */
    const char *fix;        /* what would help; or "" */
    int derived_percent;    /* of the code that has none: whose rules are made of what it does */
};

/* Some tenths of a second. CAIRN_E_ARG; CAIRN_E_MISSING: there is no such process; CAIRN_E_NOMEM.
 * What is refused is a finding and no error. */
CAIRN_API int cairn_doctor_new(const struct cairn_doctor_opts *opts,
                               struct cairn_doctor **ret_doctor, struct cairn_err *err);
CAIRN_API void cairn_doctor_free(struct cairn_doctor *doctor); /* accepts NULL */

/* "Linux 6.1.0-47-amd64, x86_64, uid 1000". Borrowed until cairn_doctor_free(). */
CAIRN_API const char *cairn_doctor_title(const struct cairn_doctor *doctor);

/* Grouped, in the order of the groups. NULL behind the last one. */
CAIRN_API size_t cairn_doctor_count(const struct cairn_doctor *doctor);
CAIRN_API const struct cairn_doctor_finding *cairn_doctor_get(const struct cairn_doctor *doctor,
                                                              size_t index);

/* Of the process, in the order of their addresses; none without one. */
CAIRN_API size_t cairn_doctor_n_modules(const struct cairn_doctor *doctor);
CAIRN_API const struct cairn_doctor_module *cairn_doctor_module(const struct cairn_doctor *doctor,
                                                                size_t index);

/* "commands", "tried", "process", "rights", "settings", "kernel". Static text. */
CAIRN_API const char *cairn_doctor_group_name(enum cairn_doctor_group group);

/* "fact", "yes", "part", "no". Static text. */
CAIRN_API const char *cairn_doctor_level_name(enum cairn_doctor_level level);

#ifdef __cplusplus
}
#endif
#endif /* CAIRN_DOCTOR_H */
