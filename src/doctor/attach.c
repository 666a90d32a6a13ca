/* SPDX-License-Identifier: MIT */
/* Whether the allocation tracker may enter a process that runs: planned, and not done. */
#include <inttypes.h>
#include <stdio.h>

#include <cairn/attach.h>

#include "doctor/report.h"

void cairn_doctor_add_attach(struct cairn_doctor *d, int pid)
{
    const struct cairn_attach_opts opts = {.size = sizeof opts};
    struct cairn_attach_report report = {.size = sizeof report};
    struct cairn_err err = {0};
    char value[64] = "";
    int code = cairn_attach_check(pid, &opts, &report, &err);
    struct cairn_doctor_finding finding = {.group = CAIRN_DOCTOR_PROCESS,
                                           .level = CAIRN_DOCTOR_NO,
                                           .key = "process.attach",
                                           .name = "heap attach",
                                           .value = value,
                                           .why = err.msg,
                                           .fix = err.hint};
    if (code == CAIRN_E_EXISTS) {
        finding.level = CAIRN_DOCTOR_FACT;
        finding.value = "it is tracked";
    } else if (code == CAIRN_OK) {
        snprintf(value, sizeof value, "%" PRIu32 " functions, %" PRIu32 " modules",
                 report.n_functions, report.n_modules);
        finding.level = report.has_filters ? CAIRN_DOCTOR_PART : CAIRN_DOCTOR_YES;
        finding.why = report.has_filters
                          ? "it has filters of system calls (seccomp): attach reads them, which "
                            "needs root, and refuses where one would harm the program"
                          : "";
        finding.fix = "";
    }
    cairn_doctor_add(d, &finding);
}
