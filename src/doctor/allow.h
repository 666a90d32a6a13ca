/* SPDX-License-Identifier: MIT */
/* Allow: the command that would give a right, for where we are: as an ordinary user, as root
 * without the capability, in a container, in a user namespace, behind a filter. */
#ifndef CAIRN_DOCTOR_ALLOW_H
#define CAIRN_DOCTOR_ALLOW_H

#include "doctor/reason.h"

struct cairn_doctor_cap_name {
    enum cairn_doctor_cap number;
    const char *name; /* "perfmon" */
};

/* Those that matter here; ends with a row without a name. */
extern const struct cairn_doctor_cap_name cairn_doctor_caps[];

/* What the kernel asks of the machine's first user namespace, as all but CAP_SYS_PTRACE are, root
 * of an inner one has not. */
static inline bool cairn_facts_has(const struct cairn_doctor_facts *f, enum cairn_doctor_cap cap)
{
    return (f->caps & CAIRN_CAP_BIT(cap)) && (!f->in_user_ns || cap == CAIRN_CAP_SYS_PTRACE);
}

/* CAP_SYS_ADMIN is taken for the finer ones that were split off from it. */
bool cairn_facts_may_sample(const struct cairn_doctor_facts *f); /* CAP_PERFMON */
bool cairn_facts_may_load(const struct cairn_doctor_facts *f);   /* CAP_BPF and CAP_PERFMON */

/* Capabilities (bits) would do, or `sysctl` ("kernel.kptr_restrict=1"; NULL: none would). */
void cairn_doctor_allow(const struct cairn_doctor_facts *f, uint64_t caps, const char *sysctl,
                        char ret_fix[CAIRN_REASON_BYTES]);

/* A seccomp filter is in the way, of a call that needs these capabilities, too. */
void cairn_doctor_allow_call(const struct cairn_doctor_facts *f, uint64_t caps,
                             char ret_fix[CAIRN_REASON_BYTES]);

#endif /* CAIRN_DOCTOR_ALLOW_H */
