/* SPDX-License-Identifier: MIT */
/*
 * Mangled names to readable ones: C++ (Itanium), Rust legacy (its hash dropped) and Rust v0. Every
 * name is demangled once. Names come from other people's files: length and output are capped, and
 * what cannot be demangled stays as it is.
 */
#ifndef CAIRN_SYMBOL_DEMANGLE_H
#define CAIRN_SYMBOL_DEMANGLE_H

#include <cairn/symbolizer.h>

#include "base/buffer.h"
#include "base/strings.h"

/* An all-zero struct demangles to full names. */
struct cairn_demangler {
    enum cairn_names names;
    struct cairn_strings mangled; /* what was asked for */
    struct cairn_strings plain;   /* answers */
    uint32_t *plain_of;           /* by number of the mangled name: answer + 1; 0: not asked yet */
    size_t cap;
};

void cairn_demangler_done(struct cairn_demangler *d);

/*
 * `name` as `d->names` asks for it; never NULL, and `name`'s text itself where it is no mangled
 * one. Holds until cairn_demangler_done(), but where memory is gone the answer is `name`.
 * Compiler suffixes are not understood here: split them off first.
 */
const char *cairn_demangle(struct cairn_demangler *d, const char *name, size_t size);

/* The same without memory: appends to the empty buffer `out`. False where `name` is no mangled one,
 * is too long, or memory is gone (then out->failed). For any thread. */
bool cairn_demangle_to(const char *name, size_t size, enum cairn_names names,
                       struct cairn_buffer *out);

/*
 * What a compiler hung behind a symbol's name:
 *
 *     _ZN3app3runEv.part.0.cold      size of "_ZN3app3runEv"; suffix "part.0.cold"
 *     memcpy@@GLIBC_2.14             size of "memcpy"; suffix ""
 *     main.main.func1                the whole, for that is a name of Go's; suffix ""
 *
 * Returns the size of the name alone; `*ret_suffix` points into `name`, behind the dot.
 */
size_t cairn_symbol_split_suffix(const char *name, const char **ret_suffix);

#endif /* CAIRN_SYMBOL_DEMANGLE_H */
