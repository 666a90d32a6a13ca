/* SPDX-License-Identifier: MIT */
/* How one answer of `cairn symbolize` is written, in each form that --output-style knows. */
#ifndef CAIRN_CLI_ANSWER_H
#define CAIRN_CLI_ANSWER_H

#include <stdbool.h>

#include <cairn/symbolizer.h>

#include "base/buffer.h"

enum cli_answer_style { CLI_ANSWER_TEXT, CLI_ANSWER_JSON, CLI_ANSWER_GNU, CLI_ANSWER_LLVM };

struct cli_answer_form {
    enum cli_answer_style style;
    const char *file; /* as it was asked for */
    bool demangled;   /* names were asked for as the source has them; GNU's form depends on it */
    bool has_start;   /* of an address without a symbol; the forms of other tools leave it out: */
    uint64_t start_vaddr, start; /* where its function begins, and the same counted as the question
                                    was */
};

/* `vaddr`: the address as the ELF file says it; NULL: nothing of the file lies there. LLVM's form
 * has no line break behind it. */
void cli_answer_put(struct cairn_buffer *out, const struct cli_answer_form *form, uint64_t address,
                    const uint64_t *vaddr, const struct cairn_symbol *symbol);

/* For what is no address. */
void cli_answer_put_malformed(struct cairn_buffer *out, const struct cli_answer_form *form,
                              const char *text, size_t size);

#endif /* CAIRN_CLI_ANSWER_H */
