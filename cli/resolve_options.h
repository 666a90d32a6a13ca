/* SPDX-License-Identifier: MIT */
/* The options of `cairn resolve`, and what a run of it holds. */
#ifndef CAIRN_CLI_RESOLVE_OPTIONS_H
#define CAIRN_CLI_RESOLVE_OPTIONS_H

#include <cairn/resolve.h>

#include "cli/klog.h"

struct cli_resolve_job {
    const char *in, *out; /* `out` is NULL where `in` is replaced, or a kernel log */
    const char *maps_path, *build_ids_path;
    struct cli_klog_opts klog;
    bool is_klog;      /* IN is a kernel log, as the options say or as it looks */
    bool is_from_klog; /* as --from says */
    struct cli_list symbol_dirs, perf_maps;
    struct cairn_resolve_opts opts;
    enum cairn_format format;
    bool force, json;
    int verbosity;
    struct cairn_maps *maps;
    struct cairn_buffer build_ids;
    struct cairn_resolver *resolver;
    struct cli_output *output;
};

extern const struct cli_option cli_resolve_options[];

/* CLI_OK, or CLI_USAGE after having said what is wrong. */
int cli_resolve_parse(struct cli_resolve_job *job, struct cli_args *args);

#endif /* CAIRN_CLI_RESOLVE_OPTIONS_H */
