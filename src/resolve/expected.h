/* SPDX-License-Identifier: MIT */
/* Addresses that will be looked up: a module that hears of many at once reads for them by all
 * threads. */
#ifndef CAIRN_RESOLVE_EXPECTED_H
#define CAIRN_RESOLVE_EXPECTED_H

#include "resolve/resolver.h"

struct cairn_expected_address {
    struct cairn_module *module;
    uint64_t vaddr;
};

/* All zero to begin with. */
struct cairn_expected {
    struct cairn_table seen;
    struct cairn_expected_address *list;
    size_t n, cap;
};

void cairn_expected_done(struct cairn_expected *expected);

/* Adds the address of the key, unless there is an answer or it lies in no file. CAIRN_E_NOMEM. */
int cairn_expected_add(struct cairn_expected *expected, struct cairn_resolver *resolver,
                       struct cairn_key key, struct cairn_err *err);

/* Tells the modules, and forgets the addresses; what is wrong with a module is left for the
 * look-ups. CAIRN_E_NOMEM. */
int cairn_expected_tell(struct cairn_expected *expected, struct cairn_resolver *resolver,
                        struct cairn_err *err);

#endif /* CAIRN_RESOLVE_EXPECTED_H */
