/* SPDX-License-Identifier: MIT */
/*
 * Call forms: the table of system calls with their sets and arguments, and of names that are one
 * call.
 */
#ifndef CAIRN_TRACE_CALL_FORMS_H
#define CAIRN_TRACE_CALL_FORMS_H

enum { CAIRN_CALL_FAMILY_MAX = 4 };

/* `form`: "name:kind", with blanks between; behind a kind F the name of a table in flags.c. The
 * result's kind comes last, behind "=". syscalls(2) and the manual pages of the calls. */
struct cairn_call_form {
    const char *name;
    unsigned sets; /* enum cairn_call_set */
    const char *form;
};

/* NULL: nothing is known of a call of that name. */
const struct cairn_call_form *cairn_call_form(const char *name);

/* The names of one call, CAIRN_CALL_FAMILY_MAX or fewer and then NULL, that on 64-bit CPUs first.
 * NULL: the name has no others. */
const char *const *cairn_call_family(const char *name);

#endif /* CAIRN_TRACE_CALL_FORMS_H */
