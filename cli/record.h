/* SPDX-License-Identifier: MIT */
/* Record: what `cairn record` was told to do, from its words to one structure. */
#ifndef CAIRN_CLI_RECORD_H
#define CAIRN_CLI_RECORD_H

#include <cairn/sampler.h>
#include <cairn/symbolizer.h>

#include "cli/args.h"
#include "cli/result.h"

struct cli_record {
    struct cairn_sampler_opts sampler;
    double seconds;  /* 0: until the target ends */
    const char *out; /* NULL: cairn.PID.pb.gz */
    enum cli_result result;
    struct cli_list symbol_dirs;
    bool force;
    int verbosity;
    struct cairn_symbolizer_opts symbols; /* in which way names are read */
};

extern const struct cli_option cli_record_options[];

/* Reads all words into `ret_record`, which is all-zero before, and is to be given to
 * cli_record_done() whatever comes back. False after having said what is wrong. */
bool cli_record_read(struct cli_args *args, struct cli_record *ret_record);
void cli_record_done(struct cli_record *record);

#endif /* CAIRN_CLI_RECORD_H */
