/* SPDX-License-Identifier: MIT */
/*
 * Default suppressions: blocks that the C and the C++ library keep until the program ends, whatever
 * the program does: buffers of stdio, the memory for exceptions, caches of locales and of names of
 * users.
 *
 *     _nl_intern_locale_data  libc.so.6  ─┐
 *     _nl_find_locale         libc.so.6   ├ the run: the innermost frames, as far as they are the
 *     setlocale               libc.so.6  ─┘ libraries' own
 *     main                    program
 *
 * A rule names functions of the run, and says how much of a stack is kept in a process at most.
 * What is more is a leak by repetition and is reported.
 */
#ifndef CAIRN_WATCH_SUPPRESS_DEFAULT_H
#define CAIRN_WATCH_SUPPRESS_DEFAULT_H

#include <stdbool.h>

#include <cairn/heap.h>

enum { CAIRN_HEAP_DEFAULTS_MAX = 32 /* rules */ };

/* What a rule is for, "buffers of stdio"; NULL: there is no rule of that number. */
const char *cairn_heap_default_text(size_t rule);

/* The rule that the leak's stack meets; false: none. The profile is named. */
bool cairn_heap_default_find(const struct cairn_profile *profile,
                             const struct cairn_heap_leak *leak, size_t *ret_rule);

#endif /* CAIRN_WATCH_SUPPRESS_DEFAULT_H */
