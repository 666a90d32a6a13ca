/* SPDX-License-Identifier: MIT */
/*
 * Answers with the keys of `llvm-symbolizer --output-style=JSON` (LLVM 14), for programs that read
 * those; docs/formats/symbolize-json.md has both forms. What cairn does not keep is there and
 * empty: Column is 0, StartAddress and StartFileName are "".
 */
#ifndef CAIRN_CLI_LLVM_JSON_H
#define CAIRN_CLI_LLVM_JSON_H

#include <cairn/symbolizer.h>

#include "base/buffer.h"

/* One object, without a line break behind it. `module` is the file as it was asked for. */
void cli_llvm_json_put(struct cairn_buffer *out, const char *module, uint64_t address,
                       const struct cairn_symbol *symbol);

/* The same for what is no address. */
void cli_llvm_json_put_malformed(struct cairn_buffer *out, const char *module, const char *text);

#endif /* CAIRN_CLI_LLVM_JSON_H */
