/* SPDX-License-Identifier: MIT */
/* What lies at an address of this process, and how it is written. */
#ifndef CAIRN_TESTS_PLACE_H
#define CAIRN_TESTS_PLACE_H

#include <stdint.h>
#include <stdio.h>

enum place {
    PLACE_FILE, /* in a module of the loader's */
    PLACE_MADE, /* executable, in none: made at run time */
    PLACE_DATA, /* not executable */
    PLACE_NONE, /* nothing is mapped */
};

/* In a signal handler too; one thread at a time. `ret_module`: where the module begins, or 0. */
enum place place_of(uint64_t va, uint64_t *ret_module);

/* " libc.so.6+0x1234 (name)", or " 0x..." outside of modules. */
void place_print(FILE *out, uint64_t va);
/* "libc.so.6", "code made at run time", ... */
void place_print_kind(FILE *out, enum place place, uint64_t module);

#endif /* CAIRN_TESTS_PLACE_H */
