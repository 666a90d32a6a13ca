/* SPDX-License-Identifier: MIT */
/* Record: what `cairn record` was told to do, from its words to one structure. */
#ifndef CAIRN_CLI_RECORD_H
#define CAIRN_CLI_RECORD_H

#include <cairn/guest.h>
#include <cairn/sampler.h>
#include <cairn/symbolizer.h>

#include "cli/args.h"
#include "cli/result.h"

struct cli_record {
    struct cairn_sampler_opts sampler;
    struct cli_list processes; /* as given: numbers and names, with commas between */
    int *pids;                 /* what they are */
    bool *by_name;             /* each: found by its name */
    size_t n_left_out;         /* of those: see cli_record_leave_out() */
    double seconds;            /* 0: until the target ends */
    const char *out;           /* NULL: a name of whom is sampled */
    enum cli_result result;
    enum cairn_guest_view guest; /* of what is named; a raw file has all frames */
    struct cli_list symbol_dirs;
    bool force;
    int verbosity;
    struct cairn_symbolizer_opts symbols; /* in which way names are read */
};

extern const struct cli_option cli_record_options[];

/* Reads all words into `ret_record`, which is all-zero before, and is to be given to
 * cli_record_done() whatever comes back. False after having said what is wrong. */
bool cli_record_read(struct cli_args *args, struct cli_record *ret_record);
/* Who the processes are that were named: `sampler` has their numbers from now on. CAIRN_E_MISSING:
 * nobody is called so. */
int cli_record_find(struct cli_record *record, struct cairn_err *err);

/* Where a name found processes of other users, too, which may not be sampled: leaves them out.
 * False: nobody was, or nobody else would be left. */
bool cli_record_leave_out(struct cli_record *record);

/* Where the profile goes if nobody says: "cairn.PID.pb.gz", "cairn.all.pb.gz", "cairn.NAME.pb.gz"
 * of a cgroup. `pid`: what is sampled, or the first of it. */
void cli_record_default_out(const struct cli_record *record, int pid, char *buf, size_t size);

/* "all processes", "cgroup x", "3 processes"; empty where it is one process or a command. May hold
 * what a user typed: escape it for a terminal. */
void cli_record_whom(const struct cli_record *record, char *buf, size_t size);

void cli_record_done(struct cli_record *record);

#endif /* CAIRN_CLI_RECORD_H */
