/* SPDX-License-Identifier: MIT */
/*
 * Facts: what the system says of itself and of this process, read from files alone.
 *
 *     ROOT/proc/self/{status,limits,ns}       rights
 *     ROOT/proc/sys/...                       settings
 *     ROOT/proc/config.gz, ROOT/boot/config-RELEASE
 *
 * ROOT is "" but in tests. What cannot be read is left as not known.
 */
#ifndef CAIRN_DOCTOR_FACTS_H
#define CAIRN_DOCTOR_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "doctor/config.h"

/* In the order of setting_files. */
enum cairn_doctor_setting {
    CAIRN_SETTING_PARANOID,
    CAIRN_SETTING_MLOCK_KB,
    CAIRN_SETTING_SAMPLE_RATE,
    CAIRN_SETTING_MAX_STACK,
    CAIRN_SETTING_KPTR,
    CAIRN_SETTING_YAMA,
    CAIRN_SETTING_UNPRIVILEGED_BPF,
    CAIRN_SETTING_BPF_STATS,
    CAIRN_SETTING_BPF_JIT,
    CAIRN_N_SETTINGS
};

/* What <linux/capability.h> calls them, as far as they matter here (capabilities(7)). */
enum cairn_doctor_cap {
    CAIRN_CAP_DAC_READ_SEARCH = 2,
    CAIRN_CAP_IPC_LOCK = 14,
    CAIRN_CAP_SYS_PTRACE = 19,
    CAIRN_CAP_SYS_ADMIN = 21,
    CAIRN_CAP_SYS_RESOURCE = 24,
    CAIRN_CAP_SYSLOG = 34,
    CAIRN_CAP_PERFMON = 38,           /* Linux 5.8 */
    CAIRN_CAP_BPF = 39,               /* Linux 5.8 */
    CAIRN_CAP_CHECKPOINT_RESTORE = 40 /* Linux 5.9 */
};

#define CAIRN_CAP_BIT(cap) (UINT64_C(1) << (cap))

enum { CAIRN_FACT_TEXT = 128 };

/* Soft and hard; UINT64_MAX: unlimited. */
struct cairn_doctor_limit {
    bool is_known;
    uint64_t soft, hard;
};

struct cairn_doctor_facts {
    char release[CAIRN_FACT_TEXT]; /* of the kernel */
    char machine[CAIRN_FACT_TEXT]; /* of uname(2): not below ROOT */
    unsigned major, minor;         /* of the release; 0.0: not known */
    uint32_t euid;
    uint64_t caps, caps_bounding;
    int seccomp; /* 0 none, 1 strict, 2 filter; -1: not known */
    bool no_new_privs, in_pid_ns, in_user_ns;
    char container[CAIRN_FACT_TEXT]; /* "docker"; "": none is seen */
    struct {
        bool is_there;
        long long value;
    } settings[CAIRN_N_SETTINGS];
    char core_pattern[CAIRN_FACT_TEXT], lockdown[CAIRN_FACT_TEXT], lsm[CAIRN_FACT_TEXT];
    struct cairn_doctor_limit memlock, nofile, core;
    bool has_btf, has_tracefs; /* may it be looked into is tried elsewhere */
    struct cairn_doctor_config config;
    char bpf_lacks[2 * CAIRN_FACT_TEXT]; /* why this build of cairn has no BPF; "": it has. Not
                                            from files: filled by who asks for the report */
};

/* "kernel.perf_event_paranoid" */
const char *cairn_doctor_setting_name(enum cairn_doctor_setting setting);

void cairn_doctor_read_facts(const char *root, struct cairn_doctor_facts *ret_facts);

static inline bool cairn_facts_before(const struct cairn_doctor_facts *f, unsigned major,
                                      unsigned minor)
{
    return f->major && (f->major < major || (f->major == major && f->minor < minor));
}

#endif /* CAIRN_DOCTOR_FACTS_H */
