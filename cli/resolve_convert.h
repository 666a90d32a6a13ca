/* SPDX-License-Identifier: MIT */
/* The way of `cairn resolve` from an input to an output: a profile, or a text line by line. */
#ifndef CAIRN_CLI_RESOLVE_CONVERT_H
#define CAIRN_CLI_RESOLVE_CONVERT_H

#include <cairn/resolve.h>

#include "cli/source.h"
#include "cli/term.h"

struct cli_resolve_way {
    struct cairn_resolver *resolver;
    const struct cairn_unwind_opts *files; /* where modules are looked for; NULL: on this machine */
    enum cairn_format format;              /* of the input; CAIRN_FORMAT_AUTO: what it looks like */
};

/* Do these first bytes look like those of a profile? */
bool cli_resolve_is_profile(const uint8_t *head, size_t size);

/* Those of a recording of perf, which holds more than a profile? */
bool cli_resolve_is_recording(const uint8_t *head, size_t size);

/* Those of a report that holds stacks, as sanitizers print it? */
bool cli_resolve_is_stack_text(enum cairn_format format);

/* Why reading or writing failed is in `err`, with the name of the one that did. */
int cli_resolve_convert(const struct cli_resolve_way *way, struct cli_source *source,
                        struct cli_output *output, struct cairn_err *err);

#endif /* CAIRN_CLI_RESOLVE_CONVERT_H */
