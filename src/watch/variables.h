/* SPDX-License-Identifier: MIT */
/* Variables: which variable of a process an address is in, and which class a vtable is of, by the
 * symbols in the files that it has mapped. */
#ifndef CAIRN_WATCH_VARIABLES_H
#define CAIRN_WATCH_VARIABLES_H

#include <stdbool.h>
#include <stdint.h>

#include <cairn/error.h>

#include "base/buffer.h"

struct cairn_variables;
struct cairn_maps;
struct cairn_unwind_space;

int cairn_variables_new(int pid, struct cairn_variables **ret_variables, struct cairn_err *err);
/* Of a core file. Both are borrowed. */
int cairn_variables_of_core(struct cairn_unwind_space *core, struct cairn_maps *maps,
                            struct cairn_variables **ret_variables, struct cairn_err *err);
void cairn_variables_free(struct cairn_variables *variables); /* accepts NULL */

/* "cache+8 in /usr/bin/server", without a symbol "/usr/bin/server+0x4010"; without `with_off` no
 * "+8". False: no module's data are there. */
bool cairn_variables_name(struct cairn_variables *variables, uint64_t va, bool with_off,
                          struct cairn_buffer *out);

/* The same for a thread-local variable of the program itself, whose place is static. `tp` is the
 * thread pointer: on x86-64 these variables end there, on aarch64 they start behind it. */
bool cairn_variables_thread_local(struct cairn_variables *variables, uint64_t tp, uint64_t va,
                                  struct cairn_buffer *out);

/* The mangled name of the class whose vtable `va` points into ("4Tree" of _ZTV4Tree), borrowed
 * until cairn_variables_free(). NULL: it is no vtable, or has no symbol. */
const char *cairn_variables_class(struct cairn_variables *variables, uint64_t va);

/* Is a file's private mapping at `va`, or the zeroed data that follow it? */
bool cairn_variables_is_data(const struct cairn_variables *variables, uint64_t va);

#endif /* CAIRN_WATCH_VARIABLES_H */
