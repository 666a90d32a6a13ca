/* SPDX-License-Identifier: MIT */
/* Reasons: why a try failed, as far as the facts tell, and what would allow it. */
#ifndef CAIRN_DOCTOR_REASON_H
#define CAIRN_DOCTOR_REASON_H

#include "doctor/facts.h"
#include "doctor/tries.h"

enum { CAIRN_REASON_BYTES = 512 };

struct cairn_doctor_reason {
    char why[CAIRN_REASON_BYTES], fix[CAIRN_REASON_BYTES]; /* either may be "" */
};

/* Of a result that is neither OK nor NOT. */
void cairn_doctor_reason(const struct cairn_doctor_facts *facts, enum cairn_doctor_try number,
                         const struct cairn_doctor_result *result,
                         struct cairn_doctor_reason *ret_reason);

/* What kernel.perf_event_paranoid means at this level to who has no rights. Debian's and Ubuntu's
 * kernels know levels above mainline's 2. */
const char *cairn_doctor_paranoid_text(long long level);

#endif /* CAIRN_DOCTOR_REASON_H */
