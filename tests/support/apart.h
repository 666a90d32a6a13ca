/* SPDX-License-Identifier: MIT */
/* APART: a function that has frames of its own, under its own name, however a test is built: it is
 * neither inlined nor cloned for the arguments that it is called with (gcc -O3: "deep.constprop.0"
 * is another function with other return addresses). */
#ifndef CAIRN_TESTS_APART_H
#define CAIRN_TESTS_APART_H

#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noclone))
#endif

#endif /* CAIRN_TESTS_APART_H */
