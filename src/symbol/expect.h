/* SPDX-License-Identifier: MIT */
/* What a batch does before its look-ups, for whoever looks up one by one. */
#ifndef CAIRN_SYMBOL_EXPECT_H
#define CAIRN_SYMBOL_EXPECT_H

#include <cairn/symbolizer.h>

/* Says that these addresses will be looked up, in any order: chooses the way for them, and reads
 * what they need by all threads. No answer depends on it. Fails as a look-up in the module does. */
int cairn_symbolizer_expect(struct cairn_symbolizer *symbolizer, struct cairn_module *module,
                            const uint64_t *vaddrs, size_t n_vaddrs, struct cairn_err *err);

#endif /* CAIRN_SYMBOL_EXPECT_H */
