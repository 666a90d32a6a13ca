/* SPDX-License-Identifier: MIT */
/* Job: what an attach, a detach and the others have in common. */
#ifndef CAIRN_ATTACH_JOB_H
#define CAIRN_ATTACH_JOB_H

#include <cairn/attach.h>

#include "attach/divert.h"
#include "attach/foothold.h"
#include "attach/ledger.h"
#include "attach/target.h"
#include "heap/late.h"

struct cairn_attach_job {
    struct cairn_attach_opts opts;
    struct cairn_attach_report report;
    uint64_t begin_ns;
    int lock_fd; /* two cairns do not work on one process */
    struct cairn_target_process target;
    struct cairn_foothold foothold;
    bool has_foothold;
    uint64_t ledger_va; /* 0: there was no attach yet */
    struct cairn_ledger ledger;
    struct cairn_late late; /* of the library that is in it, once the ledger is complete */
};

/* The caller's, in its size. */
struct cairn_attach_opts cairn_attach_opts_of(const struct cairn_attach_opts *given);

/* Does the work in a process of its own, which ends it though we are killed. */
typedef int cairn_attach_work_fn(int pid, const struct cairn_attach_opts *opts,
                                 struct cairn_attach_report *ret_report, struct cairn_err *err);
int cairn_attach_apart(int pid, const struct cairn_attach_opts *given, cairn_attach_work_fn *fn,
                       struct cairn_attach_report *ret_report, struct cairn_err *err);

/* Opens the process and reads the ledger where there is one. CAIRN_E_LIMIT: another cairn works on
 * it, for long. */
int cairn_attach_begin(int pid, const struct cairn_attach_opts *opts, struct cairn_attach_job *job,
                       struct cairn_err *err);
/* Gives up what is held; the report in the caller's size. `result`: passed through. */
int cairn_attach_end(struct cairn_attach_job *job, int result,
                     struct cairn_attach_report *ret_report, struct cairn_err *err);

__attribute__((format(printf, 2, 3))) void cairn_attach_say(const struct cairn_attach_job *job,
                                                            const char *fmt, ...);

/* Enters the process unless that was done. */
int cairn_attach_enter(struct cairn_attach_job *job, struct cairn_err *err);

/* Says how many changes took a page from its file, if any. */
void cairn_attach_say_nameless(const struct cairn_attach_job *job,
                               const struct cairn_divert_counts *counts);

/* Reads the library's table and checks that its functions are code. */
int cairn_attach_read_late(struct cairn_attach_job *job, struct cairn_err *err);

/* A function of the library's that returns quickly. */
int cairn_attach_run(struct cairn_attach_job *job, const char *name, uint64_t fn_va, uint64_t arg,
                     int *ret_value, struct cairn_err *err);

/* Where the library is: beside the program, or where it was installed. */
int cairn_attach_library(const char *given, char *ret_path, size_t size, struct cairn_err *err);

#endif /* CAIRN_ATTACH_JOB_H */
