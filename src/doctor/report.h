/* SPDX-License-Identifier: MIT */
/*
 * Report: what was found, in the order in which it is shown.
 *
 *     facts (files) ─┬──► rights.c, settings.c ───────────► findings
 *     tries (doing) ─┴──► reason.c ──► judge.c ───────────► findings
 *     /proc/PID ────────► process.c, modules.c ──► findings, modules
 */
#ifndef CAIRN_DOCTOR_REPORT_H
#define CAIRN_DOCTOR_REPORT_H

#include <cairn/doctor.h>

#include "base/strings.h"
#include "doctor/facts.h"
#include "doctor/tries.h"

struct cairn_doctor {
    struct cairn_strings texts;
    struct cairn_doctor_finding *findings;
    size_t n, cap;
    struct cairn_doctor_module *modules;
    size_t n_modules, cap_modules;
    const char *title;
    bool failed; /* memory is gone */
};

/* A copy that holds as long as the report; "" where memory is gone. NULL: "". */
const char *cairn_doctor_text(struct cairn_doctor *d, const char *text);

/* Copies all texts; `size` need not be set, NULL is "". */
void cairn_doctor_add(struct cairn_doctor *d, const struct cairn_doctor_finding *finding);
void cairn_doctor_add_module(struct cairn_doctor *d, const struct cairn_doctor_module *module);

/* What the commands can do, and what was tried for that. */
void cairn_doctor_judge_commands(struct cairn_doctor *d, const struct cairn_doctor_facts *facts,
                                 const struct cairn_doctor_tries *tries);
void cairn_doctor_judge_tries(struct cairn_doctor *d, const struct cairn_doctor_facts *facts,
                              const struct cairn_doctor_tries *tries);

/* Rights, settings, the kernel's configuration. */
void cairn_doctor_judge_rights(struct cairn_doctor *d, const struct cairn_doctor_facts *facts);
void cairn_doctor_judge_settings(struct cairn_doctor *d, const struct cairn_doctor_facts *facts);
void cairn_doctor_judge_kernel(struct cairn_doctor *d, const struct cairn_doctor_facts *facts);

/* CAIRN_E_MISSING: no such process. CAIRN_E_NOMEM. */
int cairn_doctor_look_at(struct cairn_doctor *d, const struct cairn_doctor_facts *facts, int pid,
                         struct cairn_err *err);

/* Whether the allocation tracker may enter it. */
void cairn_doctor_add_attach(struct cairn_doctor *d, int pid);

/* Interpreters, such as Lua, and whether their frames are read. */
void cairn_doctor_add_interpreters(struct cairn_doctor *d, int pid);

/* What is mapped with code; after the other. Where maps cannot be read there is nothing. */
int cairn_doctor_add_modules(struct cairn_doctor *d, int pid, struct cairn_err *err);

#endif /* CAIRN_DOCTOR_REPORT_H */
