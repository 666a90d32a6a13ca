/* SPDX-License-Identifier: MIT */
/*
 * What the notes of a core file tell (core(5); Linux fs/binfmt_elf.c), each in the word size and
 * byte order of the process:
 *
 *     NT_PRSTATUS   one a thread, that which got the signal first: ... pid ... registers ...
 *     NT_FILE       count | page size | { start, end, offset in pages } ... | names ...
 *     NT_AUXV       { type, value } ...            AT_SYSINFO_EHDR: where the vdso lies, ...
 *     NT_PRPSINFO   ... | pid | parent, group, session | name [16] | arguments [80]
 *     NT_SIGINFO    siginfo_t of the signal that ended the process (Linux 3.7)
 */
#ifndef CAIRN_TARGET_CORE_NOTES_H
#define CAIRN_TARGET_CORE_NOTES_H

#include "base/arena.h"
#include "elf/image.h"

enum { CAIRN_CORE_THREADS_MAX = 1 << 16, CAIRN_CORE_FILES_MAX = 1 << 20 };

struct cairn_core_thread {
    int tid;
    struct cairn_span regs; /* pr_reg; borrowed from the file */
};

struct cairn_core_file {
    uint64_t start, end, off;
    const char *path; /* borrowed from the file or `paths`; ends with " (deleted)" where it was */
};

/* What a core file says of its process; all-zero: nothing. */
struct cairn_core_facts {
    int pid;
    char name[16 + 1];      /* of the program, and of the first thread: pr_fname */
    char arguments[80 + 1]; /* pr_psargs: blanks between them, cut where they are longer */
    int signal, tid;  /* that ended it, and the thread that got it; 0: none did, as in gcore(1)'s */
    bool has_code;    /* an NT_SIGINFO behind the first thread has this signal: */
    int code;         /* si_code */
    bool has_address; /* a fault's, which is */
    uint64_t address; /* si_addr */
    int sender;       /* pid of the process that sent it; 0: the kernel sent it, or unknown */
};

struct cairn_core_notes {
    struct cairn_core_facts facts;
    struct cairn_core_thread *threads;
    size_t n_threads, cap_threads;
    struct cairn_core_file *files; /* sorted by start */
    size_t n_files, cap_files;
    uint64_t vdso;            /* va; 0: not told. So are */
    uint64_t phdr;            /* of the program's headers, */
    uint64_t execfn;          /* and of the path by which it was started */
    struct cairn_arena paths; /* of files that were added */
};

/* What is damaged is left out, and logged once. CAIRN_E_NOMEM. */
int cairn_core_notes_read(const struct cairn_elf *elf, struct cairn_core_notes *ret_notes,
                          struct cairn_err *err);
void cairn_core_notes_done(struct cairn_core_notes *notes); /* all-zero is fine */

/* A file that no note tells of; its path is copied. Sort them when all are there. CAIRN_E_NOMEM. */
int cairn_core_notes_add(struct cairn_core_notes *notes, struct cairn_core_file file,
                         const char *path);
void cairn_core_notes_sort(struct cairn_core_notes *notes);

/* Gives the file that is mapped at `va` another path, which is borrowed, wherever it is mapped.
 * False: none is. */
bool cairn_core_notes_rename(struct cairn_core_notes *notes, uint64_t va, const char *path);

/* The file that is mapped at `va`, or NULL. */
const struct cairn_core_file *cairn_core_notes_file(const struct cairn_core_notes *notes,
                                                    uint64_t va);

#endif /* CAIRN_TARGET_CORE_NOTES_H */
